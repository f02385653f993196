"""Lists of trees with shared subtrees, the vectors of their phrases, and their gradients  [math: cvg].

An item is a subtree that occurs in some tree of a list. Items are ordered with children before parents; the last ones
are the trees. A packed list is int32: its size; the numbers of words, edges of its forest, items and trees; for each
word the numbers of its vectors; for each item its edge, its left and right child (-1 for none; for a word's item the
left one is -2 - the number of the word) and its unit (-1 for none); for each tree what training knows about it, and its
log weight as a float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import kernel, lean_kernel

HEAD = 5
"""Number of header elements before the words."""


class Net(NamedTuple):
    """Parameters, or their gradients.

    embed (learned vectors, dimensions): summed to the vector of a word. project (dimensions of pretrained vectors,
    dimensions): maps pretrained vectors to terms of that sum. score (units, dimensions + 1): applied to a vector and 1.
    matrix (pairs, dimensions, 2 dimensions + 1): applied to the vectors of two children and 1. scale (1): factor of the
    log weights of trees.
    """

    embed: Any
    project: Any
    score: Any
    matrix: Any
    scale: Any


@kernel
def list_items(edge_left: Any, edge_right: Any, rank_edge: Any, rank_left: Any, rank_right: Any, count: int) -> Any:
    """The items of the `count` best derivations, (4, items): node, edge, left and right item; see kernels.kbest.

    Missing children are -1. The last `count` items are the derivations, best first.
    """
    n_nodes, k = rank_edge.shape
    number = np.full((n_nodes, k), -1, np.int32)
    number[n_nodes - 1, :count] = 0
    size = 0
    for node in range(n_nodes - 1, -1, -1):
        for rank in range(k):
            if number[node, rank] == 0:
                size += 1
                edge = rank_edge[node, rank]
                if edge_left[edge] >= 0:
                    number[edge_left[edge], rank_left[node, rank]] = 0
                if edge_right[edge] >= 0:
                    number[edge_right[edge], rank_right[node, rank]] = 0
    items = np.full((4, size), -1, np.int32)
    size = 0
    for node in range(n_nodes):
        for rank in range(k):
            if number[node, rank] == 0:
                edge = rank_edge[node, rank]
                items[0, size], items[1, size] = node, edge
                if edge_left[edge] >= 0:
                    items[2, size] = number[edge_left[edge], rank_left[node, rank]]
                if edge_right[edge] >= 0:
                    items[3, size] = number[edge_right[edge], rank_right[node, rank]]
                number[node, rank] = size
                size += 1
    return items


@kernel
def tree_edges(edge: Any, left: Any, right: Any, item: int, found: Any) -> int:
    """Fill `found` with the edges of an item's subtree, parents first; returns their number."""
    stack = np.empty(edge.shape[0] + 1, np.int64)
    stack[0] = item
    height, size = 1, 0
    while height > 0:
        height -= 1
        top = stack[height]
        found[size] = edge[top]
        size += 1
        if right[top] >= 0:
            stack[height] = right[top]
            height += 1
        if left[top] >= 0:
            stack[height] = left[top]
            height += 1
    return size


@lean_kernel
def fill_words(packed: Any, at: int, columns: int, given: Any, net: Net, words: Any) -> None:
    """Fill `words`, (words, dimensions) and initially zero, with the word vectors of the packed list at `at`."""
    for w in range(words.shape[0]):
        row = at + HEAD + w * columns
        number = packed[row]
        if number >= 0:
            for g in range(given.shape[1]):
                value = given[number, g]
                for d in range(words.shape[1]):
                    words[w, d] += value * net.project[g, d]
        for column in range(1, columns):
            number = packed[row + column]
            if number >= 0:
                for d in range(words.shape[1]):
                    words[w, d] += net.embed[number, d]


@lean_kernel
def compose(
    packed: Any, items: int, first_pair: int, words: Any, net: Net, mask: Any, log_factor: Any, vector: Any,
    score: Any,
) -> None:  # fmt: skip
    """Fill the vector of each item and the score of its subtree; items: where they begin in the packed list.

    mask (dimensions): multiplies the vectors. log_factor: added for each edge of the forest; empty for none.
    """
    n, size = vector.shape
    for i in range(n):
        left, right, unit = packed[items + n + i], packed[items + 2 * n + i], packed[items + 3 * n + i]
        total = log_factor[packed[items + i]] if log_factor.shape[0] > 0 else 0.0
        if left < -1:
            for d in range(size):
                vector[i, d] = mask[d] * words[-2 - left, d]
        elif right < 0:
            total += score[left]
            for d in range(size):
                vector[i, d] = vector[left, d]
        else:
            total += score[left] + score[right]
            pair = unit - first_pair
            for d in range(size):
                value = net.matrix[pair, d, 2 * size]
                for c in range(size):
                    value += net.matrix[pair, d, c] * vector[left, c] + net.matrix[pair, d, size + c] * vector[right, c]
                vector[i, d] = mask[d] * math.tanh(value)
        if unit >= 0:
            total += net.score[unit, size]
            for d in range(size):
                total += net.score[unit, d] * vector[i, d]
        score[i] = total


@lean_kernel
def spread(left: Any, right: Any, share: Any) -> None:
    """Propagate the values of trees in `share`, which is zero elsewhere, down to all of their items."""
    for i in range(share.shape[0] - 1, -1, -1):
        if left[i] >= 0:
            share[left[i]] += share[i]
        if right[i] >= 0:
            share[right[i]] += share[i]


@lean_kernel
def go_back(
    packed: Any, items: int, first_pair: int, net: Net, mask: Any, vector: Any, share: Any, pull: Any, word_pull: Any,
    slope: Net,
) -> None:  # fmt: skip
    """Add to the gradients of parameters, given those of the scores of items, `share`.

    pull (items, dimensions): zero; filled with the gradients of the vectors of items. word_pull (words, dimensions):
    those of the vectors of words are added to it.
    """
    n, size = vector.shape
    for i in range(n - 1, -1, -1):
        left, right, unit = packed[items + n + i], packed[items + 2 * n + i], packed[items + 3 * n + i]
        own = share[i]
        if unit >= 0 and own != 0.0:
            slope.score[unit, size] += own
            for d in range(size):
                slope.score[unit, d] += own * vector[i, d]
                pull[i, d] += own * net.score[unit, d]
        if left < -1:
            for d in range(size):
                word_pull[-2 - left, d] += mask[d] * pull[i, d]
            continue
        if right < 0:
            for d in range(size):
                pull[left, d] += pull[i, d]
            continue
        pair = unit - first_pair
        for d in range(size):
            value = pull[i, d]
            if value != 0.0 and mask[d] != 0.0:
                value *= mask[d] - vector[i, d] * vector[i, d] / mask[d]
                slope.matrix[pair, d, 2 * size] += value
                for c in range(size):
                    slope.matrix[pair, d, c] += value * vector[left, c]
                    pull[left, c] += value * net.matrix[pair, d, c]
                for c in range(size):
                    slope.matrix[pair, d, size + c] += value * vector[right, c]
                    pull[right, c] += value * net.matrix[pair, d, size + c]


@lean_kernel
def add_to_words(packed: Any, at: int, columns: int, given: Any, word_pull: Any, slope: Net) -> None:
    """Add to the gradients of learned vectors and the projection, given those of the vectors of words."""
    for w in range(word_pull.shape[0]):
        row = at + HEAD + w * columns
        number = packed[row]
        if number >= 0:
            for g in range(given.shape[1]):
                value = given[number, g]
                for d in range(word_pull.shape[1]):
                    slope.project[g, d] += value * word_pull[w, d]
        for column in range(1, columns):
            number = packed[row + column]
            if number >= 0:
                for d in range(word_pull.shape[1]):
                    slope.embed[number, d] += word_pull[w, d]


@lean_kernel
def sum_up(left: Any, right: Any, value: Any) -> None:
    """Add to the value of each item those of its children, so that it is the sum over its subtree."""
    for i in range(value.shape[0]):
        if left[i] >= 0:
            value[i] += value[left[i]]
        if right[i] >= 0:
            value[i] += value[right[i]]
