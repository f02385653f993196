"""The best derivations of a forest by additive scores of its edges."""

from __future__ import annotations

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.kbest import k_best, trace


def best_derivations(forest: Forest, scores: Floats, count: int = 1) -> list[tuple[float, Ints]]:
    """(score, edges with parents first) of the best derivations, at most `count`, best first."""
    links = forest.edge_ptr, forest.edge_left, forest.edge_right
    found, _, rank_score, edge, left, right = k_best(*links, scores, count)
    root = forest.n_nodes - 1
    return [
        (float(rank_score[root * count + rank]), trace(*links, count, edge, left, right, rank)) for rank in range(found)
    ]
