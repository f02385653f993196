"""A PCFG's rules laid out for the chart kernels."""

from __future__ import annotations

import numpy as np

from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chart import ChartRules


def chart_rules(grammar: Grammar, weight: Floats) -> ChartRules:
    """The rules of a grammar with linear weights, grouped as `ChartRules` describes."""
    n_symbols, n_nonterminals = len(grammar.symbols), grammar.n_nonterminals
    binary, unary, lexical = (grammar.kind_slice(kind) for kind in ("binary", "unary", "lexical"))

    pair_key = grammar.rule_left[binary].astype(np.int64) * n_symbols + grammar.rule_right[binary]
    by_pair = np.argsort(pair_key, kind="stable")
    pairs, rule_pair = np.unique(pair_key, return_inverse=True)
    first = np.searchsorted(pair_key[by_pair], pairs)
    pair_left, pair_right = np.divmod(pairs, n_symbols)
    left_ptr = pointers(pair_left, n_symbols)
    right_is_tag = pair_right >= n_nonterminals
    n_before_tag = np.bincount(pair_left[~right_is_tag], minlength=n_symbols)
    tag_pair = np.flatnonzero(right_is_tag & (pair_left < n_nonterminals))
    tag_pair = tag_pair[np.argsort(pair_right[tag_pair], kind="stable")]
    by_child = unary.start + np.argsort(grammar.rule_left[unary], kind="stable")
    by_terminal = lexical.start + np.argsort(grammar.rule_left[lexical], kind="stable")

    return ChartRules(
        n_nonterminals=n_nonterminals,
        is_part=grammar.is_part,
        left_ptr=left_ptr,
        left_mid=(left_ptr[:-1] + n_before_tag).astype(np.int32),
        pair_right=pair_right.astype(np.int32),
        pair_ptr=np.append(first, len(by_pair)).astype(np.int32),
        pair_lhs=grammar.rule_lhs[binary][by_pair],
        pair_weight=weight[binary][by_pair],
        tag_ptr=pointers(pair_right[tag_pair] - n_nonterminals, n_symbols - n_nonterminals),
        tag_pair=tag_pair.astype(np.int32),
        tag_left=pair_left[tag_pair].astype(np.int32),
        lhs_ptr=pointers(grammar.rule_lhs[binary], n_nonterminals),
        rule_left=grammar.rule_left,
        rule_right=grammar.rule_right,
        rule_pair=rule_pair.astype(np.int32),
        weight=np.ascontiguousarray(weight),
        unary_ptr=unary.start + pointers(grammar.rule_lhs[unary], n_nonterminals),
        child_ptr=pointers(grammar.rule_left[by_child], n_symbols),
        unary_lhs=grammar.rule_lhs[by_child],
        unary_weight=weight[by_child],
        root_start=grammar.root_start,
        lexical_start=grammar.lexical_start,
        terminal_ptr=pointers(grammar.rule_left[by_terminal], grammar.lexicon.n_terminals),
        terminal_rule=by_terminal.astype(np.int32),
        terminal_tag=grammar.rule_lhs[by_terminal],
    )


def pointers(sorted_keys: np.ndarray, n_keys: int) -> Ints:
    """Where the run of each key 0 .. n_keys - 1 begins in sorted keys, with the end appended: (n_keys + 1,)."""
    counts = np.bincount(sorted_keys, minlength=n_keys)
    result: Ints = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return result
