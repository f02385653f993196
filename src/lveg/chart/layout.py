"""A PCFG's rules laid out for the chart kernels."""

from __future__ import annotations

import numpy as np

from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chart_rules import ChartRules


def chart_rules(grammar: Grammar, weight: Floats) -> ChartRules:
    """The rules of a grammar with linear weights, grouped as `ChartRules` describes."""
    n_symbols, n_nonterminals = len(grammar.symbols), grammar.n_nonterminals
    binary, unary, lexical = (grammar.kind_slice(kind) for kind in ("binary", "unary", "lexical"))

    lhs, left, right = grammar.rule_lhs, grammar.rule_left, grammar.rule_right
    is_inner = (left[binary] < n_nonterminals) & (right[binary] < n_nonterminals)
    inner = np.flatnonzero(is_inner)
    pairs, inner_pair = np.unique(left[inner].astype(np.int64) * n_symbols + right[inner], return_inverse=True)
    pair_left, pair_right = np.divmod(pairs, n_symbols)
    by_pair = np.argsort(inner_pair, kind="stable")

    left_row = rows_of(left[binary], n_nonterminals)
    right_row = rows_of(right[binary], n_nonterminals)

    first = np.flatnonzero(left[binary] >= n_nonterminals)
    first = first[np.argsort(left[first], kind="stable")]
    last = np.flatnonzero(~is_inner & (left[binary] < n_nonterminals))
    last = last[np.argsort(right[last], kind="stable")]
    by_child = unary.start + np.argsort(left[unary], kind="stable")
    by_terminal = lexical.start + np.argsort(left[lexical], kind="stable")

    return ChartRules(
        n_nonterminals=n_nonterminals,
        is_part=grammar.is_part,
        left_row=left_row,
        right_row=right_row,
        n_left=int(left_row.max(initial=-1)) + 1,
        n_right=int(right_row.max(initial=-1)) + 1,
        pair_ptr=pointers(left_row[pair_left], int(left_row.max(initial=-1)) + 1),
        pair_left=left_row[pair_left],
        pair_right=right_row[pair_right],
        pair_symbol=pair_right.astype(np.uint32),
        left_symbol=np.flatnonzero(left_row >= 0).astype(np.int32),
        made_ptr=pointers(inner_pair[by_pair], len(pairs)),
        made_lhs=lhs[inner[by_pair]],
        made_weight=weight[inner[by_pair]],
        made_rule=inner[by_pair].astype(np.int32),
        inner_ptr=pointers(lhs[inner], n_nonterminals),
        inner_rule=inner.astype(np.int32),
        inner_pair=inner_pair.astype(np.int32),
        inner_weight=weight[inner],
        first_ptr=pointers(left[first] - n_nonterminals, n_symbols - n_nonterminals),
        first_rule=first.astype(np.int32),
        first_lhs=lhs[first],
        first_right=right[first],
        first_weight=weight[first],
        last_ptr=pointers(right[last] - n_nonterminals, n_symbols - n_nonterminals),
        last_rule=last.astype(np.int32),
        last_lhs=lhs[last],
        last_left=left[last],
        last_weight=weight[last],
        rule_left=left,
        rule_right=right,
        weight=np.ascontiguousarray(weight),
        unary_ptr=(unary.start + pointers(lhs[unary], n_nonterminals)).astype(np.int32),
        child_ptr=pointers(left[by_child], n_symbols),
        child_lhs=lhs[by_child],
        child_weight=weight[by_child],
        root_start=grammar.root_start,
        lexical_start=grammar.lexical_start,
        terminal_ptr=pointers(left[by_terminal], grammar.lexicon.n_terminals),
        terminal_rule=by_terminal.astype(np.int32),
        terminal_tag=lhs[by_terminal],
    )


def rows_of(children: Ints, n_nonterminals: int) -> Ints:
    """The row of each nonterminal among those that occur, in order; -1 for the others."""
    occurs = np.isin(np.arange(n_nonterminals), children)
    rows: Ints = np.where(occurs, np.cumsum(occurs) - 1, -1).astype(np.int32)
    return rows


def pointers(sorted_keys: np.ndarray, n_keys: int) -> Ints:
    """Where the run of each key 0 .. n_keys - 1 begins in sorted keys, with the end appended: (n_keys + 1,)."""
    counts = np.bincount(sorted_keys, minlength=n_keys)
    result: Ints = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return result
