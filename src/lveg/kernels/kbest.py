"""The k best derivations of a forest by additive edge scores: Huang and Chiang (2005), algorithm 3, iterative."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import inner_kernel, kernel, lean_kernel


class Ranks(NamedTuple):
    """The best derivations of each node, by rank, (nodes, ranks): score, edge, and the ranks of its children."""

    score: Any
    edge: Any
    left: Any
    right: Any


@lean_kernel
def best_edges(edge_ptr: Any, edge_left: Any, edge_right: Any, score: Any, best: Any, choice: Any) -> None:
    """Fill the score of the best derivation of each node and its edge; -inf and -1 if none is possible."""
    for node in range(edge_ptr.shape[0] - 1):
        best[node] = -math.inf
        choice[node] = -1
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            total = score[edge]
            if edge_left[edge] >= 0:
                total += best[edge_left[edge]]
            if edge_right[edge] >= 0:
                total += best[edge_right[edge]]
            if total > best[node]:
                best[node] = total
                choice[node] = edge


@inner_kernel
def push(heap: Any, scores: Any, base: int, size: int, entry: int, score: float) -> None:
    """Add (score, entry) to the heap at [base, base + size): best score first, then the lower entry."""
    place = size
    while place > 0:
        parent = (place - 1) // 2
        above, above_score = heap[base + parent], scores[base + parent]
        if above_score > score or (above_score == score and above < entry):
            break
        heap[base + place], scores[base + place] = above, above_score
        place = parent
    heap[base + place], scores[base + place] = entry, score


@inner_kernel
def pop(heap: Any, scores: Any, base: int, size: int) -> None:
    """Move the first of the heap at [base, base + size) to its end and restore the order of the rest."""
    first, first_score = heap[base], scores[base]
    last = size - 1
    entry, score = heap[base + last], scores[base + last]
    place = 0
    while 2 * place + 1 < last:
        child = 2 * place + 1
        if child + 1 < last:
            one, other = scores[base + child], scores[base + child + 1]
            if other > one or (other == one and heap[base + child + 1] < heap[base + child]):
                child += 1
        below, below_score = heap[base + child], scores[base + child]
        if score > below_score or (score == below_score and entry < below):
            break
        heap[base + place], scores[base + place] = below, below_score
        place = child
    heap[base + place], scores[base + place] = entry, score
    heap[base + last], scores[base + last] = first, first_score


@kernel
def k_best(edge_ptr: Any, edge_left: Any, edge_right: Any, score: Any, ranks: Ranks) -> int:
    """The number of derivations found, at most k; fills their ranks, at the nodes that they need.

    ranks: on entry, rank 0 of every node has its score and edge, and all child ranks are 0. A candidate is
    (edge, left rank, right rank); its successors raise one rank, the right one only while the left is 0, so that each
    is made once. Memory: O(nodes k + edges); a node is processed only when a rank of it is needed.
    """
    rank_score, rank_edge, rank_left, rank_right = ranks
    n_nodes, k = rank_edge.shape
    # Each node's candidates: space for its edges and two successors per rank.
    base = np.zeros(n_nodes + 1, np.int64)
    for node in range(n_nodes):
        base[node + 1] = base[node] + edge_ptr[node + 1] - edge_ptr[node] + 2 * k
    candidate = np.zeros((3, base[n_nodes]), np.int64)  # edge, left rank, right rank
    heap, heap_score = np.zeros(base[n_nodes], np.int64), np.zeros(base[n_nodes])
    found = np.zeros(n_nodes, np.int64)
    made = np.zeros(n_nodes, np.int64)  # candidates made
    size = np.zeros(n_nodes, np.int64)  # candidates in the heap
    done = np.zeros(n_nodes, np.int64)  # 1 if no further rank exists

    # A frame needs `want` ranks of a node; stage tells which successor of its last rank is next.
    stack = np.zeros((3, n_nodes + 1), np.int64)
    stack[0, 0], stack[1, 0] = n_nodes - 1, k
    height = 1
    while height > 0:
        node, want, stage = stack[0, height - 1], stack[1, height - 1], stack[2, height - 1]
        if found[node] >= want or done[node] == 1:
            height -= 1
            continue
        place = base[node]
        if made[node] == 0:
            for edge in range(edge_ptr[node], edge_ptr[node + 1]):
                total = score[edge]
                if edge_left[edge] >= 0:
                    total += rank_score[edge_left[edge], 0]
                if edge_right[edge] >= 0:
                    total += rank_score[edge_right[edge], 0]
                if total > -math.inf:
                    candidate[0, place + made[node]] = edge
                    push(heap, heap_score, place, made[node], made[node], total)
                    made[node] += 1
            size[node] = made[node]
        elif stage < 2:
            # Successor of the last rank: stage 0 raises the left rank, stage 1 the right one.
            last = found[node] - 1
            edge, left, right = rank_edge[node, last], rank_left[node, last], rank_right[node, last]
            child = edge_left[edge] if stage == 0 else edge_right[edge]
            raised = (left if stage == 0 else right) + 1
            if child >= 0 and raised < k and (stage == 0 or left == 0):
                if found[child] <= raised and done[child] == 0:
                    stack[0, height], stack[1, height], stack[2, height] = child, raised + 1, 0
                    height += 1
                    continue
                if found[child] > raised:
                    if stage == 0:
                        left = raised
                    else:
                        right = raised
                    total = score[edge] + rank_score[edge_left[edge], left]
                    if edge_right[edge] >= 0:
                        total += rank_score[edge_right[edge], right]
                    entry = made[node]
                    candidate[0, place + entry] = edge
                    candidate[1, place + entry] = left
                    candidate[2, place + entry] = right
                    push(heap, heap_score, place, size[node], entry, total)
                    made[node] += 1
                    size[node] += 1
            stack[2, height - 1] = stage + 1
            continue
        if size[node] == 0:
            done[node] = 1
            continue
        pop(heap, heap_score, place, size[node])
        size[node] -= 1
        entry, rank = place + heap[place + size[node]], found[node]
        rank_score[node, rank] = heap_score[place + size[node]]
        rank_edge[node, rank] = candidate[0, entry]
        rank_left[node, rank] = candidate[1, entry]
        rank_right[node, rank] = candidate[2, entry]
        found[node] += 1
        stack[2, height - 1] = 0
    count: int = found[n_nodes - 1]
    return count
