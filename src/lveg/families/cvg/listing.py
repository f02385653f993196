"""Lists of the best trees of a forest according to a base, with shared subtrees  [math: cvg]."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lveg.families.forest import Ask, ForestFamily, Mask, Posterior
from lveg.forest.best import best_ranks
from lveg.forest.forest import Forest, part_of
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.assemble import STAY
from lveg.kernels.cvg import list_items

_LEAST = 1e-12
"""Lower bound on the posteriors of edges when trees are ranked."""

_LIKELY = 1e-6
"""Edges with a lower posterior are used only if there are too few trees without them."""


@dataclass(frozen=True, eq=False)
class Listing:
    """Trees of a forest, best first, as a forest in which every node is one subtree.

    forest: its nodes are the subtrees of the trees, with one edge each; its last node, ROOT, has one edge for each
    tree. edge: for each of its edges, the edge of the original forest. log_weight: of each tree.
    """

    forest: Forest
    edge: Ints
    log_weight: Floats

    @property
    def n_trees(self) -> int:
        """The number of trees."""
        return len(self.log_weight)


def best_trees(
    base: ForestFamily, forest: Forest, posterior: Posterior, count: int, is_out: Mask | None = None
) -> Listing | None:
    """The trees with the highest products of the posteriors of their rules, with weights; None if there are none.

    posterior: the base's. is_out: edges that are excluded.
    """
    if forest.is_empty or not posterior.is_sound:
        return None
    scores = np.log(np.maximum(posterior.edge, _LEAST))
    scores[forest.edge_rule == STAY] = 0.0
    if is_out is not None:
        scores[is_out] = -np.inf
    part, _, edges = part_of(forest, (posterior.edge >= _LIKELY) & (scores > -np.inf))
    listed = _listed(part, scores[edges], count)
    listed = replace(listed, edge=edges[listed.edge])
    if listed.n_trees < count:
        listed = _listed(forest, scores, count)
    if not listed.n_trees:
        return None
    share = np.empty(listed.forest.n_edges)
    packed, unused = base.pack(listed.forest), np.zeros_like(base.value)
    log_z = float(base.run(packed, np.zeros_like(share), Ask([1.0], unused, share))[0])
    if not np.isfinite(log_z):
        return None
    with np.errstate(divide="ignore"):
        log_weight = log_z + np.log(share[-listed.n_trees :])
    return replace(listed, log_weight=log_weight)


def _listed(forest: Forest, scores: Floats, count: int) -> Listing:
    """The derivations of a forest with the highest sums of scores; their log weights are set to 0."""
    if forest.is_empty:
        return Listing(forest, np.empty(0, np.int32), np.empty(0))
    found, ranks = best_ranks(forest, scores, count)
    node, edge, left, right = list_items(forest.edge_left, forest.edge_right, *ranks[1:], found)
    nodes = np.append(node[: len(node) - found], forest.n_nodes - 1)  # one ROOT for all trees
    edge_ptr = np.append(np.arange(len(nodes)), len(edge)).astype(np.int32)
    part = forest.with_edges(nodes, edge_ptr, forest.edge_rule[edge], left, right)
    return Listing(part, edge, np.zeros(found))
