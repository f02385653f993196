"""Tag chains whose rules are mixtures of Gaussians: sums, posteriors and gradients, exact.

At a tag's subtype three functions meet: the rule into the tag, the word's emission, and the rule out of the tag. A
*row* is a component of a rule in combined with one of the emission: their product is again a Gaussian, times a
constant. A *column* is a component of a rule out. Inference needs only the overlap of every row with every column.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.chain import LOG_2, Posteriors, count_pairs, in_use, rescale
from lveg.kernels.gm_overlaps import overlaps_of
from lveg.kernels.jit import ZERO, inner_kernel, kernel, power_of_two

_TWO_PI = 6.283185307179586
_ONE = np.uint64(1)
_KEPT = 2**22  # overlaps; those of longer sentences are recomputed in both passes


class GmArrays(NamedTuple):
    """Values for every parameter of T tags and R emissions, with K components per rule.

    weight (rules × K): transitions t × T + u, ends, starts, emissions. mean (dim, G) and std, the same or (1, G), have
    one column per Gaussian: K per rule over the tag that transitions and ends leave, then K per rule over the tag that
    transitions and starts reach, then K per emission.
    """

    weight: Any
    mean: Any
    std: Any


class Model(NamedTuple):
    """A model with `width` components per rule: weights, means and variances; factor: of the entries in use (`run`)."""

    n_tags: int
    width: int
    weight: GmArrays
    factor: Any


class Lattice(NamedTuple):
    """A sentence of n words: word i, from 1, may have tags tag[begin[i] : begin[i + 1]] with emissions `rule`.

    Positions 0 and n + 1 are start and end and have one entry each. source: the packed sentence's number of each entry.
    layer: component k of the link from the x-th tag of word i to the y-th tag of the next is at index layer[i] + (x ×
    tags of the next + y) × K + k.
    """

    n: int
    begin: Any
    tag: Any
    rule: Any
    source: Any
    layer: Any


class Room(NamedTuple):
    """Scratch arrays for the rows and columns of one tag of one word, as large as the largest of them.

    If is_kept, constant and overlap of all tags of the sentence are kept; those of the lattice's y-th entry begin at
    constant_at[y] and overlap_at[y].
    """

    is_kept: bool
    constant_at: Any
    overlap_at: Any
    row_mean: Any
    row_var: Any
    constant: Any
    tail: Any
    above: Any
    pull: Any
    var_pull: Any
    inverse: Any
    posterior: Any
    column: Any
    head: Any
    square: Any
    product: Any
    power: Any
    power_bits: Any
    overlap: Any


@kernel
def make_room(n: int, begin: Any, width: int, dim: int, n_var: int, may_keep: bool) -> Room:
    """Scratch arrays for the tags of a sentence."""
    n_rows, n_columns, largest, constants, overlaps = 0, 0, 0, 0, 0
    for i in range(1, n + 1):
        rows, columns = (begin[i] - begin[i - 1]) * width * width, (begin[i + 2] - begin[i + 1]) * width
        n_rows, n_columns, largest = max(n_rows, rows), max(n_columns, columns), max(largest, rows * columns)
        constants += rows * (begin[i + 1] - begin[i])
        overlaps += rows * columns * (begin[i + 1] - begin[i])
    is_kept = may_keep and overlaps <= _KEPT
    if not is_kept:
        constants, overlaps = n_rows, max(largest, n_rows)
    constant_at, overlap_at = np.zeros(begin[n + 2], np.int64), np.zeros(begin[n + 2], np.int64)
    if is_kept:
        for i in range(1, n + 1):
            rows, columns = (begin[i] - begin[i - 1]) * width * width, (begin[i + 2] - begin[i + 1]) * width
            for y in range(begin[i], begin[i + 1]):
                constant_at[y + 1] = constant_at[y] + rows
                overlap_at[y + 1] = overlap_at[y] + rows * columns
    size = max(largest, n_rows)
    power = np.empty(size)
    return Room(
        is_kept, constant_at, overlap_at,
        np.empty((dim, n_rows)), np.empty((n_var, n_rows)), np.empty(constants), np.empty(n_rows), np.empty(n_rows),
        np.empty((dim, n_rows)), np.empty((n_var, n_rows)), np.empty(n_rows), np.empty(n_rows),
        np.empty(n_columns, np.int64), np.empty(n_columns), np.empty(size), np.empty(size), power,
        power.view(np.int64), np.empty(overlaps),
    )  # fmt: skip


@kernel
def run(
    packed: Any, is_given: bool, sign: float, n_tags: int, width: int, weight: GmArrays, slope: GmArrays,
    factor: Any, factor_slope: Any, found: Posteriors,
) -> float:  # fmt: skip
    """The summed log Z of packed sentences, one after the other; adds sign × its gradient to `slope`.

    weight contains weights, means and variances; slope the derivatives with respect to log weights, means and log
    standard deviations. sign: 0 for sums alone. factor: empty, or the factor of each component of the emission of each
    entry in use, (entries in use, K); an entry without emission has K components of weight 1/K that do not depend on
    the subtype. factor_slope: empty, or receives sign × the posterior of each component of each entry, (entries, K).
    found: receives the requested results; its shares and pairs must be zero, and are not available for given tags.
    """
    total, number = 0.0, 0
    at, entries, used, pairs = ZERO, ZERO, ZERO, ZERO
    while at < packed.shape[0]:
        model = Model(n_tags, width, weight, factor[used:])
        value = sentence(
            packed, at, is_given, sign, model, slope, factor_slope[entries:], found.share[entries:], found.pair[pairs:]
        )
        total += value
        if found.log_z.shape[0] > 0:
            found.log_z[number] = value
        if factor.shape[0] > 0:
            used += count_in_use(packed, at, is_given)
        entries += packed[at + 2]
        pairs += count_pairs(packed, at)
        number += 1
        at += packed[at]
    return total


@kernel
def sentence(
    packed: Any, at: int, is_given: bool, sign: float, model: Model, slope: GmArrays, factor_slope: Any, share: Any,
    pair: Any,
) -> float:  # fmt: skip
    """log Z of the sentence at this position, -inf if it has no tags; see `run`."""
    n = packed[at + 1]
    if n == 0:
        return 0.0
    lattice = make_lattice(packed, at, is_given, model.width)
    is_whole = sign != 0.0 or share.shape[0] > 0
    mean, var = model.weight.mean, model.weight.std
    room = make_room(n, lattice.begin, model.width, mean.shape[0], var.shape[0], is_whole)
    inside = np.zeros(lattice.layer[n + 1])
    scale = np.zeros(n + 1, np.int64)
    log_z = forward(lattice, model, room, inside, scale)
    if is_whole and -math.inf < log_z < math.inf:
        backward(lattice, model, room, inside, scale, sign, slope, factor_slope, share, pair)
    return log_z


@kernel
def make_lattice(packed: Any, at: int, is_given: bool, width: int) -> Lattice:
    """The lattice of the sentence at this position.

    With is_given, a word with a given tag has only that one, or none if it cannot have it.
    """
    n, m = packed[at + 1], packed[at + 2]
    tags = at + 4 + 2 * n
    begin = np.zeros(n + 3, np.int64)
    tag, rule, source = np.zeros(m + 2, np.int64), np.zeros(m + 2, np.int64), np.zeros(m + 2, np.int64)
    size = 1
    for i in range(n):
        begin[i + 1] = size
        low, high = in_use(packed, at, i, is_given)
        for entry in range(low, high):
            tag[size] = packed[tags + entry]
            rule[size] = packed[tags + m + entry]
            source[size] = entry
            size += 1
    begin[n + 1] = size
    begin[n + 2] = size + 1
    layer = np.zeros(n + 2, np.int64)
    for i in range(n + 1):
        layer[i + 1] = layer[i] + (begin[i + 1] - begin[i]) * (begin[i + 2] - begin[i + 1]) * width
    return Lattice(n, begin, tag, rule, source, layer)


@inner_kernel
def count_in_use(packed: Any, at: int, is_given: bool) -> int:
    """The number of entries in use of the sentence at this position."""
    used = 0
    for i in range(packed[at + 1]):
        low, high = in_use(packed, at, i, is_given)
        used += high - low
    return used


@inner_kernel
def link(i: int, n: int, t: int, u: int, n_tags: int) -> int:
    """The rule between word i, with tag t, and the next, with tag u: a start, a transition or an end."""
    if i == 0:
        return n_tags * n_tags + n_tags + u
    return n_tags * n_tags + t if i == n else t * n_tags + u


@inner_kernel
def reach(rule: int, n_tags: int, width: int) -> int:
    """The first column of the Gaussians over the tag that a transition or start reaches."""
    first = (n_tags * n_tags + n_tags) * width
    return first + (rule if rule < n_tags * n_tags else rule - n_tags) * width


@inner_kernel
def forward(lattice: Lattice, model: Model, room: Room, inside: Any, scale: Any) -> float:
    """log Z; fills inside with the inside score of each component of each link  [math: tag-inside]."""
    n, begin, tag, _, _, layer = lattice
    n_tags, width, link_weight = model.n_tags, model.width, model.weight.weight
    constant, tail, column, overlap = room.constant, room.tail, room.column, room.overlap
    for y in range(begin[1], begin[2]):
        first = link(0, n, 0, tag[y], n_tags) * width
        for k in range(width):
            inside[(y - begin[1]) * width + k] = link_weight[first + k]
    total = 0
    for i in range(1, n + 1):
        after = (begin[i + 2] - begin[i + 1]) * width
        for y in range(begin[i], begin[i + 1]):
            n_rows = meet(i, y, lattice, model, room)
            take_tail(i, y, lattice, width, inside, tail)
            own, first_overlap = room.constant_at[y], room.overlap_at[y]
            for r in range(n_rows):
                tail[r] *= constant[own + r]
            to = layer[i] + (y - begin[i]) * after
            for c in range(after):
                value, at = 0.0, first_overlap + c * n_rows
                for r in range(n_rows):
                    value += tail[r] * overlap[at + r]
                inside[to + c] = value * link_weight[column[c]]
        scale[i] = rescale(inside, layer[i], layer[i + 1])
        total += scale[i]
    z = 0.0
    for c in range(layer[n], layer[n + 1]):
        z += inside[c]
    return math.log(z) + total * LOG_2 if z > 0.0 else -math.inf


@inner_kernel
def take_tail(i: int, y: int, lattice: Lattice, width: int, value: Any, tail: Any) -> None:
    """Copy the values of the links into a tag of word i to the rows, repeated for each component of the emission."""
    begin, layer = lattice.begin, lattice.layer
    r, here = 0, begin[i + 1] - begin[i]
    for x in range(begin[i] - begin[i - 1]):
        of = layer[i - 1] + (x * here + y - begin[i]) * width
        for k in range(width):
            for _ in range(width):
                tail[r] = value[of + k]
                r += 1


@inner_kernel
def meet(i: int, y: int, lattice: Lattice, model: Model, room: Room) -> int:
    """Fill the rows, columns and overlaps of a tag of word i; the number of rows  [math: tag-overlap]."""
    begin, width, weight = lattice.begin, model.width, model.weight
    make_rows(i, y, lattice, model, room)
    n_rows: int = (begin[i] - begin[i - 1]) * width * width
    n_columns = make_columns(i, y, lattice, model, room)
    if weight.mean.shape[0] == 3 and weight.std.shape[0] == 1:
        three_distances(n_rows, n_columns, weight, room)
    else:
        for c in range(n_columns):
            distances(n_rows, c, room.column[c], weight, room)
    count, at = n_columns * n_rows, room.overlap_at[y]
    overlaps_of(room.square, room.product, room.power, room.power_bits, count, room.overlap, at)
    return n_rows


@inner_kernel
def make_columns(i: int, y: int, lattice: Lattice, model: Model, room: Room) -> int:
    """Number the components of the rules out of a tag of word i; returns how many there are."""
    n, begin, tag, _, _, _ = lattice
    n_tags, width = model.n_tags, model.width
    column, c = room.column, 0
    for z in range(begin[i + 1], begin[i + 2]):
        first = link(i, n, tag[y], tag[z], n_tags) * width
        for k in range(first, first + width):
            column[c] = k
            c += 1
    return c


@inner_kernel
def distances(n_rows: int, c: int, of: int, weight: GmArrays, room: Room) -> None:
    """Squared distances over summed variances, and products of those variances times 2 pi, of a column and all rows.

    Loops with one store each are vectorised; there are many rows per column, but few dimensions.
    """
    mean, var = weight.mean, weight.std
    row_mean, row_var, square, product, inverse = room.row_mean, room.row_var, room.square, room.product, room.inverse
    dim, n_var = mean.shape[0], var.shape[0]
    group = dim // n_var
    at = np.uint64(c * n_rows)
    for g in range(n_var):
        v = var[g, of]
        for r in range(np.uint64(n_rows)):
            inverse[r] = 1.0 / (row_var[g, r] + v)
        for d in range(g * group, (g + 1) * group):
            m = mean[d, of]
            if d == 0:
                for r in range(np.uint64(n_rows)):
                    square[at + r] = (row_mean[d, r] - m) * (row_mean[d, r] - m) * inverse[r]
                for r in range(np.uint64(n_rows)):
                    product[at + r] = _TWO_PI * (row_var[g, r] + v)
            else:
                for r in range(np.uint64(n_rows)):
                    square[at + r] += (row_mean[d, r] - m) * (row_mean[d, r] - m) * inverse[r]
                for r in range(np.uint64(n_rows)):
                    product[at + r] *= _TWO_PI * (row_var[g, r] + v)


@inner_kernel
def three_distances(n_rows: int, n_columns: int, weight: GmArrays, room: Room) -> None:
    """`distances` of all columns, for spherical Gaussians in three dimensions: fewer and longer loops."""
    mean, var, column = weight.mean, weight.std, room.column
    row_mean, row_var, square, product = room.row_mean, room.row_var, room.square, room.product
    for c in range(n_columns):
        v, m0, m1, m2 = var[0, column[c]], mean[0, column[c]], mean[1, column[c]], mean[2, column[c]]
        at = np.uint64(c * n_rows)
        for r in range(np.uint64(n_rows)):
            product[at + r] = row_var[0, r] + v
        for r in range(np.uint64(n_rows)):
            d0, d1, d2 = row_mean[0, r] - m0, row_mean[1, r] - m1, row_mean[2, r] - m2
            square[at + r] = d0 * d0 + d1 * d1 + d2 * d2
    for p in range(np.uint64(n_rows * n_columns)):
        square[p] /= product[p]
    for p in range(np.uint64(n_rows * n_columns)):
        product[p] = (_TWO_PI * product[p]) * (_TWO_PI * product[p]) * (_TWO_PI * product[p])


@inner_kernel
def make_rows(i: int, y: int, lattice: Lattice, model: Model, room: Room) -> None:
    """The products of the components into a tag of word i with those of its emission, and their constants."""
    n, begin, tag, rule, _, _ = lattice
    n_tags, width, weight, factor = model
    mean, var, weights = weight.mean, weight.std, weight.weight
    row_mean, row_var, constant, square, product = room.row_mean, room.row_var, room.constant, room.square, room.product
    n_var, group = np.uint64(var.shape[0]), np.uint64(mean.shape[0] // var.shape[0])
    emission = 2 * (n_tags * n_tags + n_tags) * width + rule[y] * width
    n_rows, r = (begin[i] - begin[i - 1]) * width * width, np.uint64(0)  # unsigned indices cannot be negative
    own, at = room.constant_at[y], (n_tags * n_tags + 2 * n_tags + rule[y]) * width
    if rule[y] < 0:
        bare_rows(i, y, lattice, model, room)
    else:
        for x in range(begin[i - 1], begin[i]):
            first = reach(link(i - 1, n, tag[x], tag[y], n_tags), n_tags, width)
            for k in range(np.uint64(first), np.uint64(first + width)):
                for j in range(np.uint64(emission), np.uint64(emission + width)):
                    distance, volume = 0.0, 1.0
                    for g in range(n_var):
                        one, other = var[g, k], var[g, j]
                        inverse = 1.0 / (one + other)
                        row_var[g, r] = one * other * inverse
                        for d in range(g * group, g * group + group):
                            difference = mean[d, k] - mean[d, j]
                            row_mean[d, r] = (mean[d, k] * other + mean[d, j] * one) * inverse
                            distance += difference * difference * inverse
                            volume *= _TWO_PI * (one + other)
                    square[r] = distance
                    product[r] = volume
                    r += _ONE
        overlaps_of(square, product, room.power, room.power_bits, n_rows, constant, own)
        for first in range(own, own + n_rows, width):
            for j in range(width):
                constant[first + j] *= weights[at + j]
    if factor.shape[0] > 0:
        for first in range(own, own + n_rows, width):
            for j in range(width):
                constant[first + j] *= factor[y - 1, j]


@inner_kernel
def bare_rows(i: int, y: int, lattice: Lattice, model: Model, room: Room) -> None:
    """The rows of a tag of word i without an emission: the components into it, K times, of weight 1/K each."""
    n, begin, tag, _, _, _ = lattice
    n_tags, width, weight, _ = model
    mean, var, row_mean, row_var = weight.mean, weight.std, room.row_mean, room.row_var
    r, own = 0, room.constant_at[y]
    for x in range(begin[i - 1], begin[i]):
        first = reach(link(i - 1, n, tag[x], tag[y], n_tags), n_tags, width)
        for k in range(first, first + width):
            for _ in range(width):
                for g in range(var.shape[0]):
                    row_var[g, r] = var[g, k]
                for d in range(mean.shape[0]):
                    row_mean[d, r] = mean[d, k]
                room.constant[own + r] = 1.0 / width
                r += 1


@kernel
def backward(
    lattice: Lattice, model: Model, room: Room, inside: Any, scale: Any, sign: float, slope: GmArrays,
    factor_slope: Any, share: Any, pair: Any,
) -> None:  # fmt: skip
    """Posteriors and gradients, from the last word to the first  [math: tag-outside, tag-gradient]."""
    n, begin, _, rule, source, layer = lattice
    n_tags, width, weight, _ = model
    link_weight = weight.weight
    constant, tail, above, head, overlap = room.constant, room.tail, room.above, room.head, room.overlap
    column = room.column
    outside = np.zeros(inside.shape[0])  # times the layer's scale, divided by Z: inside × outside is a posterior
    z = 0.0
    for c in range(layer[n], layer[n + 1]):
        z += inside[c]
    for c in range(layer[n], layer[n + 1]):
        outside[c] = 1.0 / z
    emissions = (n_tags * n_tags + 2 * n_tags) * width
    for i in range(n, -1, -1):
        use_links(i, lattice, model, inside, outside, sign, slope, share, pair)
        if i == 0:
            break
        power = power_of_two(-scale[i])
        after, here = (begin[i + 2] - begin[i + 1]) * width, begin[i + 1] - begin[i]
        for y in range(begin[i], begin[i + 1]):
            n_rows = (begin[i] - begin[i - 1]) * width * width
            if room.is_kept:
                make_columns(i, y, lattice, model, room)
            else:
                meet(i, y, lattice, model, room)
            of = layer[i] + (y - begin[i]) * after
            own, first_overlap = room.constant_at[y], room.overlap_at[y]
            for r in range(n_rows):
                above[r] = 0.0
            for c in range(after):
                value = outside[of + c] * power * link_weight[column[c]]
                head[c] = value
                at = first_overlap + c * n_rows
                for r in range(n_rows):
                    above[r] += value * overlap[at + r]
            for r in range(n_rows):
                above[r] *= constant[own + r]
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
                if room.is_kept:
                    make_rows(i, y, lattice, model, room)
                take_tail(i, y, lattice, width, inside, tail)
                for r in range(n_rows):
                    above[r] *= sign * tail[r]
                if rule[y] >= 0:
                    link_slope = slope.weight
                    for r in range(n_rows):
                        link_slope[emissions + rule[y] * width + r % width] += above[r]
                if factor_slope.shape[0] > 0:
                    for r in range(n_rows):
                        factor_slope[source[y], r % width] += above[r]
                for r in range(n_rows):
                    tail[r] *= sign * constant[own + r]
                column_gradients(n_rows, after, first_overlap, weight, slope, room)
                if rule[y] >= 0:
                    row_gradients(i, y, lattice, model, slope, room)
                else:
                    bare_gradients(i, y, lattice, model, slope, room)


@inner_kernel
def use_links(
    i: int, lattice: Lattice, model: Model, inside: Any, outside: Any, sign: float, slope: GmArrays, share: Any,
    pair: Any,
) -> None:  # fmt: skip
    """Add the posteriors of the links from word i to the next."""
    n, begin, tag, _, _, layer = lattice
    n_tags, width, link_slope = model.n_tags, model.width, slope.weight
    at, place = layer[i], (layer[i] - layer[1]) // width
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
                share[y - 1] += total
            if pair.shape[0] > 0 and 0 < i < n:
                pair[place] = total
                place += 1


@inner_kernel
def column_gradients(
    n_rows: int, n_columns: int, first_overlap: int, weight: GmArrays, slope: GmArrays, room: Room
) -> None:
    """The gradients of the rules out of a tag; fills pull and var_pull.

    pull, var_pull: the derivatives with respect to means and variances of rows. room.tail: sign × inside × constant of
    each row. room.head: the outside of each column.
    """
    mean, var, mean_slope, std_slope = weight.mean, weight.std, slope.mean, slope.std
    row_mean, row_var, tail, head, column = room.row_mean, room.row_var, room.tail, room.head, room.column
    pull, var_pull, inverse, posterior, overlap = room.pull, room.var_pull, room.inverse, room.posterior, room.overlap
    excess = room.square
    dim, n_var = mean.shape[0], var.shape[0]
    group = dim // n_var
    pull[:, :n_rows] = 0.0
    var_pull[:, :n_rows] = 0.0
    for c in range(n_columns):
        value, at, of = head[c], first_overlap + c * n_rows, column[c]
        if value == 0.0:
            continue
        for g in range(n_var):
            v = var[g, of]
            for r in range(n_rows):
                inverse[r] = 1.0 / (row_var[g, r] + v)
            for r in range(n_rows):
                posterior[r] = value * tail[r] * overlap[at + r] * inverse[r]
            for r in range(n_rows):
                excess[r] = -group
            for d in range(g * group, (g + 1) * group):
                m = mean[d, of]
                total = 0.0
                for r in range(n_rows):
                    total += (m - row_mean[d, r]) * posterior[r]
                for r in range(n_rows):
                    pull[d, r] += (m - row_mean[d, r]) * posterior[r]
                for r in range(n_rows):
                    excess[r] += (m - row_mean[d, r]) * (m - row_mean[d, r]) * inverse[r]
                mean_slope[d, of] -= total
            total = 0.0
            for r in range(n_rows):
                total += posterior[r] * excess[r]
            for r in range(n_rows):
                var_pull[g, r] += posterior[r] * excess[r]
            std_slope[g, of] += v * total


@inner_kernel
def row_gradients(i: int, y: int, lattice: Lattice, model: Model, slope: GmArrays, room: Room) -> None:
    """The gradients of the rules into a tag and of its emission, from those of their products  [math: tag-gradient].

    room.above: sign × the posterior of each row.
    """
    n, begin, tag, rule, _, _ = lattice
    n_tags, width, weight, _ = model
    mean, var, mean_slope, std_slope = weight.mean, weight.std, slope.mean, slope.std
    pull, var_pull, above = room.pull, room.var_pull, room.above
    dim, n_var = mean.shape[0], var.shape[0]
    group = dim // n_var
    emission = 2 * (n_tags * n_tags + n_tags) * width + rule[y] * width
    r = 0
    for x in range(begin[i - 1], begin[i]):
        first = reach(link(i - 1, n, tag[x], tag[y], n_tags), n_tags, width)
        for k in range(first, first + width):
            for j in range(emission, emission + width):
                q = above[r]
                for g in range(n_var):
                    one, other = var[g, k], var[g, j]
                    inverse = 1.0 / (one + other)
                    curve, shift = 0.0, 0.0
                    for d in range(g * group, (g + 1) * group):
                        difference = (mean[d, j] - mean[d, k]) * inverse
                        mean_slope[d, k] += q * difference + pull[d, r] * other * inverse
                        mean_slope[d, j] += pull[d, r] * one * inverse - q * difference
                        curve += q * (difference * difference - inverse)
                        shift += pull[d, r] * difference * inverse
                    turn = var_pull[g, r] * inverse * inverse
                    std_slope[g, k] += one * (curve + 2.0 * shift * other + turn * other * other)
                    std_slope[g, j] += other * (curve - 2.0 * shift * one + turn * one * one)
                r += 1


@inner_kernel
def bare_gradients(i: int, y: int, lattice: Lattice, model: Model, slope: GmArrays, room: Room) -> None:
    """The gradients of the rules into a tag that has no emission."""
    n, begin, tag, _, _, _ = lattice
    n_tags, width, weight, _ = model
    var, mean_slope, std_slope, pull, var_pull = weight.std, slope.mean, slope.std, room.pull, room.var_pull
    r = 0
    for x in range(begin[i - 1], begin[i]):
        first = reach(link(i - 1, n, tag[x], tag[y], n_tags), n_tags, width)
        for k in range(first, first + width):
            for _ in range(width):
                for d in range(mean_slope.shape[0]):
                    mean_slope[d, k] += pull[d, r]
                for g in range(std_slope.shape[0]):
                    std_slope[g, k] += var[g, k] * var_pull[g, r]
                r += 1
