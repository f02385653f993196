"""Vectors: sums and inner products.

Kernels pass views, whose indices start at 0: with offsets, Numba checks for negative indices and vectorises few loops.
"""

from __future__ import annotations

from typing import Any

from lveg.kernels.jit import inner_kernel


@inner_kernel
def add_scaled(scale: float, vector: Any, total: Any) -> None:
    """Add a multiple of a vector to another one."""
    for j in range(total.shape[0]):
        total[j] += scale * vector[j]


@inner_kernel
def dot(one: Any, other: Any) -> float:
    """The inner product of two vectors."""
    total = 0.0
    for j in range(one.shape[0]):
        total += one[j] * other[j]
    return total
