"""A family of tag sequences whose tags are multiplied by factors from contexts  [math: context]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self, cast

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, Chains, Factors, Lattices, each_sentence, lattices, words_and_tags
from lveg.families.contextual.packed import join, part_sizes, separate
from lveg.families.family import Arrays, Facts, Stored
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.grammar.lexicon import Tagged
from lveg.kernels.chain import narrow_lattices


@dataclass(frozen=True, eq=False)
class ContextualChain(Chains):
    """A family that does not know words, and contexts that multiply it: every word may have every tag.

    pruner: if there is one, a word may have only the tags to which it gives a posterior of at least `least`.
    """

    family: ChainFamily
    contexts: tuple[ChainContext, ...]
    pruner: ContextualChain | None = None
    least: float = 0.0

    def __post_init__(self) -> None:
        if not self.contexts or any(context.width != self.family.width for context in self.contexts):
            raise GrammarError("it needs contexts that tell apart the states of a tag that its family has")
        if (np.diff(self.family.table.ptr) != self.family.n_tags).any():
            raise GrammarError("it needs a family that lets every word have every tag")
        if self.pruner is not None and self.pruner.family.n_tags != self.family.n_tags:
            raise GrammarError("it needs a pruner with the same tags")

    @cached_property
    def value(self) -> Floats:
        """The parameters of the family, then those of the contexts."""
        return np.concatenate([self.family.value, *(context.value for context in self.contexts)])

    def with_value(self, value: Floats) -> Self:
        """The same with other parameters, which are not copied."""
        return self.with_parts(self._parts(value))

    def with_parts(self, values: Sequence[Floats]) -> Self:
        """The same with other parameters of the family and of each context."""
        own, *rest = values
        contexts = (context.with_value(part) for context, part in zip(self.contexts, rest, strict=True))
        return replace(self, family=self.family.with_value(own), contexts=tuple(contexts))

    def _parts(self, vector: Floats) -> list[Floats]:
        """Of a vector of something for every parameter the views of the family and of each context."""
        return np.split(vector, part_sizes(self.family.value, [context.value for context in self.contexts]))

    def _stored(self) -> list[Stored]:
        """The family, the contexts and the pruner, if there is one."""
        return [self.family, *self.contexts, *([] if self.pruner is None else [self.pruner])]

    def arrays(self) -> Arrays:
        """Those of all parts, each behind its number."""
        return nested_arrays(self._stored())

    def facts(self) -> Facts:
        """Names and facts of all parts."""
        return nested_facts(self._stored()) | ({} if self.pruner is None else {"least": self.least})

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Self:
        """The family, its contexts and its pruner in a model file."""
        facts = dict(facts)
        least = facts.pop("least", None)
        listed = facts.get("parts")
        count = len(listed) if isinstance(listed, list) else 0
        tasks = ["tagger", *["tagger-context"] * (count - 1 - (least is not None)), "tagger"]
        family, *parts = restore_nested(tasks[:count], "", grammar, weight, arrays, facts)
        pruner = parts.pop() if least is not None and parts else None
        if not isinstance(family, ChainFamily):
            raise GrammarError("it needs a family whose tags can be multiplied")
        if least is None:
            return cls(family, tuple(cast(list[ChainContext], parts)))
        if not (isinstance(least, float) and 0.0 <= least <= 1.0):
            raise GrammarError("its pruner has no threshold from 0 to 1")
        if not isinstance(pruner, ContextualChain) or pruner.pruner is not None:
            raise GrammarError("its pruner is not a chain with contexts")
        return cls(family, tuple(cast(list[ChainContext], parts)), pruner, least)

    def describe(self) -> Facts:
        """What the family and the contexts are."""
        return {
            "base": {"model": self.family.name, **self.family.describe()},
            "contexts": [{"context": context.name, **context.describe()} for context in self.contexts],
            **({} if self.pruner is None else {"pruner": self.pruner.describe()}),
        }

    def _packed(
        self, grammar: Grammar, words: Sequence[Sequence[str]], tags: Sequence[Sequence[int]] | None = None
    ) -> Ints:
        """Sentences whose words may have every tag, or those that the pruner leaves and the given ones."""
        packed = lattices(self.family.table, [[0] * len(sentence) for sentence in words], tags)
        if self.pruner is None:
            return packed
        family, plain, factors = self.pruner.lattices(grammar, words)
        narrowed: Ints = narrow_lattices(packed, family.posteriors(plain, False, factors).share, self.least)
        return narrowed

    def lattices(self, grammar: Grammar, sentences: Sequence[Sequence[str]]) -> Lattices:
        """The sentences with the tags that their words may have, and the factors of the tags."""
        packed = self._packed(grammar, sentences)
        rows = [context.rows(sentences) for context in self.contexts]
        return Lattices(self.family, packed, Factors(self._score(packed, rows)))

    def _score(self, packed: Ints, rows: Sequence[Ints], noise: int = 0) -> Floats:
        scores = [context.score(packed, row, noise) for context, row in zip(self.contexts, rows, strict=True)]
        return scores[0] if len(scores) == 1 else np.sum(scores, axis=0)

    def pack(self, grammar: Grammar, tagged: Sequence[Tagged]) -> Iterator[Ints]:
        """Each sentence, packed, with what the contexts read of it."""
        words, tags = words_and_tags(grammar, tagged)
        for packed, sentence in zip(each_sentence(self._packed(grammar, words, tags)), words, strict=True):
            yield join([packed, *(context.rows([sentence]) for context in self.contexts)])

    def add(self, examples: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of the tags of examples; adds its derivative to `slope`."""
        return self.add_to(examples, self._parts(slope))[0]

    def add_to(self, examples: Ints, slopes: Sequence[Floats], noise: int = 0) -> tuple[float, list[Ints]]:
        """The same with a vector of slopes for the family and for each context; and which slopes may have changed.

        noise: decides what contexts leave out at random, 0 for nothing.
        """
        packed, *rows = separate(examples, 1 + len(self.contexts))
        log = self._score(packed, rows, noise)
        own, *rest = slopes
        factor_slope = np.zeros_like(log)
        value = self.family.add(packed, own, Factors(log, factor_slope))
        touched = [
            context.add(packed, row, factor_slope, part, noise)
            for context, row, part in zip(self.contexts, rows, rest, strict=True)
        ]
        return value, [np.empty(0, np.int32), *touched]

    def rounded(self) -> Self:
        """The same with contexts as a model file keeps them."""
        return replace(self, contexts=tuple(context.rounded() for context in self.contexts))
