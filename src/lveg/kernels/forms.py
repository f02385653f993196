"""Scores of words from the rows of weights that their forms name.

An example is int32: the numbers of words n and of rows, n tags, how many rows each word has, and the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.jit import kernel


@kernel
def unpack(examples: Any) -> Any:
    """(packed, counts, rows) of examples one after the other; the terminals of `packed` number all words in order."""
    at, size, n_words, n_rows = 0, 0, 0, 0
    while at < examples.shape[0]:
        size += 1 + 2 * examples[at]
        n_words += examples[at]
        n_rows += examples[at + 1]
        at += 2 + 2 * examples[at] + examples[at + 1]
    packed, counts, rows = np.empty(size, np.int32), np.empty(n_words, np.int32), np.empty(n_rows, np.int32)
    at, place, word, row = 0, 0, 0, 0
    while at < examples.shape[0]:
        n, more = examples[at], examples[at + 1]
        packed[place] = n
        for i in range(n):
            packed[place + 1 + i] = word
            packed[place + 1 + n + i] = examples[at + 2 + i]
            counts[word] = examples[at + 2 + n + i]
            word += 1
        for index in range(more):
            rows[row + index] = examples[at + 2 + 2 * n + index]
        row += more
        place += 1 + 2 * n
        at += 2 + 2 * n + more
    return packed, counts, rows


@kernel
def add_rows(counts: Any, rows: Any, weight: Any, score: Any) -> None:
    """Fill score (words, states) with the sum of each word's rows of `weight` (rows, states), the largest being 0.

    The same number taken from all scores of a word changes no posterior.
    """
    width, place = weight.shape[1], 0
    for word in range(counts.shape[0]):
        for s in range(width):
            score[word, s] = 0.0
        for index in range(place, place + counts[word]):
            row = rows[index]
            for s in range(width):
                score[word, s] += weight[row, s]
        place += counts[word]
        best = score[word, 0]
        for s in range(width):
            best = max(best, score[word, s])
        for s in range(width):
            score[word, s] -= best


@kernel
def add_to_rows(counts: Any, rows: Any, slope: Any, into: Any) -> None:
    """Add the slope of each word, (words, states), to its rows of `into` (rows, states)."""
    width, place = into.shape[1], 0
    for word in range(counts.shape[0]):
        for index in range(place, place + counts[word]):
            row = rows[index]
            for s in range(width):
                into[row, s] += slope[word, s]
        place += counts[word]
