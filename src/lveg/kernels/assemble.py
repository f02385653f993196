"""Anchored rules into the nodes and edges of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.jit import kernel

STAY = -1
"""Rule of an edge from a symbol after the unary step to the same symbol before it: no unary is used."""

BOTTOM, TOP = 0, 1
"""Levels of a node: before the unary step (words and binary rules below it), and after it."""


@kernel
def node_key(n: int, n_symbols: int, start: int, end: int, level: int, symbol: int) -> int:
    """A number that orders nodes with children before parents."""
    return (((end - start) * (n + 1) + start) * 2 + level) * n_symbols + symbol


@kernel
def head_keys(
    n: int, n_symbols: int, unary_start: int, root_start: int, lexical_start: int, rule_lhs: Any, items: Any
) -> Any:
    """The node key of each anchored rule's left-hand side; ROOT comes after everything."""
    keys = np.empty(items.shape[1], np.int64)
    for m in range(items.shape[1]):
        rule, start, end = items[0, m], items[1, m], items[3, m]
        if root_start <= rule < lexical_start:
            keys[m] = node_key(n, n_symbols, 0, n + 1, 0, 0)
        else:
            level = TOP if unary_start <= rule < root_start else BOTTOM
            keys[m] = node_key(n, n_symbols, start, end, level, rule_lhs[rule])
    return keys


@kernel
def find_node(keys: Any, first: Any, n: int, n_symbols: int, start: int, end: int, level: int, symbol: int) -> int:
    """The node with the symbol over a span: at level TOP the one after the unary step where there is one, else the
    one before it; at level BOTTOM only the latter. -1 where there is none."""
    below = node_key(n, n_symbols, start, end, BOTTOM, symbol)
    above = node_key(n, n_symbols, start, end, TOP, symbol)
    span = (end - start) * (n + 1) + start
    found = -1
    for node in range(first[span], first[span + 1]):
        if keys[node] == below or (level == TOP and keys[node] == above):
            found = node
    return found


@kernel
def assemble(
    n: int,
    n_symbols: int,
    unary_start: int,
    root_start: int,
    lexical_start: int,
    rule_lhs: Any,
    rule_left: Any,
    rule_right: Any,
    items: Any,
    keys: Any,
    may_stay: bool,
) -> tuple[Any, Any, Any, Any, Any]:
    """(node_key, edge_ptr, edge_rule, edge_left, edge_right) of the derivations that the anchored rules allow.

    items: int32 (4, m), rule, start, split and end of each, sorted by `keys`. Nodes come children first, ROOT last;
    edges are grouped by head. may_stay: whether a symbol that could take a unary may also do without. What no
    derivation of the whole sentence uses is left out; no node is left where there is none.
    """
    m = items.shape[1]
    # Nodes, and for each span its first node.
    node_keys = np.empty(m, np.int64)
    edge_ptr = np.empty(m + 1, np.int64)
    first = np.zeros((n + 2) * (n + 1) + 2, np.int32)
    n_nodes = 0
    for index in range(m):
        if index == 0 or keys[index] != keys[index - 1]:
            node_keys[n_nodes] = keys[index]
            edge_ptr[n_nodes] = index
            n_nodes += 1
            first[keys[index] // (2 * n_symbols) + 1] += 1
    edge_ptr[n_nodes] = m
    for span in range(first.shape[0] - 1):
        first[span + 1] += first[span]

    # Upwards: children of edges, and which nodes have a derivation. A node after the unary step whose unary rules all
    # lost their children stands for the one before it.
    left = np.full(m, -1, np.int32)
    right = np.full(m, -1, np.int32)
    stay = np.full(n_nodes, -1, np.int32)
    same = np.arange(n_nodes + 1)
    same[n_nodes] = -1  # for node -1
    derives = np.zeros(n_nodes, np.bool_)
    for node in range(n_nodes):
        for index in range(edge_ptr[node], edge_ptr[node + 1]):
            rule, start, split, end = items[0, index], items[1, index], items[2, index], items[3, index]
            if rule >= lexical_start:
                derives[node] = True
                continue
            if rule < unary_start:
                left[index] = same[find_node(node_keys, first, n, n_symbols, start, split, TOP, rule_left[rule])]
                right[index] = same[find_node(node_keys, first, n, n_symbols, split, end, TOP, rule_right[rule])]
                whole = left[index] >= 0 and right[index] >= 0 and derives[left[index]] and derives[right[index]]
            else:
                level = BOTTOM if rule < root_start else TOP
                left[index] = same[find_node(node_keys, first, n, n_symbols, start, end, level, rule_left[rule])]
                whole = left[index] >= 0 and derives[left[index]]
            if whole:
                derives[node] = True
            else:
                left[index] = -2
        rule = items[0, edge_ptr[node]]
        if unary_start <= rule < root_start:
            start, end = items[1, edge_ptr[node]], items[3, edge_ptr[node]]
            below = find_node(node_keys, first, n, n_symbols, start, end, BOTTOM, rule_lhs[rule])
            if below >= 0 and derives[below]:
                if not derives[node]:
                    same[node] = below
                elif may_stay:
                    stay[node] = below

    # Downwards: which of them ROOT reaches.
    reached = np.zeros(n_nodes, np.bool_)
    if n_nodes > 0 and derives[n_nodes - 1] and root_start <= items[0, m - 1] < lexical_start:
        reached[n_nodes - 1] = True
    kept_nodes, kept_edges = 0, 0
    for node in range(n_nodes - 1, -1, -1):
        if not reached[node]:
            continue
        kept_nodes += 1
        if stay[node] >= 0:
            reached[stay[node]] = True
            kept_edges += 1
        for index in range(edge_ptr[node], edge_ptr[node + 1]):
            if left[index] != -2:
                kept_edges += 1
                if left[index] >= 0:
                    reached[left[index]] = True
                if right[index] >= 0:
                    reached[right[index]] = True

    # What is left, numbered anew.
    number = np.full(n_nodes + 1, -1, np.int32)
    out_key = np.empty(kept_nodes, np.int64)
    out_ptr = np.zeros(kept_nodes + 1, np.int32)
    out_rule = np.empty(kept_edges, np.int32)
    out_left = np.full(kept_edges, -1, np.int32)
    out_right = np.full(kept_edges, -1, np.int32)
    nodes, edges = 0, 0
    for node in range(n_nodes):
        if not reached[node]:
            continue
        number[node] = nodes
        out_key[nodes] = node_keys[node]
        if stay[node] >= 0:
            out_rule[edges] = STAY
            out_left[edges] = number[stay[node]]
            edges += 1
        for index in range(edge_ptr[node], edge_ptr[node + 1]):
            if left[index] != -2:
                out_rule[edges] = items[0, index]
                if left[index] >= 0:
                    out_left[edges] = number[left[index]]
                if right[index] >= 0:
                    out_right[edges] = number[right[index]]
                edges += 1
        nodes += 1
        out_ptr[nodes] = edges
    return out_key, out_ptr, out_rule, out_left, out_right
