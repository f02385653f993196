"""A forest: derivations of one sentence, packed into nodes and edges in flat arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lveg.grammar.grammar import Grammar, Ints
from lveg.kernels.assemble import BOTTOM, TOP, assemble, trim


@dataclass(frozen=True)
class Forest:
    """Nodes with children before parents, ROOT last; the edges of node v are [edge_ptr[v], edge_ptr[v + 1]).

    A node is a symbol over a span before (level 0) or after (level 1) the unary step; a symbol that takes no unary
    there has only the former. An edge is a rule of the grammar, or STAY, over child nodes (-1 for none). A forest
    without nodes has no derivation.
    """

    words: tuple[str, ...]
    node_symbol: Ints
    node_start: Ints
    node_end: Ints
    node_level: Ints
    edge_ptr: Ints
    edge_rule: Ints
    edge_left: Ints
    edge_right: Ints

    @property
    def n_words(self) -> int:
        """Number of words of the sentence."""
        return len(self.words)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, including ROOT."""
        return int(self.node_symbol.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of edges of all nodes."""
        return int(self.edge_rule.shape[0])

    @property
    def is_empty(self) -> bool:
        """Whether there is no derivation."""
        return self.n_nodes == 0

    @cached_property
    def edge_head(self) -> Ints:
        """The node that each edge belongs to."""
        head: Ints = np.repeat(np.arange(self.n_nodes, dtype=np.int32), np.diff(self.edge_ptr))
        return head

    def with_edges(self, nodes: Ints, edge_ptr: Ints, edge_rule: Ints, edge_left: Ints, edge_right: Ints) -> Forest:
        """A forest of some of the nodes, with other edges."""
        columns = self.node_symbol, self.node_start, self.node_end, self.node_level
        symbol, start, end, level = (column[nodes] for column in columns)
        return Forest(self.words, symbol, start, end, level, edge_ptr, edge_rule, edge_left, edge_right)


def build_forest(
    grammar: Grammar, words: Sequence[str], items: Ints, may_stay: bool = True, is_sorted: bool = False
) -> Forest:
    """The forest of all derivations of the words that use only the anchored rules.

    items: int32 (4, m): rule, start, split, end. The split is the end for rules with fewer than two children. may_stay:
    whether a symbol that has unary rules over a span may also be used without one, if possible; false for the rules of
    one derivation, in which a chain may return to its first symbol. is_sorted: whether they are sorted by width, start,
    level and left-hand side, with the root rules last.
    """
    starts = (grammar.unary_start, grammar.root_start, grammar.lexical_start)
    if not is_sorted:
        rule, start, _, end = items
        level = _level(grammar, rule) + 2 * ((rule >= grammar.root_start) & (rule < grammar.lexical_start))
        items = np.ascontiguousarray(items[:, np.lexsort((grammar.rule_lhs[rule], level, start, end - start))])
    item, edge_ptr, edge_rule, edge_left, edge_right = assemble(
        len(words), *starts, grammar.rule_lhs, grammar.rule_left, grammar.rule_right, items, may_stay
    )
    rule, start, _, end = items[:, item]
    return Forest(
        words=tuple(words),
        node_symbol=grammar.rule_lhs[rule],
        node_start=start,
        node_end=end,
        node_level=_level(grammar, rule),
        edge_ptr=edge_ptr,
        edge_rule=edge_rule,
        edge_left=edge_left,
        edge_right=edge_right,
    )


def _level(grammar: Grammar, rule: Ints) -> Ints:
    """The level of the nodes that rules make."""
    level: Ints = np.where((rule >= grammar.unary_start) & (rule < grammar.root_start), TOP, BOTTOM).astype(np.int32)
    return level


def part_of(forest: Forest, is_kept: npt.NDArray[np.bool_]) -> tuple[Forest, Ints, Ints]:
    """(the forest of the derivations that use only these edges; the old numbers of its nodes and edges)."""
    is_kept, is_used = is_kept.copy(), np.empty(forest.n_nodes, np.bool_)
    trim(forest.edge_ptr, forest.edge_left, forest.edge_right, is_kept, is_used)
    nodes, edges = (np.flatnonzero(mask).astype(np.int32) for mask in (is_used, is_kept))
    number = np.append(np.cumsum(is_used) - 1, -1).astype(np.int32)  # missing children are -1 and stay -1
    counts = np.bincount(number[forest.edge_head[edges]], minlength=len(nodes))
    edge_ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    left, right = number[forest.edge_left[edges]], number[forest.edge_right[edges]]
    return forest.with_edges(nodes, edge_ptr, forest.edge_rule[edges], left, right), nodes, edges


def anchored_rules(forest: Forest, edges: Ints | None = None) -> Ints:
    """The anchored rules of the forest, or of some of its edges, int32 (4, m), as expected by `build_forest`."""
    chosen = np.arange(forest.n_edges) if edges is None else edges
    real = chosen[forest.edge_rule[chosen] >= 0]
    head = forest.edge_head[real]
    end = forest.node_end[head]
    left, right = forest.edge_left[real], forest.edge_right[real]
    split = np.where(right >= 0, forest.node_end[np.maximum(left, 0)], end)
    return np.stack([forest.edge_rule[real], forest.node_start[head], split, end]).astype(np.int32)
