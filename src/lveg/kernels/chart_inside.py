"""Inside scores of a PCFG over all spans of a sentence.

Cells contain values in the linear domain with one power of two each (docs/math.md: scale). Only nonterminals have
cells; tags span one word, and their scores are stored by word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.chart_rules import CLOSED, Cells, Dense, Rules, TagRules, Unaries, Work
from lveg.kernels.jit import DEAD, exponent_of, inner_kernel, lean_kernel, power_of_two


@lean_kernel
def fill_cells(grammar: Rules, spans: Any, tag_score: Any, cells: Cells, dense: Dense, work: Work) -> None:
    """Fill the cells, shorter spans first."""
    # Unpacked once: a tuple field would be fetched at each access.
    (left_row, right_row, allowed), pairs, tags, unaries = grammar
    pair_ptr, pair_right = pairs.ptr, pairs.right_row
    lhs_ptr, lhs_pair, lhs_weight = pairs.lhs_ptr, pairs.lhs_pair, pairs.lhs_weight
    bottom, tops, scale = cells.bottom, cells.top, cells.scale
    left, left_low, left_high, right, right_low, right_high, right_most = dense
    n, n_symbols = tag_score.shape[0], left_row.shape[0]
    factor, scaled, cell, top, pair_inside = work.factor, work.scaled, work.cell, work.top, work.pair
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j = i + width
            own = start_cell(spans, scale, tag_score, i, j, factor, cell)
            if own == DEAD:
                continue
            if width > 1:
                for b in range(left.shape[1]):
                    low, high = left_low[i, b], left_high[i, b]
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
                    for index in range(lhs_ptr[a], lhs_ptr[a + 1]):
                        cell[a] += lhs_weight[index] * pair_inside[lhs_pair[index]]
                add_tag_rules(tags, tag_score, tops, factor, i, j, cell)
            own = finish_cell(unaries, allowed, spans[i, j], width > 1, own, cell, top)
            if own == DEAD:
                continue
            scale[i, j] = own
            for a in range(n_symbols):
                bottom[i, j, a] = cell[a]
                tops[i, j, a] = top[a]
                if top[a] > 0.0:
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


@inner_kernel
def start_cell(spans: Any, scale: Any, tag_score: Any, i: int, j: int, factor: Any, cell: Any) -> int:
    """The power of two of the scores of a cell, DEAD if it has none; fills `cell` with the scores of its tags.

    factor[k] scales the product of the children at split k to that power.
    """
    n_symbols = cell.shape[0] - tag_score.shape[1]
    for a in range(cell.shape[0]):
        cell[a] = 0.0
    if j == i + 1:
        for tag in range(tag_score.shape[1]):
            cell[n_symbols + tag] = tag_score[i, tag]
        own: int = scale[i, j]
        return own
    if spans[i, j] == CLOSED:
        return DEAD
    return split_factors(scale, i, j, factor)


@inner_kernel
def split_factors(scale: Any, i: int, j: int, factor: Any) -> int:
    """The largest scale of two children over all splits of (i, j); factor[k] scales split k's children to it."""
    largest = DEAD
    for k in range(i + 1, j):
        if scale[i, k] != DEAD and scale[k, j] != DEAD:
            largest = max(largest, scale[i, k] + scale[k, j])
    for k in range(i + 1, j):
        factor[k] = power_of_two(scale[i, k] + scale[k, j] - largest)
    return largest


@inner_kernel
def add_tag_rules(tags: TagRules, tag_score: Any, tops: Any, factor: Any, i: int, j: int, cell: Any) -> None:
    """Add the binary rules with a tag at either end of the span.

    tops: by start, end and symbol; the numbers of ends may be modulo 2.
    """
    ptr, lhs, other, weight, _ = tags
    n_symbols, period = tops.shape[2], tops.shape[1]
    for side in range(2):
        start, end = i + 1 - side, j - side
        word, split = (i, start) if side == 0 else (end, end)
        for tag in range(tag_score.shape[1]):
            score = tag_score[word, tag] * factor[split]
            if score > 0.0:
                for index in range(ptr[side, tag], ptr[side, tag + 1]):
                    c = other[index]
                    if c < n_symbols:
                        cell[lhs[index]] += weight[index] * score * tops[start, end % period, c]
                    elif j == i + 2:
                        cell[lhs[index]] += weight[index] * score * tag_score[i + 1, c - n_symbols]


@inner_kernel
def finish_cell(unaries: Unaries, allowed: Any, span: int, is_long: bool, own: int, cell: Any, top: Any) -> int:
    """The power of two of a cell, DEAD if nothing is left of it; fills `top` with the scores after the unary step.

    The scores of a word's tags, after those of nonterminals in `cell`, keep their power.
    """
    child_ptr, child_lhs, child_weight = unaries.child_ptr, unaries.child_lhs, unaries.child_weight
    n_symbols = top.shape[0]
    for a in range(n_symbols):
        cell[a] *= allowed[0, span, a]
        top[a] = cell[a]
    for b in range(cell.shape[0]):
        if cell[b] > 0.0:
            for index in range(child_ptr[b], child_ptr[b + 1]):
                top[child_lhs[index]] += child_weight[index] * cell[b]
    best = 0.0
    for a in range(n_symbols):
        top[a] *= allowed[1, span, a]
        best = max(best, top[a])
    if is_long:
        if best <= 0.0:
            return DEAD
        shift = exponent_of(best)
        own += shift
        down = power_of_two(-shift)
        for a in range(n_symbols):
            cell[a] *= down
            top[a] *= down
    return own
