"""The coarse pass: from terminals to the anchored rules worth keeping."""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.chart_inside import inside, word_scores
from lveg.kernels.chart_outside import outside
from lveg.kernels.chart_rules import ChartRules, Extent
from lveg.kernels.jit import DEAD, kernel

LEAST = 2.0**-1022
"""The least posterior that counts as possible: the smallest normal number."""


@kernel
def chart_room(rules: ChartRules, n: int) -> int:
    """How many numbers the chart of n words has."""
    return 2 * n * (n + 1) * rules.n_nonterminals + 2 * (n * rules.n_left + (n + 1) * rules.n_right) * (n + 1)


@kernel
def prune_chart(
    rules: ChartRules, terminals: Any, given_tags: Any, spans: Any, p_node: float, p_edge: float, room: Any
) -> tuple[float, Any, Any, Any, Any]:
    """(log Z, rule, start, split, end): anchored rules with posterior at least p_edge at nodes with at least p_node.

    terminals: int32 (n,). given_tags: int32 (n,), a tag's number among the tags, or -1. spans: uint8 (n + 1, n + 1),
    what each span may be. room: chart_room(rules, n) numbers to work with. Rules come sorted by width, start, level
    (rule above the unary step last) and left-hand side. log Z is -inf where nothing derives the sentence. Cost: O(n^3
    pairs) with small constants, O(n^2 N) memory.
    """
    n = terminals.shape[0]
    n_symbols = rules.n_nonterminals
    n_tags = rules.first_ptr.shape[0] - 1
    n_left, n_right = n * rules.n_left * (n + 1), (n + 1) * rules.n_right * (n + 1)
    n_cells = n * (n + 1) * n_symbols
    left, rest = room[:n_left].reshape((n, rules.n_left, n + 1)), room[n_left:]
    right, rest = rest[:n_right].reshape((n + 1, rules.n_right, n + 1)), rest[n_right:]
    bottom, rest = rest[:n_cells].reshape((n, n + 1, n_symbols)), rest[n_cells:]
    tops, rest = rest[:n_cells].reshape((n, n + 1, n_symbols)), rest[n_cells:]
    as_left, rest = rest[:n_left].reshape(left.shape), rest[n_left:]
    as_right = rest[:n_right].reshape(right.shape)
    left[:], right[:], bottom[:], tops[:] = 0.0, 0.0, 0.0, 0.0
    tag_score = np.zeros((n, n_tags))
    scale = np.full((n + 1, n + 1), DEAD, np.int64)
    word_scores(rules, terminals, given_tags, tag_score, scale)
    extent = Extent(
        np.full((n, rules.n_left), n + 1, np.int32),
        np.full((n, rules.n_left), -1, np.int32),
        np.full((n + 1, rules.n_right), n + 1, np.int32),
        np.full((n + 1, rules.n_right), -1, np.int32),
        np.zeros((n + 1, rules.n_right)),
    )
    inside(rules, spans, tag_score, left, right, bottom, tops, scale, extent)
    # At threshold 0 what is impossible, such as a tag other than the one given, must not pass.
    p_node, p_edge = max(p_node, LEAST), max(p_edge, LEAST)
    size = 512 * n
    kept = np.empty((0, 4), np.int32)
    log_z = 0.0
    while kept.shape[0] < size:  # a second time in the rare case that the guess was too low
        kept = np.empty((size, 4), np.int32)
        log_z, size = outside(
            rules,
            terminals,
            tag_score,
            left,
            right,
            bottom,
            tops,
            as_left,
            as_right,
            scale,
            extent,
            p_node,
            p_edge,
            kept,
        )
    kept = kept[:size][::-1]
    return log_z, kept[:, 0].copy(), kept[:, 1].copy(), kept[:, 2].copy(), kept[:, 3].copy()
