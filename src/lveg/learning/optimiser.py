"""The interface of optimisers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lveg.grammar.grammar import Floats, Ints


class Optimiser(Protocol):
    """Some parameters and the state of their optimisation. steps: the number of steps so far."""

    steps: int

    @property
    def value(self) -> Floats:
        """The parameters."""

    @property
    def average(self) -> Floats:
        """An average of the parameters over some of the steps."""

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """One step along the gradient: share × the sum of the rows of `slopes`, which are set to zero afterwards.

        touched: for each row, the indices of the parameters that may have a gradient; used only by sparse optimisers.
        slow: factor for the learning rate.
        """

    def arrays(self) -> dict[str, Floats]:
        """The arrays for a checkpoint, by field name, besides the number of steps."""


@dataclass
class Fixed:
    """Parameters that are not trained."""

    value: Floats
    steps: int = 0

    @property
    def average(self) -> Floats:
        """The parameters."""
        return self.value

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """Only sets the gradients to zero."""
        slopes[:] = 0.0

    def arrays(self) -> dict[str, Floats]:
        """Empty."""
        return {}
