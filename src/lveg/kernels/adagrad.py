"""AdaGrad for the parameters that have a gradient, and the average of all parameters over the steps so far."""

from __future__ import annotations

import math
from typing import Any

from lveg.kernels.jit import kernel


@kernel
def adagrad_step(
    value: Any, slopes: Any, numbers: Any, square: Any, lag: Any, step: int, rate: float, share: float,
    first: float,
) -> None:  # fmt: skip
    """Update the parameters with these indices, in place, and set their gradients to zero.

    slopes (parts, n): the gradient is their sum times `share`. square: the summed squared gradients, to which `first`
    is added: parameters with a smaller sum move less. lag: the sum of each change times the number of steps before it,
    from which the average is computed. step counts from 1.
    """
    for i in numbers:
        slope = 0.0
        for part in range(slopes.shape[0]):
            slope += slopes[part, i]
            slopes[part, i] = 0.0
        if slope != 0.0:
            slope *= share
            square[i] += slope * slope
            change = rate * slope / math.sqrt(square[i] + first)
            value[i] -= change
            lag[i] += (step - 1) * change
