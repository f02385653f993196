"""Stochastic gradient learning of very many parameters, of which each batch concerns few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.adagrad import adagrad_step, fill_average


@dataclass
class AdaGrad:
    """AdaGrad from 0, and the average of the parameters over all steps. A step costs what it changes.

    first: what the squared gradients begin with; parameters that have met with less move less.
    """

    value: Floats
    square: Floats
    lag: Floats
    steps: int = 0
    first: float = 1e-3

    @classmethod
    def zeros(cls, size: int) -> AdaGrad:
        """Before the first step."""
        return cls(np.zeros(size), np.zeros(size), np.zeros(size))

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, rate: float) -> None:
        """One step along the gradient: share × the sum of the rows of `slopes`, which are zero again afterwards.

        touched: of each row the numbers of the parameters that may have a slope.
        """
        self.steps += 1
        for numbers in touched:
            adagrad_step(self.value, slopes, numbers, self.square, self.lag, self.steps, rate, share, self.first)

    @property
    def average(self) -> Floats:
        """The average of the parameters over all steps."""
        average = np.empty_like(self.value)
        fill_average(self.value, self.lag, self.steps, average)
        return average

    def arrays(self) -> dict[str, Floats]:
        """What a checkpoint must hold, beside the number of steps."""
        return {"value": self.value, "square": self.square, "lag": self.lag}
