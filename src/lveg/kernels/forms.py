"""Scores of the tags of words from the rows of weights that the forms of the words name.

The rows of a sentence are int32: their length, the number n of words, how many rows each word has, and the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.jit import kernel


@kernel
def score_rows(lattices: Any, rows: Any, weight: Any, width: int) -> Any:
    """The sum of its word's rows of `weight` (rows, tags × width) for each entry of sentences, (entries, width)."""
    size, at = 0, 0
    while at < lattices.shape[0]:
        size += lattices[at + 2]
        at += lattices[at]
    score = np.zeros((size, width))
    at, place, first = 0, 0, 0
    while at < lattices.shape[0]:
        n = lattices[at + 1]
        begin, tag, row = at + 3 + n, at + 4 + 2 * n, place + 2 + n
        for i in range(n):
            for index in range(row, row + rows[place + 2 + i]):
                for entry in range(lattices[begin + i], lattices[begin + i + 1]):
                    column = lattices[tag + entry] * width
                    for s in range(width):
                        score[first + entry, s] += weight[rows[index], column + s]
            row += rows[place + 2 + i]
        first += lattices[at + 2]
        place += rows[place]
        at += lattices[at]
    return score


@kernel
def add_to_rows(lattices: Any, rows: Any, slope: Any, into: Any) -> None:
    """Add the slope (entries, width) of each entry to its word's rows of `into`, (rows, tags × width)."""
    width = slope.shape[1]
    at, place, first = 0, 0, 0
    while at < lattices.shape[0]:
        n = lattices[at + 1]
        begin, tag, row = at + 3 + n, at + 4 + 2 * n, place + 2 + n
        for i in range(n):
            for index in range(row, row + rows[place + 2 + i]):
                for entry in range(lattices[begin + i], lattices[begin + i + 1]):
                    column = lattices[tag + entry] * width
                    for s in range(width):
                        into[rows[index], column + s] += slope[first + entry, s]
            row += rows[place + 2 + i]
        first += lattices[at + 2]
        place += rows[place]
        at += lattices[at]
