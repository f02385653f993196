"""Tag sequences as chains: which tags each word of a sentence may have, scales, and the best sequence.

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
def best_path(share: Any, pair: Any, path: Any) -> None:
    """Fill path with the tags of the best sequence  [math: tag-max-rule].

    share (n, tags): posteriors of the tags. pair (n - 1, tags, tags): posteriors of neighbours. The sequence has the
    largest probability in the Markov chain that has these posteriors.
    """
    n, n_tags = share.shape
    score, back = np.empty((n, n_tags)), np.zeros((n, n_tags), np.int64)
    for tag in range(n_tags):
        score[0, tag] = math.log(share[0, tag]) if share[0, tag] > 0.0 else -math.inf
    for i in range(1, n):
        for tag in range(n_tags):
            score[i, tag] = -math.inf
            for before in range(n_tags):
                if pair[i - 1, before, tag] > 0.0:
                    total = score[i - 1, before] + math.log(pair[i - 1, before, tag] / share[i - 1, before])
                    if total > score[i, tag]:
                        score[i, tag] = total
                        back[i, tag] = before
    tag = 0
    for other in range(1, n_tags):
        if score[n - 1, other] > score[n - 1, tag]:
            tag = other
    for i in range(n - 1, -1, -1):
        path[i] = tag
        tag = back[i, tag]
