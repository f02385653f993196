"""Grammars whose symbols have discrete subtypes, over forests: sums, posteriors, and expected uses of every weight.

A rule's weights are a *block*: a row for each subtype of its left-hand side, and in a row a number for each pair of
subtypes of its children (each subtype of its only child, or one number for a word). Edges of one rule at one node are
adjacent, so the products of their children are summed first, pair by pair, and multiplied by the block once, in loops
along whole rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.kernels.assemble import STAY
from lveg.kernels.factors import Factors
from lveg.kernels.jit import DEAD, ZERO, exponent_of, int64, kernel, power_of_two
from lveg.kernels.semiring import draw, edge_scale

_LOWEST = -1000
"""Shifts below this contribute nothing."""

NEGLIGIBLE = 1e-15
"""A subtype at a node with a lower posterior than this passes nothing down to its children."""

Ints = npt.NDArray[np.int32]

_HEADER = 3


class Packed(NamedTuple):
    """The parts of a forest that inference needs, as in `Forest`, all int32."""

    node_symbol: Any
    edge_ptr: Any
    edge_rule: Any
    edge_left: Any
    edge_right: Any


class Weights(NamedTuple):
    """subtypes: the number for each symbol. The block of rule r is weight[ptr[r] : ptr[r + 1]]."""

    subtypes: Any
    ptr: Any
    weight: Any


class Scores(NamedTuple):
    """The values of node v are at place[v] : place[v + 1], one per subtype.

    value: inside, times two to the node's scale. above: outside, such that above × value is a posterior. edge_factor:
    the factor, besides the weights, by which an edge's child values contribute to its node's.
    """

    place: Any
    value: Any
    scale: Any
    above: Any
    edge_factor: Any


def pack_forest(forest: Packed) -> Ints:
    """A forest in one array: its length, the numbers of its nodes and edges, and its parts."""
    length = _HEADER + sum(len(part) for part in forest)
    header = np.array([length, len(forest.node_symbol), len(forest.edge_rule)], np.int32)
    return np.concatenate([header, *forest])


def unpack_forest(packed: Ints) -> Packed:
    """The parts of a single packed forest."""
    _, nodes, edges = packed[:_HEADER].tolist()
    parts, at = [], _HEADER
    for size in (nodes, nodes + 1, edges, edges, edges):
        parts.append(packed[at : at + size])
        at += size
    return Packed(*parts)


@kernel
def view_forest(packed: Any, begin: Any) -> Packed:
    """The forest that begins at this index."""
    n_nodes, n_edges = packed[begin + 1], packed[begin + 2]
    a = begin + _HEADER
    b = a + n_nodes
    c = b + n_nodes + 1
    d = c + n_edges
    e = d + n_edges
    return Packed(packed[a:b], packed[b:c], packed[c:d], packed[d:e], packed[e : e + n_edges])


@kernel
def fill_pairs(
    begin: Any, end: Any, edge_left: Any, edge_right: Any, edge_factor: Any, place: Any, value: Any, pair: Any
) -> int:
    """Sum the products of the children of edges of one rule; returns the number of pairs of subtypes."""
    left, right = edge_left[begin], edge_right[begin]
    n_left = np.uint64(place[left + 1] - place[left]) if left >= 0 else np.uint64(1)
    n_right = np.uint64(place[right + 1] - place[right]) if right >= 0 else np.uint64(1)
    size = n_left * n_right
    for j in range(size):
        pair[j] = 0.0
    for edge in range(begin, end):
        left, right, factor = edge_left[edge], edge_right[edge], edge_factor[edge]
        if factor == 0.0:
            continue
        if left < 0:
            pair[0] += factor
            continue
        l = np.uint64(place[left])  # noqa: E741
        if right < 0:
            for b in range(n_left):
                pair[b] += factor * value[l + b]
            continue
        r, at = np.uint64(place[right]), np.uint64(0)
        for b in range(n_left):
            x = factor * value[l + b]
            if x != 0.0:
                for c in range(n_right):
                    pair[at + c] += x * value[r + c]
            at += n_right
    return int(size)


@kernel
def inside(forest: Packed, factors: Factors, weights: Weights, is_open: Any) -> tuple[float, Scores]:
    """(log Z, scores with everything except the outside values filled)  [math: lvg-inside].

    is_open: whether the subtype at each place may be used; empty if all may.
    """
    node_symbol, edge_ptr, edge_rule, edge_left, edge_right = forest
    mantissa, exponents = factors
    subtypes, ptr, weight = weights
    n_nodes = node_symbol.shape[0]
    place, most = np.zeros(n_nodes + 1, np.int64), 1
    for node in range(n_nodes):
        count = subtypes[node_symbol[node]] if node_symbol[node] >= 0 else 1
        place[node + 1] = place[node] + count
        most = max(most, count)
    value, above, pair = np.empty(place[n_nodes]), np.empty(place[n_nodes]), np.empty(most * most)
    scale, edge_factor = np.empty(n_nodes, np.int64), np.empty(edge_rule.shape[0])
    is_masked, with_factors = is_open.shape[0] > 0, mantissa.shape[0] > 0
    for node in range(n_nodes):
        begin, end = edge_ptr[node], edge_ptr[node + 1]
        first, last = place[node], place[node + 1]
        scale[node] = DEAD
        level, best = -DEAD, 0.0
        while best <= 0.0:  # repeat if the edges with the highest scales have no weight between the subtypes
            limit, level = level + _LOWEST, DEAD
            for edge in range(begin, end):
                one = edge_scale(edge_left[edge], edge_right[edge], exponents[edge] if with_factors else 0, scale)
                if one < limit:
                    level = max(level, one)
            for at in range(first, last):
                value[at] = 0.0
            if level == DEAD:
                break
            for edge in range(begin, end):
                one = edge_scale(edge_left[edge], edge_right[edge], exponents[edge] if with_factors else 0, scale)
                edge_factor[edge] = power_of_two(one - level) if level + _LOWEST <= one < limit else 0.0
                if with_factors:
                    edge_factor[edge] *= mantissa[edge]
            stop = int64(begin)
            while stop < end:
                start, rule = stop, edge_rule[stop]
                while stop < end and edge_rule[stop] == rule:
                    stop += 1
                size = np.uint64(fill_pairs(start, stop, edge_left, edge_right, edge_factor, place, value, pair))
                if rule == STAY:
                    for at in range(first, last):
                        value[at] += pair[at - first]
                else:
                    w = np.uint64(ptr[rule])
                    for at in range(first, last):
                        if not is_masked or is_open[at]:
                            total = 0.0
                            for j in range(size):
                                total += weight[w + j] * pair[j]
                            value[at] += total
                        w += size
            for at in range(first, last):
                if is_masked and not is_open[at]:
                    value[at] = 0.0
                best = max(best, value[at])
        if best > 0.0:
            exponent = exponent_of(best)
            down = power_of_two(-exponent)
            for at in range(first, last):
                value[at] *= down
            for edge in range(begin, end):
                edge_factor[edge] *= down
            scale[node] = level + exponent
    log_z = -math.inf
    if n_nodes > 0 and scale[n_nodes - 1] > DEAD:
        log_z = math.log(value[place[n_nodes - 1]]) + scale[n_nodes - 1] * math.log(2.0)
    return log_z, Scores(place, value, scale, above, edge_factor)


@kernel
def outside(forest: Packed, weights: Weights, scores: Scores, sign: float, use: Any, edge_post: Any) -> None:
    """Fill the outside values of nodes and, unless empty, edge_post and use  [math: lvg-outside].

    edge_post: sign × the posterior of every edge. use: sign × the derivative of log Z with respect to every weight is
    added.
    """
    _, edge_ptr, edge_rule, edge_left, edge_right = forest
    _, ptr, weight = weights
    place, value, scale, above, edge_factor = scores
    with_use, with_post = use.shape[0] > 0, edge_post.shape[0] > 0
    root, most = edge_ptr.shape[0] - 2, 1
    for node in range(root + 1):
        most = max(most, place[node + 1] - place[node])
    pair, beside = np.empty(most * most), np.empty(most * most)
    above[:] = 0.0
    above[place[root]] = 1.0 / value[place[root]]
    for node in range(root, -1, -1):
        first, last = place[node], place[node + 1]
        if scale[node] == DEAD:
            for edge in range(edge_ptr[node], edge_ptr[node + 1] if with_post else 0):
                edge_post[edge] = 0.0
            continue
        for at in range(first, last):
            if above[at] * value[at] < NEGLIGIBLE:
                above[at] = 0.0
        stop, end = int64(edge_ptr[node]), edge_ptr[node + 1]
        while stop < end:
            start, rule = stop, edge_rule[stop]
            while stop < end and edge_rule[stop] == rule:
                stop += 1
            if rule != STAY and with_use:
                size = np.uint64(fill_pairs(start, stop, edge_left, edge_right, edge_factor, place, value, pair))
                w = np.uint64(ptr[rule])
                for at in range(first, last):
                    x = sign * above[at]
                    if x != 0.0:
                        for j in range(size):
                            use[w + j] += x * pair[j]
                    w += size
            if rule == STAY:
                for at in range(first, last):
                    beside[at - first] = above[at]
            else:
                size = np.uint64(ptr[rule + 1] - ptr[rule]) // np.uint64(last - first)
                for j in range(size):
                    beside[j] = 0.0
                w = np.uint64(ptr[rule])
                for at in range(first, last):
                    x = above[at]
                    if x != 0.0:
                        for j in range(size):
                            beside[j] += x * weight[w + j]
                    w += size
            for edge in range(start, stop):
                post = 0.0
                if edge_factor[edge] != 0.0:
                    post = hand_down(edge_left[edge], edge_right[edge], edge_factor[edge], place, value, above, beside)
                if with_post:
                    edge_post[edge] = sign * post


@kernel
def hand_down(left: int, right: int, factor: float, place: Any, value: Any, above: Any, beside: Any) -> float:
    """Add to the outside of an edge's children; returns the edge's posterior.

    beside: for each pair of the children's subtypes, the outside value from the node above.
    """
    if left < 0:
        word: float = factor * beside[0]
        return word
    l, n_left = np.uint64(place[left]), np.uint64(place[left + 1] - place[left])  # noqa: E741
    post = 0.0
    if right < 0:
        for b in range(n_left):
            above[l + b] += factor * beside[b]
        for b in range(n_left):
            post += value[l + b] * beside[b]
        return factor * post
    r, n_right, at = np.uint64(place[right]), np.uint64(place[right + 1] - place[right]), np.uint64(0)
    for b in range(n_left):
        x = factor * value[l + b]
        if x != 0.0:
            total = 0.0
            for c in range(n_right):
                total += beside[at + c] * value[r + c]
            for c in range(n_right):
                above[r + c] += x * beside[at + c]
            above[l + b] += factor * total
            post += x * total
        at += n_right
    return post


@kernel
def run(
    packed: Any, sign: Any, factors: Factors, weights: Weights, log_z: Any, edge_post: Any, use: Any, usage: Any
) -> None:
    """Inference over concatenated forests: log Z of each, and the other results whose arrays are not empty.

    sign: one per forest. edge_post: sign × the posteriors of all edges. use: sign × the derivative of log Z with
    respect to the weights is added. usage: the uses of each subtype, by symbol.
    """
    first = first_subtypes(weights.subtypes)
    all_open = np.empty(0, np.bool_)
    begin, edge = ZERO, 0
    for number in range(sign.shape[0]):
        forest = view_forest(packed, begin)
        end = edge + forest.edge_rule.shape[0]
        own = Factors(factors.mantissa[edge:end], factors.exponent[edge:end])
        log_z[number], scores = inside(forest, own, weights, all_open)
        if log_z[number] > -math.inf:
            outside(forest, weights, scores, sign[number], use, edge_post[edge:end])
            node_symbol, (place, value, _, above, _) = forest.node_symbol, scores
            for node in range(node_symbol.shape[0] if usage.shape[0] > 0 else 0):
                if node_symbol[node] >= 0:
                    to = first[node_symbol[node]] - place[node]
                    for at in range(place[node], place[node + 1]):
                        usage[to + at] += value[at] * above[at]
        else:
            edge_post[edge:end] = 0.0
        begin += packed[begin]
        edge = end


@kernel
def first_subtypes(subtypes: Any) -> Any:
    """The number of each symbol's first subtype, numbered consecutively, and at the end the total number."""
    first = np.zeros(subtypes.shape[0] + 1, np.int64)
    for symbol in range(subtypes.shape[0]):
        first[symbol + 1] = first[symbol] + subtypes[symbol]
    return first


@kernel
def merge_losses(packed: Any, weights: Weights, usage: Any, loss: Any) -> None:
    """Add to `loss` the approximate loss of the trees' log likelihood if subtypes 2 i and 2 i + 1 are merged.

    loss: by symbol and subtype, at the first of the two. usage: the uses of each subtype (Petrov et al. 2006, section
    2.3)  [math: merge].
    """
    subtypes, first = weights.subtypes, first_subtypes(weights.subtypes)
    all_open, nothing = np.empty(0, np.bool_), np.empty(0)
    begin = ZERO
    while begin < packed.shape[0]:
        forest = view_forest(packed, begin)
        log_z, scores = inside(forest, Factors(nothing, np.empty(0, np.int32)), weights, all_open)
        if log_z > -math.inf:
            outside(forest, weights, scores, 1.0, nothing, nothing)
            node_symbol, (place, value, _, above, _) = forest.node_symbol, scores
            for node in range(node_symbol.shape[0]):
                symbol = node_symbol[node]
                if symbol < 0:
                    continue
                to = first[symbol]
                for a in range(0, subtypes[symbol] - 1, 2):
                    x = place[node] + a
                    both = usage[to + a] + usage[to + a + 1]
                    if both <= 0.0:
                        continue
                    joint = (usage[to + a] * value[x] + usage[to + a + 1] * value[x + 1]) / both
                    apart = above[x] * value[x] + above[x + 1] * value[x + 1]
                    ratio = 1.0 - apart + joint * (above[x] + above[x + 1])
                    loss[to + a] -= math.log(max(ratio, 1e-300))
        begin += packed[begin]


@kernel
def draw_edges(forest: Packed, weights: Weights, scores: Scores, uniform: Any, chosen: Any) -> int:
    """Sample a derivation from the posterior; fills `chosen` with its edges, parents first; returns their number.

    uniform: two numbers in [0, 1) for each edge that a derivation may have  [math: lvg-sample].
    """
    _, edge_ptr, edge_rule, edge_left, edge_right = forest
    _, ptr, weight = weights
    place, value, _, _, edge_factor = scores
    n_nodes = edge_ptr.shape[0] - 1
    most_edges, most = 1, 1
    for node in range(n_nodes):
        most_edges = max(most_edges, edge_ptr[node + 1] - edge_ptr[node])
        most = max(most, place[node + 1] - place[node])
    edge_share, pair = np.empty(most_edges), np.empty(most * most)
    stack = np.empty((chosen.shape[0] + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = n_nodes - 1, 0
    height, size = 1, 0
    while height > 0:
        height -= 1
        node, subtype = stack[height, 0], stack[height, 1]
        begin, end = int64(edge_ptr[node]), int64(edge_ptr[node + 1])
        for edge in range(begin, end):
            width = fill_pairs(edge, edge + 1, edge_left, edge_right, edge_factor, place, value, pair)
            total = pair[subtype] if edge_rule[edge] == STAY else 0.0
            for j in range(width if edge_rule[edge] != STAY else 0):
                total += weight[ptr[edge_rule[edge]] + subtype * width + j] * pair[j]
            edge_share[edge - begin] = total
        edge = begin + draw(edge_share, ZERO, end - begin, uniform[2 * size])
        left, right, rule = edge_left[edge], edge_right[edge], edge_rule[edge]
        picked = subtype
        if rule != STAY:
            width = fill_pairs(edge, edge + 1, edge_left, edge_right, edge_factor, place, value, pair)
            for j in range(width):
                pair[j] *= weight[ptr[rule] + subtype * width + j]
            picked = draw(pair, ZERO, int64(width), uniform[2 * size + 1])
        chosen[size] = edge
        size += 1
        n_right = place[right + 1] - place[right] if right >= 0 else 1
        if right >= 0:
            stack[height, 0], stack[height, 1] = right, picked % n_right
            height += 1
        if left >= 0:
            stack[height, 0], stack[height, 1] = left, picked // n_right
            height += 1
    return size


@kernel
def draw_many(forest: Packed, factors: Factors, weights: Weights, uniform: Any, chosen: Any, sizes: Any) -> None:
    """A derivation of the forest for each row of `uniform`: its edges in a row of `chosen`, and its size."""
    _, scores = inside(forest, factors, weights, np.empty(0, np.bool_))
    for row in range(uniform.shape[0]):
        sizes[row] = draw_edges(forest, weights, scores, uniform[row], chosen[row])
