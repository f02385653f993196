"""What networks read of words: vectors that are given, and numbers of vectors that are learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lveg.contexts.forms.properties import shape
from lveg.contexts.vectors import LARGEST, NO_VECTORS, Vectors
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_size
from lveg.grammar.grammar import Floats

COLUMNS = 6
"""The given vector of a word; the learned ones of itself, two endings, a beginning and a shape."""

EDGE = "edge"
_LEAST_COUNT = 2  # times that something must have been seen to have a vector
_MOST_CACHED = 200_000  # words


@dataclass(frozen=True, eq=False)
class Inputs:
    """Which vectors words have. names: what has a learned vector; its place is its number."""

    names: tuple[str, ...]
    vectors: Vectors = NO_VECTORS
    _found: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

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
            found = (number, *(self.numbers.get(name, -1) for name in learned_names(word)))
            if len(self._found) < _MOST_CACHED:
                self._found[word] = found
        return found

    @cached_property
    def edge(self) -> tuple[int, ...]:
        """The numbers of what stands before the first word and behind the last."""
        return (-1, self.numbers[EDGE], *[-1] * (COLUMNS - 2))

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
    def restore(cls, arrays: Arrays, facts: Facts) -> Inputs:
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
        return cls(tuple(learned), Vectors(tuple(words), given))


def learned_names(word: str) -> tuple[str, ...]:
    """What a word may have learned vectors for."""
    lowered = word.lower()
    return (
        f"word {lowered}", f"suffix {lowered[-2:]}", f"suffix {lowered[-3:]}", f"prefix {lowered[:2]}",
        f"shape {shape(word)}",
    )  # fmt: skip


def learn_inputs(sentences: Iterable[Sequence[str]], vectors: Vectors = NO_VECTORS) -> Inputs:
    """Learned vectors for what occurs in these sentences more than once."""
    counts = Counter(name for words in sentences for word in words for name in learned_names(word))
    names = sorted(name for name, count in counts.items() if count >= _LEAST_COUNT)
    return Inputs((EDGE, *names), vectors)
