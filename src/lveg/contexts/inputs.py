"""Inputs of networks: the pretrained and learned vectors of words, by number."""

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
    """The parts of a word that have learned vectors, in addition to the lower-cased word and its shape.

    prefixes, suffixes: their lengths. is_cased: whether the word as written has a vector too.
    """

    prefixes: tuple[int, ...]
    suffixes: tuple[int, ...]
    is_cased: bool

    def names(self, word: str) -> tuple[str, ...]:
        """The names of the parts that may have a learned vector."""
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
_LEAST_COUNT = 2  # minimum number of occurrences of a part with a learned vector
_MOST_CACHED = 200_000  # words


@dataclass(frozen=True, eq=False)
class Inputs:
    """The vectors of words. names: of the parts with a learned vector, by number. parts: which parts are looked up."""

    names: tuple[str, ...]
    vectors: Vectors = NO_VECTORS
    parts: Parts = FEW
    _found: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    @cached_property
    def columns(self) -> int:
        """The length of a `row`: one number for the pretrained vector, and one for each part."""
        return 1 + len(self.parts.names(""))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each learned vector."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def given(self) -> Floats:
        """The pretrained vectors, in the type of the kernels."""
        return self.vectors.rows.astype(np.float32)

    @cached_property
    def _given_numbers(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.vectors.words)}

    def row(self, word: str) -> tuple[int, ...]:
        """The numbers of a word's vectors, -1 for none."""
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
        """The row of the padding before the first and after the last word."""
        return (-1, self.numbers[EDGE], *[-1] * (self.columns - 2))

    def padded(self, words: Sequence[str], padding: int) -> list[tuple[int, ...]]:
        """The rows of the words of a sentence, with `padding` edge rows on each side."""
        return [self.edge] * padding + [self.row(word) for word in words] + [self.edge] * padding

    def arrays(self) -> Arrays:
        """The pretrained vectors, if there are any."""
        return {"given": self.vectors.rows} if self.vectors.words else {}

    def facts(self) -> Facts:
        """The names of the learned vectors, and the words with pretrained vectors."""
        return {"learned": list(self.names), "words": list(self.vectors.words)}

    @classmethod
    def restore(cls, arrays: Arrays, facts: Facts, parts: Parts = FEW) -> Inputs:
        """The inputs from a model file; raises GrammarError if they are inconsistent."""
        learned, words, given = facts["learned"], facts["words"], arrays.get("given", NO_VECTORS.rows)
        for names in (learned, words):
            if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
                raise GrammarError("the names of vectors must be strings without duplicates")
        if EDGE not in learned:
            raise GrammarError("the edge of a sentence has no vector")
        if len(given) != len(words):
            raise GrammarError("the numbers of pretrained vectors and of their words differ")
        check_size(given, LARGEST)
        return cls(tuple(learned), Vectors(tuple(words), given), parts)


def learn_inputs(sentences: Iterable[Sequence[str]], vectors: Vectors = NO_VECTORS, parts: Parts = FEW) -> Inputs:
    """Inputs with a learned vector for each part of a word that occurs more than once in these sentences."""
    counts = Counter(name for words in sentences for word in words for name in parts.names(word))
    names = sorted(name for name, count in counts.items() if count >= _LEAST_COUNT)
    return Inputs((EDGE, *names), vectors, parts)
