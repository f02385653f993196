"""What changes parameters along gradients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lveg.grammar.grammar import Floats, Ints


class Optimiser(Protocol):
    """Some parameters, which get better step by step. steps: how many there were."""

    steps: int

    @property
    def value(self) -> Floats:
        """The parameters."""

    @property
    def average(self) -> Floats:
        """An average of the parameters over some of the steps."""

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """One step along the gradient: share × the sum of the rows of `slopes`, which are zero again afterwards.

        touched: of each row the numbers of the parameters that may have a slope; only optimisers of sparse gradients
        look at it. slow: what the rate is multiplied by.
        """

    def arrays(self) -> dict[str, Floats]:
        """What a checkpoint must hold, beside the number of steps: fields by name."""


@dataclass
class Fixed:
    """Parameters that stay as they are."""

    value: Floats
    steps: int = 0

    @property
    def average(self) -> Floats:
        """The parameters."""
        return self.value

    def step(self, slopes: Floats, touched: Sequence[Ints], share: float, slow: float = 1.0) -> None:
        """Nothing changes."""
        slopes[:] = 0.0

    def arrays(self) -> dict[str, Floats]:
        """Nothing that changes."""
        return {}
