"""Tag sequences as chains: which tags each word of a sentence may have, scales, and the best sequences.

A packed sentence is int32: its number of words n, n terminals, n tags (-1 where a tag is open).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import exponent_of, kernel, power_of_two

LOG_2 = math.log(2.0)


class TagTable(NamedTuple):
    """The tags of terminal w are tag[ptr[w] : ptr[w + 1]], and rule, in the same places, numbers the emissions."""

    ptr: Any
    tag: Any
    rule: Any


class Posteriors(NamedTuple):
    """What is asked of packed sentences, in their order; an array is empty where it is not asked for.

    log_z: log Z of each sentence. share: P(tag of word | sentence) of the tags that each word may have. pair: P(tags of
    neighbours | sentence), for each two neighbours a matrix, from the tags of the one to those of the other.
    """

    log_z: Any
    share: Any
    pair: Any


@kernel
def extent(table: TagTable, packed: Any, at: int) -> tuple[int, int]:
    """How many tags the words of the sentence at this place may have, and how many pairs of tags its neighbours."""
    ptr = table.ptr
    tags, pairs, before = 0, 0, 0
    for place in range(at + 1, at + 1 + packed[at]):
        here = ptr[packed[place] + 1] - ptr[packed[place]]
        tags += here
        pairs += before * here
        before = here
    return tags, pairs


@kernel
def extents(table: TagTable, packed: Any) -> tuple[int, int, int, int]:
    """The numbers of sentences, of words, and of `extent` of all sentences."""
    sentences, words, tags, pairs, at = 0, 0, 0, 0, 0
    while at < packed.shape[0]:
        more_tags, more_pairs = extent(table, packed, at)
        tags += more_tags
        pairs += more_pairs
        sentences += 1
        words += packed[at]
        at += 1 + 2 * packed[at]
    return sentences, words, tags, pairs


@kernel
def lattice(table: TagTable, packed: Any, at: int, is_given: bool) -> Any:
    """(begin, tag, rule): word i, from 1, may have the tags tag[begin[i] : begin[i + 1]] by emissions `rule`.

    Positions 0 and n + 1 stand for start and end and have one entry each. With is_given a word whose tag the packed
    sentence names has that one alone, and none where the lexicon lacks it.
    """
    ptr, table_tag, table_rule = table.ptr, table.tag, table.rule
    n = packed[at]
    room = 2
    for i in range(n):
        room += ptr[packed[at + 1 + i] + 1] - ptr[packed[at + 1 + i]]
    begin = np.zeros(n + 3, np.int64)
    tag, rule = np.zeros(room, np.int64), np.zeros(room, np.int64)
    m = 1
    for i in range(n):
        begin[i + 1] = m
        given = packed[at + 1 + n + i] if is_given else -1
        for index in range(ptr[packed[at + 1 + i]], ptr[packed[at + 1 + i] + 1]):
            if given < 0 or table_tag[index] == given:
                tag[m] = table_tag[index]
                rule[m] = table_rule[index]
                m += 1
    begin[n + 1] = m
    begin[n + 2] = m + 1
    return begin, tag, rule


@kernel
def rescale(value: Any, begin: int, end: int) -> int:
    """Bring the largest of value[begin:end] into [0.5, 1) by a power of two; its exponent, 0 where all are 0."""
    largest = 0.0
    for c in range(begin, end):
        largest = max(largest, value[c])
    if not 0.0 < largest < math.inf:
        return 0
    exponent = exponent_of(largest)
    factor = power_of_two(-exponent)
    for c in range(begin, end):
        value[c] *= factor
    return exponent


@kernel
def best_tags(table: TagTable, packed: Any, share: Any, confidence: Any, score: Any) -> None:
    """Give every word its tag of highest posterior, in `packed`.

    confidence (words,): gets those posteriors. score (sentences, 1), all zero: gets their sums, the expected numbers of
    right tags.
    """
    ptr, table_tag = table.ptr, table.tag
    at, entry, word, number = 0, 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at]
        for place in range(at + 1, at + 1 + n):
            first, size = ptr[packed[place]], ptr[packed[place] + 1] - ptr[packed[place]]
            best = 0
            for index in range(1, size):
                if share[entry + index] > share[entry + best]:
                    best = index
            packed[place + n] = table_tag[first + best]
            confidence[word] = share[entry + best]
            score[number, 0] += share[entry + best]
            entry += size
            word += 1
        at += 1 + 2 * n
        number += 1


@kernel
def best_sequences(
    table: TagTable, packed: Any, share: Any, pair: Any, count: int, ranked: Any, confidence: Any, score: Any
) -> None:
    """The best tag sequences of the Markov chain that has these posteriors, at most `count`  [math: tag-max-rule].

    ranked: gets every sentence `count` times, packed with its sequences, best first. confidence: gets the posteriors of
    the tags of each of them. score (sentences, count): gets the log probabilities in the chain, -inf where there are
    no more sequences. Costs `count` for each pair of tags.
    """
    at, first_tag, first_pair, word, number = 0, 0, 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at]
        tags, pairs = extent(table, packed, at)
        size, value, back = rank_sequences(table, packed, at, share, first_tag, pair, first_pair, tags, count)
        for rank in range(count):
            to = count * at + rank * (1 + 2 * n)
            for place in range(1 + 2 * n):
                ranked[to + place] = packed[at + place]
            score[number, rank] = value[tags * count + rank] if rank < size[tags] else -math.inf
            if rank < size[tags]:
                of = word * count + rank * n
                trace(table, ranked, to, share, first_tag, back, tags, count, rank, confidence, of)
        at += 1 + 2 * n
        first_tag += tags
        first_pair += pairs
        word += n
        number += 1


@kernel
def rank_sequences(
    table: TagTable, packed: Any, at: int, share: Any, first_tag: int, pair: Any, first_pair: int, tags: int, count: int
) -> Any:
    """(size, value, back): for every tag of every word how many best sequences end there, at most `count`; their log
    probabilities, best first; and the places of what they go on from. After the last tag comes the sentence's end."""
    ptr = table.ptr
    n = packed[at]
    size = np.zeros(tags + 1, np.int64)
    value, back = np.empty((tags + 1) * count), np.full((tags + 1) * count, -1)
    step, head = np.zeros(tags), np.zeros(tags, np.int64)
    begin, before, link = 0, 0, first_pair
    for place in range(at + 1, at + 1 + n):
        here = ptr[packed[place] + 1] - ptr[packed[place]]
        for y in range(begin, begin + here):
            if before == 0 and share[first_tag + y] > 0.0:
                size[y], value[y * count] = 1, math.log(share[first_tag + y])
            for x in range(before):
                both, one = pair[link + x * here + y - begin], share[first_tag + begin - before + x]
                step[x] = math.log(both / one) if both > 0.0 else -math.inf
            merge(size, value, back, begin - before, before, step, head, y, count)
        link += before * here
        begin += here
        before = here
    step[:] = 0.0
    merge(size, value, back, begin - before, before, step, head, tags, count)
    if n == 0:
        size[0], value[0] = 1, 0.0
    return size, value, back


@kernel
def merge(size: Any, value: Any, back: Any, first: int, before: int, step: Any, head: Any, y: int, count: int) -> None:
    """Let the best of the sequences that end in `before` tags, from the `first` on, go on to y, each by its step."""
    for x in range(before):
        head[x] = 0
    for rank in range(y * count, (y + 1) * count):
        best, most = -1, -math.inf
        for x in range(before):
            if head[x] < size[first + x] and value[(first + x) * count + head[x]] + step[x] > most:
                best, most = x, value[(first + x) * count + head[x]] + step[x]
        if best < 0:
            break
        value[rank], back[rank] = most, (first + best) * count + head[best]
        size[y] += 1
        head[best] += 1


@kernel
def trace(
    table: TagTable, ranked: Any, to: int, share: Any, first_tag: int, back: Any, tags: int, count: int, rank: int,
    confidence: Any, of: int,
) -> None:  # fmt: skip
    """Write the tags of a sequence into its packed sentence, and their posteriors, from the last word to the first."""
    ptr, table_tag = table.ptr, table.tag
    n = ranked[to]
    state, end = back[tags * count + rank], tags
    for i in range(n - 1, -1, -1):
        terminal = ranked[to + 1 + i]
        end -= ptr[terminal + 1] - ptr[terminal]
        entry = state // count
        ranked[to + 1 + n + i] = table_tag[ptr[terminal] + entry - end]
        confidence[of + i] = share[first_tag + entry]
        state = back[state]
