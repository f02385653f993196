"""What inference with a Gaussian mixture grammar needs to know of a forest, packed into one array.

An *entry* is a rule at a node: the node's inside score has a coefficient for each of its components. A *query* is a
child slot of a rule that asks at a node: all edges with the same rule, side and child share it. A *block* holds the
overlaps of all components of a slot with all components of a rule; every pair of a query and an entry of one node
uses one, and a batch of forests shares them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.factors import Factors
from lveg.kernels.jit import kernel

COPY = -2
"""Right child of an edge that copies the coefficients of the entry in its left."""

_HEADER = 6


class View(NamedTuple):
    """The parts of a plan.

    Node v has entries [node_entry[v], node_entry[v + 1]) and queries [node_query[v], node_query[v + 1]); entry i is of
    rule entry_rule[i] and has edges [entry_edge[i], entry_edge[i + 1]). edge_left and edge_right are queries, or -1.
    Slot 2 r is the left child of rule r, 2 r + 1 its right child. These *planned* edges are the forest's, in order, but
    a STAY edge, the first of its node, becomes one copy for each entry below it.
    """

    node_symbol: Any
    node_entry: Any
    node_query: Any
    entry_rule: Any
    entry_edge: Any
    query_slot: Any
    edge_left: Any
    edge_right: Any


@kernel
def make_plan(node_symbol: Any, edge_ptr: Any, edge_rule: Any, edge_left: Any, edge_right: Any) -> Any:
    """The plan of a forest: int32, with its length first and the number of its edges sixth; no parameter is in it."""
    n_nodes, n_edges = edge_ptr.shape[0] - 1, edge_rule.shape[0]
    node_entry = np.zeros(n_nodes + 1, np.int32)
    n_planned, n_slots = 0, 0
    for node in range(n_nodes):
        entries = 0
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            rule = edge_rule[edge]
            if rule < 0:
                below = edge_left[edge]
                size = node_entry[below + 1] - node_entry[below]
                entries += size
                n_planned += size
            else:
                n_planned += 1
                entries += edge == edge_ptr[node] or edge_rule[edge - 1] != rule
                if edge_left[edge] >= 0:
                    n_slots = max(n_slots, 2 * rule + 2)
        node_entry[node + 1] = node_entry[node] + entries

    # Who asks at each node.
    ask_ptr = np.zeros(n_nodes + 1, np.int32)
    for edge in range(n_edges):
        if edge_rule[edge] >= 0:
            if edge_left[edge] >= 0:
                ask_ptr[edge_left[edge] + 1] += 1
            if edge_right[edge] >= 0:
                ask_ptr[edge_right[edge] + 1] += 1
    for node in range(n_nodes):
        ask_ptr[node + 1] += ask_ptr[node]
    asker = np.empty(ask_ptr[n_nodes], np.int32)
    filled = ask_ptr[:-1].copy()
    for edge in range(n_edges):
        if edge_rule[edge] >= 0:
            for side in range(2):
                child = edge_right[edge] if side else edge_left[edge]
                if child >= 0:
                    asker[filled[child]] = 2 * edge + side
                    filled[child] += 1
    node_query = np.zeros(n_nodes + 1, np.int32)
    query_slot = np.empty(asker.shape[0], np.int32)
    query_of = np.full(2 * n_edges, -1, np.int32)
    last_node = np.full(n_slots, -1, np.int32)
    last_query = np.empty(n_slots, np.int32)
    n_queries = 0
    for node in range(n_nodes):
        for place in range(ask_ptr[node], ask_ptr[node + 1]):
            ask = asker[place]
            slot = 2 * edge_rule[ask // 2] + ask % 2
            if last_node[slot] != node:
                last_node[slot] = node
                last_query[slot] = n_queries
                query_slot[n_queries] = slot
                n_queries += 1
            query_of[ask] = last_query[slot]
        node_query[node + 1] = n_queries

    plan = np.empty(_HEADER + plan_room(n_nodes, node_entry[n_nodes], n_planned, n_queries), np.int32)
    plan[0], plan[1], plan[2] = plan.shape[0], n_nodes, node_entry[n_nodes]
    plan[3], plan[4], plan[5] = n_planned, n_queries, n_edges
    view = view_plan(plan, 0)
    view.node_symbol[:] = node_symbol
    view.node_entry[:] = node_entry
    view.node_query[:] = node_query
    view.query_slot[:] = query_slot[:n_queries]
    entry, planned = 0, 0
    for node in range(n_nodes):
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            rule = edge_rule[edge]
            if rule < 0:
                for below in range(node_entry[edge_left[edge]], node_entry[edge_left[edge] + 1]):
                    view.entry_rule[entry] = view.entry_rule[below]
                    view.entry_edge[entry] = planned
                    view.edge_left[planned], view.edge_right[planned] = below, COPY
                    entry += 1
                    planned += 1
                continue
            if edge == edge_ptr[node] or edge_rule[edge - 1] != rule:
                view.entry_rule[entry] = rule
                view.entry_edge[entry] = planned
                entry += 1
            view.edge_left[planned], view.edge_right[planned] = query_of[2 * edge], query_of[2 * edge + 1]
            planned += 1
    view.entry_edge[entry] = planned
    return plan


@kernel
def plan_room(n_nodes: int, n_entries: int, n_edges: int, n_queries: int) -> int:
    """How many numbers the parts of a plan take."""
    return n_nodes + 2 * (n_nodes + 1) + n_entries + (n_entries + 1) + n_queries + 2 * n_edges


@kernel
def view_plan(packed: Any, begin: int) -> View:
    """The parts of the plan that begins there."""
    n_nodes, n_entries, n_edges, n_queries = packed[begin + 1], packed[begin + 2], packed[begin + 3], packed[begin + 4]
    a = begin + _HEADER
    b = a + n_nodes
    c = b + n_nodes + 1
    d = c + n_nodes + 1
    e = d + n_entries
    f = e + n_entries + 1
    g = f + n_queries
    h = g + n_edges
    i = h + n_edges
    return View(
        packed[a:b], packed[b:c], packed[c:d], packed[d:e], packed[e:f], packed[f:g], packed[g:h], packed[h:i]
    )  # fmt: skip


@kernel
def edge_origins(plan: View) -> Any:
    """The edge of the forest that each planned edge stands for."""
    node_entry, entry_edge, edge_right = plan.node_entry, plan.entry_edge, plan.edge_right
    origin = np.empty(edge_right.shape[0], np.int32)
    edge = -1
    for node in range(node_entry.shape[0] - 1):
        first = entry_edge[node_entry[node]]
        for planned in range(first, entry_edge[node_entry[node + 1]]):
            if planned == first or edge_right[planned] != COPY:
                edge += 1
            origin[planned] = edge
    return origin


@kernel
def planned_factors(plan: View, factors: Factors) -> Factors:
    """The factors of planned edges, given those of the forest's; none for none."""
    n_planned = plan.edge_right.shape[0] if factors.mantissa.shape[0] > 0 else 0
    mantissa, exponent = np.empty(n_planned), np.empty(n_planned, np.int32)
    if n_planned > 0:
        origin = edge_origins(plan)
        for planned in range(n_planned):
            mantissa[planned], exponent[planned] = factors.mantissa[origin[planned]], factors.exponent[origin[planned]]
    return Factors(mantissa, exponent)


@kernel
def number_blocks(packed: Any, ptr: Any) -> tuple[Any, Any, Any, Any]:
    """(where the block of each use begins, and slot, rule and begin of every block) of plans one after the other.

    Uses are in order of plan, node, query, entry. ptr: the components of a rule; a block has a row for each component
    of its rule, with a number for each component of its slot. The begins have one more element, the size of all.
    """
    n_rules = ptr.shape[0] - 1
    # The rules of a symbol and the slots that ask for it span a small matrix, which tells the pairs that occur.
    rule_rank, slot_row = np.full(n_rules, -1, np.int32), np.full(2 * n_rules, -1, np.int32)
    n_symbols, n_uses, plan = 1, 0, 0
    while plan < packed.shape[0]:
        for symbol in view_plan(packed, plan).node_symbol:
            n_symbols = max(n_symbols, symbol + 1)
        plan += packed[plan]
    n_ranks = np.zeros(n_symbols, np.int32)
    slots_of = np.zeros(n_symbols, np.int32)
    plan = 0
    while plan < packed.shape[0]:
        node_symbol, node_entry, node_query, entry_rule, _, query_slot, _, _ = view_plan(packed, plan)
        for node in range(node_symbol.shape[0]):
            if node_query[node] == node_query[node + 1]:
                continue
            symbol = node_symbol[node]
            n_uses += (node_entry[node + 1] - node_entry[node]) * (node_query[node + 1] - node_query[node])
            for entry in range(node_entry[node], node_entry[node + 1]):
                if rule_rank[entry_rule[entry]] < 0:
                    rule_rank[entry_rule[entry]] = n_ranks[symbol]
                    n_ranks[symbol] += 1
            for query in range(node_query[node], node_query[node + 1]):
                if slot_row[query_slot[query]] < 0:
                    slot_row[query_slot[query]] = slots_of[symbol]
                    slots_of[symbol] += 1
        plan += packed[plan]
    matrix = np.zeros(n_symbols + 1, np.int64)
    for symbol in range(n_symbols):
        matrix[symbol + 1] = matrix[symbol] + np.int64(n_ranks[symbol]) * slots_of[symbol]
    place_of = np.full(matrix[n_symbols], -1, np.int32)

    use = np.empty(n_uses, np.int32)
    room = min(n_uses, place_of.shape[0])
    slots, rules, begins = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room + 1, np.int32)
    count, size, at, plan = 0, 0, 0, 0
    while plan < packed.shape[0]:
        node_symbol, node_entry, node_query, entry_rule, _, query_slot, _, _ = view_plan(packed, plan)
        for node in range(node_symbol.shape[0]):
            symbol = node_symbol[node]
            for query in range(node_query[node], node_query[node + 1]):
                slot = query_slot[query]
                row = matrix[symbol] + np.int64(slot_row[slot]) * n_ranks[symbol]
                for entry in range(node_entry[node], node_entry[node + 1]):
                    rule = entry_rule[entry]
                    place = row + rule_rank[rule]
                    if place_of[place] < 0:
                        place_of[place] = size
                        slots[count], rules[count], begins[count] = slot, rule, size
                        size += (ptr[rule + 1] - ptr[rule]) * (ptr[slot // 2 + 1] - ptr[slot // 2])
                        count += 1
                    use[at] = place_of[place]
                    at += 1
        plan += packed[plan]
    begins[count] = size
    return use, slots[:count], rules[:count], begins[: count + 1]
