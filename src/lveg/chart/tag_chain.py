"""Boundary-tag statistics of a tree grammar, for outside estimates (docs/math.md: ahead)."""

from __future__ import annotations

import numpy as np

from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chart_estimate import TagChain

_DOUBLINGS = 7  # a boundary is passed on up to 127 times, at the cost of 7


def tag_chain(grammar: Grammar, weight: Floats) -> TagChain:
    """Statistics of the tags before and after each symbol in the trees of the grammar, and of tag bigrams.

    Weights that are not probabilities, from an altered file, may give non-finite values: they become 0.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = _tag_chain(grammar, weight)
    return TagChain(*(np.nan_to_num(array, posinf=0.0, neginf=0.0) for array in found))


def _tag_chain(grammar: Grammar, weight: Floats) -> TagChain:
    """Like `tag_chain`, but values may be non-finite."""
    n, size = grammar.n_nonterminals, len(grammar.symbols)
    binary, unary, root = (grammar.kind_slice(kind) for kind in ("binary", "unary", "root"))
    lhs, left, right, count = grammar.rule_lhs, grammar.rule_left, grammar.rule_right, grammar.count

    def table(rows: Ints, columns: Ints, values: Floats) -> Floats:
        """The sum of the values for each pair of symbols."""
        sums = np.bincount(rows.astype(np.int64) * size + columns, values, size * size)
        return sums.astype(np.float64).reshape(size, size)

    roots = np.bincount(left[root], count[root], size)[:, None]
    pairs = table(left[binary], right[binary], count[binary])
    used = pairs.sum(axis=1)[:, None] + pairs.sum(axis=0)[:, None] + roots
    # [X, A]: A is the symbol below X after a unary rule, or X itself without one.
    step = np.eye(size) + table(lhs[unary], left[unary], weight[unary])
    above = (used * step).T
    above /= np.maximum(above.sum(axis=1, keepdims=True), 1e-300)

    def edge(child: Ints) -> Floats:
        """(size, tags): the distribution of the tag that a symbol begins or ends with, from its child on that side."""
        move = step @ table(lhs[binary], child[binary], weight[binary])
        return np.vstack([_handed_on(move[:n, :n], (move + step)[:n, n:]), np.eye(size - n)])

    def surrounding(child: Ints, beside: Floats) -> Floats:
        """(nonterminals, tags + 1): the tag next to a symbol, or next to the parent of which it is the outer child."""
        move = table(child[binary], lhs[binary], count[binary]) @ above
        return _handed_on(move[:n, :n], np.hstack([beside, roots])[:n])

    first, last = edge(left), edge(right)
    before, after = surrounding(left, pairs.T @ last), surrounding(right, pairs @ first)
    follows = np.block([[last.T @ pairs @ first, last.T @ roots], [roots.T @ first, np.zeros((1, 1))]])
    tokens = np.maximum(follows.sum(axis=1, keepdims=True), 1e-300)
    follows = follows / tokens
    return TagChain(
        follows=follows,
        precedes=np.ascontiguousarray(follows.T),
        begins=np.ascontiguousarray((used[:n] * before).T / tokens),
        ends=np.ascontiguousarray(after.T),
    )


def _handed_on(move: Floats, stop: Floats) -> Floats:
    """The probability of each stop S after any number of moves M, (1 + M + M² + ...) S; rows are scaled to sum to 1."""
    total = np.maximum(move.sum(axis=1, keepdims=True) + stop.sum(axis=1, keepdims=True), 1e-300)
    found: Floats = stop / total
    move = move / total
    for _ in range(_DOUBLINGS):
        found, move = found + move @ found, move @ move
    return found
