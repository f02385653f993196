"""Adam for any parameters, as one flat vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.adam import adam_step


@dataclass
class Adam:
    """Adam with L2 towards the initial values, and the average of the parameters over about the last `horizon` steps.

    pull: the strength of the L2 penalty.
    """

    value: Floats
    start: Floats
    rate: float
    pull: float
    horizon: float
    first: Floats
    second: Floats
    average: Floats
    steps: int = 0

    @classmethod
    def at(cls, value: Floats, start: Floats, rate: float, pull: float, horizon: float) -> Adam:
        """The state before the first step."""
        zeros = np.zeros_like(value)
        return cls(value.copy(), start.copy(), rate, pull, horizon, zeros, zeros.copy(), value.copy())

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """One step along the gradient, for all parameters (see `Optimiser`)."""
        self.steps += 1
        keep = min(1.0 - 1.0 / max(self.horizon, 1.0), self.steps / (self.steps + 1.0))
        adam_step(
            self.value, self.start, slopes, self.first, self.second, self.average, self.steps, self.rate * slow, share,
            self.pull, keep,
        )  # fmt: skip
        slopes[:] = 0.0

    def arrays(self) -> dict[str, Floats]:
        """The arrays for a checkpoint, besides the number of steps."""
        return {name: getattr(self, name) for name in ("value", "start", "first", "second", "average")}
