"""Clusters the combinations of subtypes of each rule, as weighted points, by k-means."""

from __future__ import annotations

from typing import Any

import numpy as np

from lveg.kernels.jit import kernel

_ROUNDS = 8  # maximum; with few points the means hardly move after that


@kernel
def cluster_rows(row_ptr: Any, slots: Any, share: Any, points: Any, ptr: Any, seeds: Any, mean: Any) -> Any:
    """The cluster of each row; fills the means of clusters  [math: start].

    Rule r has rows [row_ptr[r], row_ptr[r + 1]) and clusters [ptr[r], ptr[r + 1]). slots (3, rows): the points of a
    row, -1 for none, which together are one point of a larger space. points: (n, dim). share: the weight of a row.
    seeds: the initial row of each cluster. mean: (3, clusters, dim); a cluster to which no row is closest keeps its
    mean.
    """
    n_slots, n_rows = slots.shape
    dim = points.shape[1]
    cluster = np.zeros(n_rows, np.int64)
    mass = np.zeros(seeds.shape[0])
    for rule in range(row_ptr.shape[0] - 1):
        first, last, begin, end = ptr[rule], ptr[rule + 1], row_ptr[rule], row_ptr[rule + 1]
        for c in range(first, last):
            for s in range(n_slots):
                if slots[s, seeds[c]] >= 0:
                    mean[s, c] = points[slots[s, seeds[c]]]
        for turn in range(_ROUNDS):
            moved = turn == 0
            for row in range(begin, end):
                least, nearest = np.inf, first
                for c in range(first, last):
                    distance = 0.0
                    for s in range(n_slots):
                        if slots[s, row] >= 0:
                            for d in range(dim):
                                distance += (points[slots[s, row], d] - mean[s, c, d]) ** 2
                    if distance < least:
                        least, nearest = distance, c
                moved = moved or nearest != cluster[row]
                cluster[row] = nearest
            if not moved:
                break
            for row in range(begin, end):
                mass[cluster[row]] += share[row]
            for c in range(first, last):
                if mass[c] > 0.0:
                    mean[:, c] = 0.0
            for row in range(begin, end):
                c = cluster[row]
                for s in range(n_slots):
                    if slots[s, row] >= 0:
                        for d in range(dim):
                            mean[s, c, d] += share[row] / mass[c] * points[slots[s, row], d]
            mass[first:last] = 0.0
    return cluster
