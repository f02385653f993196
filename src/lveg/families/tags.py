"""What families of tag sequences share: the tags of each word, packed sentences, posteriors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np

from lveg.errors import GrammarError
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import Posteriors, TagTable, extents

NOTHING_ASKED = Posteriors(np.empty(0), np.empty(0), np.empty(0))


class TagFamily(ABC):
    """Weights of tag sequences. All parameters are one vector, `value`, of which the named arrays are views."""

    table: TagTable
    value: Floats

    @abstractmethod
    def with_value(self, value: Floats) -> Self:
        """The same with other parameters, which are not copied."""

    @abstractmethod
    def run(
        self, packed: Ints, is_given: bool, sign: float = 0.0, into: Floats | None = None,
        found: Posteriors = NOTHING_ASKED,
    ) -> float:  # fmt: skip
        """The summed log Z of packed sentences, of their given tags or of all; adds sign × its gradient to `into`.

        found: room for what else is asked for; shares and pairs all zero, and with open tags only.
        """

    @property
    @abstractmethod
    def n_tags(self) -> int:
        """The number of tags."""

    @property
    def is_probability(self) -> bool:
        """Whether Z is the probability of the sentence."""
        return False

    def log_z(self, packed: Ints, is_given: bool = False) -> float:
        """Log of the summed weight of all tag sequences, or of the given one, of packed sentences."""
        return self.run(packed, is_given)

    def add(self, packed: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of the tags of packed sentences; adds its derivative to `slope`."""
        return self.run(packed, False, 1.0, slope) - self.run(packed, True, -1.0, slope)

    def posteriors(self, packed: Ints, pairs: bool = True) -> Posteriors:
        """What is to be known of each of packed sentences; of neighbouring tags only with `pairs`."""
        n_sentences, _, n_tags, n_pairs = extents(self.table, packed)
        found = Posteriors(np.zeros(n_sentences), np.zeros(n_tags), np.zeros(n_pairs if pairs else 0))
        self.run(packed, False, found=found)
        return found

    def log_zs(self, packed: Ints) -> Floats:
        """Log of the weight of the given tag sequence of each of packed sentences."""
        found = NOTHING_ASKED._replace(log_z=np.zeros(extents(self.table, packed)[0]))
        self.run(packed, True, found=found)
        return np.asarray(found.log_z)


def pack(terminals: Sequence[int], tags: Sequence[int] | Ints | None = None) -> Ints:
    """A sentence as kernels want it; tags are -1 where they are open."""
    given = [-1] * len(terminals) if tags is None else tags
    return np.array([len(terminals), *terminals, *given], np.int32)


def tag_table(grammar: Grammar) -> TagTable:
    """The tags and emissions of each terminal of a tag grammar."""
    lexical = grammar.kind_slice("lexical")
    left = grammar.rule_left[lexical]
    order = np.argsort(left, kind="stable").astype(np.int32)
    ptr = np.searchsorted(left[order], np.arange(grammar.lexicon.n_terminals + 1)).astype(np.int32)
    return TagTable(ptr, grammar.rule_lhs[lexical][order] - np.int32(grammar.n_nonterminals), order)


def check_value(value: Floats, size: int, largest: float) -> None:
    """Refuse parameters that are not finite numbers of a sensible size, or not as many as there should be."""
    if value.shape != (size,):
        raise GrammarError(f"there are {value.size} parameters where {size} are needed")
    if not (np.abs(value) <= largest).all():
        raise GrammarError(
            f"a parameter is not a number from {-largest:g} to {largest:g}; was the learning rate too high?"
        )
