"""What the chart kernels are given: a PCFG laid out for them, and the ranges that bound their loops."""

from __future__ import annotations

from typing import Any, NamedTuple

FREE, NO_PHRASE, ONLY_PHRASE, CLOSED = 0, 1, 2, 3
"""What a span may be: anything; no constituent; a constituent; nothing."""


class ChartRules(NamedTuple):
    """A PCFG laid out for the chart. The N nonterminals are numbered before the tags; weights are probabilities.

    Nonterminals that are ever a left child have a *row* for it, numbered in left_row, and those that are ever a right
    child one in right_row; others have -1. Binary rules over two nonterminals share work by *pair* of children: the
    pairs with left row b are [pair_ptr[b], pair_ptr[b + 1]), their rows pair_left and pair_right. The rules themselves
    are listed by left-hand side: those of A are [inner_ptr[A], inner_ptr[A + 1]) in inner_rule, inner_pair and
    inner_weight; made_* lists them by pair. Binary rules with a tag as left child are listed by that tag (first_*),
    those over a nonterminal and then a tag by the latter (last_*). Unary rules are sorted, so that unary_ptr groups
    them by left-hand side; child_* lists them by child, and terminal_* the lexical rules by terminal. left_symbol is
    the symbol of a left row, pair_symbol that of a pair's right row.
    """

    n_nonterminals: int
    is_part: Any
    left_row: Any
    right_row: Any
    n_left: int
    n_right: int
    pair_ptr: Any
    pair_left: Any
    pair_right: Any
    pair_symbol: Any
    left_symbol: Any
    made_ptr: Any
    made_lhs: Any
    made_weight: Any
    made_rule: Any
    inner_ptr: Any
    inner_rule: Any
    inner_pair: Any
    inner_weight: Any
    first_ptr: Any
    first_rule: Any
    first_lhs: Any
    first_right: Any
    first_weight: Any
    last_ptr: Any
    last_rule: Any
    last_lhs: Any
    last_left: Any
    last_weight: Any
    rule_left: Any
    rule_right: Any
    weight: Any
    unary_ptr: Any
    child_ptr: Any
    child_lhs: Any
    child_weight: Any
    root_start: int
    lexical_start: int
    terminal_ptr: Any
    terminal_rule: Any
    terminal_tag: Any


class Extent(NamedTuple):
    """First and last end of a left row's spans from a start, and first and last start of a right row's spans to an end.

    right_most is the largest score that the right row has in a span to an end.
    """

    left_low: Any
    left_high: Any
    right_low: Any
    right_high: Any
    right_most: Any
