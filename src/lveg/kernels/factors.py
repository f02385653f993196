"""Factors of edges, by which contexts multiply the weights of edges.

A factor may be far from 1, so kernels get it in two parts: the mantissa multiplies the edge, the exponent is added to
its scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Factors(NamedTuple):
    """The factor of edge e is mantissa[e] × 2 ** exponent[e]; both arrays are empty if all factors are 1.

    mantissa: float64. exponent: int32. Edges are in the order of their forest, those of several forests one after the
    other.
    """

    mantissa: Any
    exponent: Any


N_EDGES = 2
"""Index of the number of edges in a packed forest."""


def each_packed(packed: Any) -> Iterator[Any]:
    """Views of concatenated arrays, each of which has its length first."""
    begin = 0
    while begin < len(packed):
        end = begin + int(packed[begin])
        yield packed[begin:end]
        begin = end


def sum_of(packed: Any, place: int) -> int:
    """The sum of the numbers at this index of concatenated arrays, each of which has its length first."""
    return sum(int(part[place]) for part in each_packed(packed))


def split_batch(packed: Any, log_factor: Any) -> list[tuple[Any, Any]]:
    """Each of the packed forests in an array, with the log factors of its edges or None.

    A packed forest has its length first and the number of its edges third.
    """
    parts: list[tuple[Any, Any]] = []
    edge = 0
    for part in each_packed(packed):
        last = edge + int(part[N_EDGES])
        parts.append((part, None if log_factor is None else log_factor[edge:last]))
        edge = last
    return parts


def split_factors(log_factor: npt.NDArray[np.float64] | None) -> Factors:
    """The factors with these logs, which are finite; no factors for None."""
    if log_factor is None:
        return Factors(np.empty(0), np.empty(0, np.int32))
    exponent = np.rint(log_factor / math.log(2.0)).astype(np.int32)
    return Factors(np.exp(log_factor - exponent * math.log(2.0)), exponent)
