"""Exact sampling of derivations from a Gaussian mixture grammar's posterior.

Given the component of the rule above a node, a component of the node's entries is drawn in proportion to coefficient
times overlap; given that one, an edge of its entry in proportion to the product of its children's answers; that
component is then used at the children.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.gm import Scores, Table
from lveg.kernels.gm_plan import COPY, Plan
from lveg.kernels.jit import ZERO, kernel
from lveg.kernels.semiring import draw


@kernel
def draw_edges(
    plan: Plan, table: Table, node_use: Any, query_node: Any, scores: Scores, uniform: Any, chosen: Any
) -> int:
    """One derivation: fills `chosen` with its planned edges, parents first; returns their number.

    node_use: where the uses of each node begin. query_node: the node of each query. uniform: numbers in [0, 1), two
    for each edge that a derivation may have.
    """
    _, node_entry, node_query, _, entry_edge, _, edge_left, edge_right = plan
    entry_place, query_place, alpha, _, answer, _, _, _, edge_factor, _, _ = scores
    overlap, use, _ = table
    n_nodes = node_entry.shape[0] - 1
    most = 1
    for node in range(n_nodes):
        most = max(most, entry_place[node_entry[node + 1]] - entry_place[node_entry[node]])
    most_edges = 1
    for entry in range(entry_edge.shape[0] - 1):
        most_edges = max(most_edges, entry_edge[entry + 1] - entry_edge[entry])
    share, edge_share = np.empty(most), np.empty(most_edges)
    # The parent: a query and the number of its component; -1 for the root, which has none.
    stack = np.empty((chosen.shape[0] + 2, 2), np.int64)
    stack[0, 0], stack[0, 1] = -1, 0
    height, size = 1, 0
    while height > 0:
        height -= 1
        query, asking = stack[height, 0], stack[height, 1]
        node = n_nodes - 1 if query < 0 else query_node[query]
        begin, end = node_entry[node], node_entry[node + 1]
        first, last = entry_place[begin], entry_place[end]
        width = 1 if query < 0 else query_place[query + 1] - query_place[query]
        for entry in range(begin, end):
            at = 0 if query < 0 else use[node_use[node] + (query - node_query[node]) * (end - begin) + entry - begin]
            for place in range(entry_place[entry], entry_place[entry + 1]):
                row = place - entry_place[entry]
                share[place - first] = alpha[place] * (1.0 if query < 0 else overlap[at + row * width + asking])
        place = first + draw(share, ZERO, last - first, uniform[2 * size])
        entry = begin
        while entry_place[entry + 1] <= place:
            entry += 1
        component = place - entry_place[entry]
        edge = entry_edge[entry]
        while edge_right[edge] == COPY:  # the same component, one step below
            chosen[size] = edge
            size += 1
            entry = edge_left[edge]
            edge = entry_edge[entry]
        for edge in range(entry_edge[entry], entry_edge[entry + 1]):
            left, right, value = edge_left[edge], edge_right[edge], edge_factor[edge]
            if left >= 0:
                value *= answer[query_place[left] + component]
            if right >= 0:
                value *= answer[query_place[right] + component]
            edge_share[edge - entry_edge[entry]] = value
        n_edges = entry_edge[entry + 1] - entry_edge[entry]
        edge = entry_edge[entry] + draw(edge_share, ZERO, n_edges, uniform[2 * size + 1])
        chosen[size] = edge
        size += 1
        if edge_right[edge] >= 0:
            stack[height, 0], stack[height, 1] = edge_right[edge], component
            height += 1
        if edge_left[edge] >= 0:
            stack[height, 0], stack[height, 1] = edge_left[edge], component
            height += 1
    return size


@kernel
def draw_many(plan: Plan, table: Table, scores: Scores, uniform: Any, chosen: Any, sizes: Any) -> None:
    """A derivation of one forest for each row of `uniform`: its planned edges in a row of `chosen`, and its size.

    scores: as `inside` filled them.
    """
    n_nodes = plan.node_entry.shape[0] - 1
    node_use = np.zeros(n_nodes + 1, np.int64)
    query_node = np.empty(plan.query_slot.shape[0], np.int32)
    for node in range(n_nodes):
        n_queries = plan.node_query[node + 1] - plan.node_query[node]
        node_use[node + 1] = node_use[node] + n_queries * (plan.node_entry[node + 1] - plan.node_entry[node])
        for query in range(plan.node_query[node], plan.node_query[node + 1]):
            query_node[query] = node
    for row in range(uniform.shape[0]):
        sizes[row] = draw_edges(plan, table, node_use, query_node, scores, uniform[row], chosen[row])
