"""Scores of the entries of lattices: sums of the rows of weights for word forms.

The rows of a sentence are packed as int32: the total size, the number of rows of each word, and the rows. Those of
several sentences are concatenated, like their lattices.
"""

from __future__ import annotations

from typing import Any

from lveg.kernels.jit import lean_kernel
from lveg.kernels.vectors import add_scaled


@lean_kernel
def gather_rows(
    number: Any, length: Any, ptr: Any, own: Any, near: Any, pair_id: Any, n_ids: int, pair_key: Any, pair_rows: Any,
    found: Any,
) -> int:  # fmt: skip
    """Fill `found` with the packed rows of sentences; returns their size.

    number: the numbers of the words of each sentence, with two placeholders before and after. ptr, own, near, pair_id:
    for each number of a word, its own rows, its rows as a neighbour at each of the four positions, and its number in
    pairs, -1 for none. pair_key: first × n_ids + second for each pair of words, ascending. pair_rows: for each pair,
    the row of the first word with the second after it, and of the second word with the first before it.
    """
    at, word = 0, 0
    for s in range(length.shape[0]):
        n = length[s]
        place = at + 1 + n
        before = -1
        for i in range(-1, n):
            here = word + 2 + i
            begin, behind, next_before = place, -1, -1
            one, other = pair_id[number[here]], pair_id[number[here + 1]]
            if one >= 0 and other >= 0:
                key = one * n_ids + other
                low, high = 0, pair_key.shape[0]
                while low < high:
                    middle = (low + high) // 2
                    if pair_key[middle] < key:
                        low = middle + 1
                    else:
                        high = middle
                if low < pair_key.shape[0] and pair_key[low] == key:
                    behind, next_before = pair_rows[low, 0], pair_rows[low, 1]
            if i >= 0:
                for k in range(ptr[number[here]], ptr[number[here] + 1]):
                    found[place] = own[k]
                    place += 1
                for k in range(4):
                    row = near[number[here + k - 2 + k // 2], k]
                    if row >= 0:
                        found[place] = row
                        place += 1
                for row in (before, behind):
                    if row >= 0:
                        found[place] = row
                        place += 1
                found[at + 1 + i] = place - begin
            before = next_before
        found[at] = place - at
        at = place
        word += n + 4
    return at


@lean_kernel
def add_rows(packed: Any, rows: Any, weight: Any, n_tags: int, score: Any) -> None:
    """Add the weights of each word's rows, (rows, tags × states), to the scores of its entries, (entries × states).

    Each entry of a word is a contiguous run of a row of weights; if the word may have every tag, all are one long run.
    """
    width = weight.shape[1] // n_tags
    at, first_entry, first_row = 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at + 1]
        begin, tags, place = at + 3 + n, at + 4 + 2 * n, first_row + 1 + n
        for i in range(n):
            first, here = packed[begin + i], packed[begin + i + 1] - packed[begin + i]
            low = (first_entry + first) * width
            for index in range(place, place + rows[first_row + 1 + i]):
                row = rows[index]
                if here == n_tags:
                    add_scaled(1.0, weight[row], score[low : low + n_tags * width])
                    continue
                for entry in range(first, first + here):
                    column, to = packed[tags + entry] * width, (first_entry + entry) * width
                    for s in range(width):
                        score[to + s] += weight[row, column + s]
            place += rows[first_row + 1 + i]
        first_entry += packed[at + 2]
        first_row += rows[first_row]
        at += packed[at]


@lean_kernel
def add_to_rows(
    packed: Any, rows: Any, slope: Any, n_tags: int, into: Any, is_touched: Any
) -> None:  # fmt: skip
    """Add the gradients of the entries of each word, (entries × states), to its rows of `into` (rows, tags × states).

    is_touched: set for each of these rows.
    """
    width = into.shape[1] // n_tags
    at, first_entry, first_row = 0, 0, 0
    while at < packed.shape[0]:
        n = packed[at + 1]
        begin, tags, place = at + 3 + n, at + 4 + 2 * n, first_row + 1 + n
        for i in range(n):
            first, here = packed[begin + i], packed[begin + i + 1] - packed[begin + i]
            low = (first_entry + first) * width
            for index in range(place, place + rows[first_row + 1 + i]):
                row = rows[index]
                is_touched[row] = True
                if here == n_tags:
                    add_scaled(1.0, slope[low : low + n_tags * width], into[row])
                    continue
                for entry in range(first, first + here):
                    column, of = packed[tags + entry] * width, (first_entry + entry) * width
                    for s in range(width):
                        into[row, column + s] += slope[of + s]
            place += rows[first_row + 1 + i]
        first_entry += packed[at + 2]
        first_row += rows[first_row]
        at += packed[at]
