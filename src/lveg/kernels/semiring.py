"""Sums and maxima over the derivations of a forest whose edges have one weight each.

Sums are in the linear domain with one power of two per node; outside scores are multiplied by that and divided by Z, so
that outside × inside is the posterior. Weights of edges are linear for sums and additive scores for maxima.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lveg.kernels.factors import Factors
from lveg.kernels.jit import DEAD, exponent_of, int64, kernel, power_of_two


@kernel
def inside(
    edge_ptr: Any, edge_left: Any, edge_right: Any, weight: Any, factors: Factors, value: Any, scale: Any,
    edge_factor: Any,
) -> float:  # fmt: skip
    """log Z; fills value and scale of every node  [math: inside].

    edge_factor: filled with the factor by which an edge's child values contribute to its node's.
    """
    mantissa, exponents = factors
    with_factors = mantissa.shape[0] > 0
    n_nodes = value.shape[0]
    for node in range(n_nodes):
        begin, end = edge_ptr[node], edge_ptr[node + 1]
        largest = DEAD
        for edge in range(begin, end):
            if weight[edge] > 0.0:
                extra = exponents[edge] if with_factors else 0
                largest = max(largest, edge_scale(edge_left[edge], edge_right[edge], extra, scale))
        total = 0.0
        for edge in range(begin, end):
            left, right = edge_left[edge], edge_right[edge]
            shift = edge_scale(left, right, exponents[edge] if with_factors else 0, scale) - largest
            edge_factor[edge] = 0.0
            if weight[edge] > 0.0 and shift > -1000 and largest > DEAD:
                factor = weight[edge] * power_of_two(shift)
                if with_factors:
                    factor *= mantissa[edge]
                edge_factor[edge] = factor
                if left >= 0:
                    factor *= value[left]
                if right >= 0:
                    factor *= value[right]
                total += factor
        if total <= 0.0:
            value[node] = 0.0
            scale[node] = DEAD
            continue
        exponent = exponent_of(total)
        down = power_of_two(-exponent)
        value[node] = total * down
        scale[node] = largest + exponent
        for edge in range(begin, end):
            edge_factor[edge] *= down
    if n_nodes == 0 or scale[n_nodes - 1] == DEAD:
        return -math.inf
    log_z: float = math.log(value[n_nodes - 1]) + scale[n_nodes - 1] * math.log(2.0)
    return log_z


@kernel
def edge_scale(left: int, right: int, exponent: int, scale: Any) -> int:
    """The scale of a product of child values and a factor with that exponent; DEAD if a child is."""
    total = exponent
    if left >= 0:
        total += scale[left]
    if right >= 0:
        total += scale[right]
    return total if total > DEAD // 2 else DEAD


@kernel
def outside(
    edge_ptr: Any, edge_left: Any, edge_right: Any, edge_factor: Any, value: Any, node_post: Any, edge_post: Any
) -> None:
    """Fill the posteriors of nodes and edges, given the results of `inside`  [math: outside]."""
    n_nodes = value.shape[0]
    above = np.zeros(n_nodes)
    above[n_nodes - 1] = 1.0 / value[n_nodes - 1]
    for node in range(n_nodes - 1, -1, -1):
        node_post[node] = above[node] * value[node]
        for edge in range(edge_ptr[node], edge_ptr[node + 1]):
            left, right = edge_left[edge], edge_right[edge]
            factor = above[node] * edge_factor[edge]
            in_left = value[left] if left >= 0 else 1.0
            in_right = value[right] if right >= 0 else 1.0
            edge_post[edge] = factor * in_left * in_right
            if left >= 0:
                above[left] += factor * in_right
            if right >= 0:
                above[right] += factor * in_left


@kernel
def draw(values: Any, begin: int, end: int, uniform: float) -> int:
    """An index of values[begin:end], drawn in proportion to them, by a number in [0, 1); the first if all are 0."""
    total = 0.0
    for index in range(begin, end):
        total += values[index]
    point = uniform * total
    pick = end - 1
    for index in range(begin, end):
        point -= values[index]
        if point < 0.0:
            pick = index
            break
    while pick > begin and values[pick] <= 0.0:  # rounding went past the last one with weight
        pick -= 1
    return pick


@kernel
def sample(edge_ptr: Any, edge_left: Any, edge_right: Any, edge_post: Any, uniform: Any, chosen: Any) -> int:
    """Sample a derivation from the posterior; fills `chosen` with its edges, parents first; returns their number.

    uniform: numbers in [0, 1), one for each node that the derivation may have.
    """
    stack = np.empty(uniform.shape[0] + 1, np.int64)
    stack[0] = edge_ptr.shape[0] - 2
    height, size = 1, 0
    while height > 0:
        height -= 1
        node = stack[height]
        pick = draw(edge_post, int64(edge_ptr[node]), int64(edge_ptr[node + 1]), uniform[size])
        chosen[size] = pick
        size += 1
        if edge_right[pick] >= 0:
            stack[height] = edge_right[pick]
            height += 1
        if edge_left[pick] >= 0:
            stack[height] = edge_left[pick]
            height += 1
    return size
