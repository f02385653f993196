"""A PCFG's rules laid out for the chart kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.forest.constraints import chart_symbols
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chart_rules import Pairs, Symbols, TagRules, Unaries
from lveg.kernels.jit import DEAD


class ChartRules(NamedTuple):
    """A PCFG laid out for the chart, by kind of rule; weights are probabilities.

    root_child and root_weight are the root rules, from root_start on. The lexical rules of terminal w are
    [terminal_ptr[w], terminal_ptr[w + 1]): terminal_rule, terminal_tag, numbered among the tags, and terminal_weight,
    divided by 2 to the power of terminal_scale[w]; DEAD for a terminal without any rule.
    """

    symbols: Symbols
    pairs: Pairs
    tags: TagRules
    unaries: Unaries
    root_start: int
    root_child: Ints
    root_weight: Floats
    terminal_ptr: Ints
    terminal_tag: Ints
    terminal_weight: Floats
    terminal_rule: Ints
    terminal_scale: npt.NDArray[np.int64]

    @property
    def n_rules(self) -> int:
        """Number of rules of all kinds; lexical ones come last."""
        return self.root_start + len(self.root_child) + len(self.terminal_rule)

    @property
    def n_nonterminals(self) -> int:
        """Number of symbols that have cells."""
        return len(self.symbols.left_row)

    @property
    def n_tags(self) -> int:
        """Number of tags."""
        return int(self.tags.ptr.shape[1]) - 1

    @property
    def n_left(self) -> int:
        """Number of rows of left children."""
        return len(self.pairs.left_symbol)

    @property
    def n_right(self) -> int:
        """Number of rows of right children."""
        return int(self.symbols.right_row.max(initial=-1)) + 1


def chart_rules(grammar: Grammar, weight: Floats) -> ChartRules:
    """The rules of a grammar with linear weights, grouped as `ChartRules` describes."""
    n, n_symbols = grammar.n_nonterminals, len(grammar.symbols)
    binary, unary, root, lexical = (grammar.kind_slice(kind) for kind in ("binary", "unary", "root", "lexical"))
    lhs, left, right = grammar.rule_lhs, grammar.rule_left, grammar.rule_right
    left_row, right_row = rows_of(left[binary], n), rows_of(right[binary], n)

    inner = np.flatnonzero((left[binary] < n) & (right[binary] < n))
    pairs, lhs_pair = np.unique(left[inner].astype(np.int64) * n_symbols + right[inner], return_inverse=True)
    pair_left, pair_right = np.divmod(pairs, n_symbols)
    by_pair = inner[np.argsort(lhs_pair, kind="stable")]

    first = np.flatnonzero(left[binary] >= n)
    last = np.flatnonzero((left[binary] < n) & (right[binary] >= n))
    by_tag = [first[np.argsort(left[first], kind="stable")], last[np.argsort(right[last], kind="stable")]]
    tag_ptr = [pointers(left[by_tag[0]] - n, n_symbols - n), pointers(right[by_tag[1]] - n, n_symbols - n)]
    with_tag = np.concatenate(by_tag)

    by_child = unary.start + np.argsort(left[unary], kind="stable")
    by_terminal = lexical.start + np.argsort(left[lexical], kind="stable")
    best = np.zeros(grammar.lexicon.n_terminals)
    np.maximum.at(best, left[by_terminal], weight[by_terminal])
    exponent = np.frexp(best)[1]
    return ChartRules(
        symbols=Symbols(left_row, right_row, chart_symbols(grammar)),
        pairs=Pairs(
            ptr=pointers(left_row[pair_left], int(left_row.max(initial=-1)) + 1),
            left=left_row[pair_left],
            right_row=right_row[pair_right],
            right_symbol=pair_right.astype(np.uint32),
            left_symbol=np.flatnonzero(left_row >= 0).astype(np.int32),
            rule_ptr=pointers(np.sort(lhs_pair), len(pairs)),
            rule_lhs=lhs[by_pair],
            rule_weight=weight[by_pair],
            rule=by_pair.astype(np.int32),
            lhs_ptr=pointers(lhs[inner], n),
            lhs_pair=lhs_pair.astype(np.int32),
            lhs_weight=weight[inner],
        ),
        tags=TagRules(
            ptr=np.stack([tag_ptr[0], tag_ptr[1] + len(first)]).astype(np.int32),
            lhs=lhs[with_tag],
            other=np.concatenate([right[by_tag[0]], left[by_tag[1]]]),
            weight=weight[with_tag],
            rule=with_tag.astype(np.int32),
        ),
        unaries=Unaries(
            ptr=pointers(lhs[unary], n),
            child=left[unary].copy(),
            weight=weight[unary].copy(),
            rule=np.arange(unary.start, unary.stop, dtype=np.int32),
            child_ptr=pointers(left[by_child], n_symbols),
            child_lhs=lhs[by_child],
            child_weight=weight[by_child],
        ),
        root_start=root.start,
        root_child=left[root],
        root_weight=weight[root],
        terminal_ptr=pointers(left[by_terminal], grammar.lexicon.n_terminals),
        terminal_tag=lhs[by_terminal] - n,
        terminal_weight=np.ldexp(weight[by_terminal], -exponent[left[by_terminal]]),
        terminal_rule=by_terminal.astype(np.int32),
        terminal_scale=np.where(best > 0.0, exponent, DEAD).astype(np.int64),
    )


def rows_of(children: Ints, n_nonterminals: int) -> Ints:
    """The row of each nonterminal that occurs, in order; -1 for the others."""
    occurs = np.isin(np.arange(n_nonterminals), children)
    rows: Ints = np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
    return rows


def pointers(sorted_keys: np.ndarray, n_keys: int) -> Ints:
    """The index at which each key 0 .. n_keys - 1 begins in sorted keys, with the end appended: (n_keys + 1,)."""
    counts = np.bincount(sorted_keys, minlength=n_keys)
    result: Ints = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return result
