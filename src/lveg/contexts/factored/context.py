"""A context that scores the attributes of a tag, such as `VERB` and `Tense=Past`; the log factor of a tag is their sum.

A treebank with morphological features has hundreds of tags, but only tens of attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.errors import GrammarError
from lveg.families.chain import lattices, open_table
from lveg.families.family import Arrays, Facts
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import TagTable, each_sentence, entries

MOST_ATTRIBUTES = 256
"""Maximum number of attributes of a tag: each takes a column of a table of all tags, and time for every word."""


@dataclass(frozen=True, eq=False)
class Factored(ChainContext):
    """A context whose tags are attributes. of_tag: for each tag the numbers of its attributes, padded with their count.

    The attributes of a tag are the parts of its columns, which are separated by spaces, and of its features, which are
    separated by `|`.
    """

    inner: ChainContext
    of_tag: Ints

    name = "factored"

    def __post_init__(self) -> None:
        if self.of_tag.size and int(self.of_tag.max()) > self.inner.tags:
            raise GrammarError("it needs a context with one tag for each attribute")

    @property
    def tags(self) -> int:
        """The number of tags."""
        return len(self.of_tag)

    @property
    def width(self) -> int:
        """The number of states per tag."""
        return self.inner.width

    @property
    def value(self) -> Floats:
        """The parameters of the inner context."""
        return self.inner.value

    def with_value(self, value: Floats) -> Factored:
        """A copy with other parameters."""
        return replace(self, inner=self.inner.with_value(value))

    def scaled(self, share: float) -> Factored:
        """A copy with log factors multiplied by `share`."""
        return replace(self, inner=self.inner.scaled(share))

    def rounded(self) -> Factored:
        """A copy with parameters rounded as in a model file."""
        return replace(self, inner=self.inner.rounded())

    def widened(self, width: int) -> Factored:
        """A copy for tags with `width` states."""
        return replace(self, inner=self.inner.widened(width))

    def thinned(self, dropout: float, input_dropout: float) -> Factored:
        """A copy that is trained with dropout."""
        return replace(self, inner=self.inner.thinned(dropout, input_dropout))

    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """The inputs of the inner context."""
        return self.inner.rows(sentences)

    def score(self, lattices: Ints, rows: Ints, noise: int = 0) -> Floats:
        """The sum of the scores of the attributes of each entry's tag."""
        return self._sums(lattices, self.inner.score(self._attributes(lattices), rows, noise))

    def factors(self, lattices: Ints, sentences: Sequence[Sequence[str]]) -> Floats:
        """The same sum, for sentences that are tagged."""
        return self._sums(lattices, self.inner.factors(self._attributes(lattices), sentences))

    def _sums(self, lattices: Ints, scores: Floats) -> Floats:
        """The sum of the scores of the attributes of each entry's tag, given those of all attributes of each word."""
        inner = scores.reshape(-1, self.inner.tags, self.width)
        padded = np.concatenate([inner, np.zeros((len(inner), 1, self.width))], axis=1)
        word, tag = entries(lattices)
        return sum((padded[word, column[tag]] for column in self.of_tag.T), np.zeros((len(word), self.width)))

    def add(self, lattices: Ints, rows: Ints, factor_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """The gradient of an attribute is the sum of those of the tags that have it."""
        word, tag = entries(lattices)
        n_words, n_columns = int(word[-1]) + 1 if len(word) else 0, self.inner.tags + 1
        places = (word[:, None].astype(np.int64) * n_columns + self.of_tag[tag]).ravel()
        inner_slope = np.empty((n_words, n_columns, self.width))
        for state in range(self.width):
            weights = np.repeat(factor_slope[:, state], self.of_tag.shape[1])
            sums = np.bincount(places, weights, n_words * n_columns)
            inner_slope[:, :, state] = sums.reshape(n_words, n_columns)
        flat = np.ascontiguousarray(inner_slope[:, :-1]).reshape(-1, self.width)
        return self.inner.add(self._attributes(lattices), rows, flat, slope, noise)

    @cached_property
    def _table(self) -> TagTable:
        return open_table(self.inner.tags)

    def _attributes(self, packed: Ints) -> Ints:
        """Lattices of the same words with all attributes."""
        return lattices(self._table, [[0] * int(sentence[1]) for sentence in each_sentence(packed)])

    def arrays(self) -> Arrays:
        """The arrays of the inner context."""
        return nested_arrays([self.inner])

    def facts(self) -> Facts:
        """Name and facts of the inner context."""
        return nested_facts([self.inner])

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Factored:
        """The context from a model file."""
        inner = cast(list[ChainContext], restore_nested(["tagger-context"], cls.name, grammar, weight, arrays, facts))
        names, of_tag = attributes_of(grammar.tags)
        if len(inner) != 1 or inner[0].tags != len(names):
            raise GrammarError("it needs one context with one tag for each attribute")
        return cls(inner[0], of_tag)

    def describe(self) -> Facts:
        """The number of attributes, and the description of the inner context."""
        return {"attributes": self.inner.tags, "inner": {"context": self.inner.name, **self.inner.describe()}}


def attributes_of(tags: Sequence[str]) -> tuple[list[str], Ints]:
    """(the attributes of tags, the numbers of those of each tag, padded with their count)."""
    most = max((tag.count(" ") + tag.count("|") + 1 for tag in tags), default=0)
    if most > MOST_ATTRIBUTES:
        raise GrammarError(f"a tag has {most:,} attributes; there may be at most {MOST_ATTRIBUTES}")
    parts = [
        [f"{column} {part}" for column, value in enumerate(tag.split(" ")) for part in value.split("|")] for tag in tags
    ]
    names = sorted({name for part in parts for name in part})
    number = {name: index for index, name in enumerate(names)}
    found = np.full((len(tags), max(map(len, parts), default=0)), len(names), np.int32)
    for row, part in zip(found, parts, strict=True):
        row[: len(part)] = [number[name] for name in part]
    return names, found
