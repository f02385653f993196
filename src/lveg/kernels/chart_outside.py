"""Outside scores over the cells of `chart_inside`, and the anchored rules worth keeping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lveg.kernels.chart_rules import ChartRules, Extent
from lveg.kernels.jit import DEAD, kernel, power_of_two


@kernel
def outside(
    rules: ChartRules,
    terminals: Any,
    tag_score: Any,
    left: Any,
    right: Any,
    bottom: Any,
    tops: Any,
    as_left: Any,
    as_right: Any,
    scale: Any,
    extent: Extent,
    p_node: float,
    p_edge: float,
    kept: Any,
) -> tuple[float, int]:
    """log Z, and how many anchored rules are worth keeping; `kept` gets (rule, start, split, end) of each, last first.

    An outside score is kept times its cell's scale over Z, so that outside × inside is the posterior. Nodes
    whose posterior is below a tenth of the thresholds hand nothing down: what their children lose is
    below what is pruned (docs/math.md: pruning). as_left, as_right: room in the shapes of `left` and `right`.
    """
    n, n_symbols = left.shape[0], rules.n_nonterminals
    tiny = min(p_node, p_edge) * 1e-1
    as_left[:] = 0.0
    as_right[:] = 0.0
    tag_outside = np.zeros(tag_score.shape)
    from_root = np.zeros(n_symbols)
    above = np.zeros(n_symbols)
    below = np.zeros(n_symbols)
    factor = np.zeros(n + 1)
    scaled = np.zeros(n + 1)
    gathered = np.zeros(n + 1)
    left_low, left_high, right_low, right_high, right_most = extent
    left_row, right_row = rules.left_row, rules.right_row
    pair_ptr, pair_left, pair_right, weight = rules.pair_ptr, rules.pair_left, rules.pair_right, rules.weight
    unary_ptr, rule_left = rules.unary_ptr, rules.rule_left
    inner_ptr, inner_pair, inner_weight, inner_rule = (
        rules.inner_ptr, rules.inner_pair, rules.inner_weight, rules.inner_rule,
    )  # fmt: skip
    first_ptr, first_lhs, first_right, first_weight, first_rule = (
        rules.first_ptr, rules.first_lhs, rules.first_right, rules.first_weight, rules.first_rule,
    )  # fmt: skip
    last_ptr, last_lhs, last_left, last_weight, last_rule = (
        rules.last_ptr, rules.last_lhs, rules.last_left, rules.last_weight, rules.last_rule,
    )  # fmt: skip
    pair_outside = np.zeros(rules.pair_right.shape[0])
    pair_inside = np.zeros(rules.pair_right.shape[0])
    log_z, size = root_scores(rules, tag_score, tops, scale, from_root, tag_outside, p_edge, kept)
    if log_z == -math.inf:
        return log_z, 0

    for width in range(n, 0, -1):
        for i in range(n - width, -1, -1):
            j = i + width
            if scale[i, j] == DEAD:
                continue
            alive = False
            for a in range(n_symbols):
                above[a] = 0.0
                if tops[i, j, a] > 0.0:
                    score = from_root[a] if width == n else 0.0
                    if left_row[a] >= 0:
                        score += as_left[i, left_row[a], j]
                    if right_row[a] >= 0:
                        score += as_right[j, right_row[a], i]
                    if score * tops[i, j, a] >= tiny:
                        above[a] = score
                        alive = True
            if not alive and width > 1:
                continue
            size = unary_outside(
                n_symbols, unary_ptr, rule_left, weight, tag_score, bottom, tops, above, below, tag_outside,
                i, j, p_node, p_edge, kept, size,
            )  # fmt: skip
            if width == 1:
                size = keep_words(rules, terminals, tag_score, tag_outside, i, p_node, kept, size)
                continue
            for k in range(i + 1, j):
                factor[k] = 0.0
                if scale[i, k] != DEAD and scale[k, j] != DEAD:
                    factor[k] = power_of_two(scale[i, k] + scale[k, j] - scale[i, j])
            pair_outside[:] = 0.0
            pair_inside[:] = 0.0
            for a in range(n_symbols):
                if below[a] * bottom[i, j, a] < tiny:
                    below[a] = 0.0
                    continue
                for index in range(inner_ptr[a], inner_ptr[a + 1]):
                    pair_outside[inner_pair[index]] += below[a] * inner_weight[index]
            hand_down(
                pair_ptr, pair_right, left, right, as_left, as_right, factor, left_low, left_high,
                right_low, right_high, right_most, scaled, gathered, pair_outside, pair_inside, i, j, tiny,
            )  # fmt: skip
            first = size
            for a in range(n_symbols):
                # What falls below p_node has handed its share down; from here on it only counts as gone.
                if below[a] * bottom[i, j, a] >= p_node:
                    size = keep_inner(
                        inner_ptr, inner_pair, inner_weight, inner_rule, pair_left, pair_right, left, right,
                        factor, pair_inside, a, below[a], i, j, p_edge, kept, size,
                    )  # fmt: skip
            size = tag_rules_outside(
                first_ptr, first_lhs, first_right, first_weight, first_rule, last_ptr, last_lhs,
                last_left, last_weight, last_rule, left_row, right_row, tag_score, left, right, bottom, as_left,
                as_right, tag_outside, factor, below, i, j, p_node, p_edge, kept, size,
            )  # fmt: skip
            sort_kept(kept, first, min(size, kept.shape[0]))
    return log_z, size


@kernel
def root_scores(
    rules: ChartRules,
    tag_score: Any,
    tops: Any,
    scale: Any,
    from_root: Any,
    tag_outside: Any,
    p_edge: float,
    kept: Any,
) -> tuple[float, int]:
    """log Z, and how many root rules are kept; from_root gets the outside scores of symbols over all words."""
    n, n_symbols = tag_score.shape[0], rules.n_nonterminals
    size = 0
    z = 0.0
    if scale[0, n] != DEAD:
        for rule in range(rules.root_start, rules.lexical_start):
            child = rules.rule_left[rule]
            if child < n_symbols:
                z += rules.weight[rule] * tops[0, n, child]
            elif n == 1:
                z += rules.weight[rule] * tag_score[0, child - n_symbols]
    if z <= 0.0:
        return -math.inf, 0
    for rule in range(rules.lexical_start - 1, rules.root_start - 1, -1):
        child = rules.rule_left[rule]
        if child < n_symbols:
            from_root[child] = rules.weight[rule] / z
            posterior = from_root[child] * tops[0, n, child]
        elif n == 1:
            tag_outside[0, child - n_symbols] = rules.weight[rule] / z
            posterior = tag_outside[0, child - n_symbols] * tag_score[0, child - n_symbols]
        else:
            continue
        if posterior >= p_edge:
            size = keep(kept, size, rule, 0, n, n)
    return math.log(z) + scale[0, n] * math.log(2.0), size


@kernel
def keep(kept: Any, size: int, rule: int, start: int, split: int, end: int) -> int:
    """Add a rule to those kept, where there is room; how many there are with it, room or not."""
    if size < kept.shape[0]:
        kept[size, 0] = rule
        kept[size, 1] = start
        kept[size, 2] = split
        kept[size, 3] = end
    return size + 1


@kernel
def unary_outside(
    n_symbols: int,
    unary_ptr: Any,
    rule_left: Any,
    weight: Any,
    tag_score: Any,
    bottom: Any,
    tops: Any,
    above: Any,
    below: Any,
    tag_outside: Any,
    i: int,
    j: int,
    p_node: float,
    p_edge: float,
    kept: Any,
    size: int,
) -> int:
    """Fill `below`, the outside scores before the unary step, from `above`, those after it; keep unary rules."""
    below[:] = above
    for lhs in range(n_symbols - 1, -1, -1):
        if above[lhs] <= 0.0:
            continue
        least = p_edge if above[lhs] * tops[i, j, lhs] >= p_node else math.inf
        for rule in range(unary_ptr[lhs + 1] - 1, unary_ptr[lhs] - 1, -1):
            child = rule_left[rule]
            if (child >= n_symbols) != (j == i + 1):
                continue
            value = above[lhs] * weight[rule]
            if child >= n_symbols:
                score = tag_score[i, child - n_symbols]
                tag_outside[i, child - n_symbols] += value
            else:
                score = bottom[i, j, child]
                below[child] += value
            if value * score >= least:
                size = keep(kept, size, rule, i, j, j)
    return size


@kernel
def keep_words(
    rules: ChartRules,
    terminals: Any,
    tag_score: Any,
    tag_outside: Any,
    i: int,
    p_node: float,
    kept: Any,
    size: int,
) -> int:
    """Keep the lexical rules of a word whose tags have posterior p_node."""
    n_symbols = rules.n_nonterminals
    for index in range(rules.terminal_ptr[terminals[i] + 1] - 1, rules.terminal_ptr[terminals[i]] - 1, -1):
        tag = rules.terminal_tag[index] - n_symbols
        if tag_score[i, tag] * tag_outside[i, tag] >= p_node:
            size = keep(kept, size, rules.terminal_rule[index], i, i + 1, i + 1)
    return size


@kernel
def hand_down(
    pair_ptr: Any,
    pair_right: Any,
    left: Any,
    right: Any,
    as_left: Any,
    as_right: Any,
    factor: Any,
    left_low: Any,
    left_high: Any,
    right_low: Any,
    right_high: Any,
    right_most: Any,
    scaled: Any,
    gathered: Any,
    pair_outside: Any,
    pair_inside: Any,
    i: int,
    j: int,
    tiny: float,
) -> None:
    """Hand the outside scores of pairs of nonterminals over (i, j) to their children at every split.

    pair_inside gets the product of the children summed over splits; pairs that weigh less than `tiny` are
    left out.
    """
    for b in range(left_low.shape[1]):
        low, high = max(i + 1, left_low[i, b]), min(j - 1, left_high[i, b])
        if low > high or pair_ptr[b] == pair_ptr[b + 1]:
            continue
        most = 0.0
        for k in range(np.uint32(low), np.uint32(high + 1)):
            scaled[k] = left[i, b, k] * factor[k]
            gathered[k] = 0.0
            most += scaled[k]
        for p in range(pair_ptr[b], pair_ptr[b + 1]):
            score, c = pair_outside[p], pair_right[p]
            if score * most * right_most[j, c] < tiny:
                continue
            first, last = max(low, right_low[j, c]), min(high, right_high[j, c])
            total = 0.0
            for k in range(np.uint32(first), np.uint32(last + 1)):
                total += scaled[k] * right[j, c, k]
            pair_inside[p] = total
            if score * total >= tiny:
                for k in range(np.uint32(first), np.uint32(last + 1)):
                    gathered[k] += score * right[j, c, k]
                    as_right[j, c, k] += score * scaled[k]
        for k in range(np.uint32(low), np.uint32(high + 1)):
            as_left[i, b, k] += gathered[k] * factor[k]


@kernel
def keep_inner(
    inner_ptr: Any,
    inner_pair: Any,
    inner_weight: Any,
    inner_rule: Any,
    pair_left: Any,
    pair_right: Any,
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
) -> int:
    """Keep the rules of symbol a over two nonterminals, at the splits where their posterior is at least p_edge."""
    for index in range(inner_ptr[a], inner_ptr[a + 1]):
        value = score * inner_weight[index]
        if value * pair_inside[inner_pair[index]] < p_edge:
            continue
        b, c = pair_left[inner_pair[index]], pair_right[inner_pair[index]]
        for k in range(i + 1, j):
            if value * factor[k] * left[i, b, k] * right[j, c, k] >= p_edge:
                size = keep(kept, size, inner_rule[index], i, k, j)
    return size


@kernel
def tag_rules_outside(
    first_ptr: Any,
    first_lhs: Any,
    first_right: Any,
    first_weight: Any,
    first_rule: Any,
    last_ptr: Any,
    last_lhs: Any,
    last_left: Any,
    last_weight: Any,
    last_rule: Any,
    left_row: Any,
    right_row: Any,
    tag_score: Any,
    left: Any,
    right: Any,
    bottom: Any,
    as_left: Any,
    as_right: Any,
    tag_outside: Any,
    factor: Any,
    below: Any,
    i: int,
    j: int,
    p_node: float,
    p_edge: float,
    kept: Any,
    size: int,
) -> int:
    """Hand outside scores down by the rules with a tag at either end of the span, and keep those of p_edge."""
    n_symbols = left_row.shape[0]
    for tag in range(tag_score.shape[1]):
        if tag_score[i, tag] > 0.0:
            score = tag_score[i, tag]
            for index in range(first_ptr[tag], first_ptr[tag + 1]):
                a, c = first_lhs[index], first_right[index]
                if below[a] <= 0.0 or (c >= n_symbols and j != i + 2):
                    continue
                value = below[a] * first_weight[index] * factor[i + 1]
                if c < n_symbols:
                    row = right_row[c]
                    rest = right[j, row, i + 1]
                    as_right[j, row, i + 1] += value * score
                else:
                    rest = tag_score[i + 1, c - n_symbols]
                    tag_outside[i + 1, c - n_symbols] += value * score
                tag_outside[i, tag] += value * rest
                if value * score * rest >= p_edge and below[a] * bottom[i, j, a] >= p_node:
                    size = keep(kept, size, first_rule[index], i, i + 1, j)
        if tag_score[j - 1, tag] > 0.0:
            score = tag_score[j - 1, tag]
            for index in range(last_ptr[tag], last_ptr[tag + 1]):
                a, b = last_lhs[index], left_row[last_left[index]]
                if below[a] <= 0.0:
                    continue
                value = below[a] * last_weight[index] * factor[j - 1]
                rest = left[i, b, j - 1]
                as_left[i, b, j - 1] += value * score
                tag_outside[j - 1, tag] += value * rest
                if value * score * rest >= p_edge and below[a] * bottom[i, j, a] >= p_node:
                    size = keep(kept, size, last_rule[index], i, j - 1, j)
    return size


@kernel
def sort_kept(kept: Any, first: int, size: int) -> None:
    """Order what a span kept by rule, highest first: rules are numbered by left-hand side."""
    for index in range(first + 1, size):
        rule, split = kept[index, 0], kept[index, 2]
        place = index
        while place > first and kept[place - 1, 0] < rule:
            kept[place, 0], kept[place, 2] = kept[place - 1, 0], kept[place - 1, 2]
            place -= 1
        kept[place, 0], kept[place, 2] = rule, split
