"""Outside scores over filled cells, and the anchored rules worth keeping."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lveg.kernels.chart_inside import split_factors
from lveg.kernels.chart_rules import Cells, Dense, Kept, Lexical, Pairs, Rules, TagRules, Work
from lveg.kernels.jit import DEAD, ZERO, inner_kernel, lean_kernel, power_of_two


@lean_kernel
def keep_rules(
    grammar: Rules, lexical: Lexical, cells: Cells, dense: Dense, from_root: Any, kept: Kept, tag_outer: Any, work: Work
) -> int:
    """The number of anchored rules that are kept, whether there was capacity for them or not.

    from_root: (N + T,), the outside scores over all words. tag_outer: (n, T), must be zero. Symbols whose posterior is
    below a tenth of the thresholds pass nothing down, nor do such pairs of children (docs/math.md: pruning).
    """
    # Unpacked once: a tuple field would be fetched at each access.
    _, pairs, tags, unaries = grammar
    p_node, p_edge, n_ends, n_rules, keys = kept
    pair_left, pair_symbol, left_symbol = pairs.left, pairs.right_symbol, pairs.left_symbol
    pair_rule_ptr, pair_rule_lhs, pair_rule_weight, pair_rule = (
        pairs.rule_ptr, pairs.rule_lhs, pairs.rule_weight, pairs.rule,
    )  # fmt: skip
    unary_ptr, unary_child, unary_weight, unary_rule = unaries.ptr, unaries.child, unaries.weight, unaries.rule
    word_ptr, word_tag, word_rule, tag_score = lexical
    bottom, tops, outer, scale = cells
    left, left_low, left_high, right, right_low, right_high, right_most = dense
    pair_right = pairs.right_row
    n, n_tags = tag_score.shape
    n_symbols = tops.shape[2]
    tiny = min(p_node, p_edge) * 1e-1
    factor, scaled, gathered, below, above, pair_outer, wanted, next_pair, first_pair = work

    for i in range(n):
        for j in range(i + 1, n + 1):
            if scale[i, j] != DEAD:
                for a in range(n_symbols):
                    outer[i, j, a] = from_root[a] if j == i + n else 0.0
    if n == 1:
        for tag in range(n_tags):
            tag_outer[0, tag] = from_root[n_symbols + tag]
    size = ZERO
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j = i + width
            if scale[i, j] == DEAD:
                continue
            alive = width == 1
            for a in range(n_symbols):
                above[a] = 0.0
                if outer[i, j, a] * tops[i, j, a] >= tiny:
                    above[a] = outer[i, j, a]
                    alive = True
            if not alive:
                continue
            key = (width * n_ends + i) * 2 * n_rules
            # Fill `below`, the outside scores before the unary step, from `above`, those after it.
            for a in range(n_symbols):
                below[a] = above[a]
            for a in range(n_symbols):
                if above[a] > 0.0:
                    least = p_edge if above[a] * tops[i, j, a] >= p_node else math.inf
                    for index in range(unary_ptr[a], unary_ptr[a + 1]):
                        child, value = unary_child[index], above[a] * unary_weight[index]
                        score = 0.0
                        if child < n_symbols:
                            score = bottom[i, j, child]
                            below[child] += value
                        elif j == i + 1:
                            score = tag_score[i, child - n_symbols]
                            tag_outer[i, child - n_symbols] += value
                        if value * score >= least:
                            size = keep(keys, size, (key + n_rules + unary_rule[index]) * n_ends + n - j)
            if width == 1:
                for index in range(word_ptr[i], word_ptr[i + 1]):
                    tag = word_tag[index]
                    if tag_score[i, tag] * tag_outer[i, tag] >= p_node:
                        size = keep(keys, size, (key + word_rule[index]) * n_ends + n - j)
                continue
            up = power_of_two(split_factors(scale, i, j, factor) - scale[i, j])
            for k in range(i + 1, j):
                factor[k] *= up
            for a in range(n_symbols):
                above[a] = below[a] * bottom[i, j, a]  # the posterior before the unary step
                if above[a] < tiny:
                    below[a] = 0.0
            # Pass `below` down to children that are two nonterminals.
            n_wanted, _ = want_pairs(pairs, below, 0.0, work)
            for b in range(left_symbol.shape[0]):
                low, high = max(i + 1, left_low[i, b]), min(j - 1, left_high[i, b])
                if low > high or first_pair[b] == 0:
                    continue
                most = 0.0
                for k in range(np.uint32(low), np.uint32(high + 1)):
                    scaled[k] = left[i, b, k] * factor[k]
                    gathered[k] = 0.0
                    most += scaled[k]
                following = first_pair[b]
                while following > 0:
                    p = following - 1
                    following = next_pair[p]
                    c = pair_right[p]
                    if pair_outer[p] * most * right_most[j, c] < tiny:
                        continue
                    first, last = max(low, right_low[j, c]), min(high, right_high[j, c])
                    total = 0.0
                    for k in range(np.uint32(first), np.uint32(last + 1)):
                        total += scaled[k] * right[j, c, k]
                    if pair_outer[p] * total < tiny:
                        continue
                    for k in range(np.uint32(first), np.uint32(last + 1)):
                        gathered[k] += pair_outer[p] * right[j, c, k]
                        outer[k, j, pair_symbol[p]] += pair_outer[p] * scaled[k]
                    for m in range(pair_rule_ptr[p], pair_rule_ptr[p + 1]):
                        a = pair_rule_lhs[m]
                        value = below[a] * pair_rule_weight[m]
                        if value * total >= p_edge and above[a] >= p_node:
                            for k in range(first, last + 1):
                                if value * scaled[k] * right[j, c, k] >= p_edge:
                                    size = keep(keys, size, (key + pair_rule[m]) * n_ends + n - k)
                for k in range(low, high + 1):
                    outer[i, k, left_symbol[b]] += gathered[k] * factor[k]
            for index in range(n_wanted):
                pair_outer[wanted[index]] = 0.0
                first_pair[pair_left[wanted[index]]] = 0
            size = pass_by_tags(tags, tag_score, tops, outer, tag_outer, i, j, key, kept, size, work)
    return size


@inner_kernel
def want_pairs(pairs: Pairs, below: Any, cut: float, work: Work) -> tuple[int, float]:
    """Find the pairs of children that receive more than `cut` from the outside scores `below` of a span.

    Returns their number and the largest score of one. work: `wanted` lists them, `pair` receives their scores, and for
    each left row b they are a linked list: first_pair[b], then next_pair, plus one; 0 is the end.
    """
    pair_left, lhs_ptr, lhs_pair, lhs_weight = pairs.left, pairs.lhs_ptr, pairs.lhs_pair, pairs.lhs_weight
    score, wanted, next_pair, first_pair = work.pair, work.wanted, work.next_pair, work.first_pair
    n_wanted, most = 0, 0.0
    for a in range(lhs_ptr.shape[0] - 1):
        if below[a] > 0.0:
            for index in range(lhs_ptr[a], lhs_ptr[a + 1]):
                p, value = lhs_pair[index], below[a] * lhs_weight[index]
                if value > cut:
                    if score[p] == 0.0:
                        wanted[n_wanted] = p
                        n_wanted += 1
                        next_pair[p] = first_pair[pair_left[p]]
                        first_pair[pair_left[p]] = p + 1
                    score[p] += value
                    most = max(most, score[p])
    return n_wanted, most


@inner_kernel
def pass_by_tags(
    tags: TagRules, tag_score: Any, tops: Any, outer: Any, tag_outer: Any, i: int, j: int, key: int, kept: Kept,
    size: int, work: Work,
) -> int:  # fmt: skip
    """Pass the outside scores of a span down by the rules with a tag at either end, and keep such rules.

    tops, outer: by start, end and symbol; the numbers of ends may be modulo 2. work: its `cell` has the outside scores
    before the unary step, and its `top` the posteriors there.
    """
    factor, below, posterior = work.factor, work.cell, work.top
    ptr, tag_lhs, tag_other, tag_weight, tag_rule = tags
    n, n_symbols, period = tag_score.shape[0], tops.shape[2], tops.shape[1]
    for side in range(2):
        start, end = i + 1 - side, j - side
        word, split = (i, start) if side == 0 else (end, end)
        for tag in range(tag_score.shape[1]):
            score = tag_score[word, tag]
            if score * factor[split] > 0.0:
                for index in range(ptr[side, tag], ptr[side, tag + 1]):
                    a, c = tag_lhs[index], tag_other[index]
                    if below[a] <= 0.0 or (c >= n_symbols and j != i + 2):
                        continue
                    value = below[a] * tag_weight[index] * factor[split]
                    if c < n_symbols:
                        rest = tops[start, end % period, c]
                        outer[start, end % period, c] += value * score
                    else:
                        rest = tag_score[start, c - n_symbols]
                        tag_outer[start, c - n_symbols] += value * score
                    tag_outer[word, tag] += value * rest
                    if value * score * rest >= kept.p_edge and posterior[a] >= kept.p_node:
                        size = keep(kept.keys, size, (key + tag_rule[index]) * kept.n_ends + n - split)
    return size


@inner_kernel
def keep(keys: Any, size: int, key: int) -> int:
    """Append a key if there is capacity; returns the new number of keys, stored or not."""
    if size < keys.shape[0]:
        keys[size] = key
    return size + 1
