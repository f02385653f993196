"""What networks read of words: vectors that are given, and numbers of vectors that are learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lveg.contexts.forms.properties import shape
from lveg.contexts.vectors import LARGEST, NO_VECTORS, Vectors
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_size
from lveg.grammar.grammar import Floats


class Parts(NamedTuple):
    """Which parts of a word have learned vectors, beside the lower-cased word and its shape.

    prefixes, suffixes: their lengths. is_cased: whether the word as it is written has one too.
    """

    prefixes: tuple[int, ...]
    suffixes: tuple[int, ...]
    is_cased: bool

    def names(self, word: str) -> tuple[str, ...]:
        """The names of what may have a learned vector."""
        lowered = word.lower()
        return (
            f"word {lowered}", f"shape {shape(word)}",
            *(f"prefix{length} {lowered[:length]}" for length in self.prefixes),
            *(f"suffix{length} {lowered[-length:]}" for length in self.suffixes),
            *([f"form {word}"] if self.is_cased else []),
        )  # fmt: skip


FEW = Parts((2,), (2, 3), is_cased=False)
MANY = Parts((1, 2, 3, 4), (1, 2, 3, 4, 5), is_cased=True)
"""For parsers and for taggers (docs/decisions/0013)."""

EDGE = "edge"
_LEAST_COUNT = 2  # times that something must have been seen to have a vector
_MOST_CACHED = 200_000  # words


@dataclass(frozen=True, eq=False)
class Inputs:
    """Which vectors words have. names: what has a learned vector; its place is its number. parts: of each word."""

    names: tuple[str, ...]
    vectors: Vectors = NO_VECTORS
    parts: Parts = FEW
    _found: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def columns(self) -> int:
        """How many numbers `row` has: one for the given vector, and those of the learned ones."""
        return 1 + len(self.parts.names(""))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each learned vector."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def given(self) -> Floats:
        """The given vectors, as kernels read them."""
        return self.vectors.rows.astype(np.float32)

    @cached_property
    def _given_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vectors.words)}

    def row(self, word: str) -> tuple[int, ...]:
        """The numbers of a word's vectors, -1 for those that it does not have."""
        found = self._found.get(word)
        if found is None:
            given, lowered = self._given_numbers, word.lower()
            number = given.get(word, given.get(lowered, -1))
            found = (number, *(self.numbers.get(name, -1) for name in self.parts.names(word)))
            if len(self._found) < _MOST_CACHED:
                self._found[word] = found
        return found

    @cached_property
    def edge(self) -> tuple[int, ...]:
        """The numbers of what stands before the first word and behind the last."""
        return (-1, self.numbers[EDGE], *[-1] * (self.columns - 2))

    def padded(self, words: Sequence[str], padding: int) -> list[tuple[int, ...]]:
        """The rows of the words of a sentence, with as many edges on each side."""
        return [self.edge] * padding + [self.row(word) for word in words] + [self.edge] * padding

    def arrays(self) -> Arrays:
        """The given vectors, if there are any."""
        return {"given": self.vectors.rows} if self.vectors.words else {}

    def facts(self) -> Facts:
        """What has vectors."""
        return {"learned": list(self.names), "words": list(self.vectors.words)}

    @classmethod
    def restore(cls, arrays: Arrays, facts: Facts, parts: Parts = FEW) -> Inputs:
        """From a model file; a GrammarError if anything does not fit."""
        learned, words, given = facts["learned"], facts["words"], arrays.get("given", NO_VECTORS.rows)
        for names in (learned, words):
            if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
                raise GrammarError("what has a vector is not a text, or is there twice")
        if EDGE not in learned:
            raise GrammarError("the edge of a sentence has no vector")
        if len(given) != len(words):
            raise GrammarError("there are not as many vectors as words")
        check_size(given, LARGEST)
        return cls(tuple(learned), Vectors(tuple(words), given), parts)


def learn_inputs(sentences: Iterable[Sequence[str]], vectors: Vectors = NO_VECTORS, parts: Parts = FEW) -> Inputs:
    """Learned vectors for what occurs in these sentences more than once."""
    counts = Counter(name for words in sentences for word in words for name in parts.names(word))
    names = sorted(name for name, count in counts.items() if count >= _LEAST_COUNT)
    return Inputs((EDGE, *names), vectors, parts)
