"""What families of trees and of tags with contexts share: their parameters, and examples with the inputs of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from lveg.contexts.context import Context
from lveg.families.family import Facts, Family
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.factors import each_packed


@dataclass(frozen=True, eq=False)
class Combined(Family):
    """A family multiplied by contexts. All of their parameters are in one vector."""

    family: Family
    contexts: tuple[Context, ...]

    @cached_property
    def value(self) -> Floats:
        """The parameters of the family, then those of the contexts."""
        return np.concatenate([self.family.value, *(context.value for context in self.contexts)])

    def with_value(self, value: Floats) -> Self:
        """A copy with other parameters; the vector itself is not copied."""
        return self.with_parts(self._parts(value))

    def with_parts(self, values: Sequence[Floats]) -> Self:
        """A copy with other parameters for the family and for each context."""
        own, *rest = values
        contexts = (context.with_value(part) for context, part in zip(self.contexts, rest, strict=True))
        return replace(self, family=self.family.with_value(own), contexts=tuple(contexts))

    def _parts(self, vector: Floats) -> list[Floats]:
        """Views, for the family and for each context, of a vector that has one element per parameter."""
        sizes = [self.family.value.size, *(context.value.size for context in self.contexts)]
        return np.split(vector, np.cumsum(sizes)[:-1])

    def describe(self) -> Facts:
        """Descriptions of the family and the contexts."""
        return {
            "base": {"model": self.family.name, **self.family.describe()},
            "contexts": [{"context": context.name, **context.describe()} for context in self.contexts],
        }


def join(parts: Sequence[Ints]) -> Ints:
    """Join arrays into one: its total length, the length of each array, the arrays."""
    sizes = [len(part) for part in parts]
    head = np.array([1 + len(sizes) + sum(sizes), *sizes], np.int32)
    return np.concatenate([head, *parts])


def separate(joined: Ints, count: int) -> list[Ints]:
    """Split a sequence of joined arrays of `count` parts: all first parts, all second parts, and so on."""
    found: list[list[Ints]] = [[] for _ in range(count)]
    for example in each_packed(joined):
        at = 1 + count
        for part, size in zip(found, example[1:at].tolist(), strict=True):
            part.append(example[at : at + size])
            at += size
    return [np.concatenate(part) for part in found]
