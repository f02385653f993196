"""What all families share: parameters as one vector, and how they go into a model file and come back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lveg.errors import GrammarError
from lveg.grammar.grammar import Floats, Grammar

Arrays = dict[str, Any]
"""Arrays by name, as a model file holds them."""

Facts = dict[str, Any]
"""What goes into JSON."""


class Stored(ABC):
    """What can go into a model file; name: as in its `Kind`."""

    name: ClassVar[str]

    @abstractmethod
    def arrays(self) -> Arrays:
        """What the model file keeps of the parameters."""

    def facts(self) -> Facts:
        """What the model file keeps that is no array."""
        return {}

    @classmethod
    @abstractmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Self:
        """What is in a model file; a GrammarError if anything does not fit.

        weight: the treebank's own rule probabilities.
        """

    @abstractmethod
    def describe(self) -> Facts:
        """Its size, in words that a user understands."""


class Family(Stored):
    """Weights of the analyses of sentences, by parameters that are one vector."""

    if TYPE_CHECKING:  # a field or a property, as the family likes

        @property
        def value(self) -> Floats:
            """All parameters in one vector, in which gradients are taken."""

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


def check_arrays(arrays: Arrays, form: Mapping[str, tuple[type, int]]) -> None:
    """Refuse arrays that do not have just these names, types and numbers of axes."""
    found = {name: (array.dtype.type, array.ndim) for name, array in arrays.items()}
    if found != form:
        raise GrammarError(f"its arrays are not {', '.join(form) or 'none'} of the right types and shapes")


def check_facts(facts: Facts, form: dict[str, type]) -> None:
    """Refuse facts that do not have just these names and types."""
    if {name: type(value) for name, value in facts.items()} != form:
        raise GrammarError(f"its settings are not {', '.join(form) or 'none'} of the right types")


def check_value(value: Floats, size: int, largest: float) -> None:
    """Refuse parameters that are not finite numbers of a sensible size, or not as many as there should be."""
    if value.shape != (size,):
        raise GrammarError(f"there are {value.size} parameters where {size} are needed")
    check_size(value, largest)


def check_size(array: Floats, largest: float) -> None:
    """Refuse parameters that are not finite numbers of a sensible size."""
    if not (np.abs(array) <= largest).all():
        raise GrammarError(f"a parameter is not a number from {-largest:g} to {largest:g}")
