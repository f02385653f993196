"""The coarse pass: inside and outside scores of a PCFG over all spans, and the anchored rules worth keeping.

Cells hold values in the linear domain with one power of two each (docs/math.md: scale). A cell (i, j) is stored twice,
`left[i, A, j]` and `right[j, A, i]`, so that the sum over split points runs along contiguous memory in both children.
Only nonterminals have cells; tags live in `tag_score`, one row a word, since they span one word.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import DEAD, exponent_of, kernel, power_of_two

FREE, NO_PHRASE, ONLY_PHRASE, CLOSED = 0, 1, 2, 3
"""What a span may be: anything; no constituent; a constituent; nothing."""


class ChartRules(NamedTuple):
    """A PCFG laid out for the chart. `N` nonterminals are numbered before the tags; weights are probabilities.

    A *pair* is two symbols that some binary rule has as children. Pairs are grouped by their left symbol in
    [left_ptr[B], left_ptr[B + 1]), those with a nonterminal on the right before left_mid[B]; pairs of a nonterminal and
    a tag are listed once more by that tag (tag_ptr, tag_pair, tag_left). The rules of pair p are pair_rule[pair_ptr[p] :
    pair_ptr[p + 1]], with their left-hand sides and weights beside them; rule_pair is the pair of a rule. lhs_ptr groups binary rules, which are sorted, by
    left-hand side, and unary_ptr the unary ones; child_ptr groups unary rules by child; terminal_ptr groups lexical rules by terminal.
    """

    n_nonterminals: int
    is_part: Any
    left_ptr: Any
    left_mid: Any
    pair_right: Any
    pair_ptr: Any
    pair_lhs: Any
    pair_weight: Any
    tag_ptr: Any
    tag_pair: Any
    tag_left: Any
    lhs_ptr: Any
    rule_left: Any
    rule_right: Any
    rule_pair: Any
    weight: Any
    unary_ptr: Any
    child_ptr: Any
    unary_lhs: Any
    unary_weight: Any
    root_start: int
    lexical_start: int
    terminal_ptr: Any
    terminal_rule: Any
    terminal_tag: Any


class Extent(NamedTuple):
    """First and last end of a nonterminal's spans from a start, and first and last start of its spans to an end."""

    left_low: Any
    left_high: Any
    right_low: Any
    right_high: Any


@kernel
def prune_chart(
    rules: ChartRules, terminals: Any, given_tags: Any, spans: Any, p_node: float, p_edge: float
) -> tuple[float, Any, Any, Any, Any]:
    """(log Z, rule, start, split, end): anchored rules with posterior at least p_edge at nodes with at least p_node.

    terminals: int32 (n,). given_tags: int32 (n,), a tag's number among the tags, or -1. spans: uint8 (n + 1, n + 1), what
    each span may be. Rules come sorted by width, start, level (rule above the unary step last) and left-hand side. log Z is
    -inf where nothing derives the sentence. Cost: O(n^3 pairs) with small constants, O(n^2 N) memory.
    """
    n = terminals.shape[0]
    n_symbols = rules.n_nonterminals
    n_tags = rules.left_mid.shape[0] - n_symbols
    left = np.zeros((n, n_symbols, n + 1))
    right = np.zeros((n + 1, n_symbols, n + 1))
    bottom = np.zeros((n, n + 1, n_symbols))
    tag_score = np.zeros((n, n_tags))
    scale = np.full((n + 1, n + 1), DEAD, np.int64)
    word_scores(rules, terminals, given_tags, tag_score, scale)
    extent = Extent(
        np.full((n, n_symbols), n + 1, np.int32),
        np.full((n, n_symbols), -1, np.int32),
        np.full((n + 1, n_symbols), n + 1, np.int32),
        np.full((n + 1, n_symbols), -1, np.int32),
    )
    inside(rules, spans, tag_score, left, right, bottom, scale, extent)
    return outside(rules, terminals, tag_score, left, right, bottom, scale, extent, p_node, p_edge)


@kernel
def word_scores(rules: ChartRules, terminals: Any, given_tags: Any, tag_score: Any, scale: Any) -> None:
    """Fill tag_score (n, n_tags) and the scale of one-word spans from the lexical rules."""
    n_symbols = rules.n_nonterminals
    for i in range(terminals.shape[0]):
        best = 0.0
        for index in range(rules.terminal_ptr[terminals[i]], rules.terminal_ptr[terminals[i] + 1]):
            tag = rules.terminal_tag[index] - n_symbols
            if given_tags[i] < 0 or given_tags[i] == tag:
                value = rules.weight[rules.terminal_rule[index]]
                tag_score[i, tag] = value
                best = max(best, value)
        if best > 0.0:
            exponent = exponent_of(best)
            scale[i, i + 1] = exponent
            for tag in range(tag_score.shape[1]):
                tag_score[i, tag] *= power_of_two(-exponent)


@kernel
def inside(
    rules: ChartRules,
    spans: Any,
    tag_score: Any,
    left: Any,
    right: Any,
    bottom: Any,
    scale: Any,
    extent: Extent,
) -> None:
    """Fill the cells, shorter spans first: `bottom` before the unary step, `left` and `right` after it."""
    n, n_symbols = left.shape[0], rules.n_nonterminals
    left_low, left_high, right_low, right_high = extent
    factor = np.zeros(n + 1)
    scaled = np.zeros(n + 1)
    cell = np.zeros(n_symbols)
    top = np.zeros(n_symbols)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            if spans[i, j] == CLOSED and width > 1:
                continue
            cell[:] = 0.0
            if width > 1:
                exponent = split_factors(scale, i, j, factor)
                if exponent == DEAD:
                    continue
                for b in range(n_symbols):
                    low, high = left_low[i, b], left_high[i, b]
                    if low > high:
                        continue
                    for k in range(low, high + 1):
                        scaled[k] = left[i, b, k] * factor[k]
                    for p in range(rules.left_ptr[b], rules.left_mid[b]):
                        c = rules.pair_right[p]
                        first, last = max(low, right_low[j, c]), min(high, right_high[j, c])
                        if first > last:
                            continue
                        total = 0.0
                        for k in range(first, last + 1):
                            total += scaled[k] * right[j, c, k]
                        add_pair(rules, p, total, cell)
                add_tag_pairs(rules, tag_score, left, right, i, j, factor, cell)
                close_symbols(rules, spans[i, j], cell)
                best = cell.max()
                if best <= 0.0:
                    continue
                shift = exponent_of(best)
                scale[i, j] = exponent + shift
                for a in range(n_symbols):
                    cell[a] *= power_of_two(-shift)
            elif scale[i, j] == DEAD:
                continue
            top[:] = cell
            if spans[i, j] != NO_PHRASE and spans[i, j] != CLOSED:
                add_unaries(rules, tag_score, i, width, cell, top)
            for a in range(n_symbols):
                if top[a] > 0.0:
                    bottom[i, j, a] = cell[a]
                    left[i, a, j] = top[a]
                    right[j, a, i] = top[a]
                    left_low[i, a] = min(left_low[i, a], j)
                    left_high[i, a] = max(left_high[i, a], j)
                    right_low[j, a] = min(right_low[j, a], i)
                    right_high[j, a] = max(right_high[j, a], i)


@kernel
def split_factors(scale: Any, i: int, j: int, factor: Any) -> int:
    """The largest scale of two children over all splits of (i, j); factor[k] brings split k's children to it."""
    largest = DEAD
    for k in range(i + 1, j):
        if scale[i, k] != DEAD and scale[k, j] != DEAD:
            largest = max(largest, scale[i, k] + scale[k, j])
    for k in range(i + 1, j):
        factor[k] = 0.0
        if scale[i, k] != DEAD and scale[k, j] != DEAD:
            factor[k] = power_of_two(scale[i, k] + scale[k, j] - largest)
    return largest


@kernel
def add_pair(rules: ChartRules, pair: int, total: float, cell: Any) -> None:
    """Let the rules of a pair, whose children's product is `total`, add to their left-hand sides."""
    for index in range(rules.pair_ptr[pair], rules.pair_ptr[pair + 1]):
        cell[rules.pair_lhs[index]] += rules.pair_weight[index] * total


@kernel
def add_tag_pairs(
    rules: ChartRules, tag_score: Any, left: Any, right: Any, i: int, j: int, factor: Any, cell: Any
) -> None:
    """Add the pairs with a tag at either end of the span."""
    n_symbols = rules.n_nonterminals
    for tag in range(tag_score.shape[1]):
        if tag_score[i, tag] > 0.0:
            score = tag_score[i, tag] * factor[i + 1]
            symbol = n_symbols + tag
            for p in range(rules.left_ptr[symbol], rules.left_mid[symbol]):
                total = score * right[j, rules.pair_right[p], i + 1]
                if total > 0.0:
                    add_pair(rules, p, total, cell)
            if j == i + 2:
                for p in range(rules.left_mid[symbol], rules.left_ptr[symbol + 1]):
                    total = score * tag_score[i + 1, rules.pair_right[p] - n_symbols]
                    if total > 0.0:
                        add_pair(rules, p, total, cell)
        if tag_score[j - 1, tag] > 0.0:
            score = tag_score[j - 1, tag] * factor[j - 1]
            for index in range(rules.tag_ptr[tag], rules.tag_ptr[tag + 1]):
                total = left[i, rules.tag_left[index], j - 1] * score
                if total > 0.0:
                    add_pair(rules, rules.tag_pair[index], total, cell)


@kernel
def close_symbols(rules: ChartRules, span: int, cell: Any) -> None:
    """Zero the symbols that may not cover the span."""
    if span != FREE:
        for a in range(cell.shape[0]):
            if span == CLOSED or (rules.is_part[a] == 1) == (span == ONLY_PHRASE):
                cell[a] = 0.0


@kernel
def add_unaries(rules: ChartRules, tag_score: Any, i: int, width: int, cell: Any, top: Any) -> None:
    """Add what one unary rule makes of the symbols in the cell, or of the word's tags."""
    n_symbols = rules.n_nonterminals
    if width == 1:
        for tag in range(tag_score.shape[1]):
            if tag_score[i, tag] > 0.0:
                for u in range(rules.child_ptr[n_symbols + tag], rules.child_ptr[n_symbols + tag + 1]):
                    top[rules.unary_lhs[u]] += rules.unary_weight[u] * tag_score[i, tag]
        return
    for b in range(n_symbols):
        if cell[b] > 0.0:
            for u in range(rules.child_ptr[b], rules.child_ptr[b + 1]):
                top[rules.unary_lhs[u]] += rules.unary_weight[u] * cell[b]


@kernel
def outside(
    rules: ChartRules,
    terminals: Any,
    tag_score: Any,
    left: Any,
    right: Any,
    bottom: Any,
    scale: Any,
    extent: Extent,
    p_node: float,
    p_edge: float,
) -> tuple[float, Any, Any, Any, Any]:
    """Outside scores, longer spans first, and the anchored rules kept on the way.

    An outside score is kept times its cell's scale over Z, so that outside × inside is the posterior. Nodes whose posterior
    is below a hundredth of the thresholds hand nothing down: what their children lose is below what is pruned (docs/math.md: pruning).
    """
    n, n_symbols = left.shape[0], rules.n_nonterminals
    tiny = min(p_node, p_edge) * 1e-2
    as_left = np.zeros((n, n_symbols, n + 1))
    as_right = np.zeros((n + 1, n_symbols, n + 1))
    tag_outside = np.zeros(tag_score.shape)
    above = np.zeros(n_symbols)
    below = np.zeros(n_symbols)
    factor = np.zeros(n + 1)
    pair_outside = np.zeros(rules.pair_right.shape[0])
    pair_inside = np.zeros(rules.pair_right.shape[0])
    # Kept rules, last first: (rule, start, split, end).
    kept = np.empty((1024, 4), np.int32)
    size = 0

    z = 0.0
    if scale[0, n] != DEAD:
        for rule in range(rules.root_start, rules.lexical_start):
            child = rules.rule_left[rule]
            if child < n_symbols:
                z += rules.weight[rule] * left[0, child, n]
            elif n == 1:
                z += rules.weight[rule] * tag_score[0, child - n_symbols]
    if z <= 0.0:
        return -math.inf, kept[:0, 0], kept[:0, 1], kept[:0, 2], kept[:0, 3]
    log_z = math.log(z) + scale[0, n] * math.log(2.0)
    for rule in range(rules.lexical_start - 1, rules.root_start - 1, -1):
        child = rules.rule_left[rule]
        if child < n_symbols:
            as_left[0, child, n] = rules.weight[rule] / z
            posterior = as_left[0, child, n] * left[0, child, n]
        elif n == 1:
            tag_outside[0, child - n_symbols] = rules.weight[rule] / z
            posterior = tag_outside[0, child - n_symbols] * tag_score[0, child - n_symbols]
        else:
            continue
        if posterior >= p_edge:
            kept, size = keep(kept, size, rule, 0, n, n)

    for width in range(n, 0, -1):
        for i in range(n - width, -1, -1):
            j = i + width
            if scale[i, j] == DEAD:
                continue
            alive = False
            for a in range(n_symbols):
                above[a] = as_left[i, a, j] + as_right[j, a, i]
                if above[a] * left[i, a, j] < tiny:
                    above[a] = 0.0
                else:
                    alive = True
            if not alive and width > 1:
                continue
            kept, size = unary_outside(
                rules, tag_score, left, bottom, above, below, tag_outside, i, j, p_node, p_edge, kept, size
            )
            if width == 1:
                kept, size = keep_words(rules, terminals, tag_score, tag_outside, i, p_node, kept, size)
                continue
            for k in range(i + 1, j):
                factor[k] = 0.0
                if scale[i, k] != DEAD and scale[k, j] != DEAD:
                    factor[k] = power_of_two(scale[i, k] + scale[k, j] - scale[i, j])
            pair_outside[:] = 0.0
            pair_inside[:] = 0.0
            for a in range(n_symbols):
                if below[a] * bottom[i, j, a] >= tiny:
                    for rule in range(rules.lhs_ptr[a], rules.lhs_ptr[a + 1]):
                        pair_outside[rules.rule_pair[rule]] += below[a] * rules.weight[rule]
            hand_down(
                rules, left, right, as_left, as_right, factor, extent, pair_outside, pair_inside, i, j, tiny
            )
            hand_down_to_tags(
                rules, tag_score, left, right, as_left, as_right, tag_outside, factor, pair_outside, pair_inside, i, j
            )
            for a in range(n_symbols - 1, -1, -1):
                if below[a] * bottom[i, j, a] >= p_node:
                    kept, size = keep_binary(
                        rules, tag_score, left, right, factor, pair_inside, a, below[a], i, j, p_edge, kept, size
                    )
    kept = kept[:size][::-1]
    return log_z, kept[:, 0].copy(), kept[:, 1].copy(), kept[:, 2].copy(), kept[:, 3].copy()


@kernel
def keep(kept: Any, size: int, rule: int, start: int, split: int, end: int) -> tuple[Any, int]:
    """The list of kept rules with one more, and its length."""
    if size == kept.shape[0]:
        larger = np.empty((2 * size, 4), np.int32)
        larger[:size] = kept
        kept = larger
    kept[size, 0] = rule
    kept[size, 1] = start
    kept[size, 2] = split
    kept[size, 3] = end
    return kept, size + 1


@kernel
def unary_outside(
    rules: ChartRules,
    tag_score: Any,
    left: Any,
    bottom: Any,
    above: Any,
    below: Any,
    tag_outside: Any,
    i: int,
    j: int,
    p_node: float,
    p_edge: float,
    kept: Any,
    size: int,
) -> tuple[Any, int]:
    """Fill `below`, the outside scores before the unary step, from `above`, those after it; keep unary rules."""
    n_symbols = rules.n_nonterminals
    below[:] = above
    for lhs in range(n_symbols - 1, -1, -1):
        if above[lhs] <= 0.0:
            continue
        least = p_edge if above[lhs] * left[i, lhs, j] >= p_node else math.inf
        for rule in range(rules.unary_ptr[lhs + 1] - 1, rules.unary_ptr[lhs] - 1, -1):
            child = rules.rule_left[rule]
            if (child >= n_symbols) != (j == i + 1):
                continue
            value = above[lhs] * rules.weight[rule]
            if child >= n_symbols:
                score = tag_score[i, child - n_symbols]
                tag_outside[i, child - n_symbols] += value
            else:
                score = bottom[i, j, child]
                below[child] += value
            if value * score >= least:
                kept, size = keep(kept, size, rule, i, j, j)
    return kept, size


@kernel
def keep_words(
    rules: ChartRules, terminals: Any, tag_score: Any, tag_outside: Any, i: int, p_node: float, kept: Any, size: int
) -> tuple[Any, int]:
    """Keep the lexical rules of a word whose tags have posterior p_node."""
    n_symbols = rules.n_nonterminals
    for index in range(rules.terminal_ptr[terminals[i] + 1] - 1, rules.terminal_ptr[terminals[i]] - 1, -1):
        tag = rules.terminal_tag[index] - n_symbols
        if tag_score[i, tag] * tag_outside[i, tag] >= p_node:
            kept, size = keep(kept, size, rules.terminal_rule[index], i, i + 1, i + 1)
    return kept, size


@kernel
def hand_down(
    rules: ChartRules,
    left: Any,
    right: Any,
    as_left: Any,
    as_right: Any,
    factor: Any,
    extent: Extent,
    pair_outside: Any,
    pair_inside: Any,
    i: int,
    j: int,
    tiny: float,
) -> None:
    """Hand the outside scores of pairs of nonterminals over (i, j) to their children at every split.

    pair_inside gets the product of the children summed over splits; pairs that weigh less than `tiny` are left out.
    """
    scaled = np.empty(j + 1)
    gathered = np.empty(j + 1)
    for b in range(rules.n_nonterminals):
        low, high = max(i + 1, extent.left_low[i, b]), min(j - 1, extent.left_high[i, b])
        if low > high:
            continue
        for k in range(low, high + 1):
            scaled[k] = left[i, b, k] * factor[k]
            gathered[k] = 0.0
        for p in range(rules.left_ptr[b], rules.left_mid[b]):
            score = pair_outside[p]
            if score <= 0.0:
                continue
            c = rules.pair_right[p]
            first, last = max(low, extent.right_low[j, c]), min(high, extent.right_high[j, c])
            total = 0.0
            for k in range(first, last + 1):
                total += scaled[k] * right[j, c, k]
            pair_inside[p] = total
            if score * total >= tiny:
                for k in range(first, last + 1):
                    gathered[k] += score * right[j, c, k]
                for k in range(first, last + 1):
                    as_right[j, c, k] += score * scaled[k]
        for k in range(low, high + 1):
            as_left[i, b, k] += gathered[k] * factor[k]


@kernel
def hand_down_to_tags(
    rules: ChartRules,
    tag_score: Any,
    left: Any,
    right: Any,
    as_left: Any,
    as_right: Any,
    tag_outside: Any,
    factor: Any,
    pair_outside: Any,
    pair_inside: Any,
    i: int,
    j: int,
) -> None:
    """The same for pairs with a tag at either end of the span."""
    n_symbols = rules.n_nonterminals
    for tag in range(tag_score.shape[1]):
        if tag_score[i, tag] > 0.0:
            score = tag_score[i, tag] * factor[i + 1]
            symbol = n_symbols + tag
            for p in range(rules.left_ptr[symbol], rules.left_mid[symbol]):
                c = rules.pair_right[p]
                if pair_outside[p] > 0.0 and right[j, c, i + 1] > 0.0:
                    pair_inside[p] = score * right[j, c, i + 1]
                    tag_outside[i, tag] += pair_outside[p] * factor[i + 1] * right[j, c, i + 1]
                    as_right[j, c, i + 1] += pair_outside[p] * score
            if j == i + 2:
                for p in range(rules.left_mid[symbol], rules.left_ptr[symbol + 1]):
                    other = rules.pair_right[p] - n_symbols
                    if pair_outside[p] > 0.0 and tag_score[i + 1, other] > 0.0:
                        pair_inside[p] = score * tag_score[i + 1, other]
                        tag_outside[i, tag] += pair_outside[p] * factor[i + 1] * tag_score[i + 1, other]
                        tag_outside[i + 1, other] += pair_outside[p] * score
        if tag_score[j - 1, tag] > 0.0:
            score = tag_score[j - 1, tag] * factor[j - 1]
            for index in range(rules.tag_ptr[tag], rules.tag_ptr[tag + 1]):
                p, b = rules.tag_pair[index], rules.tag_left[index]
                if pair_outside[p] > 0.0 and left[i, b, j - 1] > 0.0:
                    pair_inside[p] = score * left[i, b, j - 1]
                    tag_outside[j - 1, tag] += pair_outside[p] * factor[j - 1] * left[i, b, j - 1]
                    as_left[i, b, j - 1] += pair_outside[p] * score


@kernel
def keep_binary(
    rules: ChartRules,
    tag_score: Any,
    left: Any,
    right: Any,
    factor: Any,
    pair_inside: Any,
    a: int,
    score: float,
    i: int,
    j: int,
    p_edge: float,
    kept: Any,
    size: int,
) -> tuple[Any, int]:
    """Keep the binary rules of symbol a over (i, j), at the splits where their posterior is at least p_edge."""
    n_symbols = rules.n_nonterminals
    for rule in range(rules.lhs_ptr[a + 1] - 1, rules.lhs_ptr[a] - 1, -1):
        value = score * rules.weight[rule]
        if value * pair_inside[rules.rule_pair[rule]] < p_edge:
            continue
        b, c = rules.rule_left[rule], rules.rule_right[rule]
        if b < n_symbols and c < n_symbols:
            for k in range(j - 1, i, -1):
                if value * factor[k] * left[i, b, k] * right[j, c, k] >= p_edge:
                    kept, size = keep(kept, size, rule, i, k, j)
        else:
            kept, size = keep(kept, size, rule, i, i + 1 if b >= n_symbols else j - 1, j)
    return kept, size
