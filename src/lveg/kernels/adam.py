"""Adam with L2 towards the initial values and an exponential average of the parameters, in one pass over memory."""

from __future__ import annotations

import math
from typing import Any

from lveg.kernels.jit import kernel

FIRST, SECOND = 0.9, 0.999
"""Decay rates of the averages of gradients and squared gradients."""


@kernel
def adam_step(
    value: Any, start: Any, slopes: Any, first: Any, second: Any, average: Any, step: int, rate: float,
    share: float, pull: float, keep: float,
) -> None:  # fmt: skip
    """Update all arrays in place.

    slopes (parts, n): the gradient is their sum times `share`. pull: the strength of the L2 penalty. keep: the decay
    rate of the average. step counts from 1.
    """
    correct_first = 1.0 / (1.0 - FIRST**step)
    correct_second = 1.0 / (1.0 - SECOND**step)
    for i in range(value.shape[0]):
        slope = 0.0
        for part in range(slopes.shape[0]):
            slope += slopes[part, i]
        slope = slope * share + pull * (value[i] - start[i])
        first[i] = FIRST * first[i] + (1.0 - FIRST) * slope
        second[i] = SECOND * second[i] + (1.0 - SECOND) * slope * slope
        value[i] -= rate * (first[i] * correct_first) / (math.sqrt(second[i] * correct_second) + 1e-8)
        average[i] = keep * average[i] + (1.0 - keep) * value[i]
