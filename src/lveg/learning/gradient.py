"""Gradients of parts of a batch: in place, or as messages from other processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lveg.grammar.grammar import Floats, Ints

Gradient = Callable[[Ints, Sequence[Floats], int], tuple[float, Sequence[Ints]]]
"""Computes the objective of the examples with some numbers, and adds its derivative to gradient vectors, one for each
optimiser. Also returns, for each vector, the indices that may be nonzero, if its optimiser needs them; else none. The
last argument is the random seed for dropout."""


class Changes(NamedTuple):
    """New elements of a vector, at these indices; if the indices are None, the whole vector."""

    indices: Ints | None
    elements: Floats

    def write_to(self, vector: Floats) -> None:
        """Put the elements into a vector."""
        if self.indices is None:
            vector[:] = self.elements
        else:
            vector[self.indices] = self.elements


def changes(vector: Floats, indices: Ints) -> Changes:
    """The elements of a vector at some indices, or all of them if that is smaller."""
    if len(indices) * (vector.itemsize + indices.itemsize) < vector.nbytes:
        return Changes(indices, vector[indices])
    return Changes(None, vector.copy())


class SparseGradient(NamedTuple):
    """The gradient of some examples as a message. touched: as in `Gradient`, or None for all indices."""

    objective: float
    touched: list[Ints | None]
    slopes: list[Changes]

    def add_to(self, slopes: Sequence[Floats]) -> tuple[float, list[Ints]]:
        """Put the derivatives into vectors of zeros; returns what `Gradient` returns."""
        for slope, found in zip(slopes, self.slopes, strict=True):
            found.write_to(slope)
        return self.objective, [
            np.arange(slope.size, dtype=np.int32) if indices is None else indices
            for slope, indices in zip(slopes, self.touched, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class SparseGradients:
    """Computes gradients as messages, which contain only nonzero elements if those are few."""

    gradient_at: Callable[[Sequence[Floats]], Gradient]

    def __call__(self, values: Sequence[Floats]) -> Callable[[tuple[Ints, int]], SparseGradient]:
        """The gradient of (numbers of examples, noise), at some parameters."""
        gradient = self.gradient_at(values)

        def message(item: tuple[Ints, int]) -> SparseGradient:
            numbers, noise = item
            slopes = [np.zeros_like(value) for value in values]
            objective, found = gradient(numbers, slopes, noise)
            touched = [None if len(indices) == len(slope) else indices
                       for indices, slope in zip(found, slopes, strict=True)]  # fmt: skip
            used = [indices if indices is not None and len(indices) else np.flatnonzero(slope).astype(np.int32)
                    for indices, slope in zip(touched, slopes, strict=True)]  # fmt: skip
            return SparseGradient(objective, touched, list(map(changes, slopes, used)))

        return message
