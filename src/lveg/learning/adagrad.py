"""AdaGrad for very many parameters, of which each batch uses few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.adagrad import adagrad_step

FIRST = 1e-3
"""Initial value of the summed squared gradients; parameters with a smaller sum move less."""


@dataclass
class AdaGrad:
    """AdaGrad, with the average of the parameters over all steps. The cost of a step is linear in what it changes."""

    value: Floats
    rate: float
    square: Floats
    lag: Floats
    steps: int = 0

    @classmethod
    def at(cls, value: Floats, rate: float) -> AdaGrad:
        """The state before the first step."""
        return cls(value.copy(), rate, np.zeros_like(value), np.zeros_like(value))

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """One step along the gradient, for the parameters that have a gradient (see `Optimiser`)."""
        self.steps += 1
        rate = self.rate * slow
        for numbers in touched:
            adagrad_step(self.value, slopes, numbers, self.square, self.lag, self.steps, rate, share, FIRST)

    @property
    def average(self) -> Floats:
        """The average of the parameters over all steps."""
        return self.value + self.lag / max(self.steps, 1)

    def arrays(self) -> dict[str, Floats]:
        """The arrays for a checkpoint, besides the number of steps."""
        return {"value": self.value, "square": self.square, "lag": self.lag}
