"""What the chart kernels are given: a PCFG laid out for them, and the ranges that bound their loops."""

from __future__ import annotations

from typing import Any, NamedTuple

FREE, NO_PHRASE, ONLY_PHRASE, CLOSED = 0, 1, 2, 3
"""What a span may be: anything; no constituent; a constituent; nothing."""


class ChartRules(NamedTuple):
    """A PCFG laid out for the chart. The N nonterminals are numbered before the tags; weights are probabilities.

    Binary rules over two nonterminals share work by *pair* of children: the pairs with left child B are
    [pair_ptr[B], pair_ptr[B + 1]), their right children pair_right. The rules themselves are listed by
    left-hand side: those of A are [inner_ptr[A], inner_ptr[A + 1]) in inner_rule, inner_pair and
    inner_weight. Binary rules with a tag as left child are listed by that tag (first_*), those over a
    nonterminal and then a tag by the latter (last_*). Unary rules are sorted, so that unary_ptr groups them
    by left-hand side; child_* lists them by child, and terminal_* the lexical rules by terminal. is_left and is_right
    tell which nonterminals are ever a left or a right child: many are never one of them, and need no row there.
    """

    n_nonterminals: int
    is_part: Any
    is_left: Any
    is_right: Any
    pair_ptr: Any
    pair_right: Any
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
    """First and last end of a nonterminal's spans from a start, and first and last start of its spans to an end.

    right_most is the largest score that the nonterminal has in a span to an end.
    """

    left_low: Any
    left_high: Any
    right_low: Any
    right_high: Any
    right_most: Any
