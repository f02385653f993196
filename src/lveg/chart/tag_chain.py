"""Boundary-tag statistics of a tree grammar, for outside estimates (docs/math.md: ahead)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chart_estimate import TagChain, add_sparse

_DOUBLINGS = 7  # a boundary is passed on up to 127 times, at the cost of 7 products of matrices;
_MOST_DENSE = 512  # but if there are more nonterminals than this, one step at a time,
_MOST_WORK = 2**26  # with so many multiplications in all,
_CONVERGED = 1e-13  # until the distributions do not change any more


def tag_chain(grammar: Grammar, weight: Floats) -> TagChain:
    """Statistics of the tags before and after each symbol in the trees of the grammar, and of tag bigrams.

    Weights that are not probabilities, from an altered file, may give non-finite values: they become 0. Takes O(symbols
    × tags) memory, and bounded time: with very many rules and tags, boundaries are passed on less often.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = _tag_chain(grammar, weight)
    return TagChain(*(np.nan_to_num(array, posinf=0.0, neginf=0.0) for array in found))


@dataclass(frozen=True)
class _Sparse:
    """A matrix as the sum of single values, each at a row and a column."""

    row: Ints
    column: Ints
    value: Floats

    @property
    def transposed(self) -> _Sparse:
        return _Sparse(self.column, self.row, self.value)

    def within(self, is_in: np.ndarray) -> _Sparse:
        """Some of the values."""
        return _Sparse(self.row[is_in], self.column[is_in], self.value[is_in])

    def times(self, dense: Floats, rows: int) -> Floats:
        """The product with a dense matrix, with so many rows."""
        found = np.zeros((rows, dense.shape[1]))
        add_sparse(self.row, self.column, self.value, dense, found)
        return found

    def dense(self, rows: int, columns: int, first: int) -> Floats:
        """The columns from the first one on."""
        part = self.within(self.column >= first)
        places = part.row.astype(np.int64) * columns + (part.column - first)
        return np.bincount(places, part.value, rows * columns).astype(np.float64).reshape(rows, columns)


def _tag_chain(grammar: Grammar, weight: Floats) -> TagChain:
    """Like `tag_chain`, but values may be non-finite."""
    n, size, tags = grammar.n_nonterminals, len(grammar.symbols), len(grammar.tags)
    binary, unary, root = (grammar.kind_slice(kind) for kind in ("binary", "unary", "root"))
    lhs, left, right, count = grammar.rule_lhs, grammar.rule_left, grammar.rule_right, grammar.count
    steps = max(1, min(2**_DOUBLINGS - 1, _MOST_WORK // (tags + 1) // (grammar.root_start + n + 1)))

    roots = np.bincount(left[root], count[root], size)[:, None]
    pairs = _Sparse(left[binary], right[binary], count[binary])
    used = sum((np.bincount(child[binary], count[binary], size) for child in (left, right)), roots[:, 0])
    # Below X is A after a unary rule X -> A, or X itself without one; `above` has the probability of X, given A.
    chains = _Sparse(lhs[unary], left[unary], weight[unary])
    inner = chains.within(chains.column < n)
    above = _Sparse(inner.column, inner.row, used[inner.row] * inner.value)
    uses = used[:n] + np.bincount(above.row, above.value, n)
    share = 1.0 / np.maximum(uses, 1e-300)[:, None]

    def edge(child: Ints) -> Floats:
        """(size, tags): the distribution of the tag that a symbol begins or ends with, from its child on that side."""
        below = _Sparse(lhs[binary], child[binary], weight[binary])
        inside = below.within(below.column < n)

        def after_chain(values: Floats) -> Floats:
            return values + inner.times(values, n)

        stop = after_chain(below.dense(n, tags, n)) + chains.dense(n, tags, n)
        moved = after_chain(np.bincount(inside.row, inside.value, n).astype(np.float64)[:, None])
        found = _handed_on(lambda values: after_chain(inside.times(values, n)), moved, stop, steps)
        return np.vstack([found, np.eye(tags)])

    def surrounding(child: Ints, beside: Floats) -> Floats:
        """(nonterminals, tags + 1): the tag next to a symbol, or next to the parent of which it is the outer child."""
        outer = _Sparse(child[binary], lhs[binary], count[binary])
        outer = outer.within(outer.row < n)

        def move(values: Floats) -> Floats:
            return outer.times(share * (used[:n, None] * values + above.times(values, n)), n)

        stop = np.hstack([beside, roots])[:n]
        return _handed_on(move, outer.times(share * uses[:, None], n), stop, steps)

    first, last = edge(left), edge(right)
    followed = pairs.times(first, size)
    before, after = surrounding(left, pairs.transposed.times(last, size)), surrounding(right, followed)
    bigrams = last[:n].T @ followed[:n] + followed[n:]  # a tag is its own last tag
    follows = np.block([[bigrams, last.T @ roots], [roots.T @ first, np.zeros((1, 1))]])
    tokens = np.maximum(follows.sum(axis=1, keepdims=True), 1e-300)
    follows = follows / tokens
    return TagChain(
        follows=follows,
        precedes=np.ascontiguousarray(follows.T),
        begins=np.ascontiguousarray((used[:n, None] * before).T / tokens),
        ends=np.ascontiguousarray(after.T),
    )


def _handed_on(move: Callable[[Floats], Floats], moved: Floats, stop: Floats, steps: int) -> Floats:
    """The probability of each stop S after any number of moves M, (1 + M + M² + ...) S; rows are scaled to sum to 1.

    move: multiplies by M. moved: the sum of each row of M. steps: how many moves at most, if there are many rows.
    """
    total = np.maximum(moved + stop.sum(axis=1, keepdims=True), 1e-300)
    stop = stop / total
    found: Floats = stop
    if len(stop) <= _MOST_DENSE:
        power = move(np.eye(len(stop))) / total
        for _ in range(_DOUBLINGS):
            found, power = found + power @ found, power @ power
        return found
    for _ in range(steps):
        last, found = found, stop + move(found) / total
        if not np.max(np.abs(found - last), initial=0.0) > _CONVERGED:  # also if it is not a number
            break
    return found
