"""Builds the nodes and edges of a forest from anchored rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.jit import inner_kernel, kernel, lean_kernel

STAY = -1
"""Rule of an edge from a symbol after the unary step to the same symbol before it: no unary is used."""

BOTTOM, TOP = 0, 1
"""Levels of a node: before the unary step (words and binary rules below it), and after it."""


@inner_kernel
def find_node(label: Any, first: Any, span: int, before: int, after: int) -> int:
    """The node over a span with one of two labels, -1 if there is none.

    before, after: the labels of the symbol before and after the unary step. The node after it is preferred.
    """
    found = -1
    for node in range(first[span], first[span + 1]):
        if label[node] == before or label[node] == after:
            found = node
    return found


@kernel
def assemble(
    n: int,
    unary_start: int,
    root_start: int,
    lexical_start: int,
    rule_lhs: Any,
    rule_left: Any,
    rule_right: Any,
    items: Any,
    may_stay: bool,
) -> tuple[Any, Any, Any, Any, Any]:
    """(item, edge_ptr, edge_rule, edge_left, edge_right) of the derivations that the anchored rules allow.

    items: int32 (4, m), rule, start, split and end of each, sorted by width, start, level and left-hand side, ROOT
    last. Nodes come children first, ROOT last, each with the first of its items; edges are grouped by head. may_stay:
    whether a symbol that could take a unary may also do without. Nodes and edges that no derivation of the whole
    sentence uses are left out; without a derivation there are no nodes.
    """
    m = items.shape[1]
    top = rule_lhs.shape[0]  # larger than any symbol
    # Nodes, and for each span its first node.
    label = np.empty(m, np.int32)
    begin = np.empty(m + 1, np.int32)
    first = np.zeros((n + 1) * (n + 1) + 2, np.int32)
    n_nodes = 0
    last_span, last_label = -1, -1
    for index in range(m):
        rule, start, end = items[0, index], items[1, index], items[3, index]
        span, own = (end - start) * (n + 1) + start, rule_lhs[rule] + 0
        if root_start <= rule < lexical_start:
            span = (n + 1) * (n + 1)
        elif unary_start <= rule < root_start:
            own += top
        if span != last_span or own != last_label:
            label[n_nodes] = own
            begin[n_nodes] = index
            n_nodes += 1
            first[span + 1] += 1
            last_span, last_label = span, own
    begin[n_nodes] = m
    for span in range(first.shape[0] - 1):
        first[span + 1] += first[span]

    # Bottom-up: children of edges, and which nodes have a derivation. If all unary rules of a node after the unary step
    # have lost their children, the node before the unary step takes its place.
    left = np.empty(m, np.int32)
    right = np.empty(m, np.int32)
    stay = np.empty(n_nodes, np.int32)
    same = np.empty(n_nodes + 1, np.int32)
    same[n_nodes] = -1  # for node -1
    derives = np.zeros(n_nodes, np.int32)
    for node in range(n_nodes):
        stay[node] = -1
        same[node] = node
        for index in range(begin[node], begin[node + 1]):
            rule, start, split, end = items[0, index], items[1, index], items[2, index], items[3, index]
            left[index], right[index] = -1, -1
            if rule >= lexical_start:
                derives[node] = 1
                continue
            span = (split - start) * (n + 1) + start
            is_unary = unary_start <= rule < root_start
            child = rule_left[rule] + 0
            left[index] = same[find_node(label, first, span, child, child if is_unary else child + top)]
            whole = left[index] >= 0 and derives[left[index]] == 1
            if rule < unary_start:
                span = (end - split) * (n + 1) + split
                child = rule_right[rule] + 0
                right[index] = same[find_node(label, first, span, child, child + top)]
                whole = whole and right[index] >= 0 and derives[right[index]] == 1
            if whole:
                derives[node] = 1
            else:
                left[index] = -2
        if label[node] >= top:
            start, end = items[1, begin[node]], items[3, begin[node]]
            child = label[node] - top
            below = find_node(label, first, (end - start) * (n + 1) + start, child, child)
            if below >= 0 and derives[below] == 1:
                if derives[node] == 0:
                    same[node] = below
                elif may_stay:
                    stay[node] = below

    # Top-down: which of them are reachable from ROOT.
    reached = np.zeros(n_nodes, np.int32)
    if n_nodes > 0 and label[n_nodes - 1] < 0:
        reached[n_nodes - 1] = derives[n_nodes - 1]
    kept_nodes, kept_edges = 0, 0
    for node in range(n_nodes - 1, -1, -1):
        if reached[node] == 0:
            continue
        kept_nodes += 1
        if stay[node] >= 0:
            reached[stay[node]] = 1
            kept_edges += 1
        for index in range(begin[node], begin[node + 1]):
            if left[index] != -2:
                kept_edges += 1
                if left[index] >= 0:
                    reached[left[index]] = 1
                if right[index] >= 0:
                    reached[right[index]] = 1

    # Renumber what is left.
    number = np.empty(n_nodes + 1, np.int32)
    number[n_nodes] = -1  # for node -1
    item = np.empty(kept_nodes, np.int32)
    edge_ptr = np.zeros(kept_nodes + 1, np.int32)
    edge_rule, edge_left = np.empty(kept_edges, np.int32), np.empty(kept_edges, np.int32)
    edge_right = np.empty(kept_edges, np.int32)
    nodes, edges = 0, 0
    for node in range(n_nodes):
        if reached[node] == 0:
            continue
        number[node] = nodes
        item[nodes] = begin[node]
        if stay[node] >= 0:
            edge_rule[edges] = STAY
            edge_left[edges] = number[stay[node]]
            edge_right[edges] = -1
            edges += 1
        for index in range(begin[node], begin[node + 1]):
            if left[index] != -2:
                edge_rule[edges] = items[0, index]
                edge_left[edges] = number[left[index]]
                edge_right[edges] = number[right[index]]
                edges += 1
        nodes += 1
        edge_ptr[nodes] = edges
    return item, edge_ptr, edge_rule, edge_left, edge_right


@lean_kernel
def trim(edge_ptr: Any, left: Any, right: Any, is_kept: Any, is_used: Any) -> None:
    """Drop edges from `is_kept` that are no longer in any derivation.

    is_used: filled; whether each node is in a derivation. Nodes are in order of children before parents, the root last.
    """
    n = is_used.shape[0]
    for v in range(n):
        is_used[v] = False
        for e in range(edge_ptr[v], edge_ptr[v + 1]):
            if is_kept[e] and (left[e] < 0 or is_used[left[e]]) and (right[e] < 0 or is_used[right[e]]):
                is_used[v] = True
            else:
                is_kept[e] = False
    # A node that has a derivation is used only if a parent uses it, so parents come first.
    for v in range(n - 1):
        is_used[v] = False
    for v in range(n - 1, -1, -1):
        for e in range(edge_ptr[v], edge_ptr[v + 1]):
            is_kept[e] = is_kept[e] and is_used[v]
            if is_kept[e]:
                if left[e] >= 0:
                    is_used[left[e]] = True
                if right[e] >= 0:
                    is_used[right[e]] = True
