"""Inside scores of a PCFG over all spans of a sentence.

Cells hold values in the linear domain with one power of two each (docs/math.md: scale). A cell (i, j) is stored twice,
`left[i, row of A, j]` and `right[j, row of A, i]`, so that the sum over split points runs along contiguous memory in
both children, and once more by cell. Only nonterminals have cells; tags live in `tag_score`, one row a word, since
they span one word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.chart_rules import CLOSED, FREE, NO_PHRASE, ONLY_PHRASE, ChartRules, Extent
from lveg.kernels.jit import DEAD, exponent_of, kernel, power_of_two


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
            down = power_of_two(-exponent)
            for tag in range(tag_score.shape[1]):
                tag_score[i, tag] *= down


@kernel
def inside(
    rules: ChartRules,
    spans: Any,
    tag_score: Any,
    left: Any,
    right: Any,
    bottom: Any,
    tops: Any,
    scale: Any,
    extent: Extent,
) -> None:
    """Fill the cells, shorter spans first: `bottom` before the unary step, `left` and `right` after it."""
    n, n_symbols = left.shape[0], rules.n_nonterminals
    left_low, left_high, right_low, right_high, right_most = extent
    left_row, right_row, n_left = rules.left_row, rules.right_row, rules.n_left
    # Taken out of the tuple once: a tuple's field is fetched, and counted as a reference, at each access.
    is_part, pair_ptr, pair_right = rules.is_part, rules.pair_ptr, rules.pair_right
    inner_ptr, inner_pair, inner_weight = rules.inner_ptr, rules.inner_pair, rules.inner_weight
    first_ptr, first_lhs, first_right, first_weight = (
        rules.first_ptr, rules.first_lhs, rules.first_right, rules.first_weight,
    )  # fmt: skip
    last_ptr, last_lhs, last_left, last_weight = (
        rules.last_ptr, rules.last_lhs, rules.last_left, rules.last_weight,
    )  # fmt: skip
    child_ptr, child_lhs, child_weight = rules.child_ptr, rules.child_lhs, rules.child_weight
    factor = np.zeros(n + 1)
    scaled = np.zeros(n + 1)
    pair_inside = np.zeros(pair_right.shape[0])
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
                pair_inside[:] = 0.0
                for b in range(n_left):
                    low, high = left_low[i, b], left_high[i, b]
                    if low > high or pair_ptr[b] == pair_ptr[b + 1]:
                        continue
                    for k in range(np.uint32(low), np.uint32(high + 1)):
                        scaled[k] = left[i, b, k] * factor[k]
                    for p in range(pair_ptr[b], pair_ptr[b + 1]):
                        c = pair_right[p]
                        first, last = max(low, right_low[j, c]), min(high, right_high[j, c])
                        total = 0.0
                        for k in range(np.uint32(first), np.uint32(last + 1)):
                            total += scaled[k] * right[j, c, k]
                        pair_inside[p] = total
                for a in range(n_symbols):
                    total = 0.0
                    for index in range(inner_ptr[a], inner_ptr[a + 1]):
                        total += inner_weight[index] * pair_inside[inner_pair[index]]
                    cell[a] = total
                add_tag_rules(
                    first_ptr, first_lhs, first_right, first_weight, last_ptr, last_lhs, last_left,
                    last_weight, n_symbols, tag_score, tops, i, j, factor, cell,
                )  # fmt: skip
                close_symbols(is_part, spans[i, j], cell)
                best = cell.max() if n_symbols > 0 else 0.0
                if best <= 0.0:
                    continue
                shift = exponent_of(best)
                scale[i, j] = exponent + shift
                down = power_of_two(-shift)
                for a in range(n_symbols):
                    cell[a] *= down
            elif scale[i, j] == DEAD:
                continue
            top[:] = cell
            if width == 1:
                add_unaries(child_ptr, child_lhs, child_weight, tag_score[i], n_symbols, top)
            else:
                add_unaries(child_ptr, child_lhs, child_weight, cell, 0, top)
            if spans[i, j] == NO_PHRASE:
                close_symbols(is_part, NO_PHRASE, top)
            for a in range(n_symbols):
                if top[a] > 0.0:
                    bottom[i, j, a] = cell[a]
                    tops[i, j, a] = top[a]
                    row = left_row[a]
                    if row >= 0:
                        left[i, row, j] = top[a]
                        left_low[i, row] = min(left_low[i, row], j)
                        left_high[i, row] = max(left_high[i, row], j)
                    row = right_row[a]
                    if row >= 0:
                        right[j, row, i] = top[a]
                        right_low[j, row] = min(right_low[j, row], i)
                        right_high[j, row] = max(right_high[j, row], i)
                        right_most[j, row] = max(right_most[j, row], top[a])


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
def add_tag_rules(
    first_ptr: Any,
    first_lhs: Any,
    first_right: Any,
    first_weight: Any,
    last_ptr: Any,
    last_lhs: Any,
    last_left: Any,
    last_weight: Any,
    n_symbols: int,
    tag_score: Any,
    tops: Any,
    i: int,
    j: int,
    factor: Any,
    cell: Any,
) -> None:
    """Add the binary rules with a tag at either end of the span."""
    for tag in range(tag_score.shape[1]):
        if tag_score[i, tag] > 0.0 and factor[i + 1] > 0.0:
            score = tag_score[i, tag] * factor[i + 1]
            for index in range(first_ptr[tag], first_ptr[tag + 1]):
                c = first_right[index]
                if c < n_symbols:
                    cell[first_lhs[index]] += first_weight[index] * score * tops[i + 1, j, c]
                elif j == i + 2:
                    cell[first_lhs[index]] += first_weight[index] * score * tag_score[i + 1, c - n_symbols]
        if tag_score[j - 1, tag] > 0.0 and factor[j - 1] > 0.0:
            score = tag_score[j - 1, tag] * factor[j - 1]
            for index in range(last_ptr[tag], last_ptr[tag + 1]):
                cell[last_lhs[index]] += last_weight[index] * score * tops[i, j - 1, last_left[index]]


@kernel
def close_symbols(is_part: Any, span: int, cell: Any) -> None:
    """Zero the symbols that may not cover the span."""
    if span != FREE:
        for a in range(cell.shape[0]):
            if span == CLOSED or (is_part[a] == 1) == (span == ONLY_PHRASE):
                cell[a] = 0.0


@kernel
def add_unaries(child_ptr: Any, child_lhs: Any, child_weight: Any, scores: Any, first: int, top: Any) -> None:
    """Add what one unary rule makes of the symbols, numbered from `first`, that have these scores."""
    for b in range(scores.shape[0]):
        if scores[b] > 0.0:
            for u in range(child_ptr[first + b], child_ptr[first + b + 1]):
                top[child_lhs[u]] += child_weight[u] * scores[b]
