"""Inside and outside scores of likely symbols only: those that are unlikely given the surrounding words are left out.

Before a span is used, each symbol's inside score is multiplied by an estimate of its outside score, from the words on
either side (kernels.chart_estimate). Symbols below the threshold count as absent. Few symbols per span are left, so
spans list them and sums run along these lists; `chart_inside` and `chart_outside` are for full charts.

Spans are visited by their end: all right children of a span have the same end as the span itself, so scores of all
symbols are laid out for two ends at a time, and memory grows with the number of likely symbols.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lveg.kernels.chart_estimate import Estimate
from lveg.kernels.chart_inside import add_tag_rules, finish_cell, split_factors, start_cell
from lveg.kernels.chart_outside import keep, pass_by_tags, want_pairs
from lveg.kernels.chart_rules import Columns, Kept, Lexical, Likely, Rules, Work
from lveg.kernels.jit import DEAD, ZERO, lean_kernel, power_of_two


@lean_kernel
def fill_likely_spans(
    grammar: Rules, spans: Any, tag_score: Any, estimate: Estimate, p_cell: float, likely: Likely, columns: Columns,
    work: Work,
) -> bool:  # fmt: skip
    """List the symbols of all spans whose estimated posterior is at least p_cell; False if the lists are too short.

    Spans are filled by increasing end, then by decreasing start.
    """
    (left_row, _, allowed), pairs, tags, unaries = grammar
    pair_ptr, pair_symbol = pairs.ptr, pairs.right_symbol
    rule_ptr, rule_lhs, rule_weight = pairs.rule_ptr, pairs.rule_lhs, pairs.rule_weight
    child_ptr, child_lhs = unaries.child_ptr, unaries.child_lhs
    before, before_scale = estimate.before, estimate.before_scale
    after, after_scale = estimate.after, estimate.after_scale
    scale, begin, middle, end, symbol, low, high, _ = likely
    column = columns.high
    factor, cell, top, pair_inside, seen, is_seen = (
        work.factor, work.cell, work.top, work.pair, work.wanted, work.first_pair,
    )  # fmt: skip
    n, n_symbols = tag_score.shape[0], left_row.shape[0]
    least, least_scale = p_cell * estimate.z, estimate.scale
    size = 0
    for j in range(1, n + 1):
        if size + j * n_symbols > symbol.shape[0]:
            return False
        now = j % 2
        for i in range(j - 1, -1, -1):
            begin[i, j], middle[i, j], end[i, j] = size, size, size
            own = start_cell(spans, scale, tag_score, i, j, factor, cell)
            if own == DEAD:
                continue
            if j > i + 1:
                n_seen = 0
                for k in range(i + 1, j):
                    if factor[k] == 0.0:
                        continue
                    for index in range(begin[i, k], middle[i, k]):
                        b, score = left_row[symbol[index]], high[index] * factor[k]
                        if is_seen[b] == 0:
                            is_seen[b] = 1
                            seen[n_seen] = b
                            n_seen += 1
                        for p in range(np.uint32(pair_ptr[b]), np.uint32(pair_ptr[b + 1])):
                            pair_inside[p] += score * column[k, now, pair_symbol[p]]
                for index in range(n_seen):
                    b = seen[index]
                    is_seen[b] = 0
                    for p in range(np.uint32(pair_ptr[b]), np.uint32(pair_ptr[b + 1])):
                        if pair_inside[p] > 0.0:
                            for m in range(rule_ptr[p], rule_ptr[p + 1]):
                                cell[rule_lhs[m]] += rule_weight[m] * pair_inside[p]
                            pair_inside[p] = 0.0
                add_tag_rules(tags, tag_score, column, factor, i, j, cell)
            own = finish_cell(unaries, allowed, spans[i, j], j > i + 1, own, cell, top)
            if own == DEAD:
                continue
            limit = least * power_of_two(least_scale - own - before_scale[i] - after_scale[j])
            is_likely = j == i + 1
            for a in range(n_symbols):
                if top[a] * before[i, a] * after[j, a] < limit:
                    top[a] = 0.0
                is_likely |= top[a] > 0.0
            if not is_likely:
                continue
            scale[i, j] = own
            # First the symbols that may be left children in a pair; then the others, and children of unary rules.
            for turn in range(2):
                for a in range(n_symbols):
                    row = left_row[a]
                    is_left = top[a] > 0.0 and row >= 0 and pair_ptr[row] < pair_ptr[row + 1]
                    is_used = is_left if turn == 0 else top[a] > 0.0 and not is_left
                    if turn == 1 and top[a] == 0.0 and cell[a] > 0.0:
                        for index in range(child_ptr[a], child_ptr[a + 1]):
                            is_used |= top[child_lhs[index]] > 0.0
                    if is_used:
                        symbol[size], low[size], high[size] = a, cell[a], top[a]
                        size += 1
                if turn == 0:
                    middle[i, j] = size
            for a in range(n_symbols):
                column[i, now, a] = top[a]
            end[i, j] = size
    return True


@lean_kernel
def keep_likely_rules(
    grammar: Rules, lexical: Lexical, likely: Likely, columns: Columns, from_root: Any, kept: Kept, tag_outer: Any,
    work: Work,
) -> int:  # fmt: skip
    """Like `keep_rules`, for likely spans: by decreasing end, then by increasing start, so that parents come first.

    Symbols whose posterior is below a tenth of the thresholds pass nothing down, nor do pairs of children at a split
    below a hundredth (docs/math.md: ahead).
    """
    (left_row, _, _), pairs, tags, unaries = grammar
    p_node, p_edge, n_ends, n_rules, keys = kept
    pair_left, pair_symbol = pairs.left, pairs.right_symbol
    pair_rule_ptr, pair_rule_lhs, pair_rule_weight, pair_rule = (
        pairs.rule_ptr, pairs.rule_lhs, pairs.rule_weight, pairs.rule,
    )  # fmt: skip
    unary_ptr, unary_child, unary_weight, unary_rule = unaries.ptr, unaries.child, unaries.weight, unaries.rule
    word_ptr, word_tag, word_rule, tag_score = lexical
    scale, begin, middle, end, symbol, low, high, outer = likely
    column, column_outer, bottom = columns
    n, n_tags = tag_score.shape
    n_symbols = left_row.shape[0]
    tiny = min(p_node, p_edge) * 1e-1
    cut = tiny * 1e-1
    factor, below, above, pair_outer, wanted, next_pair, first_pair = (
        work.factor, work.cell, work.top, work.pair, work.wanted, work.next_pair, work.first_pair,
    )  # fmt: skip

    if n == 1:
        for tag in range(n_tags):
            tag_outer[0, tag] = from_root[n_symbols + tag]
    for index in range(end[0, n]):
        outer[index] = 0.0
    size = ZERO
    for j in range(n, 0, -1):
        now = j % 2
        for stop in range(n if j == n else j - 1, max(j - 2, 0), -1):  # lay out the spans that end at j - 1, or at n
            for i in range(stop):
                if scale[i, stop] == DEAD:
                    continue
                for a in range(n_symbols):
                    column[i, stop % 2, a], column_outer[i, stop % 2, a] = 0.0, 0.0
                    if stop == i + n:
                        column_outer[i, stop % 2, a] = from_root[a]
                for index in range(begin[i, stop], end[i, stop]):
                    column[i, stop % 2, symbol[index]] = high[index]
        for i in range(j):
            if scale[i, j] == DEAD:
                continue
            alive = j == i + 1
            for index in range(begin[i, j], end[i, j]):
                outer[index] += column_outer[i, now, symbol[index]]
                alive |= outer[index] * high[index] >= tiny
            if not alive:
                continue
            # Fill `below`, the outside scores before the unary step, from `above`, those after it.
            for a in range(n_symbols):
                above[a], below[a], bottom[a] = 0.0, 0.0, 0.0
            for index in range(begin[i, j], end[i, j]):
                a = symbol[index]
                bottom[a] = low[index]
                if outer[index] * high[index] >= tiny:
                    above[a], below[a] = outer[index], outer[index]
            key = ((j - i) * n_ends + i) * 2 * n_rules
            for entry in range(begin[i, j], end[i, j]):
                a = symbol[entry]
                if above[a] > 0.0:
                    least = p_edge if above[a] * high[entry] >= p_node else math.inf
                    for index in range(unary_ptr[a], unary_ptr[a + 1]):
                        child, value = unary_child[index], above[a] * unary_weight[index]
                        score = 0.0
                        if child < n_symbols:
                            score = bottom[child]
                            below[child] += value
                        elif j == i + 1:
                            score = tag_score[i, child - n_symbols]
                            tag_outer[i, child - n_symbols] += value
                        if value * score >= least:
                            size = keep(keys, size, (key + n_rules + unary_rule[index]) * n_ends + n - j)
            if j == i + 1:
                for index in range(word_ptr[i], word_ptr[i + 1]):
                    tag = word_tag[index]
                    if tag_score[i, tag] * tag_outer[i, tag] >= p_node:
                        size = keep(keys, size, (key + word_rule[index]) * n_ends + n - j)
                continue
            up = power_of_two(split_factors(scale, i, j, factor) - scale[i, j])
            for k in range(i + 1, j):
                factor[k] *= up
            # Pass `below` down to children that are two nonterminals.
            for a in range(n_symbols):
                above[a] = below[a] * bottom[a]  # the posterior before the unary step
                if above[a] < tiny:
                    below[a] = 0.0
            n_wanted, most = want_pairs(pairs, below, cut, work)
            for k in range(i + 1, j):
                if factor[k] == 0.0:
                    continue
                for index in range(begin[i, k], middle[i, k]):
                    score = high[index] * factor[k]
                    if score * most < cut:  # no score in `high` is above 1
                        continue
                    total = 0.0
                    following = first_pair[left_row[symbol[index]]]
                    while following > 0:
                        p = following - 1
                        following = next_pair[p]
                        c = pair_symbol[p]
                        product = score * column[k, now, c]
                        posterior = pair_outer[p] * product
                        if posterior < cut:
                            continue
                        total += pair_outer[p] * column[k, now, c]
                        column_outer[k, now, c] += pair_outer[p] * score
                        if posterior >= p_edge:
                            for m in range(pair_rule_ptr[p], pair_rule_ptr[p + 1]):
                                a = pair_rule_lhs[m]
                                if below[a] * pair_rule_weight[m] * product >= p_edge and above[a] >= p_node:
                                    size = keep(keys, size, (key + pair_rule[m]) * n_ends + n - k)
                    outer[index] += total * factor[k]
            for index in range(n_wanted):
                pair_outer[wanted[index]] = 0.0
                first_pair[pair_left[wanted[index]]] = 0
            size = pass_by_tags(tags, tag_score, column, column_outer, tag_outer, i, j, key, kept, size, work)
    return size
