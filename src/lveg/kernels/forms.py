"""Scores of the entries of lattices from the rows of weights that the forms of words name.

The rows of a sentence are packed as int32: the size of it all, how many rows each word has, and the rows. Those of
several sentences stand one after the other, as their lattices do.
"""

from __future__ import annotations

from typing import Any

from lveg.kernels.jit import lean_kernel


@lean_kernel
def add_rows(packed: Any, rows: Any, weight: Any, n_tags: int, score: Any) -> None:
    """Add the weights of each word's rows, (rows, tags × states), to the scores of its entries, (entries × states).

    The entries of a word are as many runs in a row of weights, or a single long one where it may have every tag.
    """
    width = weight.shape[1] // n_tags
    at, first_entry, first_row = 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at + 1]
        begin, tags, place = at + 3 + n, at + 4 + 2 * n, first_row + 1 + n
        for i in range(n):
            first, here = packed[begin + i], packed[begin + i + 1] - packed[begin + i]
            runs, length = (1, n_tags * width) if here == n_tags else (here, width)
            for index in range(place, place + rows[first_row + 1 + i]):
                row = rows[index]
                for entry in range(first, first + runs):
                    column, to = packed[tags + entry] * width, (first_entry + entry) * width
                    for s in range(length):
                        score[to + s] += weight[row, column + s]
            place += rows[first_row + 1 + i]
        first_entry += packed[at + 2]
        first_row += rows[first_row]
        at += packed[at]


@lean_kernel
def add_to_rows(
    packed: Any, rows: Any, slope: Any, n_tags: int, into: Any, is_touched: Any
) -> None:  # fmt: skip
    """Add the slopes of the entries of each word, (entries × states), to its rows of `into` (rows, tags × states).

    is_touched: set for each of these rows.
    """
    width = into.shape[1] // n_tags
    at, first_entry, first_row = 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at + 1]
        begin, tags, place = at + 3 + n, at + 4 + 2 * n, first_row + 1 + n
        for i in range(n):
            first, here = packed[begin + i], packed[begin + i + 1] - packed[begin + i]
            runs, length = (1, n_tags * width) if here == n_tags else (here, width)
            for index in range(place, place + rows[first_row + 1 + i]):
                row = rows[index]
                is_touched[row] = True
                for entry in range(first, first + runs):
                    column, of = packed[tags + entry] * width, (first_entry + entry) * width
                    for s in range(length):
                        into[row, column + s] += slope[of + s]
            place += rows[first_row + 1 + i]
        first_entry += packed[at + 2]
        first_row += rows[first_row]
        at += packed[at]
