"""The coarse pass over likely cells only: a chart that leaves out what its surroundings make unlikely.

Before a cell is used, each symbol's inside score is multiplied by an estimate of its outside score, from the words on
either side (kernels.chart_ahead). What stays below the threshold is as good as not there. Few symbols a cell are
left, so cells list them, and the work runs along these lists; `chart_inside` is for charts that are full.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lveg.kernels.chart_ahead import Ahead, look_ahead
from lveg.kernels.chart_inside import add_tag_rules, add_unaries, close_symbols, split_factors, word_scores
from lveg.kernels.chart_outside import keep, keep_words, root_scores, sort_kept, unary_outside
from lveg.kernels.chart_rules import CLOSED, NO_PHRASE, ChartRules
from lveg.kernels.jit import DEAD, exponent_of, kernel, power_of_two


@kernel
def likely_room(rules: ChartRules, n: int) -> int:
    """How many numbers the chart of n words has."""
    return 3 * n * (n + 1) * rules.n_nonterminals


@kernel
def prune_likely(
    rules: ChartRules,
    ahead: Ahead,
    terminals: Any,
    given_tags: Any,
    spans: Any,
    p_node: float,
    p_edge: float,
    p_cell: float,
    room: Any,
) -> tuple[float, Any, Any, Any, Any]:
    """What `prune_chart` gives, of a chart without the symbols whose estimated posterior is below p_cell.

    log Z is that of the derivations left, and -inf where there is none.
    """
    n = terminals.shape[0]
    n_symbols = rules.n_nonterminals
    size = n * (n + 1) * n_symbols
    bottom = room[:size].reshape((n, n + 1, n_symbols))
    tops = room[size : 2 * size].reshape((n, n + 1, n_symbols))
    outer = room[2 * size : 3 * size].reshape((n, n + 1, n_symbols))
    tag_score = np.zeros((n, rules.first_ptr.shape[0] - 1))
    scale = np.full((n + 1, n + 1), DEAD, np.int64)
    word_scores(rules, terminals, given_tags, tag_score, scale)
    before, after = np.zeros((n + 1, n_symbols)), np.zeros((n + 1, n_symbols))
    before_scale, after_scale = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    look_ahead(ahead.precedes, ahead.ends, tag_score, scale, True, after, after_scale)
    z = look_ahead(ahead.follows, ahead.begins, tag_score, scale, False, before, before_scale)
    if z <= 0.0:
        nothing = np.empty(0, np.int32)
        return -math.inf, nothing, nothing, nothing, nothing
    row_begin, row_end = np.zeros((n, n + 1), np.int32), np.zeros((n, n + 1), np.int32)
    rows = np.empty(n * (n + 1) // 2 * rules.n_left, np.int32)
    scores = np.empty(n * (n + 1) // 2 * rules.n_left)
    likely_inside(
        rules, spans, tag_score, before, before_scale, after, after_scale, p_cell * z, before_scale[n],
        bottom, tops, scale, row_begin, row_end, rows, scores,
    )  # fmt: skip
    count = 512 * n
    kept = np.empty((0, 4), np.int32)
    log_z = 0.0
    while kept.shape[0] < count:  # a second time in the rare case that the guess was too low
        kept = np.empty((count, 4), np.int32)
        log_z, count = likely_outside(
            rules, terminals, tag_score, bottom, tops, outer, scale, row_begin, row_end, rows, scores,
            p_node, p_edge, kept,
        )  # fmt: skip
    kept = kept[:count][::-1]
    return log_z, kept[:, 0].copy(), kept[:, 1].copy(), kept[:, 2].copy(), kept[:, 3].copy()


@kernel
def likely_inside(
    rules: ChartRules,
    spans: Any,
    tag_score: Any,
    before: Any,
    before_scale: Any,
    after: Any,
    after_scale: Any,
    least: float,
    least_scale: int,
    bottom: Any,
    tops: Any,
    scale: Any,
    row_begin: Any,
    row_end: Any,
    rows: Any,
    scores: Any,
) -> None:
    """Fill the cells, by end, those that begin last first; and list the left rows of each with their scores."""
    n, n_symbols = tag_score.shape[0], rules.n_nonterminals
    left_row, is_part = rules.left_row, rules.is_part
    pair_ptr, pair_symbol = rules.pair_ptr, rules.pair_symbol
    made_ptr, made_lhs, made_weight = rules.made_ptr, rules.made_lhs, rules.made_weight
    first_ptr, first_lhs, first_right, first_weight = (
        rules.first_ptr, rules.first_lhs, rules.first_right, rules.first_weight,
    )  # fmt: skip
    last_ptr, last_lhs, last_left, last_weight = (
        rules.last_ptr, rules.last_lhs, rules.last_left, rules.last_weight,
    )  # fmt: skip
    child_ptr, child_lhs, child_weight = rules.child_ptr, rules.child_lhs, rules.child_weight
    factor = np.zeros(n + 1)
    pair_inside = np.zeros(pair_symbol.shape[0])
    is_seen = np.zeros(rules.n_left, np.bool_)
    seen = np.zeros(rules.n_left, np.int32)
    cell = np.zeros(n_symbols)
    top = np.zeros(n_symbols)
    size = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            row_begin[i, j] = size
            row_end[i, j] = size
            cell[:] = 0.0
            if j > i + 1:
                if spans[i, j] == CLOSED:
                    continue
                exponent = split_factors(scale, i, j, factor)
                if exponent == DEAD:
                    continue
                n_seen = 0
                for k in range(i + 1, j):
                    if factor[k] == 0.0:
                        continue
                    for index in range(row_begin[i, k], row_end[i, k]):
                        b, score = rows[index], scores[index] * factor[k]
                        if not is_seen[b]:
                            is_seen[b] = True
                            seen[n_seen] = b
                            n_seen += 1
                        for p in range(np.uint32(pair_ptr[b]), np.uint32(pair_ptr[b + 1])):
                            pair_inside[p] += score * tops[k, j, pair_symbol[p]]
                for index in range(n_seen):
                    b = seen[index]
                    is_seen[b] = False
                    for p in range(np.uint32(pair_ptr[b]), np.uint32(pair_ptr[b + 1])):
                        if pair_inside[p] > 0.0:
                            for m in range(made_ptr[p], made_ptr[p + 1]):
                                cell[made_lhs[m]] += made_weight[m] * pair_inside[p]
                            pair_inside[p] = 0.0
                add_tag_rules(
                    first_ptr, first_lhs, first_right, first_weight, last_ptr, last_lhs, last_left,
                    last_weight, n_symbols, tag_score, tops, i, j, factor, cell,
                )  # fmt: skip
                close_symbols(is_part, spans[i, j], cell)
                top[:] = cell
                add_unaries(child_ptr, child_lhs, child_weight, cell, 0, top)
                best = top.max() if n_symbols > 0 else 0.0
                if best <= 0.0:
                    continue
                shift = exponent_of(best)
                own = exponent + shift
                down = power_of_two(-shift)
                for a in range(n_symbols):
                    cell[a] *= down
                    top[a] *= down
            elif scale[i, j] == DEAD:
                continue
            else:
                own = scale[i, j]
                top[:] = 0.0
                add_unaries(child_ptr, child_lhs, child_weight, tag_score[i], n_symbols, top)
            if spans[i, j] == NO_PHRASE:
                close_symbols(is_part, NO_PHRASE, top)
            limit = least * power_of_two(least_scale - own - before_scale[i] - after_scale[j])
            is_open = False
            for a in range(n_symbols):
                score = top[a] if top[a] > 0.0 and top[a] * before[i, a] * after[j, a] >= limit else 0.0
                tops[i, j, a] = score
                bottom[i, j, a] = cell[a]
                if score > 0.0:
                    is_open = True
                    row = left_row[a]
                    if row >= 0 and pair_ptr[row] < pair_ptr[row + 1]:
                        rows[size] = row
                        scores[size] = score
                        size += 1
            row_end[i, j] = size
            if is_open:
                scale[i, j] = own


@kernel
def likely_outside(
    rules: ChartRules,
    terminals: Any,
    tag_score: Any,
    bottom: Any,
    tops: Any,
    outer: Any,
    scale: Any,
    row_begin: Any,
    row_end: Any,
    rows: Any,
    scores: Any,
    p_node: float,
    p_edge: float,
    kept: Any,
) -> tuple[float, int]:
    """What `outside` gives, of the symbols that are left.

    What one rule at one split hands down is left out where it is below a hundredth of the thresholds.
    """
    n, n_symbols = tag_score.shape[0], rules.n_nonterminals
    tiny = min(p_node, p_edge) * 1e-1
    cut = tiny * 1e-1
    weight, rule_left, unary_ptr = rules.weight, rules.rule_left, rules.unary_ptr
    pair_symbol, left_symbol = rules.pair_symbol, rules.left_symbol
    inner_ptr, inner_pair, inner_weight = rules.inner_ptr, rules.inner_pair, rules.inner_weight
    made_ptr, made_lhs, made_weight, made_rule = rules.made_ptr, rules.made_lhs, rules.made_weight, rules.made_rule
    first_ptr, first_lhs, first_right, first_weight, first_rule = (
        rules.first_ptr, rules.first_lhs, rules.first_right, rules.first_weight, rules.first_rule,
    )  # fmt: skip
    last_ptr, last_lhs, last_left, last_weight, last_rule = (
        rules.last_ptr, rules.last_lhs, rules.last_left, rules.last_weight, rules.last_rule,
    )  # fmt: skip
    tag_outside = np.zeros(tag_score.shape)
    above = np.zeros(n_symbols)
    below = np.zeros(n_symbols)
    factor = np.zeros(n + 1)
    pair_outside = np.zeros(pair_symbol.shape[0])
    wanted = np.zeros(pair_symbol.shape[0], np.int32)
    next_pair = np.zeros(pair_symbol.shape[0], np.int32)
    first_pair = np.full(rules.n_left, -1, np.int32)
    pair_left = rules.pair_left
    for i in range(n):
        for j in range(i + 1, n + 1):
            if scale[i, j] != DEAD:
                for a in range(n_symbols):
                    outer[i, j, a] = 0.0
    log_z, size = root_scores(rules, tag_score, tops, scale, above, tag_outside, p_edge, kept)
    if log_z == -math.inf:
        return log_z, 0
    outer[0, n] = above

    for width in range(n, 0, -1):
        for i in range(n - width, -1, -1):
            j = i + width
            if scale[i, j] == DEAD:
                continue
            alive = False
            for a in range(n_symbols):
                above[a] = 0.0
                if outer[i, j, a] * tops[i, j, a] >= tiny:
                    above[a] = outer[i, j, a]
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
            n_wanted, most = 0, 0.0
            for a in range(n_symbols):
                if below[a] * bottom[i, j, a] < tiny:
                    below[a] = 0.0
                    continue
                for index in range(inner_ptr[a], inner_ptr[a + 1]):
                    p, value = inner_pair[index], below[a] * inner_weight[index]
                    if value < cut:
                        continue
                    if pair_outside[p] == 0.0:
                        wanted[n_wanted] = p
                        n_wanted += 1
                        next_pair[p] = first_pair[pair_left[p]]
                        first_pair[pair_left[p]] = p
                    pair_outside[p] += value
                    most = max(most, pair_outside[p])
            first = size
            size = hand_down(
                made_ptr, made_lhs, made_weight, made_rule, pair_symbol, left_symbol, row_begin, row_end, rows, scores,
                tops, bottom, outer, factor, below, pair_outside, first_pair, next_pair, most, cut, i, j,
                p_node, p_edge, kept, size,
            )  # fmt: skip
            for index in range(n_wanted):
                pair_outside[wanted[index]] = 0.0
                first_pair[pair_left[wanted[index]]] = -1
            size = tag_rules_outside(
                first_ptr, first_lhs, first_right, first_weight, first_rule, last_ptr, last_lhs, last_left,
                last_weight, last_rule, n_symbols, tag_score, tops, bottom, outer, tag_outside, factor, below,
                i, j, p_node, p_edge, kept, size,
            )  # fmt: skip
            sort_kept(kept, first, min(size, kept.shape[0]))
    return log_z, size


@kernel
def hand_down(
    made_ptr: Any,
    made_lhs: Any,
    made_weight: Any,
    made_rule: Any,
    pair_symbol: Any,
    left_symbol: Any,
    row_begin: Any,
    row_end: Any,
    rows: Any,
    scores: Any,
    tops: Any,
    bottom: Any,
    outer: Any,
    factor: Any,
    below: Any,
    pair_outside: Any,
    first_pair: Any,
    next_pair: Any,
    most: float,
    cut: float,
    i: int,
    j: int,
    p_node: float,
    p_edge: float,
    kept: Any,
    size: int,
) -> int:
    """Hand the outside scores of pairs of nonterminals over (i, j) to their children, and keep rules of p_edge.

    The pairs of left row b are a chain, from first_pair[b] to the next_pair of each; `most` is the largest outside
    score of any. No score in `tops` is above 1, and what comes to less than `cut` is left out.
    """
    for k in range(i + 1, j):
        if factor[k] == 0.0:
            continue
        for index in range(row_begin[i, k], row_end[i, k]):
            b, score = rows[index], scores[index] * factor[k]
            if score * most < cut:
                continue
            total = 0.0
            following = first_pair[b]
            while following >= 0:
                p, following = following, next_pair[following]
                c = pair_symbol[p]
                product = score * tops[k, j, c]
                if pair_outside[p] * product < cut:
                    continue
                total += pair_outside[p] * tops[k, j, c]
                outer[k, j, c] += pair_outside[p] * score
                if pair_outside[p] * product >= p_edge:
                    for m in range(made_ptr[p], made_ptr[p + 1]):
                        a = made_lhs[m]
                        if below[a] * made_weight[m] * product >= p_edge and below[a] * bottom[i, j, a] >= p_node:
                            size = keep(kept, size, made_rule[m], i, k, j)
            outer[i, k, left_symbol[b]] += total * factor[k]
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
    n_symbols: int,
    tag_score: Any,
    tops: Any,
    bottom: Any,
    outer: Any,
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
    for tag in range(tag_score.shape[1]):
        if tag_score[i, tag] > 0.0 and factor[i + 1] > 0.0:
            score = tag_score[i, tag]
            for index in range(first_ptr[tag], first_ptr[tag + 1]):
                a, c = first_lhs[index], first_right[index]
                if below[a] <= 0.0 or (c >= n_symbols and j != i + 2):
                    continue
                value = below[a] * first_weight[index] * factor[i + 1]
                if c < n_symbols:
                    rest = tops[i + 1, j, c]
                    outer[i + 1, j, c] += value * score
                else:
                    rest = tag_score[i + 1, c - n_symbols]
                    tag_outside[i + 1, c - n_symbols] += value * score
                tag_outside[i, tag] += value * rest
                if value * score * rest >= p_edge and below[a] * bottom[i, j, a] >= p_node:
                    size = keep(kept, size, first_rule[index], i, i + 1, j)
        if tag_score[j - 1, tag] > 0.0 and factor[j - 1] > 0.0:
            score = tag_score[j - 1, tag]
            for index in range(last_ptr[tag], last_ptr[tag + 1]):
                a, b = last_lhs[index], last_left[index]
                if below[a] <= 0.0:
                    continue
                value = below[a] * last_weight[index] * factor[j - 1]
                rest = tops[i, j - 1, b]
                outer[i, j - 1, b] += value * score
                tag_outside[j - 1, tag] += value * rest
                if value * score * rest >= p_edge and below[a] * bottom[i, j, a] >= p_node:
                    size = keep(kept, size, last_rule[index], i, j - 1, j)
    return size
