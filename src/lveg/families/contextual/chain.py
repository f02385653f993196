"""Families of tag sequences with factors from contexts for each tag  [math: context]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self, cast

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.errors import GrammarError
from lveg.families.chain import (
    ChainFamily,
    Chains,
    Factors,
    GivenTags,
    Lattices,
    lattices,
    only_given,
    with_lexicon,
    words_and_tags,
)
from lveg.families.contextual.combined import Combined, join, separate
from lveg.families.family import Arrays, Facts, Stored
from lveg.families.insight import Insight
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.grammar.lexicon import Tagged
from lveg.kernels.chain import each_sentence, narrow_lattices


@dataclass(frozen=True, eq=False)
class ContextualChain(Combined, Chains):
    """A family without emissions, multiplied by contexts: every word may have every tag.

    pruner: if given, a word may have only the tags to which the pruner gives a posterior of at least `least`.
    is_lexical: whether a word may have only the tags of the lexicon, for large tag sets.
    """

    family: ChainFamily
    contexts: tuple[ChainContext, ...]
    pruner: ContextualChain | None = None
    least: float = 0.0
    is_lexical: bool = False

    def __post_init__(self) -> None:
        own = self.family.tags, self.family.width
        if not self.contexts or any((context.tags, context.width) != own for context in self.contexts):
            raise GrammarError("it needs contexts with the same tags and as many states per tag as its family has")
        if not self.is_lexical and (np.diff(self.family.table.ptr) != self.family.tags).any():
            raise GrammarError("it needs a family that lets every word have every tag")
        own_tags = self.family.tags, self.is_lexical
        if self.pruner is not None and (self.pruner.family.tags, self.pruner.is_lexical) != own_tags:
            raise GrammarError("it needs a pruner that lets words have the same tags")

    def _stored(self) -> list[Stored]:
        """The family, the contexts, and the pruner if there is one."""
        return [self.family, *self.contexts, *([] if self.pruner is None else [self.pruner])]

    def arrays(self) -> Arrays:
        """The arrays of all parts; names are prefixed with the number of the part."""
        return nested_arrays(self._stored())

    def facts(self) -> Facts:
        """Names and facts of all parts."""
        pruning = {} if self.pruner is None else {"least": self.least}
        return nested_facts(self._stored()) | pruning | ({"is_lexical": True} if self.is_lexical else {})

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Self:
        """The family with its contexts and its pruner from a model file."""
        facts = dict(facts)
        least, is_lexical = facts.pop("least", None), facts.pop("is_lexical", False) is True
        listed = facts.get("parts")
        count = len(listed) if isinstance(listed, list) else 0
        tasks = ["tagger", *["tagger-context"] * (count - 1 - (least is not None)), "tagger"]
        _check_depth(listed if isinstance(listed, list) else [], has_pruner=least is not None)
        family, *parts = restore_nested(tasks[:count], "", grammar, weight, arrays, facts)
        pruner = parts.pop() if least is not None and parts else None
        if not isinstance(family, ChainFamily):
            raise GrammarError("it needs a family whose tags can have factors")
        if is_lexical:
            family = with_lexicon(family, grammar)
        if least is None:
            return cls(family, tuple(cast(list[ChainContext], parts)), is_lexical=is_lexical)
        if not (isinstance(least, float) and 0.0 <= least <= 1.0):
            raise GrammarError("its pruner has no threshold from 0 to 1")
        if not isinstance(pruner, ContextualChain) or pruner.pruner is not None:
            raise GrammarError("its pruner is not a chain with contexts")
        return cls(family, tuple(cast(list[ChainContext], parts)), pruner, least, is_lexical)

    def describe(self) -> Facts:
        """Descriptions of the family, the contexts and the pruner."""
        return super().describe() | ({} if self.pruner is None else {"pruner": self.pruner.describe()})

    def insights(self, grammar: Grammar) -> list[Insight]:
        """What the family without its contexts learned."""
        return self.family.insights(grammar)

    def _packed(
        self, grammar: Grammar, words: Sequence[Sequence[str]], tags: Sequence[Sequence[int]] | None = None
    ) -> Ints:
        """Packed sentences. Words may have every tag, or those of the lexicon; with a pruner, those that it keeps and
        the given ones."""
        terminals = [grammar.lexicon.terminals(one) if self.is_lexical else [0] * len(one) for one in words]
        packed = lattices(self.family.table, terminals, tags)
        if self.pruner is None:
            return packed
        family, plain, factors = self.pruner.lattices(grammar, words)
        narrowed: Ints = narrow_lattices(packed, family.posteriors(plain, False, factors).share, self.least)
        return narrowed

    def lattices(
        self, grammar: Grammar, sentences: Sequence[Sequence[str]], given: GivenTags | None = None
    ) -> Lattices:
        """Lattices of the sentences, with the tags that each word may have and their factors."""
        packed = self._packed(grammar, sentences, given)
        if given is not None:
            packed = only_given(packed, given)
        found = [context.factors(packed, sentences) for context in self.contexts]
        return Lattices(self.family, packed, Factors(reduce(np.add, found)))

    def pack(self, grammar: Grammar, tagged: Sequence[Tagged]) -> Iterator[Ints]:
        """Each sentence, packed, with the inputs of the contexts."""
        words, tags = words_and_tags(grammar, tagged)
        for packed, sentence in zip(each_sentence(self._packed(grammar, words, tags)), words, strict=True):
            yield join([packed, *(context.rows([sentence]) for context in self.contexts)])

    def add(self, examples: Ints, slope: Floats) -> float:
        """Negative conditional log likelihood of the tags of examples; adds its gradient to `slope`."""
        return self.add_to(examples, self._parts(slope))[0]

    def add_to(self, examples: Ints, slopes: Sequence[Floats], noise: int = 0) -> tuple[float, list[Ints]]:
        """Like `add`, with separate gradients for the family and each context; also returns which elements may change.

        noise: random seed of dropout in contexts; 0 for no dropout.
        """
        packed, *rows = separate(examples, 1 + len(self.contexts))
        scores = [context.score(packed, row, noise) for context, row in zip(self.contexts, rows, strict=True)]
        log = reduce(np.add, scores)
        own, *rest = slopes
        factor_slope = np.zeros_like(log)
        value = self.family.add(packed, own, Factors(log, factor_slope))
        touched = [
            context.add(packed, row, factor_slope, part, noise)
            for context, row, part in zip(self.contexts, rows, rest, strict=True)
        ]
        return value, [np.empty(0, np.int32), *touched]

    def rounded(self) -> Self:
        """A copy with contexts rounded as in a model file."""
        return replace(self, contexts=tuple(context.rounded() for context in self.contexts))


def _check_depth(listed: list[Any], has_pruner: bool) -> None:
    """Raise an error, before anything is restored, if the family has parts, or the pruner a pruner of its own."""
    facts = [part.get("facts") if isinstance(part, dict) else None for part in listed]
    if facts and isinstance(facts[0], dict) and "parts" in facts[0]:
        raise GrammarError("it needs a family whose tags can have factors")
    if facts and has_pruner and isinstance(facts[-1], dict) and "least" in facts[-1]:
        raise GrammarError("its pruner is not a chain with contexts")
