"""Sparse Adam for many parameters, of which each batch uses some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.sparse_adam import fill_average, sparse_adam_step


@dataclass
class SparseAdam:
    """Adam without momentum, with L2 towards 0, and the average of the parameters over about the last `horizon` steps.

    The cost of a step is linear in what it changes. pull: the strength of the L2 penalty.
    """

    value: Floats
    rate: float
    pull: float
    horizon: float
    second: Floats
    last: Ints
    kept: Floats
    steps: int = 0

    @classmethod
    def at(cls, value: Floats, rate: float, pull: float, horizon: float) -> SparseAdam:
        """The state before the first step."""
        last = np.zeros(value.size, np.int32)
        return cls(value.copy(), rate, pull, max(float(horizon), 1.0), np.zeros_like(value), last, value.copy())

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """One step along the gradient, for the parameters that have a gradient (see `Optimiser`)."""
        self.steps += 1
        for numbers in touched:
            sparse_adam_step(
                self.value, slopes, numbers, self.second, self.last, self.kept, self.steps, self.rate * slow, share,
                self.pull, self.horizon,
            )  # fmt: skip

    @property
    def average(self) -> Floats:
        """The average of the parameters over about the last `horizon` steps."""
        average = np.empty_like(self.value)
        fill_average(self.value, self.last, self.kept, self.steps, self.horizon, average)
        return average

    def arrays(self) -> dict[str, Floats]:
        """The arrays for a checkpoint, besides the number of steps."""
        return {name: getattr(self, name) for name in ("value", "second", "last", "kept")}
