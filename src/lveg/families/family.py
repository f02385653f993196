"""Shared code of all families: parameters as one vector, and how they are saved and loaded."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lveg.errors import GrammarError
from lveg.grammar.grammar import Floats, Grammar

Arrays = dict[str, Any]
"""Arrays by name, as stored in a model file."""

Facts = dict[str, Any]
"""Values that are stored as JSON."""


class Stored(ABC):
    """Something that can be stored in a model file; name: as in its `Kind`."""

    name: ClassVar[str]

    @abstractmethod
    def arrays(self) -> Arrays:
        """The arrays to store in the model file."""

    def facts(self) -> Facts:
        """What to store in the model file besides arrays."""
        return {}

    @classmethod
    @abstractmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Self:
        """The object in a model file; raises GrammarError if anything does not fit.

        weight: the treebank's own rule probabilities.
        """

    @property
    def title(self) -> str:
        """What users call it: its name, unless it consists of other models."""
        return self.name

    @abstractmethod
    def describe(self) -> Facts:
        """Its size, as shown to users."""


class Family(Stored):
    """Weights of the analyses of sentences, with all parameters in one vector."""

    if TYPE_CHECKING:  # a field or a property, depending on the family

        @property
        def value(self) -> Floats:
            """All parameters in one vector; gradients have the same layout."""

    @abstractmethod
    def with_value(self, value: Floats) -> Self:
        """The same family with other parameters, which are not copied."""

    @property
    def is_probability(self) -> bool:
        """Whether Z is the probability of the sentence."""
        return False

    def describe(self) -> Facts:
        """The number of parameters."""
        return {"parameters": int(self.value.size)}


def views(vector: Floats, shapes: Sequence[tuple[int, ...]]) -> list[Floats]:
    """Views of the parts of a vector, one after the other, in these shapes."""
    ends = accumulate(map(math.prod, shapes), initial=0)
    return [vector[first:last].reshape(shape) for (first, last), shape in zip(pairwise(ends), shapes, strict=True)]


def check_arrays(arrays: Arrays, form: Mapping[str, tuple[type, int]]) -> None:
    """Raise an error unless the arrays have exactly these names, types and numbers of axes."""
    found = {name: (array.dtype.type, array.ndim) for name, array in arrays.items()}
    if found != form:
        raise GrammarError(f"its arrays are not {', '.join(form) or 'none'} of the right types and shapes")


def check_facts(facts: Facts, form: dict[str, type]) -> None:
    """Raise an error unless the facts have exactly these names and types."""
    if {name: type(value) for name, value in facts.items()} != form:
        raise GrammarError(f"its settings are not {', '.join(form) or 'none'} of the right types")


def check_value(value: Floats, size: int, largest: float) -> None:
    """Raise an error unless the parameters are finite, bounded by `largest`, and of the right number."""
    if value.shape != (size,):
        raise GrammarError(f"there are {value.size} parameters where {size} are needed")
    check_size(value, largest)


def check_size(array: Floats, largest: float) -> None:
    """Raise an error unless the parameters are finite and bounded by `largest`."""
    if not (np.abs(array) <= largest).all():
        raise GrammarError(f"a parameter is not a number from {-largest:g} to {largest:g}")
