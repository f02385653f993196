"""Tag sequences as chains: lattices of the possible tags of words, scales, and the best sequences.

A packed sentence is a lattice, int32: its size, the numbers n of words and m of entries, then given (n), begin (n + 1),
tag (m) and rule (m). An entry is a possible tag of a word, with the number of its emission or NO_RULE, which has weight
1. Word i has the entries from begin[i] to begin[i + 1], in the order of tags. given is the position of the given tag
among the word's entries, OPEN if none is given, LACKING if the word cannot have it. Packed sentences are concatenated.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.factors import each_packed
from lveg.kernels.jit import ZERO, exponent_of, inner_kernel, int64, kernel, lean_kernel, power_of_two

LOG_2 = math.log(2.0)
NO_RULE = -1
OPEN, LACKING = -1, -2
_FAR = 600.0  # a given tag whose log factor is farther below the word's largest gets its own scale


class TagTable(NamedTuple):
    """The tags of terminal w are tag[ptr[w] : ptr[w + 1]]; rule has the numbers of their emissions."""

    ptr: Any
    tag: Any
    rule: Any


class Lattice(NamedTuple):
    """The entries in use of packed sentences: word w, of all words, has tags tag[begin[w] : begin[w + 1]].

    rule: their emissions. source: their numbers among all entries.
    """

    begin: Any
    tag: Any
    rule: Any
    source: Any


class Posteriors(NamedTuple):
    """Results for packed sentences, in order; an array is empty if it was not requested.

    log_z: log Z of each sentence. share: P(tag of word | sentence) of each entry. pair: P(tags of neighbours |
    sentence), a matrix for each two neighbours, from the entries of the first to those of the second.
    """

    log_z: Any
    share: Any
    pair: Any


@lean_kernel
def build_lattices(table: TagTable, length: Any, terminal: Any, given: Any, packed: Any) -> None:
    """Fill `packed` with sentences that have the tags of a table.

    length: numbers of words. terminal, given: the terminals and given tags of all words, OPEN if none is given.
    """
    ptr, table_tag, table_rule = table.ptr, table.tag, table.rule
    at, word = 0, 0
    for n in length:
        m = 0
        for i in range(n):
            m += ptr[terminal[word + i] + 1] - ptr[terminal[word + i]]
        packed[at], packed[at + 1], packed[at + 2] = 4 + 2 * n + 2 * m, n, m
        begin, tag, entry = at + 3 + n, at + 4 + 2 * n, 0
        packed[begin] = 0
        for i in range(n):
            first, last = ptr[terminal[word + i]], ptr[terminal[word + i] + 1]
            place = OPEN if given[word + i] < 0 else LACKING
            for index in range(first, last):
                if table_tag[index] == given[word + i]:
                    place = index - first
                packed[tag + entry] = table_tag[index]
                packed[tag + m + entry] = table_rule[index]
                entry += 1
            packed[at + 3 + i] = place
            packed[begin + i + 1] = entry
        at += 4 + 2 * n + 2 * m
        word += n


@kernel
def narrow_lattices(packed: Any, share: Any, least: float) -> Any:
    """Packed sentences with the entries whose share is at least `least`, the best of each word, and given ones."""
    narrow = np.empty(packed.shape[0], np.int32)
    at, to, first = 0, 0, 0
    while at < packed.shape[0]:
        n, m = packed[at + 1], packed[at + 2]
        begin, tag, kept = at + 3 + n, at + 4 + 2 * n, 0
        new_begin, new_tag = to + 3 + n, to + 4 + 2 * n
        narrow[new_begin] = 0
        for i in range(n):
            low, high, given = packed[begin + i], packed[begin + i + 1], packed[at + 3 + i]
            best = low
            for entry in range(low, high):
                if share[first + entry] > share[first + best]:
                    best = entry
            narrow[to + 3 + i] = given
            for entry in range(low, high):
                if share[first + entry] >= least or entry == best or entry - low == given:
                    if entry - low == given:
                        narrow[to + 3 + i] = kept - narrow[new_begin + i]
                    narrow[new_tag + kept] = packed[tag + entry]
                    kept += 1
            narrow[new_begin + i + 1] = kept
        place = 0  # rules come after all tags, so their position is known only now
        for i in range(n):
            for entry in range(packed[begin + i], packed[begin + i + 1]):
                if (
                    place < kept
                    and place < narrow[new_begin + i + 1]
                    and packed[tag + entry] == narrow[new_tag + place]
                ):
                    narrow[new_tag + kept + place] = packed[tag + m + entry]
                    place += 1
        narrow[to], narrow[to + 1], narrow[to + 2] = 4 + 2 * n + 2 * kept, n, kept
        to += 4 + 2 * n + 2 * kept
        first += m
        at += packed[at]
    return narrow[:to].copy()


@inner_kernel
def count_pairs(packed: Any, at: int) -> int:
    """The number of pairs of neighbouring entries in the sentence at this position."""
    pairs, begin = 0, at + 3 + packed[at + 1]
    for place in range(begin + 1, begin + packed[at + 1]):
        pairs += (packed[place] - packed[place - 1]) * (packed[place + 1] - packed[place])
    return pairs


@lean_kernel
def extents(packed: Any) -> tuple[int, int, int, int]:
    """The numbers of packed sentences, of their words, of entries, and of pairs of neighbouring entries."""
    sentences, words, entries, pairs, at = 0, 0, 0, 0, ZERO
    while at < packed.shape[0]:
        sentences += 1
        words += packed[at + 1]
        entries += packed[at + 2]
        pairs += count_pairs(packed, at)
        at += packed[at]
    return sentences, words, entries, pairs


@inner_kernel
def in_use(packed: Any, at: int, i: int, is_given: bool) -> tuple[int, int]:
    """The range (end exclusive) of the entries of word i, counted from 0: all, or with is_given only the given one."""
    begin, given = at + 3 + packed[at + 1] + i, packed[at + 3 + i]
    if not is_given or given == OPEN:
        return packed[begin], packed[begin + 1]
    if given == LACKING:
        return packed[begin], packed[begin]
    return packed[begin] + given, packed[begin] + given + 1


def each_sentence(packed: Any) -> list[Any]:
    """Each packed sentence separately."""
    return list(each_packed(packed))


def entries(packed: Any) -> tuple[Any, Any]:
    """The word, counted over all packed sentences, and the tag of each entry."""
    counts, tags = [], []
    for sentence in each_sentence(packed):
        n, m = int(sentence[1]), int(sentence[2])
        counts.append(np.diff(sentence[3 + n : 4 + 2 * n]))
        tags.append(sentence[4 + 2 * n : 4 + 2 * n + m])
    count = np.concatenate(counts)
    return np.repeat(np.arange(len(count), dtype=np.int32), count), np.concatenate(tags)


@lean_kernel
def fill_lattice(packed: Any, is_given: bool, begin: Any, tag: Any, rule: Any, source: Any) -> None:
    """Fill a `Lattice`."""
    at, word, first_entry, size = ZERO, 0, 0, 0
    while at < packed.shape[0]:
        n, m = packed[at + 1], packed[at + 2]
        tags = at + 4 + 2 * n
        for i in range(n):
            begin[word] = size
            low, high = in_use(packed, at, i, is_given)
            for entry in range(low, high):
                tag[size] = packed[tags + entry]
                rule[size] = packed[tags + m + entry]
                source[size] = first_entry + entry
                size += 1
            word += 1
        first_entry += m
        at += packed[at]
    begin[word] = size


def make_lattice(packed: Any, is_given: bool, n_words: int, n_entries: int) -> Lattice:
    """The entries in use: all or, with is_given, only the given tag of each word that has one (none if LACKING)."""
    begin = np.empty(n_words + 1, np.int32)
    tag, rule, source = np.empty((3, n_entries), np.int32)
    fill_lattice(packed, is_given, begin, tag, rule, source)
    return Lattice(begin, tag, rule, source)


@inner_kernel
def rescale(value: Any, begin: int, end: int) -> int:
    """Scale value[begin:end] by a power of two so that the largest is in [0.5, 1); its exponent, 0 if all are 0."""
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


@lean_kernel
def scale_factors(packed: Any, is_given: bool, log_factor: Any, scaled: Any, shift: Any) -> int:
    """The number of entries in use; fills `scaled` with their log factors, minus the largest of the word.

    log_factor (entries, states). shift (sentences,), all zero: receives the sums of what was subtracted.
    """
    width = log_factor.shape[1]
    at, first_entry, number, used = ZERO, ZERO, 0, 0
    while at < packed.shape[0]:
        begin = at + 3 + packed[at + 1]
        for i in range(packed[at + 1]):
            low, high = in_use(packed, at, i, is_given)
            largest = largest_of(log_factor, first_entry + packed[begin + i], first_entry + packed[begin + i + 1])
            own = largest_of(log_factor, first_entry + low, first_entry + high)
            if -math.inf < own < largest - _FAR:
                largest = own
            shift[number] += largest
            for entry in range(first_entry + low, first_entry + high):
                for s in range(width):
                    scaled[used, s] = log_factor[entry, s] - largest
                used += 1
        first_entry += packed[at + 2]
        number += 1
        at += packed[at]
    return used


@inner_kernel
def largest_of(value: Any, begin: int, end: int) -> float:
    """The largest number in some rows, -inf if there is none."""
    largest = -math.inf
    for row in range(begin, end):
        for s in range(value.shape[1]):
            largest = max(largest, value[row, s])
    return largest


@lean_kernel
def best_tags(packed: Any, share: Any, tag: Any, confidence: Any, score: Any) -> None:
    """Give every word the tag with the highest posterior, in `packed`.

    tag, confidence (words,): receive those tags and posteriors. score (sentences, 1), all zero: receives the sums of
    posteriors, the expected numbers of correct tags.
    """
    at, entry, word, number = 0, 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at + 1]
        begin, tags = at + 3 + n, at + 4 + 2 * n
        for i in range(n):
            first, last = packed[begin + i], packed[begin + i + 1]
            best = first
            for index in range(first + 1, last):
                if share[entry + index] > share[entry + best]:
                    best = index
            packed[at + 3 + i] = best - first
            tag[word] = packed[tags + best]
            confidence[word] = share[entry + best]
            score[number, 0] += share[entry + best]
            word += 1
        entry += packed[at + 2]
        at += packed[at]
        number += 1


@kernel
def best_sequences(
    packed: Any, share: Any, pair: Any, count: int, ranked: Any, tag: Any, confidence: Any, score: Any
) -> None:
    """The best tag sequences of the Markov chain that has these posteriors, at most `count`  [math: tag-max-rule].

    ranked (count, size of packed), tag and confidence (count, words): row r receives the sentences with their r-th best
    sequences as given tags; those tags; and their posteriors. score (sentences, count): receives the log probabilities
    in the chain, -inf if there are no more sequences. Cost: `count` for each pair of entries.
    """
    at, first_entry, first_pair, word, number = ZERO, ZERO, ZERO, ZERO, 0
    while at < packed.shape[0]:
        m = packed[at + 2]
        size, value, back = rank_sequences(packed, at, share, first_entry, pair, first_pair, count)
        for rank in range(count):
            score[number, rank] = value[m * count + rank] if rank < size[m] else -math.inf
            if rank < size[m]:
                trace(back, rank, count, share, first_entry, at, word, ranked[rank], tag[rank], confidence[rank])
        first_entry += m
        first_pair += count_pairs(packed, at)
        word += packed[at + 1]
        number += 1
        at += packed[at]


@kernel
def rank_sequences(
    packed: Any, at: int, share: Any, first_entry: int, pair: Any, first_pair: int, count: int
) -> Any:  # fmt: skip
    """(size, value, back): for every entry the number of best sequences that end there, at most `count`; their log
    probabilities, best first; and backpointers. After the last entry comes the sentence's end."""
    n, m = packed[at + 1], packed[at + 2]
    size = np.zeros(m + 1, np.int64)
    value, back = np.empty((m + 1) * count), np.full((m + 1) * count, -1)
    step, head = np.zeros(m), np.zeros(m, np.int64)
    begin, before, link = ZERO, ZERO, first_pair
    for place in range(at + 3 + n, at + 3 + 2 * n):
        here = packed[place + 1] - packed[place]
        for y in range(begin, begin + here):
            if before == 0 and share[first_entry + y] > 0.0:
                size[y], value[y * count] = 1, math.log(share[first_entry + y])
            for x in range(before):
                both, one = pair[link + x * here + y - begin], share[first_entry + begin - before + x]
                step[x] = math.log(both / one) if both > 0.0 else -math.inf
            merge(size, value, back, begin - before, before, step, head, y, count)
        link += before * here
        begin += here
        before = here
    step[:] = 0.0
    merge(size, value, back, begin - before, before, step, head, int64(m), count)
    if n == 0:
        size[0], value[0] = 1, 0.0
    return size, value, back


@inner_kernel
def merge(size: Any, value: Any, back: Any, first: int, before: int, step: Any, head: Any, y: int, count: int) -> None:
    """Extend the best sequences that end in `before` entries, from `first` on, to y, each with its step."""
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


@inner_kernel
def trace(
    back: Any, rank: int, count: int, share: Any, first_entry: int, at: int, word: int, packed: Any, tag: Any,
    confidence: Any,
) -> None:  # fmt: skip
    """Give the words of the sentence at this position the tags of a sequence, from the last word to the first."""
    n, m = packed[at + 1], packed[at + 2]
    begin, tags = at + 3 + n, at + 4 + 2 * n
    state = back[m * count + rank]
    for i in range(n - 1, -1, -1):
        entry = state // count
        packed[at + 3 + i] = entry - packed[begin + i]
        tag[word + i] = packed[tags + entry]
        confidence[word + i] = share[first_entry + entry]
        state = back[state]
