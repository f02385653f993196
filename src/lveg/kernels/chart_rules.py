"""Data structures of the chart kernels: a PCFG laid out for them, and the cells of a sentence."""

from __future__ import annotations

from typing import Any, NamedTuple

FREE, NO_PHRASE, ONLY_PHRASE, CLOSED = 0, 1, 2, 3
"""Kinds of spans: anything; no constituent; a constituent; nothing. Sentences may have more kinds (see `Symbols`)."""


class Symbols(NamedTuple):
    """The N nonterminals, which are numbered before the T tags.

    Symbols that occur as a left child have a *row*, numbered in left_row, and those that occur as a right child one in
    right_row; others have -1. allowed: (2, kinds, N), 1 if a symbol may cover a kind of span, before and after the
    unary step, otherwise 0.
    """

    left_row: Any
    right_row: Any
    allowed: Any


class Pairs(NamedTuple):
    """Binary rules over two nonterminals, which share work by pair of children.

    The pairs with left row b are [ptr[b], ptr[b + 1]): left is that row, right_row and right_symbol the other child;
    left_symbol is the symbol of each row. The rules of a pair are listed by rule_ptr: rule_lhs, rule_weight and rule.
    lhs_ptr lists them by left-hand side: lhs_pair and lhs_weight.
    """

    ptr: Any
    left: Any
    right_row: Any
    right_symbol: Any
    left_symbol: Any
    rule_ptr: Any
    rule_lhs: Any
    rule_weight: Any
    rule: Any
    lhs_ptr: Any
    lhs_pair: Any
    lhs_weight: Any


class TagRules(NamedTuple):
    """Binary rules with a tag as left child (side 0), or as right child of a nonterminal (side 1).

    ptr (2, T + 1) lists them by side and tag: left-hand side, other child, weight and number.
    """

    ptr: Any
    lhs: Any
    other: Any
    weight: Any
    rule: Any


class Unaries(NamedTuple):
    """Unary rules: ptr lists them by left-hand side, child_ptr by child."""

    ptr: Any
    child: Any
    weight: Any
    rule: Any
    child_ptr: Any
    child_lhs: Any
    child_weight: Any


class Rules(NamedTuple):
    """The symbols of a PCFG and its binary and unary rules."""

    symbols: Symbols
    pairs: Pairs
    tags: TagRules
    unaries: Unaries


class Lexical(NamedTuple):
    """The lexical rules of each word of a sentence, listed by ptr (n + 1,): tag, numbered among the tags, and number.

    score: (n, T), their weights, divided by one power of two for each word.
    """

    ptr: Any
    tag: Any
    rule: Any
    score: Any


class Cells(NamedTuple):
    """Scores of nonterminals by start and end, (n, n + 1, N), times 2 to the power of scale, (n + 1, n + 1).

    bottom: inside scores before the unary step. top: after it. outer: outside scores of top, divided by Z and
    multiplied by the scale, so that outer × top is the posterior. A span without any derivation has scale DEAD, and its
    scores are not set. In a span of one word, scale is that of the tags too.
    """

    bottom: Any
    top: Any
    outer: Any
    scale: Any


class Work(NamedTuple):
    """Scratch arrays of a chart kernel; `pair` and `first_pair` must be zero.

    factor, scaled, gathered: (n + 1,), by split. cell (N + T,), top (N,): scores of symbols. pair: scores of pairs of
    children. wanted, next_pair: int32, one for each pair. first_pair: int32, one for each left row.
    """

    factor: Any
    scaled: Any
    gathered: Any
    cell: Any
    top: Any
    pair: Any
    wanted: Any
    next_pair: Any
    first_pair: Any


class Kept(NamedTuple):
    """Which anchored rules are kept: those with posterior p_edge at nodes with p_node; `keys` receives those that fit.

    The key of a rule is (((width · n_ends + start) · 2 + level) · n_rules + rule) · n_ends + n - split; n_ends is more
    than n.
    """

    p_node: float
    p_edge: float
    n_ends: int
    n_rules: int
    keys: Any


class Likely(NamedTuple):
    """The likely symbols of each span, in lists; scale as in `Cells`.

    The entries of a span are [begin[i, j], end[i, j]): symbol, and its inside scores before (low) and after (high) the
    unary step, divided by the scale. Those before middle[i, j] may be left children in a pair. high is 0 for a symbol
    that is only the child of unary rules. outer: outside scores of high, as in `Cells`.
    """

    scale: Any
    begin: Any
    middle: Any
    end: Any
    symbol: Any
    low: Any
    high: Any
    outer: Any


class Columns(NamedTuple):
    """Scores of all symbols of the spans that end at j and j - 1, (n, 2, N), by start and j % 2; see `Likely`.

    low: (N,), those of one span.
    """

    high: Any
    outer: Any
    low: Any


class Dense(NamedTuple):
    """A copy of the top scores, laid out so that sums over splits use contiguous memory for both children.

    left (n, rows, n + 1) is by start, row and end, right (n + 1, rows, n) by end, row and start; 0 if there is none.
    *_low and *_high are the first and the last nonzero entry, right_most is the largest.
    """

    left: Any
    left_low: Any
    left_high: Any
    right: Any
    right_low: Any
    right_high: Any
    right_most: Any
