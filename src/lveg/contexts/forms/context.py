"""Log-linear weights of word forms, for each tag and each of its states  [math: forms]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.contexts.forms.properties import Properties, learn_properties
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import extents
from lveg.kernels.forms import add_rows, add_to_rows

GRID, MOST_STEPS, LEAST_STEPS = 1 / 32, 127, 3
"""Weights are quantised to multiples of GRID, as int8. Forms whose weights are all below LEAST_STEPS of it are dropped.
Neither changes accuracy."""

MOST_WEIGHT = 700.0
"""Bound on abs(weight)."""


@dataclass(frozen=True, eq=False)
class Forms(ChainContext):
    """Weights of word properties, (properties × tags × states), in one vector."""

    tags: int
    width: int
    properties: Properties
    value: Floats

    name = "forms"

    def __post_init__(self) -> None:
        check_value(self.value, len(self.properties.names) * self.tags * self.width, MOST_WEIGHT)

    def with_value(self, value: Floats) -> Forms:
        """The same properties with other weights."""
        return replace(self, value=value)

    def table(self, vector: Floats) -> Floats:
        """A vector with one element per weight, reshaped to (properties, tags × states)."""
        return vector.reshape(-1, self.tags * self.width)

    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """The rows of weights of each word, packed (see kernels.forms)."""
        return self.properties.rows(sentences)

    def score(self, lattices: Ints, rows: Ints, noise: int = 0) -> Floats:
        """The sum of the weights of each word's properties, for each state of each tag; there is no dropout."""
        score = np.zeros((extents(lattices)[2], self.width))
        add_rows(lattices, rows, self.table(self.value), self.tags, score.ravel())
        return score

    def add(self, lattices: Ints, rows: Ints, factor_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Add the gradient of each state of each tag of a word to those of the weights of its properties."""
        table = self.table(slope)
        is_touched = np.zeros(len(table), np.bool_)
        add_to_rows(lattices, rows, factor_slope.ravel(), self.tags, table, is_touched)
        touched = np.flatnonzero(is_touched)[:, None] * table.shape[1] + np.arange(table.shape[1])
        found: Ints = touched.ravel().astype(np.int32)
        return found

    def widened(self, width: int) -> Forms:
        """A copy for tags with `width` states, with the same weights for each state."""
        return replace(self, width=width, value=np.repeat(self.value, width))

    def rounded(self) -> Forms:
        """A copy with quantised weights, without properties whose weights are all small."""
        steps = self._steps()
        kept = np.flatnonzero((np.abs(steps) >= LEAST_STEPS).any(axis=1))
        names = tuple(self.properties.names[row] for row in kept)
        return Forms(self.tags, self.width, Properties(names), GRID * steps[kept].ravel())

    def _steps(self) -> Any:
        """The weights in steps of the grid, int8 (properties, tags × states)."""
        return np.clip(np.round(self.table(self.value) / GRID), -MOST_STEPS, MOST_STEPS).astype(np.int8)

    def arrays(self) -> Arrays:
        """The quantised weights."""
        return {"steps": self._steps()}

    def facts(self) -> Facts:
        """The properties, and the numbers of tags and of states per tag."""
        return {"tags": self.tags, "width": self.width, "names": list(self.properties.names)}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Forms:
        """The context from a model file."""
        check_arrays(arrays, {"steps": (np.int8, 2)})
        check_facts(facts, {"tags": int, "width": int, "names": list})
        tags, width, names, steps = facts["tags"], facts["width"], facts["names"], arrays["steps"]
        if min(tags, width) < 1:
            raise GrammarError("the numbers of tags and of states per tag must be at least 1")
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise GrammarError("the names of forms must be strings without duplicates")
        if steps.shape != (len(names), tags * width):
            raise GrammarError("it needs one weight for each form, tag and state")
        return cls(tags, width, Properties(tuple(names)), GRID * steps.ravel())

    def describe(self) -> Facts:
        """Numbers of forms and weights."""
        return {"forms": len(self.properties.names), "parameters": int(self.value.size)}


def start_forms(sentences: Iterable[Sequence[str]], tags: int, width: int) -> Forms:
    """The forms that occur in the sentences, all of weight 0."""
    properties = learn_properties(sentences)
    return Forms(tags, width, properties, np.zeros(len(properties.names) * tags * width))
