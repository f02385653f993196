"""Stochastic gradient learning of any parameters, as one flat vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lveg.grammar.grammar import Floats
from lveg.kernels.adam import adam_step


@dataclass
class Adam:
    """Adam with L2 towards the start, and the average of the parameters over about the last `horizon` steps."""

    value: Floats
    start: Floats
    first: Floats
    second: Floats
    average: Floats
    steps: int = 0

    @classmethod
    def at(cls, value: Floats, start: Floats) -> Adam:
        """Before the first step."""
        return cls(value.copy(), start.copy(), np.zeros_like(value), np.zeros_like(value), value.copy())

    def step(self, slopes: Floats, share: float, rate: float, pull: float, horizon: float) -> None:
        """One step along the gradient: share × the sum of the rows of `slopes`, and `pull` × the way from the start."""
        self.steps += 1
        keep = min(1.0 - 1.0 / max(horizon, 1.0), self.steps / (self.steps + 1.0))
        adam_step(
            self.value, self.start, slopes, self.first, self.second, self.average, self.steps, rate, share, pull, keep
        )

    def arrays(self) -> dict[str, Floats]:
        """What a checkpoint must hold, beside the number of steps."""
        names = ("value", "start", "first", "second", "average")
        return {name: getattr(self, name) for name in names}
