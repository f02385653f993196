"""Coarse-to-fine inference: grammars with more and more subtypes, each restricted to what the previous one kept."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.factors import Factors
from lveg.kernels.jit import kernel
from lveg.kernels.lvg import Packed, Scores, Weights, inside, outside


class Levels(NamedTuple):
    """Grammars, coarse ones first; the finest is the last.

    subtypes (levels, symbols), ptr (levels, rules + 1): as in `Weights`, of each level; weight: of all levels,
    concatenated, to which ptr refers. first (levels, symbols): where the subtypes of a symbol begin in `group`, which
    maps each subtype to the one that it belongs to at the level before.
    """

    subtypes: Any
    ptr: Any
    weight: Any
    first: Any
    group: Any


@kernel
def coarse_to_fine(
    forest: Packed, factors: Factors, levels: Levels, least: float, edge_post: Any, node_post: Any
) -> float:
    """log Z of the finest level over the pruned forest; fills the posteriors of its edges and nodes.

    least: edges, and subtypes at nodes, with a lower posterior at one level are left out at the next. edge_post: empty
    if only log Z is needed. If nothing is left, returns -inf and fills nothing  [math: coarse-to-fine].
    """
    subtypes, ptr, weight = levels.subtypes, levels.ptr, levels.weight
    n_levels = subtypes.shape[0]
    nothing, is_open = np.empty(0), np.empty(0, np.bool_)
    origin = np.arange(forest.edge_rule.shape[0])
    log_z = -math.inf
    for level in range(n_levels):
        weights = Weights(subtypes[level], ptr[level], weight)
        log_z, scores = inside(forest, factors, weights, is_open)
        is_last = level + 1 == n_levels
        if log_z == -math.inf or (is_last and edge_post.shape[0] == 0):
            return log_z
        post = np.empty(forest.edge_rule.shape[0])
        outside(forest, weights, scores, 1.0, nothing, post)
        if not is_last:
            is_open = open_subtypes(forest, levels, level + 1, scores, least)
            forest, factors, origin = narrow(forest, factors, origin, post, least)
        else:
            place, value, above = scores.place, scores.value, scores.above
            for edge in range(post.shape[0]):
                edge_post[origin[edge]] = post[edge]
            for node in range(node_post.shape[0]):
                for at in range(place[node], place[node + 1]):
                    node_post[node] += value[at] * above[at]
    return log_z


@kernel
def open_subtypes(forest: Packed, levels: Levels, level: int, scores: Scores, least: float) -> Any:
    """For each place at a level, whether the posterior of the subtype's group at the level before is large enough."""
    node_symbol, (place, value, _, above, _) = forest.node_symbol, scores
    subtypes, first, group = levels.subtypes[level], levels.first[level], levels.group
    size = 0
    for node in range(node_symbol.shape[0]):
        size += subtypes[node_symbol[node]] if node_symbol[node] >= 0 else 1
    is_open = np.empty(size, np.bool_)
    to = 0
    for node in range(node_symbol.shape[0]):
        symbol = node_symbol[node]
        if symbol < 0:
            is_open[to] = True
            to += 1
            continue
        for a in range(subtypes[symbol]):
            at = place[node] + group[first[symbol] + a]
            is_open[to] = value[at] * above[at] >= least
            to += 1
    return is_open


@kernel
def narrow(forest: Packed, factors: Factors, origin: Any, post: Any, least: float) -> tuple[Packed, Factors, Any]:
    """(the forest with the edges of at least that posterior, their factors, and which edges they were).

    Nodes keep their numbers.
    """
    node_symbol, edge_ptr, edge_rule, edge_left, edge_right = forest
    kept = 0
    for edge in range(post.shape[0]):
        kept += post[edge] >= least
    new_ptr = np.empty(edge_ptr.shape[0], np.int32)
    rule, left, right = np.empty(kept, np.int32), np.empty(kept, np.int32), np.empty(kept, np.int32)
    old = np.empty(kept, np.int64)
    with_factors = factors.mantissa.shape[0] > 0
    n_factors = kept if with_factors else 0
    mantissa, exponent = np.empty(n_factors), np.empty(n_factors, np.int32)
    to = 0
    for node in range(node_symbol.shape[0]):
        new_ptr[node] = to
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            if post[edge] >= least:
                rule[to], left[to], right[to] = edge_rule[edge], edge_left[edge], edge_right[edge]
                old[to] = origin[edge]
                if with_factors:
                    mantissa[to], exponent[to] = factors.mantissa[edge], factors.exponent[edge]
                to += 1
    new_ptr[node_symbol.shape[0]] = to
    return Packed(node_symbol, new_ptr, rule, left, right), Factors(mantissa, exponent), old
