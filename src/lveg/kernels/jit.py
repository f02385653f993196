"""The one way kernels are compiled, and small helpers they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

DEAD = -(2**30)
"""Scale of a cell or node without any derivation."""


def kernel(function: Function) -> Function:
    """Compile without the GIL, cached on disk. Sums may be reordered; infinities and NaN keep their meaning."""
    compiled = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})(
        function
    )
    return cast(Function, compiled)


@kernel
def power_of_two(exponent: int) -> float:
    """2 ** exponent, and 0 where that is below the smallest normal number."""
    if exponent < -1022:
        return 0.0
    if exponent > 1023:
        return math.inf
    return math.ldexp(1.0, exponent)


@kernel
def exponent_of(value: float) -> int:
    """The power of two that brings a positive value into [0.5, 1)."""
    return math.frexp(value)[1]
