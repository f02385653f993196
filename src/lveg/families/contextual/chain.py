"""A family of tag sequences whose tags are multiplied by factors from contexts  [math: context]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self, cast

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, Chains, Factors, Lattices, lattices, open_table, split, words_and_tags
from lveg.families.contextual.packed import join, part_sizes, separate
from lveg.families.family import Arrays, Facts
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.grammar.lexicon import Tagged


@dataclass(frozen=True, eq=False)
class ContextualChain(Chains):
    """A family without emissions, and contexts that multiply it: every word may have every tag."""

    family: ChainFamily
    contexts: tuple[ChainContext, ...]

    def __post_init__(self) -> None:
        if not self.contexts or any(context.width != self.family.width for context in self.contexts):
            raise GrammarError("it needs contexts that tell apart the states of a tag that its family has")

    @cached_property
    def value(self) -> Floats:
        """The parameters of the family, then those of the contexts."""
        return np.concatenate([self.family.value, *(context.value for context in self.contexts)])

    def with_value(self, value: Floats) -> Self:
        """The same with other parameters, which are not copied."""
        own, *rest = self._parts(value)
        contexts = (context.with_value(part) for context, part in zip(self.contexts, rest, strict=True))
        return type(self)(self.family.with_value(own), tuple(contexts))

    def _parts(self, vector: Floats) -> list[Floats]:
        """Of a vector of something for every parameter the views of the family and of each context."""
        return np.split(vector, part_sizes(self.family.value, [context.value for context in self.contexts]))

    def arrays(self) -> Arrays:
        """Those of the family and the contexts, each behind its number."""
        return nested_arrays((self.family, *self.contexts))

    def facts(self) -> Facts:
        """Names and facts of the family and the contexts."""
        return nested_facts((self.family, *self.contexts))

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Self:
        """The family and its contexts in a model file."""
        tasks = ("tagger", "tagger-context")
        family, *contexts = restore_nested(tasks, cls.name, grammar, weight, arrays, facts)
        if not isinstance(family, ChainFamily):
            raise GrammarError("it needs a family whose tags can be multiplied")
        return cls(family, tuple(cast(list[ChainContext], contexts)))

    def describe(self) -> Facts:
        """What the family and the contexts are."""
        return {
            "base": {"model": self.family.name, **self.family.describe()},
            "contexts": [{"context": context.name, **context.describe()} for context in self.contexts],
        }

    def _packed(self, words: Sequence[Sequence[str]], tags: Sequence[Sequence[int]] | None = None) -> Ints:
        """Sentences whose words may have every tag."""
        return lattices(open_table(self.family.n_tags), [[0] * len(sentence) for sentence in words], tags)

    def lattices(self, grammar: Grammar, sentences: Sequence[Sequence[str]]) -> Lattices:
        """The sentences with every tag for every word, and the factors of the tags."""
        packed = self._packed(sentences)
        rows = [np.concatenate([context.rows(words) for words in sentences]) for context in self.contexts]
        return Lattices(self.family, packed, Factors(self._score(packed, rows)))

    def _score(self, packed: Ints, rows: Sequence[Ints]) -> Floats:
        scores = [context.score(packed, row) for context, row in zip(self.contexts, rows, strict=True)]
        return scores[0] if len(scores) == 1 else np.sum(scores, axis=0)

    def pack(self, grammar: Grammar, tagged: Sequence[Tagged]) -> Iterator[Ints]:
        """Each sentence, packed, with what the contexts read of it."""
        words, tags = words_and_tags(grammar, tagged)
        for packed, sentence in zip(split(self._packed(words, tags)), words, strict=True):
            yield join([packed, *(context.rows(sentence) for context in self.contexts)])

    def add(self, examples: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of the tags of examples; adds its derivative to `slope`."""
        packed, *rows = separate(examples, 1 + len(self.contexts))
        factors = Factors(self._score(packed, rows))
        factors = Factors(factors.log, np.zeros_like(factors.log))
        own, *rest = self._parts(slope)
        value = self.family.add(packed, own, factors)
        assert factors.slope is not None
        for context, row, part in zip(self.contexts, rows, rest, strict=True):
            context.add(packed, row, factors.slope, part)
        return value
