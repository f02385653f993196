"""Inside scores of likely cells only: symbols that are unlikely given the surrounding words are left out.

Before a cell is used, each symbol's inside score is multiplied by an estimate of its outside score, from the words on
either side (kernels.chart_estimate). Symbols below the threshold count as absent. Few symbols per cell are left, so
cells list them and sums run along these lists; `chart_inside` is for full charts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.chart_estimate import Estimate
from lveg.kernels.chart_inside import add_tag_rules, finish_cell, start_cell
from lveg.kernels.chart_rules import Cells, Pairs, Rows, Symbols, TagRules, Unaries, Work
from lveg.kernels.jit import DEAD, lean_kernel, power_of_two


@lean_kernel
def fill_likely_cells(
    symbols: Symbols,
    pairs: Pairs,
    tags: TagRules,
    unaries: Unaries,
    spans: Any,
    tag_score: Any,
    estimate: Estimate,
    p_cell: float,
    cells: Cells,
    rows: Rows,
    work: Work,
) -> None:
    """Fill the cells, ordered by end and then by decreasing start, and list their left children.

    Symbols with an estimated posterior below p_cell are left out.
    """
    left_row, allowed = symbols.left_row, symbols.allowed
    pair_ptr, pair_symbol = pairs.ptr, pairs.right_symbol
    rule_ptr, rule_lhs, rule_weight = pairs.rule_ptr, pairs.rule_lhs, pairs.rule_weight
    tag_ptr, tag_lhs, tag_other, tag_weight = tags.ptr, tags.lhs, tags.other, tags.weight
    child_ptr, child_lhs, child_weight = unaries.child_ptr, unaries.child_lhs, unaries.child_weight
    before, before_scale = estimate.before, estimate.before_scale
    after, after_scale = estimate.after, estimate.after_scale
    bottom, tops, scale = cells.bottom, cells.top, cells.scale
    row_begin, row_end, rows_row, rows_score = rows
    factor, cell, top, pair_inside, seen, is_seen = (
        work.factor, work.cell, work.top, work.pair, work.wanted, work.first_pair,
    )  # fmt: skip
    n, n_symbols = tag_score.shape[0], left_row.shape[0]
    least, least_scale = p_cell * estimate.z, estimate.scale
    size = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            row_begin[i, j] = size
            row_end[i, j] = size
            own = start_cell(spans, scale, tag_score, i, j, factor, cell)
            if own == DEAD:
                continue
            if j > i + 1:
                n_seen = 0
                for k in range(i + 1, j):
                    if factor[k] == 0.0:
                        continue
                    for index in range(row_begin[i, k], row_end[i, k]):
                        b, score = rows_row[index], rows_score[index] * factor[k]
                        if is_seen[b] == 0:
                            is_seen[b] = 1
                            seen[n_seen] = b
                            n_seen += 1
                        for p in range(np.uint32(pair_ptr[b]), np.uint32(pair_ptr[b + 1])):
                            pair_inside[p] += score * tops[k, j, pair_symbol[p]]
                for index in range(n_seen):
                    b = seen[index]
                    is_seen[b] = 0
                    for p in range(np.uint32(pair_ptr[b]), np.uint32(pair_ptr[b + 1])):
                        if pair_inside[p] > 0.0:
                            for m in range(rule_ptr[p], rule_ptr[p + 1]):
                                cell[rule_lhs[m]] += rule_weight[m] * pair_inside[p]
                            pair_inside[p] = 0.0
                add_tag_rules(tag_ptr, tag_lhs, tag_other, tag_weight, tag_score, tops, factor, i, j, cell)
            own = finish_cell(child_ptr, child_lhs, child_weight, allowed, spans[i, j], j > i + 1, own, cell, top)
            if own == DEAD:
                continue
            limit = least * power_of_two(least_scale - own - before_scale[i] - after_scale[j])
            for a in range(n_symbols):
                score = top[a] if top[a] > 0.0 and top[a] * before[i, a] * after[j, a] >= limit else 0.0
                bottom[i, j, a] = cell[a]
                tops[i, j, a] = score
                if score > 0.0:
                    scale[i, j] = own
                    row = left_row[a]
                    if row >= 0 and pair_ptr[row] < pair_ptr[row + 1]:
                        rows_row[size] = row
                        rows_score[size] = score
                        size += 1
            row_end[i, j] = size
