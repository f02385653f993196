"""Networks over word vectors: inputs, matrix products, and scores of anchored rules.

The inputs for a forest, its rows, are int32: total size; numbers of words, nodes and edges; for each word, with PADDING
edge words on both sides, the numbers of its pretrained vector and of its learned ones, -1 for none; for each node its
symbol, start, end and first edge; for each edge its rule and split.

The inputs of a hidden layer of rectified units are the words around the start, the split and the end of an anchored
rule. Before rectification the layer is linear in each word, so each word is multiplied by the matrix of each place once
per sentence, and the layer of a rule is a sum of rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.features import bucket, mix
from lveg.kernels.jit import ZERO, inner_kernel, int64, kernel, lean_kernel
from lveg.kernels.vectors import add_scaled, dot

N_EDGES = 3
"""Position of the number of edges in the rows of a forest."""

PADDING = 2
"""Number of padding words before the first and after the last word."""

WINDOW = 4
"""Number of words around each of the start, the end and the split: two before it, two after it."""

N_PLACES = 3 * WINDOW

N_LENGTHS = 11
N_SHAPES = 3 + 3 * N_LENGTHS
"""Rows for the kind of a rule (word, unary, binary), and for the lengths of the span and of its two parts."""

_BLOCK = 512


class Net(NamedTuple):
    """Parameters, or their gradients.

    embed (learned vectors, dimensions): their sum is appended to the pretrained vector of a word. project (dimensions,
    places × units): the first layer. shape (N_SHAPES, units): added to the hidden layer for the kind of rule and
    lengths. out (outputs, units).
    """

    embed: Any
    project: Any
    shape: Any
    out: Any


@lean_kernel
def add_product(left: Any, right: Any, total: Any) -> None:
    """Add left @ right to `total`, in blocks of columns, two rows of `left` and four rows of `right` at a time."""
    n, depth, width = left.shape[0], left.shape[1], right.shape[1]
    for first in range(0, width, _BLOCK):
        last = min(first + _BLOCK, width)
        for i in range(0, n, 2):
            one, other = left[i], left[min(i + 1, n - 1)]
            sums, other_sums = total[i, first:last], total[min(i + 1, n - 1), first:last]
            whole = depth - depth % 4 if i + 1 < n else 0
            for k in range(0, whole, 4):
                r0, r1, r2, r3 = (
                    right[k, first:last], right[k + 1, first:last], right[k + 2, first:last], right[k + 3, first:last],
                )  # fmt: skip
                a, b, c, d = one[k], one[k + 1], one[k + 2], one[k + 3]
                e, f, g, h = other[k], other[k + 1], other[k + 2], other[k + 3]
                for j in range(last - first):
                    sums[j] += a * r0[j] + b * r1[j] + c * r2[j] + d * r3[j]
                    other_sums[j] += e * r0[j] + f * r1[j] + g * r2[j] + h * r3[j]
            for k in range(whole, depth):
                add_scaled(one[k], right[k, first:last], sums)
                if i + 1 < n:
                    add_scaled(other[k], right[k, first:last], other_sums)


@lean_kernel
def add_at(total: Any, index: Any, rows: Any) -> None:
    """Add each of the rows to the row of `total` with this index."""
    for i in range(index.shape[0]):
        add_scaled(1.0, rows[i], total[index[i]])


@lean_kernel
def fill_inputs(
    rows: Any, words: int, columns: int, given: Any, embed: Any, inputs: Any, noise: int, dropout: float
) -> None:
    """Fill `inputs`, (words, dimensions) and initially zero, with the vectors of words. words: their start in rows.

    With noise, dropout is applied to the dimensions of each word.
    """
    depth = given.shape[1]
    for w in range(inputs.shape[0]):
        at = words + w * columns
        if rows[at] >= 0:
            for d in range(depth):
                inputs[w, d] = given[rows[at], d]
        for column in range(1, columns):
            number = rows[at + column]
            if number >= 0:
                add_scaled(1.0, embed[number], inputs[w, depth:])
        thin_out(inputs[w], noise, w, dropout)


@inner_kernel
def thin_out(vector: Any, noise: int, word: int, dropout: float) -> None:
    """With noise, apply dropout to a word's vector; the same arguments drop the same elements."""
    if noise == 0 or dropout == 0.0:
        return
    scale, least, first = 1.0 / (1.0 - dropout), int(dropout * 0x8000), mix(noise ^ (word + 1))
    for d in range(vector.shape[0]):
        vector[d] = vector[d] * scale if (mix(first + d) & 0x7FFF) >= least else 0.0


@kernel
def add_to_inputs(
    rows: Any, words: int, columns: int, net: Net, inputs: Any, projected_slope: Any, slope: Net, noise: int,
    dropout: float,
) -> None:  # fmt: skip
    """Add to the gradients of the first layer and of vectors, given that of the projected words.

    projected_slope: (words, places × units). inputs: (words, dimensions), made with the same noise.
    """
    n, depth = inputs.shape
    across = np.empty((depth, n))
    for w in range(n):
        for d in range(depth):
            across[d, w] = inputs[w, d]
    add_product(across, projected_slope, slope.project)
    given = depth - net.embed.shape[1]
    pull = np.zeros(depth)
    for w in range(n):
        at = words + w * columns
        for d in range(given, depth):
            pull[d] = dot(projected_slope[w], net.project[d])
        thin_out(pull, noise, w, dropout)
        for column in range(1, columns):
            if rows[at + column] >= 0:
                add_scaled(1.0, pull[given:], slope.embed[rows[at + column]])


@lean_kernel
def rectify(hidden: Any, noise: int, dropout: float) -> None:
    """Rectify units in place; with noise, apply dropout. Four units share one random number."""
    units = hidden.shape[0]
    if noise == 0:
        for h in range(units):
            hidden[h] = max(hidden[h], 0.0)
        return
    scale, least = 1.0 / (1.0 - dropout), int(dropout * 0x8000)
    for first in range(0, units, 4):
        draw = mix(noise + first)
        for h in range(first, min(first + 4, units)):
            hidden[h] = hidden[h] * scale if hidden[h] > 0.0 and (draw & 0x7FFF) >= least else 0.0
            draw >>= 15


@lean_kernel
def add_neighbours(projected: Any, near: Any, hidden: Any) -> None:
    """Add to each word's hidden layer, (words, units), what it and its neighbours project there.

    projected (vectors, 5 × units). near (words, 5): the numbers of two vectors before the word, its own, and two after.
    """
    units = hidden.shape[1]
    for w in range(near.shape[0]):
        layer, (a, b, c, d, e) = hidden[w], (near[w, 0], near[w, 1], near[w, 2], near[w, 3], near[w, 4])
        p0, p1 = projected[a, :units], projected[b, units : 2 * units]
        p2, p3 = projected[c, 2 * units : 3 * units], projected[d, 3 * units : 4 * units]
        p4 = projected[e, 4 * units :]
        for h in range(units):
            layer[h] = layer[h] + p0[h] + p1[h] + p2[h] + p3[h] + p4[h]


@lean_kernel
def same_words(rows: Any, one: int, other: int, columns: int) -> bool:
    """Whether the forests whose rows begin at these positions have the same words."""
    if rows[one + 1] != rows[other + 1]:
        return False
    for index in range(4, 4 + (rows[one + 1] + 2 * PADDING) * columns):
        if rows[one + index] != rows[other + index]:
            return False
    return True


@lean_kernel
def anchor(part: int, start: int, split: int, end: int) -> int:
    """The first word of a window, counted from the first padding word; part: 0 start, 1 end, 2 split."""
    return PADDING - WINDOW // 2 + (start if part == 0 else end if part == 1 else split)


@kernel
def visit(
    rows: Any, columns: int, given: Any, net: Net, total_out: Any, lexical_start: int, edge_score: Any, edge_slope: Any,
    slope: Any, least: float, noise: int, dropout: float, input_dropout: float,
) -> None:  # fmt: skip
    """Compute scores or gradients of all edges of forests whose abs(edge_slope) is at least `least`.

    edge_score: initially zero; filled with the score of each edge. slope: a Net to which gradients are added, given
    the gradient of each score, `edge_slope`. One of the two is None. total_out: output weights of rules, with those of
    their left-hand sides added; then those of symbols.
    """
    units = net.out.shape[1]
    begin, first_edge = ZERO, 0
    hidden, used, pull = np.empty((1, units)), np.empty(1, np.bool_), np.empty((1, units))
    inputs, projected, projected_slope = np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0))
    before, own_noise = ZERO - 1, noise
    while begin < rows.shape[0]:
        n, n_nodes, n_edges = rows[begin + 1], rows[begin + 2], rows[begin + 3]
        words = begin + 4
        node = words + (n + 2 * PADDING) * columns
        edge = node + 4 * n_nodes + 1
        # A forest is followed by its gold tree, which has the same words: they are projected once.
        last_noise, own_noise = own_noise, noise
        if noise != 0:
            for i in range(n):
                own_noise = mix(own_noise + rows[words + (i + PADDING) * columns + 1])
        if before < 0 or not same_words(rows, before, begin, columns):
            if slope is not None and before >= 0:
                add_to_inputs(
                    rows, before + 4, columns, net, inputs, projected_slope, slope, last_noise, input_dropout
                )  # fmt: skip
            inputs = np.zeros((n + 2 * PADDING, given.shape[1] + net.embed.shape[1]))
            fill_inputs(rows, words, columns, given, net.embed, inputs, own_noise, input_dropout)
            projected = np.zeros((n + 2 * PADDING, N_PLACES * units))
            add_product(inputs, net.project, projected)
            if slope is not None:
                projected_slope = np.zeros(projected.shape)
        before = begin
        if hidden.shape[0] < n + 1:
            hidden, used, pull = np.empty((n + 1, units)), np.empty(n + 1, np.bool_), np.empty((n + 1, units))
        v = 0
        while v < n_nodes:
            # Nodes of one span are adjacent; their rules share hidden layers, one for each split. Rules without a split
            # use layer 0 if they are lexical, and the layer numbered by the span's length if they are unary.
            start, end = int64(rows[node + n_nodes + v]), int64(rows[node + 2 * n_nodes + v])
            used[: end - start + 1] = False
            while v < n_nodes and rows[node + n_nodes + v] == start and rows[node + 2 * n_nodes + v] == end:
                symbol = lexical_start + rows[node + v]
                for e in range(rows[node + 3 * n_nodes + v], rows[node + 3 * n_nodes + v + 1]):
                    rule, value = rows[edge + e], edge_slope[first_edge + e]
                    if rule < 0 or abs(value) < least:
                        continue
                    split = int64(rows[edge + n_edges + e])
                    is_word = rule >= lexical_start
                    layer = 0 if is_word else split - start
                    out = symbol if is_word else rule
                    if not used[layer]:
                        used[layer] = True
                        pull[layer] = 0.0
                        kind = 0 if is_word else 1 if split == end else 2
                        fill_layer(projected, net.shape, kind, start, split, end, hidden[layer])
                        layer_noise = mix(own_noise + (start * n + end) * n + layer) if noise != 0 else noise
                        rectify(hidden[layer], layer_noise, dropout)
                    if edge_score is not None:
                        edge_score[first_edge + e] = dot(hidden[layer], total_out[out])
                    if slope is not None:
                        add_scaled(value, total_out[out], pull[layer])
                        add_scaled(value, hidden[layer], slope.out[symbol])
                        if not is_word:
                            add_scaled(value, hidden[layer], slope.out[rule])
                v += 1
            if slope is not None:
                for layer in range(end - start + 1):
                    if used[layer]:
                        kind = 0 if layer == 0 else 1 if layer == end - start else 2
                        scale = 1.0 / (1.0 - dropout) if noise != 0 else 1.0
                        for h in range(units):
                            pull[layer, h] = pull[layer, h] * scale if hidden[layer, h] > 0.0 else 0.0
                        split = end if kind < 2 else start + layer
                        add_to_layer(projected_slope, slope.shape, kind, start, split, end, pull[layer])
        first_edge += n_edges
        begin += rows[begin]
    if slope is not None and before >= 0:
        add_to_inputs(rows, before + 4, columns, net, inputs, projected_slope, slope, own_noise, input_dropout)


@lean_kernel
def fill_layer(projected: Any, shape: Any, kind: int, start: int, split: int, end: int, layer: Any) -> None:
    """Fill a hidden layer with the sum of the rows for the kind of rule, lengths, and the words at each place."""
    units = layer.shape[0]
    one, other = shape[kind], shape[3 + bucket(end - start)]
    for h in range(units):
        layer[h] = one[h] + other[h]
    if kind == 2:
        one, other = shape[3 + N_LENGTHS + bucket(split - start)], shape[3 + 2 * N_LENGTHS + bucket(end - split)]
        for h in range(units):
            layer[h] += one[h] + other[h]
    for part in range(3 if kind == 2 else 2):
        first, column = anchor(part, start, split, end), part * WINDOW * units
        p0 = projected[first, column : column + units]
        p1 = projected[first + 1, column + units : column + 2 * units]
        p2 = projected[first + 2, column + 2 * units : column + 3 * units]
        p3 = projected[first + 3, column + 3 * units : column + 4 * units]
        for h in range(units):
            layer[h] += p0[h] + p1[h] + p2[h] + p3[h]


@lean_kernel
def add_to_layer(projected: Any, shape: Any, kind: int, start: int, split: int, end: int, layer: Any) -> None:
    """Add the gradient of a hidden layer to those of the kind of rule, lengths, and the words at each place."""
    units = layer.shape[0]
    add_scaled(1.0, layer, shape[kind])
    add_scaled(1.0, layer, shape[3 + bucket(end - start)])
    if kind == 2:
        add_scaled(1.0, layer, shape[3 + N_LENGTHS + bucket(split - start)])
        add_scaled(1.0, layer, shape[3 + 2 * N_LENGTHS + bucket(end - split)])
    for part in range(3 if kind == 2 else 2):
        for offset in range(WINDOW):
            word, column = anchor(part, start, split, end) + offset, (part * WINDOW + offset) * units
            add_scaled(1.0, layer, projected[word, column : column + units])
