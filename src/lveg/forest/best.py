"""The best derivations of a forest by additive scores of its edges."""

from __future__ import annotations

import numpy as np

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.kbest import best_edges, k_best


def best_derivations(forest: Forest, scores: Floats, count: int = 1) -> list[tuple[float, Ints]]:
    """(score, edges with parents first) of the best derivations, at most `count`, best first."""
    if forest.is_empty:
        return []
    children = forest.edge_left, forest.edge_right
    best, choice = np.empty(forest.n_nodes), np.empty(forest.n_nodes, np.int32)
    best_edges(forest.edge_ptr, *children, scores, best, choice)
    score = np.full((forest.n_nodes, count), best[:, None])
    edge, left, right = np.zeros((3, forest.n_nodes, count), np.int32)
    edge[:, 0] = choice
    found = int(best[-1] > -np.inf)
    if count > 1:
        found = k_best(forest.edge_ptr, *children, scores, score, edge, left, right)
    return [(float(score[-1, rank]), _edges(forest, edge, left, right, rank)) for rank in range(found)]


def _edges(forest: Forest, rank_edge: Ints, rank_left: Ints, rank_right: Ints, rank: int) -> Ints:
    """The edges, parents first, of one of the best derivations of the last node; see kernels.kbest for ranks."""
    left, right = forest.edge_left, forest.edge_right
    chosen: list[int] = []
    stack = [(forest.n_nodes - 1, rank)]
    while stack:
        node, own = stack.pop()
        edge = rank_edge.item(node, own)
        chosen.append(edge)
        for child, ranks in ((right.item(edge), rank_right), (left.item(edge), rank_left)):
            if child >= 0:
                stack.append((child, ranks.item(node, own)))
    return np.array(chosen, np.int32)
