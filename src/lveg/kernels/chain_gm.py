"""Tag chains whose rules are mixtures of Gaussians: sums, posteriors and gradients, exact.

A tag's subtype is where three functions meet: the rule into the tag, the word's emission, the rule out of the tag. A
*row* is a component of a rule in with one of the emission: their product is again a Gaussian, times a constant. A
*column* is a component of a rule out. The overlap of every row with every column is all that inference needs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.chain import LOG_2, TagTable, lattice, rescale
from lveg.kernels.gm_overlaps import finish_spherical, overlaps_of
from lveg.kernels.jit import kernel, power_of_two

_TWO_PI = 6.283185307179586
_ONE = np.uint64(1)
MOST_KEPT = 2**18
"""Overlaps of a sentence that are kept for the way back; where there are more, they are worked out again."""


class GmArrays(NamedTuple):
    """Something for every parameter of T tags and R emissions, each rule of K components.

    weight (rules × K): transitions t × T + u, ends, starts, emissions. mean (dim, G) and std, the same or (1, G), have
    a column a Gaussian: K a rule over the tag that transitions and ends leave, then K a rule over the tag that
    transitions and starts reach, then K an emission.
    """

    weight: Any
    mean: Any
    std: Any


class Room(NamedTuple):
    """Where rows and columns are worked out.

    Rows and overlaps are kept for the way back, unless a sentence has too many of them. The other arrays serve one tag
    of one word at a time: the two Gaussians of each row (in_ the rule into the tag, word_ the emission), where the
    first of them are from (source), the columns, and what is made of them.
    """

    row_mean: Any
    row_var: Any
    constant: Any
    overlap: Any
    in_mean: Any
    in_var: Any
    word_mean: Any
    word_var: Any
    source: Any
    tail: Any
    above: Any
    pull: Any
    bend: Any
    inverse: Any
    posterior: Any
    excess: Any
    column: Any
    head: Any
    square: Any
    product: Any
    power: Any
    power_bits: Any


@kernel
def make_room(packed: Any, table: TagTable, n_tags: int, width: int, dim: int, n_var: int) -> Room:
    """Room for any of the packed sentences."""
    ptr = table.ptr
    rows, columns = n_tags * width * width, n_tags * width
    most, at = 0, 0
    while at < packed.shape[0]:
        n, cells, before, here = packed[at], 0, 0, 1
        for i in range(n + 1):
            after = 1 if i == n else ptr[packed[at + 1 + i] + 1] - ptr[packed[at + 1 + i]]
            cells += before * here * after
            before, here = here, after
        most = max(most, cells)
        at += 1 + 2 * n
    kept_cells = max(rows * columns, min(most * width**3, MOST_KEPT))
    kept_rows = max(rows, kept_cells // width)
    power = np.empty(rows * columns)
    return Room(
        np.empty((dim, kept_rows)), np.empty((n_var, kept_rows)), np.empty(kept_rows), np.empty(kept_cells),
        np.empty((dim, rows)), np.empty((n_var, rows)), np.empty((dim, rows)), np.empty((n_var, rows)),
        np.empty(rows, np.int64), np.empty(rows), np.empty(rows), np.empty((dim, rows)), np.empty((n_var, rows)),
        np.empty(rows), np.empty(rows), np.empty(rows), np.empty(columns, np.int64), np.empty(columns),
        np.empty(rows * columns), np.empty(rows * columns), power, power.view(np.int64),
    )  # fmt: skip


@kernel
def run(
    packed: Any, is_given: bool, sign: float, table: TagTable, n_tags: int, width: int, weight: GmArrays,
    slope: GmArrays, share: Any, pair: Any,
) -> float:  # fmt: skip
    """The summed log Z of packed sentences, one after the other; adds sign × its gradient to `slope`.

    weight holds weights, means and variances; slope the derivatives in log weights, means and log standard deviations.
    sign 0 for sums alone. share (n, T) and pair (n - 1, T, T), for one sentence, get the posteriors of tags and of
    neighbours; empty for none.
    """
    room = make_room(packed, table, n_tags, width, weight.mean.shape[0], weight.std.shape[0])
    total, at = 0.0, 0
    while at < packed.shape[0]:
        total += sentence(packed, at, is_given, sign, table, n_tags, width, weight, slope, room, share, pair)
        at += 1 + 2 * packed[at]
    return total


@kernel
def sentence(
    packed: Any, at: int, is_given: bool, sign: float, table: TagTable, n_tags: int, width: int, weight: GmArrays,
    slope: GmArrays, room: Room, share: Any, pair: Any,
) -> float:  # fmt: skip
    """log Z of the sentence at this place, -inf where it has no tags; `run` tells the rest."""
    n = packed[at]
    if n == 0:
        return 0.0
    begin, tag, rule = lattice(table, packed, at, is_given)
    layer = np.zeros(n + 2, np.int64)
    for i in range(n + 1):
        layer[i + 1] = layer[i] + (begin[i + 1] - begin[i]) * (begin[i + 2] - begin[i + 1]) * width
    kept = places(n, begin, width)
    inside = np.zeros(layer[n + 1])
    scale = np.zeros(n + 1, np.int64)
    log_z = forward(n, begin, tag, rule, layer, kept, n_tags, width, weight, room, inside, scale)
    if (sign != 0.0 or share.shape[0] > 0) and -math.inf < log_z < math.inf:
        backward(
            n, begin, tag, rule, layer, kept, n_tags, width, weight, room, inside, scale, sign, slope, share, pair
        )  # fmt: skip
    return log_z


@kernel
def places(n: int, begin: Any, width: int) -> Any:
    """(2, tags of the lattice): where the rows and the overlaps of each tag begin; 0 for all that are not kept."""
    kept = np.zeros((2, begin[n + 2]), np.int64)
    n_rows, n_cells = 0, 0
    for i in range(1, n + 1):
        rows = (begin[i] - begin[i - 1]) * width * width
        for y in range(begin[i], begin[i + 1]):
            kept[0, y], kept[1, y] = n_rows, n_cells
            n_rows += rows
            n_cells += rows * (begin[i + 2] - begin[i + 1]) * width
    if max(n_cells, n_rows * width) > MOST_KEPT:
        kept[:] = 0
    return kept


@kernel
def link(i: int, n: int, t: int, u: int, n_tags: int) -> int:
    """The rule between word i, with tag t, and the next, with tag u: a start, a transition or an end."""
    if i == 0:
        return n_tags * n_tags + n_tags + u
    return n_tags * n_tags + t if i == n else t * n_tags + u


@kernel
def reach(rule: int, n_tags: int, width: int) -> int:
    """The first column of the Gaussians over the tag that a transition or start reaches."""
    first = (n_tags * n_tags + n_tags) * width
    return first + (rule if rule < n_tags * n_tags else rule - n_tags) * width


@kernel
def forward(
    n: int, begin: Any, tag: Any, rule: Any, layer: Any, kept: Any, n_tags: int, width: int, weight: GmArrays,
    room: Room, inside: Any, scale: Any,
) -> float:  # fmt: skip
    """log Z; fills inside with what leads up to each component of each link  [math: tag-inside].

    The component k of the link from the x-th tag of word i to the y-th tag of the next is in place
    layer[i] + (x × tags of the next + y) × K + k.
    """
    link_weight = weight.weight
    column, constant, tail, overlap = room.column, room.constant, room.tail, room.overlap
    for y in range(begin[1], begin[2]):
        first = link(0, n, 0, tag[y], n_tags) * width
        for k in range(width):
            inside[(y - begin[1]) * width + k] = link_weight[first + k]
    total = 0
    for i in range(1, n + 1):
        after = (begin[i + 2] - begin[i + 1]) * width
        for y in range(begin[i], begin[i + 1]):
            take_columns(i, n, y, begin, tag, n_tags, width, column)
            n_rows = meet(i, n, y, begin, tag, rule, kept, n_tags, width, weight, room)
            take_tail(i, y, begin, layer, width, inside, tail)
            rows, cell, to = np.uint64(kept[0, y]), np.uint64(kept[1, y]), layer[i] + (y - begin[i]) * after
            for r in range(n_rows):
                tail[r] *= constant[rows + r]
            for c in range(after):
                value = 0.0
                for r in range(n_rows):
                    value += tail[r] * overlap[cell + r]
                cell += n_rows
                inside[to + c] = value * link_weight[column[c]]
        scale[i] = rescale(inside, layer[i], layer[i + 1])
        total += scale[i]
    z = 0.0
    for c in range(layer[n], layer[n + 1]):
        z += inside[c]
    return math.log(z) + total * LOG_2 if z > 0.0 else -math.inf


@kernel
def take_tail(i: int, y: int, begin: Any, layer: Any, width: int, value: Any, tail: Any) -> None:
    """Spread the values of the links into a tag of word i over the rows: one a component in, the same for all of the
    emission."""
    r, here = 0, begin[i + 1] - begin[i]
    for x in range(begin[i] - begin[i - 1]):
        of = layer[i - 1] + (x * here + y - begin[i]) * width
        for k in range(width):
            for _ in range(width):
                tail[r] = value[of + k]
                r += 1


@kernel
def take_columns(i: int, n: int, y: int, begin: Any, tag: Any, n_tags: int, width: int, column: Any) -> None:
    """Fill column with the components of the rules out of a tag of word i."""
    c = 0
    for z in range(begin[i + 1], begin[i + 2]):
        first = link(i, n, tag[y], tag[z], n_tags) * width
        for k in range(width):
            column[c] = first + k
            c += 1


@kernel
def take_factors(
    i: int, n: int, y: int, begin: Any, tag: Any, rule: Any, n_tags: int, width: int, mean: Any, var: Any, source: Any,
    in_mean: Any, in_var: Any, word_mean: Any, word_var: Any,
) -> Any:  # fmt: skip
    """Fill in_ and word_ with the Gaussians of each row, source with those of the rules in; the number of rows."""
    word = (2 * (n_tags * n_tags + n_tags) + rule[y]) * width
    count = 0
    for x in range(begin[i - 1], begin[i]):
        first = reach(link(i - 1, n, tag[x], tag[y], n_tags), n_tags, width)
        for k in range(width):
            source[count] = first + k
            count += 1
    for d in range(mean.shape[0]):
        r = np.uint64(0)
        for s in range(count):
            value = mean[d, source[s]]
            for j in range(word, word + width):
                in_mean[d, r] = value
                word_mean[d, r] = mean[d, j]
                r += _ONE
    for g in range(var.shape[0]):
        r = np.uint64(0)
        for s in range(count):
            value = var[g, source[s]]
            for j in range(word, word + width):
                in_var[g, r] = value
                word_var[g, r] = var[g, j]
                r += _ONE
    return np.uint64(count * width)


@kernel
def meet(
    i: int, n: int, y: int, begin: Any, tag: Any, rule: Any, kept: Any, n_tags: int, width: int, weight: GmArrays,
    room: Room,
) -> Any:  # fmt: skip
    """Fill the rows and overlaps of a tag of word i, whose columns are there; its rows  [math: tag-overlap]."""
    mean, var, square, product, power, power_bits = (
        weight.mean, weight.std, room.square, room.product, room.power, room.power_bits,
    )  # fmt: skip
    rows, n_columns = np.uint64(kept[0, y]), (begin[i + 2] - begin[i + 1]) * width
    n_rows = take_factors(
        i, n, y, begin, tag, rule, n_tags, width, mean, var, room.source, room.in_mean, room.in_var, room.word_mean,
        room.word_var,
    )  # fmt: skip
    multiply(
        n_rows, rows, room.in_mean, room.in_var, room.word_mean, room.word_var, room.row_mean, room.row_var,
        room.inverse, square, product,
    )  # fmt: skip
    overlaps_of(square, product, power, power_bits, n_rows, room.constant, kept[0, y])
    weigh(n_rows, rows, width, weight.weight, (n_tags * n_tags + 2 * n_tags + rule[y]) * width, room.constant)
    distances(n_rows, n_columns, rows, room.column, mean, var, room.row_mean, room.row_var, square, product)
    count = n_rows * np.uint64(n_columns)
    if var.shape[0] < mean.shape[0]:
        finish_spherical(square, product, power, count, mean.shape[0])
    overlaps_of(square, product, power, power_bits, count, room.overlap, kept[1, y])
    return n_rows


@kernel
def multiply(
    n_rows: Any, rows: Any, in_mean: Any, in_var: Any, word_mean: Any, word_var: Any, row_mean: Any, row_var: Any,
    inverse: Any, square: Any, product: Any,
) -> None:  # fmt: skip
    """The products of the Gaussians of each row; square and product for the overlaps of the two."""
    dim, n_var = in_mean.shape[0], in_var.shape[0]
    group = dim // n_var
    for r in range(n_rows):
        square[r] = 0.0
    for r in range(n_rows):
        product[r] = 1.0
    for g in range(n_var):
        for r in range(n_rows):
            inverse[r] = 1.0 / (in_var[g, r] + word_var[g, r])
        for r in range(n_rows):
            row_var[g, rows + r] = in_var[g, r] * word_var[g, r] * inverse[r]
        for d in range(g * group, (g + 1) * group):
            for r in range(n_rows):
                row_mean[d, rows + r] = (in_mean[d, r] * word_var[g, r] + word_mean[d, r] * in_var[g, r]) * inverse[r]
            for r in range(n_rows):
                square[r] += (in_mean[d, r] - word_mean[d, r]) * (in_mean[d, r] - word_mean[d, r]) * inverse[r]
            for r in range(n_rows):
                product[r] *= _TWO_PI * (in_var[g, r] + word_var[g, r])


@kernel
def weigh(n_rows: Any, rows: Any, width: int, weights: Any, at: int, constant: Any) -> None:
    """Multiply the constants of rows with the weights of the emission's components."""
    r = rows
    for _ in range(n_rows // np.uint64(width)):
        for j in range(at, at + width):
            constant[r] *= weights[j]
            r += _ONE


@kernel
def distances(
    n_rows: Any, n_columns: int, rows: Any, column: Any, mean: Any, var: Any, row_mean: Any, row_var: Any, square: Any,
    product: Any,
) -> None:  # fmt: skip
    """Of all columns and rows, the squared distances over variances, and products of those variances times 2 pi.

    Spherical ones are left for `finish_spherical`. Loops with one store each become vector instructions; the rows of a
    column are many, its dimensions few.
    """
    dim, n_var = mean.shape[0], var.shape[0]
    at = np.uint64(0)
    for c in range(n_columns):
        of = column[c]
        if n_var < dim:
            v = var[0, of]
            for r in range(n_rows):
                product[at + r] = row_var[0, rows + r] + v
            for r in range(n_rows):
                square[at + r] = 0.0
            for d in range(dim):
                m = mean[d, of]
                for r in range(n_rows):
                    square[at + r] += (row_mean[d, rows + r] - m) * (row_mean[d, rows + r] - m)
        else:
            for r in range(n_rows):
                square[at + r] = 0.0
            for r in range(n_rows):
                product[at + r] = 1.0
            for d in range(dim):
                m, v = mean[d, of], var[d, of]
                for r in range(n_rows):
                    difference = row_mean[d, rows + r] - m
                    square[at + r] += difference * difference / (row_var[d, rows + r] + v)
                for r in range(n_rows):
                    product[at + r] *= _TWO_PI * (row_var[d, rows + r] + v)
        at += n_rows


@kernel
def backward(
    n: int, begin: Any, tag: Any, rule: Any, layer: Any, kept: Any, n_tags: int, width: int, weight: GmArrays,
    room: Room, inside: Any, scale: Any, sign: float, slope: GmArrays, share: Any, pair: Any,
) -> None:  # fmt: skip
    """Posteriors and gradients, from the last word to the first  [math: tag-outside, tag-gradient]."""
    link_weight, link_slope = weight.weight, slope.weight
    column, constant, tail, above, head, overlap = (
        room.column,
        room.constant,
        room.tail,
        room.above,
        room.head,
        room.overlap,
    )
    outside = np.zeros(inside.shape[0])  # times the layer's scale over Z: inside × outside is a posterior
    z = 0.0
    for c in range(layer[n], layer[n + 1]):
        z += inside[c]
    for c in range(layer[n], layer[n + 1]):
        outside[c] = 1.0 / z
    emissions = (n_tags * n_tags + 2 * n_tags) * width
    is_kept = kept[1, begin[n + 1] - 1] > 0  # a sentence of one word and tag begins at 0, and is soon worked out again
    for i in range(n, -1, -1):
        use_links(i, n, begin, tag, layer, n_tags, width, inside, outside, sign, link_slope, share, pair)
        if i == 0:
            break
        factor = power_of_two(-scale[i])
        after, here = (begin[i + 2] - begin[i + 1]) * width, begin[i + 1] - begin[i]
        n_rows = np.uint64((begin[i] - begin[i - 1]) * width * width)
        for y in range(begin[i], begin[i + 1]):
            take_columns(i, n, y, begin, tag, n_tags, width, column)
            if not is_kept:
                meet(i, n, y, begin, tag, rule, kept, n_tags, width, weight, room)
            rows, cell, of = np.uint64(kept[0, y]), np.uint64(kept[1, y]), layer[i] + (y - begin[i]) * after
            for r in range(n_rows):
                above[r] = 0.0
            for c in range(after):
                value = outside[of + c] * factor * link_weight[column[c]]
                head[c] = value
                for r in range(n_rows):
                    above[r] += value * overlap[cell + r]
                cell += n_rows
            for r in range(n_rows):
                above[r] *= constant[rows + r]
            r = 0
            for x in range(begin[i] - begin[i - 1]):
                to = layer[i - 1] + (x * here + y - begin[i]) * width
                for k in range(width):
                    value = 0.0
                    for _ in range(width):
                        value += above[r]
                        r += 1
                    outside[to + k] = value
            if sign != 0.0:
                take_tail(i, y, begin, layer, width, inside, tail)
                for r in range(n_rows):
                    above[r] *= sign * tail[r]
                for r in range(n_rows):
                    tail[r] *= sign * constant[rows + r]
                for j in range(width):
                    link_slope[emissions + rule[y] * width + j] += every(above, j, n_rows, width)
                column_gradients(kept[0, y], kept[1, y], n_rows, after, weight, slope, room)
                row_gradients(i, n, y, begin, tag, rule, n_tags, width, weight, slope, room)


@kernel
def every(value: Any, first: int, count: Any, step: int) -> float:
    """The sum of value[first], value[first + step] and so on, of the first `count`."""
    total = 0.0
    for r in range(first, count, step):
        total += value[r]
    return total


@kernel
def use_links(
    i: int, n: int, begin: Any, tag: Any, layer: Any, n_tags: int, width: int, inside: Any, outside: Any, sign: float,
    link_slope: Any, share: Any, pair: Any,
) -> None:  # fmt: skip
    """Enter the posteriors of the links from word i to the next."""
    at = layer[i]
    for x in range(begin[i], begin[i + 1]):
        for y in range(begin[i + 1], begin[i + 2]):
            first = link(i, n, tag[x], tag[y], n_tags) * width
            total = 0.0
            for k in range(width):
                posterior = inside[at] * outside[at]
                total += posterior
                if sign != 0.0:
                    link_slope[first + k] += sign * posterior
                at += 1
            if share.shape[0] > 0 and i < n:
                share[i, tag[y]] += total
            if pair.shape[0] > 0 and 0 < i < n:
                pair[i - 1, tag[x], tag[y]] += total


@kernel
def column_gradients(
    row: int, cell: int, n_rows: Any, n_columns: int, weight: GmArrays, slope: GmArrays, room: Room
) -> None:
    """The gradients of the rules out of a tag; fills pull and bend, the derivatives in means and variances of rows.

    room.tail: sign × inside × constant of each row; room.head: the outside of each column.
    """
    mean, var, mean_slope, std_slope = weight.mean, weight.std, slope.mean, slope.std
    row_mean, row_var, tail, head, column = room.row_mean, room.row_var, room.tail, room.head, room.column
    pull, bend, inverse, posterior, overlap = room.pull, room.bend, room.inverse, room.posterior, room.overlap
    excess = room.excess
    dim, n_var = mean.shape[0], var.shape[0]
    group = dim // n_var
    pull[:, : np.int64(n_rows)] = 0.0
    bend[:, : np.int64(n_rows)] = 0.0
    rows, at = np.uint64(row), np.uint64(cell)
    for c in range(n_columns):
        value, of = head[c], column[c]
        for g in range(n_var):
            v = var[g, of]
            for r in range(n_rows):
                inverse[r] = 1.0 / (row_var[g, rows + r] + v)
            for r in range(n_rows):
                posterior[r] = value * tail[r] * overlap[at + r] * inverse[r]
            for r in range(n_rows):
                excess[r] = -group
            for d in range(g * group, (g + 1) * group):
                m = mean[d, of]
                total = 0.0
                for r in range(n_rows):
                    force = (m - row_mean[d, rows + r]) * posterior[r]
                    total += force
                    pull[d, r] += force
                mean_slope[d, of] -= total
                for r in range(n_rows):
                    excess[r] += (m - row_mean[d, rows + r]) * (m - row_mean[d, rows + r]) * inverse[r]
            total = 0.0
            for r in range(n_rows):
                force = posterior[r] * excess[r]
                total += force
                bend[g, r] += force
            std_slope[g, of] += v * total
        at += n_rows


@kernel
def row_gradients(
    i: int, n: int, y: int, begin: Any, tag: Any, rule: Any, n_tags: int, width: int, weight: GmArrays,
    slope: GmArrays, room: Room,
) -> None:  # fmt: skip
    """The gradients of the rules into a tag and of its emission, from those of their products  [math: tag-gradient].

    room.above: sign × the posterior of each row.
    """
    mean_slope, std_slope = slope.mean, slope.std
    in_mean, in_var, word_mean, word_var = room.in_mean, room.in_var, room.word_mean, room.word_var
    pull, bend, above, inverse, excess, lean = room.pull, room.bend, room.above, room.inverse, room.excess, room.tail
    force, source = room.posterior, room.source
    dim, n_var = in_mean.shape[0], in_var.shape[0]
    group = dim // n_var
    n_rows = take_factors(
        i, n, y, begin, tag, rule, n_tags, width, weight.mean, weight.std, source, in_mean, in_var, word_mean, word_var
    )  # fmt: skip
    word = (2 * (n_tags * n_tags + n_tags) + rule[y]) * width
    for g in range(n_var):
        for r in range(n_rows):
            inverse[r] = 1.0 / (in_var[g, r] + word_var[g, r])
        for r in range(n_rows):
            excess[r] = -group * above[r] * inverse[r]
        for r in range(n_rows):
            lean[r] = 0.0
        for d in range(g * group, (g + 1) * group):
            for r in range(n_rows):
                difference = (word_mean[d, r] - in_mean[d, r]) * inverse[r]
                force[r] = above[r] * difference + pull[d, r] * word_var[g, r] * inverse[r]
            give_sources(force, n_rows, width, source, mean_slope, d)
            for r in range(n_rows):
                difference = (word_mean[d, r] - in_mean[d, r]) * inverse[r]
                force[r] = pull[d, r] * in_var[g, r] * inverse[r] - above[r] * difference
            for j in range(width):
                mean_slope[d, word + j] += every(force, j, n_rows, width)
            for r in range(n_rows):
                difference = (word_mean[d, r] - in_mean[d, r]) * inverse[r]
                excess[r] += above[r] * difference * difference
            for r in range(n_rows):
                lean[r] += 2.0 * pull[d, r] * (word_mean[d, r] - in_mean[d, r]) * inverse[r] * inverse[r]
        for r in range(n_rows):
            turn = word_var[g, r] * inverse[r]
            force[r] = in_var[g, r] * (excess[r] + lean[r] * word_var[g, r] + bend[g, r] * turn * turn)
        give_sources(force, n_rows, width, source, std_slope, g)
        for r in range(n_rows):
            turn = in_var[g, r] * inverse[r]
            force[r] = word_var[g, r] * (excess[r] - lean[r] * in_var[g, r] + bend[g, r] * turn * turn)
        for j in range(width):
            std_slope[g, word + j] += every(force, j, n_rows, width)


@kernel
def give_sources(force: Any, n_rows: Any, width: int, source: Any, slope: Any, d: int) -> None:
    """Add what the rows have to the rules into the tag: one row for each component of the emission."""
    r = np.uint64(0)
    for s in range(n_rows // np.uint64(width)):
        total = 0.0
        for _ in range(width):
            total += force[r]
            r += np.uint64(1)
        slope[d, source[s]] += total
