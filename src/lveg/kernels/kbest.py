"""The k best derivations of a forest by additive edge scores: Huang and Chiang (2005), algorithm 3, iterative."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lveg.kernels.jit import kernel


@kernel
def first_score(edge: int, edge_left: Any, edge_right: Any, score: Any, best: Any) -> float:
    """The score of an edge over the best derivations of its children."""
    total: float = score[edge]
    if edge_left[edge] >= 0:
        total += best[edge_left[edge]]
    if edge_right[edge] >= 0:
        total += best[edge_right[edge]]
    return total


@kernel
def best_scores(edge_ptr: Any, edge_left: Any, edge_right: Any, score: Any) -> tuple[Any, Any]:
    """(score of the best derivation of each node, its edge; -1 where none is possible)."""
    n_nodes = edge_ptr.shape[0] - 1
    best = np.full(n_nodes, -math.inf)
    choice = np.full(n_nodes, -1, np.int32)
    for node in range(n_nodes):
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            total = first_score(edge, edge_left, edge_right, score, best)
            if total > best[node]:
                best[node] = total
                choice[node] = edge
    return best, choice


@kernel
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


@kernel
def pop(heap: Any, scores: Any, base: int, size: int) -> None:
    """Move the first of the heap at [base, base + size) to its end and restore the order of the rest."""
    first, first_score = heap[base], scores[base]
    entry, score = heap[base + size - 1], scores[base + size - 1]
    place, last = 0, size - 1
    while 2 * place + 1 < last:
        child = 2 * place + 1
        if child + 1 < last:
            other = child + 1
            better = scores[base + other] > scores[base + child]
            if better or (scores[base + other] == scores[base + child] and heap[base + other] < heap[base + child]):
                child = other
        stays = score > scores[base + child] or (score == scores[base + child] and entry < heap[base + child])
        if stays:
            break
        heap[base + place], scores[base + place] = heap[base + child], scores[base + child]
        place = child
    heap[base + place], scores[base + place] = entry, score
    heap[base + size - 1], scores[base + size - 1] = first, first_score


@kernel
def ranked(best: Any, rank_score: Any, k: int, node: int, rank: int) -> float:
    """The score of a rank of a node; rank 0 is known before the node is visited."""
    score: float = best[node] if rank == 0 else rank_score[node * k + rank]
    return score


@kernel
def k_best(edge_ptr: Any, edge_left: Any, edge_right: Any, score: Any, k: int) -> tuple[int, Any, Any, Any, Any, Any]:
    """(count, found, rank_score, rank_edge, rank_left, rank_right): the k best derivations of every node asked for.

    Rank r of node v is at [v * k + r]: its score, its edge, and the ranks of its children; found[v] ranks
    are known beside rank 0, whose edge always is, and count = found[root]. A candidate is (edge, left rank,
    right rank); its successors raise one rank, the right one only while the left is 0, so that each is made
    once. Memory: O(nodes k + edges); a node is worked on only when a rank of it is needed.
    """
    n_nodes = edge_ptr.shape[0] - 1
    found = np.zeros(n_nodes, np.int32)
    rank_score = np.empty(n_nodes * k)
    rank_edge = np.empty(n_nodes * k, np.int32)
    rank_left = np.zeros(n_nodes * k, np.int32)
    rank_right = np.zeros(n_nodes * k, np.int32)
    if n_nodes == 0:
        return 0, found, rank_score, rank_edge, rank_left, rank_right
    best, choice = best_scores(edge_ptr, edge_left, edge_right, score)
    for node in range(n_nodes):
        rank_edge[node * k] = choice[node]

    # Each node's candidates: room for its edges and two successors a rank.
    base = np.zeros(n_nodes + 1, np.int64)
    for node in range(n_nodes):
        base[node + 1] = base[node] + edge_ptr[node + 1] - edge_ptr[node] + 2 * k
    cand_edge = np.empty(base[n_nodes], np.int32)
    cand_left = np.zeros(base[n_nodes], np.int32)
    cand_right = np.zeros(base[n_nodes], np.int32)
    heap = np.empty(base[n_nodes], np.int64)
    heap_score = np.empty(base[n_nodes])
    made = np.full(n_nodes, -1, np.int64)  # candidates made; -1 before the first visit
    size = np.zeros(n_nodes, np.int64)  # candidates in the heap
    done = np.zeros(n_nodes, np.bool_)  # no further rank exists

    # A frame wants `want` ranks of a node; stage says which successor of its last rank is next.
    stack_node = np.empty(n_nodes + 1, np.int64)
    stack_want = np.empty(n_nodes + 1, np.int64)
    stack_stage = np.empty(n_nodes + 1, np.int64)
    stack_node[0], stack_want[0], stack_stage[0] = n_nodes - 1, k, 0
    height = 1
    while height > 0:
        node, want, stage = stack_node[height - 1], stack_want[height - 1], stack_stage[height - 1]
        if made[node] < 0:
            made[node] = 0
            for edge in range(edge_ptr[node], edge_ptr[node + 1]):
                total = first_score(edge, edge_left, edge_right, score, best)
                if total > -math.inf:
                    cand_edge[base[node] + made[node]] = edge
                    push(heap, heap_score, base[node], size[node], made[node], total)
                    made[node] += 1
                    size[node] += 1
        if found[node] >= want or found[node] >= k:
            height -= 1
            continue
        if found[node] > 0 and stage < 2:
            # Successor of the last rank: stage 0 raises the left rank, stage 1 the right one.
            last = node * k + found[node] - 1
            edge = rank_edge[last]
            left, right = rank_left[last], rank_right[last]
            child = edge_left[edge] if stage == 0 else edge_right[edge]
            raised = (left if stage == 0 else right) + 1
            if child < 0 or raised >= k or (stage == 1 and left > 0):
                stack_stage[height - 1] = stage + 1
                continue
            if found[child] <= raised and not done[child]:
                stack_node[height], stack_want[height], stack_stage[height] = child, raised + 1, 0
                height += 1
                continue
            stack_stage[height - 1] = stage + 1
            if found[child] > raised:
                left, right = (raised, right) if stage == 0 else (left, raised)
                total = score[edge] + ranked(best, rank_score, k, edge_left[edge], left)
                if edge_right[edge] >= 0:
                    total += ranked(best, rank_score, k, edge_right[edge], right)
                entry = made[node]
                cand_edge[base[node] + entry] = edge
                cand_left[base[node] + entry] = left
                cand_right[base[node] + entry] = right
                push(heap, heap_score, base[node], size[node], entry, total)
                made[node] += 1
                size[node] += 1
            continue
        if size[node] == 0:
            done[node] = True
            height -= 1
            continue
        pop(heap, heap_score, base[node], size[node])
        size[node] -= 1
        entry = heap[base[node] + size[node]]
        place = node * k + found[node]
        rank_score[place] = heap_score[base[node] + size[node]]
        rank_edge[place] = cand_edge[base[node] + entry]
        rank_left[place] = cand_left[base[node] + entry]
        rank_right[place] = cand_right[base[node] + entry]
        found[node] += 1
        stack_stage[height - 1] = 0
    return found[n_nodes - 1], found, rank_score, rank_edge, rank_left, rank_right


@kernel
def trace(
    edge_ptr: Any,
    edge_left: Any,
    edge_right: Any,
    k: int,
    rank_edge: Any,
    rank_left: Any,
    rank_right: Any,
    rank: int,
) -> Any:
    """The edges, parents first, of one of the k best derivations of the last node."""
    n_nodes = edge_ptr.shape[0] - 1
    chosen = np.empty(n_nodes, np.int32)
    stack_node = np.empty(n_nodes + 1, np.int64)
    stack_rank = np.empty(n_nodes + 1, np.int64)
    stack_node[0], stack_rank[0] = n_nodes - 1, rank
    height, count = 1, 0
    while height > 0:
        height -= 1
        place = stack_node[height] * k + stack_rank[height]
        edge = rank_edge[place]
        chosen[count] = edge
        count += 1
        if edge_right[edge] >= 0:
            stack_node[height], stack_rank[height] = edge_right[edge], rank_right[place]
            height += 1
        if edge_left[edge] >= 0:
            stack_node[height], stack_rank[height] = edge_left[edge], rank_left[place]
            height += 1
    return chosen[:count]
