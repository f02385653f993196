"""The best derivations of a forest by additive scores of its edges."""

from __future__ import annotations

import numpy as np

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.kbest import Ranks, best_edges, k_best


def best_ranks(forest: Forest, scores: Floats, count: int) -> tuple[int, Ranks]:
    """(number of derivations found, at most `count`; their ranks, at the nodes that they need)."""
    children = forest.edge_left, forest.edge_right
    best, choice = np.empty(forest.n_nodes), np.empty(forest.n_nodes, np.int32)
    best_edges(forest.edge_ptr, *children, scores, best, choice)
    ranks = Ranks(np.full((forest.n_nodes, count), best[:, None]), *np.zeros((3, forest.n_nodes, count), np.int32))
    ranks.edge[:, 0] = choice
    found = int(best[-1] > -np.inf)
    if count > 1:
        found = k_best(forest.edge_ptr, *children, scores, ranks)
    return found, ranks


def best_derivations(forest: Forest, scores: Floats, count: int = 1) -> list[tuple[float, Ints]]:
    """(score, edges with parents first) of the best derivations, at most `count`, best first."""
    if forest.is_empty:
        return []
    found, ranks = best_ranks(forest, scores, count)
    return [(float(ranks.score[-1, rank]), _edges(forest, ranks, rank)) for rank in range(found)]


def _edges(forest: Forest, ranks: Ranks, rank: int) -> Ints:
    """The edges, parents first, of one of the best derivations of the last node."""
    left, right = forest.edge_left, forest.edge_right
    chosen: list[int] = []
    stack = [(forest.n_nodes - 1, rank)]
    while stack:
        node, own = stack.pop()
        edge = ranks.edge.item(node, own)
        chosen.append(edge)
        for child, below in ((right.item(edge), ranks.right), (left.item(edge), ranks.left)):
            if child >= 0:
                stack.append((child, below.item(node, own)))
    return np.array(chosen, np.int32)
