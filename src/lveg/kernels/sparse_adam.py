"""Adam without momentum, for the parameters that have a gradient, and an exponential average of all parameters."""

from __future__ import annotations

import math
from typing import Any

from lveg.kernels.adam import SECOND
from lveg.kernels.jit import inner_kernel, lean_kernel


@inner_kernel
def kept_since(last: int, step: int, horizon: float) -> float:
    """The decay of the average over the steps after `last` up to `step`.

    That is t / (t + 1) in step t up to the horizon, and 1 - 1 / horizon after it.
    """
    kept, turn = 1.0, max(int(horizon) - 1, 0)
    if last < turn:
        end = min(step, turn)
        kept = (last + 1.0) / (end + 1.0)
        last = end
    return kept * (1.0 - 1.0 / horizon) ** (step - last)


@lean_kernel
def sparse_adam_step(
    value: Any, slopes: Any, numbers: Any, second: Any, last: Any, average: Any, step: int, rate: float, share: float,
    pull: float, horizon: float,
) -> None:  # fmt: skip
    """Update the parameters with these indices, in place, and set their gradients to zero.

    slopes (parts, n): the gradient is their sum times `share`. last: the step of each parameter's previous update; the
    updates that it would have had since then without a gradient are made up now. pull: the strength of the L2 penalty.
    step counts from 1.
    """
    correct = 1.0 / (1.0 - SECOND**step)
    for i in numbers:
        if last[i] == step:
            continue
        slope = 0.0
        for part in range(slopes.shape[0]):
            slope += slopes[part, i]
            slopes[part, i] = 0.0
        gap = step - last[i]
        slope = slope * share + gap * pull * value[i]
        average[i] = value[i] + kept_since(last[i], step - 1, horizon) * (average[i] - value[i])
        second[i] = SECOND**gap * second[i] + (1.0 - SECOND) * slope * slope
        value[i] -= rate * slope / (math.sqrt(second[i] * correct) + 1e-8)
        average[i] = value[i] + kept_since(step - 1, step, horizon) * (average[i] - value[i])
        last[i] = step


@lean_kernel
def fill_average(value: Any, last: Any, average: Any, step: int, horizon: float, found: Any) -> None:
    """Fill `found` with the average after a step."""
    for i in range(value.shape[0]):
        found[i] = value[i] + kept_since(last[i], step, horizon) * (average[i] - value[i])
