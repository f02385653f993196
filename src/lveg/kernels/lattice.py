"""The anchored rules of a tag lattice."""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.jit import kernel


@kernel
def lattice_items(
    n_tags: int, terminal_ptr: Any, terminal_rule: Any, terminal_tag: Any, terminals: Any, given_tags: Any
) -> Any:
    """int32 (4, m): rule, start, split, end of every tag sequence, sorted for `assemble`.

    The grammar is a tag grammar with all transitions: rule t * n_tags + u is `t^ -> t u^`, then come the
    rules `t^ -> t` and `ROOT -> t^`, by tag; states are symbols 0 .. n_tags - 1 and tags follow them.
    """
    n = terminals.shape[0]
    end_start, root_start = n_tags * n_tags, n_tags * n_tags + n_tags
    tags = np.empty((n, n_tags), np.int32)
    count = np.zeros(n, np.int64)
    m = 0
    for i in range(n):
        for index in range(terminal_ptr[terminals[i]], terminal_ptr[terminals[i] + 1]):
            tag = terminal_tag[index] - n_tags
            if given_tags[i] < 0 or given_tags[i] == tag:
                tags[i, count[i]] = tag
                count[i] += 1
        m += count[i]
        if i > 0:
            m += count[i - 1] * count[i]
    if n > 0:
        m += count[n - 1] + count[0]
    items = np.empty((4, m), np.int32)
    m = 0
    for i in range(n):
        for index in range(terminal_ptr[terminals[i]], terminal_ptr[terminals[i] + 1]):
            tag = terminal_tag[index] - n_tags
            if given_tags[i] < 0 or given_tags[i] == tag:
                m = put(items, m, terminal_rule[index], i, i + 1, i + 1)
    for x in range(count[n - 1] if n > 0 else 0):
        m = put(items, m, end_start + tags[n - 1, x], n - 1, n, n)
    for i in range(n - 2, -1, -1):
        for x in range(count[i]):
            for y in range(count[i + 1]):
                m = put(items, m, tags[i, x] * n_tags + tags[i + 1, y], i, i + 1, n)
    for x in range(count[0] if n > 0 else 0):
        m = put(items, m, root_start + tags[0, x], 0, n, n)
    return items


@kernel
def put(items: Any, place: int, rule: int, start: int, split: int, end: int) -> int:
    """Write an anchored rule; the next place."""
    items[0, place] = rule
    items[1, place] = start
    items[2, place] = split
    items[3, place] = end
    return place + 1
