"""A forest as inference with a Gaussian mixture grammar needs it, packed into one array.

An *entry* is a rule at a node: the node's inside score has a coefficient for each of its components. A *query* is a
child slot of a rule at a child node: all edges with the same rule, side and child share it. A *block* contains the
overlaps of all components of a slot with all components of a rule; every pair of a query and an entry of one node uses
one, and a batch of forests shares them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.kernels.jit import ZERO, inner_kernel, kernel

Ints = npt.NDArray[np.int32]

COPY = -2
"""Right child of an edge that copies the coefficients of the entry in its left."""

_HEADER = 6


class Plan(NamedTuple):
    """The parts of a plan.

    Node v has entries [node_entry[v], node_entry[v + 1]) and queries [node_query[v], node_query[v + 1]); entry i is of
    rule entry_rule[i] and has edges [entry_edge[i], entry_edge[i + 1]). edge_left and edge_right are queries, or -1.
    Slot 2 r is the left child of rule r, 2 r + 1 its right child. These *planned* edges are the forest's, in order,
    except that a STAY edge, the first of its node, becomes one copy for each entry below it.
    """

    node_symbol: Any
    node_entry: Any
    node_query: Any
    entry_rule: Any
    entry_edge: Any
    query_slot: Any
    edge_left: Any
    edge_right: Any


def pack_plan(node_symbol: Ints, edge_ptr: Ints, edge_rule: Ints, edge_left: Ints, edge_right: Ints) -> Ints:
    """The plan of a forest: int32, with a header and then its parts; independent of the parameters.

    The header is the length, and the numbers of nodes, edges, planned edges, entries and queries.
    """
    parts = Plan(node_symbol, *make_plan(edge_ptr, edge_rule, edge_left, edge_right))
    sizes = (len(node_symbol), len(edge_rule), len(parts.edge_left), len(parts.entry_rule), len(parts.query_slot))
    length = _HEADER + sum(len(part) for part in parts)
    return np.concatenate([np.array([length, *sizes], np.int32), *parts])


def unpack_plan(packed: Ints) -> Plan:
    """The parts of a single plan."""
    _, nodes, _, planned, entries, queries = packed[:_HEADER].tolist()
    parts, at = [], _HEADER
    for size in (nodes, nodes + 1, nodes + 1, entries, entries + 1, queries, planned, planned):
        parts.append(packed[at : at + size])
        at += size
    return Plan(*parts)


@kernel
def view_plan(packed: Any, begin: Any) -> Plan:
    """The plan that begins at this index."""
    n_nodes, n_planned = packed[begin + 1], packed[begin + 3]
    n_entries, n_queries = packed[begin + 4], packed[begin + 5]
    a = begin + _HEADER
    b = a + n_nodes
    c = b + n_nodes + 1
    d = c + n_nodes + 1
    e = d + n_entries
    f = e + n_entries + 1
    g = f + n_queries
    h = g + n_planned
    i = h + n_planned
    return Plan(
        packed[a:b], packed[b:c], packed[c:d], packed[d:e], packed[e:f], packed[f:g], packed[g:h], packed[h:i]
    )  # fmt: skip


def edge_origins(plan: Plan) -> Ints:
    """The edge of the forest that each planned edge represents."""
    is_first = plan.edge_right != COPY
    is_first[plan.entry_edge[plan.node_entry[:-1]]] = True
    return np.cumsum(is_first, dtype=np.int32) - np.int32(1)


@kernel
def make_plan(
    edge_ptr: Any, edge_rule: Any, edge_left: Any, edge_right: Any
) -> tuple[Any, Any, Any, Any, Any, Any, Any]:
    """(node_entry, node_query, entry_rule, entry_edge, query_slot, edge_left, edge_right) of the plan of a forest."""
    n_nodes, n_edges = edge_ptr.shape[0] - 1, edge_rule.shape[0]
    node_entry = np.zeros(n_nodes + 1, np.int32)
    n_entries, n_planned, n_slots = 0, 0, 0
    for node in range(n_nodes):
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            rule = edge_rule[edge]
            if rule < 0:
                below = edge_left[edge]
                size = node_entry[below + 1] - node_entry[below]
                n_entries += size
                n_planned += size
            else:
                n_planned += 1
                n_entries += edge == edge_ptr[node] or edge_rule[edge - 1] != rule
                if edge_left[edge] >= 0:
                    n_slots = max(n_slots, 2 * rule + 2)
        node_entry[node + 1] = n_entries

    # The queries of each node.
    ask_ptr = np.zeros(n_nodes + 1, np.int32)
    for edge in range(n_edges):
        if edge_rule[edge] >= 0:
            if edge_left[edge] >= 0:
                ask_ptr[edge_left[edge] + 1] += 1
            if edge_right[edge] >= 0:
                ask_ptr[edge_right[edge] + 1] += 1
    for node in range(n_nodes):
        ask_ptr[node + 1] += ask_ptr[node]
    asker, filled = np.empty(2 * n_edges, np.int32), np.zeros(n_nodes, np.int32)
    query_of = np.empty(2 * n_edges, np.int32)
    for edge in range(n_edges):
        for side in range(2):
            child = edge_right[edge] if side else edge_left[edge]
            query_of[2 * edge + side] = -1
            if child >= 0 and edge_rule[edge] >= 0:
                asker[ask_ptr[child] + filled[child]] = 2 * edge + side
                filled[child] += 1
    node_query = np.zeros(n_nodes + 1, np.int32)
    query_slot = np.empty(2 * n_edges, np.int32)
    last_asked = np.zeros(n_slots, np.int32)  # the last node queried by a slot, plus one
    last_query = np.empty(n_slots, np.int32)
    n_queries = 0
    for node in range(n_nodes):
        for place in range(ask_ptr[node], ask_ptr[node + 1]):
            ask = asker[place]
            slot = 2 * edge_rule[ask // 2] + ask % 2
            if last_asked[slot] != node + 1:
                last_asked[slot] = node + 1
                last_query[slot] = n_queries
                query_slot[n_queries] = slot
                n_queries += 1
            query_of[ask] = last_query[slot]
        node_query[node + 1] = n_queries

    entry_rule, entry_edge = np.empty(n_entries, np.int32), np.empty(n_entries + 1, np.int32)
    left, right = np.empty(n_planned, np.int32), np.empty(n_planned, np.int32)
    entry, planned = 0, 0
    for node in range(n_nodes):
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            rule = edge_rule[edge]
            if rule < 0:
                for below in range(node_entry[edge_left[edge]], node_entry[edge_left[edge] + 1]):
                    entry_rule[entry], entry_edge[entry] = entry_rule[below], planned
                    left[planned], right[planned] = below, COPY
                    entry += 1
                    planned += 1
                continue
            if edge == edge_ptr[node] or edge_rule[edge - 1] != rule:
                entry_rule[entry], entry_edge[entry] = rule, planned
                entry += 1
            left[planned], right[planned] = query_of[2 * edge], query_of[2 * edge + 1]
            planned += 1
    entry_edge[entry] = planned
    return node_entry, node_query, entry_rule, entry_edge, query_slot[:n_queries], left, right


@inner_kernel
def part_places(packed: Any, begin: Any) -> tuple[int, int, int, int, int]:
    """The indices of node_symbol, node_entry, node_query, entry_rule and query_slot of the plan at `begin`."""
    n_nodes, n_entries = packed[begin + 1], packed[begin + 4]
    symbols = begin + _HEADER
    entries = symbols + n_nodes
    queries = entries + n_nodes + 1
    rules = queries + n_nodes + 1
    return symbols, entries, queries, rules, rules + 2 * n_entries + 1


@kernel
def number_blocks(packed: Any, ptr: Any) -> tuple[Any, Any, Any, Any]:
    """(where the block of each use begins, and slot, rule and begin of every block) of concatenated plans.

    Uses are in order of plan, node, query, entry. ptr: the components of a rule; a block has a row for each component
    of its rule, with a number for each component of its slot. The begins have one more element, the total size; if that
    is not below 2**31, it is -1, and there are no blocks.
    """
    n_rules = ptr.shape[0] - 1
    # The rules of a symbol and the slots with that symbol form a small matrix, which marks the pairs that occur. Ranks,
    # rows and places are stored plus one: 0 means none.
    rule_rank, slot_row = np.zeros(n_rules, np.int32), np.zeros(2 * n_rules, np.int32)
    n_symbols, n_uses, plan = 1, 0, ZERO
    while plan < packed.shape[0]:
        for place in range(plan + _HEADER, plan + _HEADER + packed[plan + 1]):
            n_symbols = max(n_symbols, packed[place] + 1)
        plan += packed[plan]
    n_ranks = np.zeros(n_symbols, np.int32)
    slots_of = np.zeros(n_symbols, np.int32)
    plan = ZERO
    while plan < packed.shape[0]:
        symbols, entries, queries, rules_at, slots_at = part_places(packed, plan)
        for node in range(packed[plan + 1]):
            first, last = packed[entries + node], packed[entries + node + 1]
            first_query, last_query = packed[queries + node], packed[queries + node + 1]
            if first_query == last_query:
                continue
            symbol = packed[symbols + node]
            n_uses += (last - first) * (last_query - first_query)
            for place in range(rules_at + first, rules_at + last):
                if rule_rank[packed[place]] == 0:
                    n_ranks[symbol] += 1
                    rule_rank[packed[place]] = n_ranks[symbol]
            for place in range(slots_at + first_query, slots_at + last_query):
                if slot_row[packed[place]] == 0:
                    slots_of[symbol] += 1
                    slot_row[packed[place]] = slots_of[symbol]
        plan += packed[plan]
    matrix, n_pairs = np.zeros(n_symbols, np.int32), 0
    for symbol in range(n_symbols):
        matrix[symbol] = n_pairs
        n_pairs += n_ranks[symbol] * slots_of[symbol]
    place_of = np.zeros(n_pairs, np.int32)

    use = np.empty(n_uses, np.int32)
    room = min(n_uses, n_pairs)
    slots, rules, begins = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room + 1, np.int32)
    count, size, at, plan = 0, 0, 0, ZERO
    while plan < packed.shape[0]:
        symbols, entries, queries, rules_at, slots_at = part_places(packed, plan)
        for node in range(packed[plan + 1]):
            symbol = packed[symbols + node]
            for query in range(packed[queries + node], packed[queries + node + 1]):
                slot = packed[slots_at + query]
                row = matrix[symbol] + (slot_row[slot] - 1) * n_ranks[symbol] - 1
                for entry in range(packed[entries + node], packed[entries + node + 1]):
                    rule = packed[rules_at + entry]
                    place = row + rule_rank[rule]
                    if place_of[place] == 0:
                        place_of[place] = size + 1
                        slots[count], rules[count], begins[count] = slot, rule, size
                        size += (ptr[rule + 1] - ptr[rule]) * (ptr[slot // 2 + 1] - ptr[slot // 2])
                        count += 1
                        if size >= 2**31 - 1:
                            begins[0] = -1
                            return use, slots[:0], rules[:0], begins[:1]
                    use[at] = place_of[place] - 1
                    at += 1
        plan += packed[plan]
    begins[count] = size
    return use, slots[:count], rules[:count], begins[: count + 1]
