"""Hidden Markov models: chains of tags with a single subtype each."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.families.chain import tag_table
from lveg.families.family import Arrays, Facts, check_arrays, check_facts
from lveg.families.tag_lvg.family import TagLvg, start_lvg
from lveg.grammar.grammar import Floats, Grammar


@dataclass(frozen=True, eq=False)
class Hmm(TagLvg):
    """Log probabilities of starts, transitions, ends and emissions."""

    name = "hmm"

    @classmethod
    def of(cls, grammar: Grammar, weight: Floats) -> Hmm:
        """The model with these rule probabilities."""
        value = start_lvg(grammar, weight, 1, noise=0.0).value
        return cls(tag_table(grammar), len(grammar.tags), grammar.n_rules - grammar.lexical_start, 1, value)

    def arrays(self) -> Arrays:
        """Empty: the probabilities are those of the treebank, which every model file has."""
        return {}

    def facts(self) -> Facts:
        """Empty."""
        return {}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Hmm:
        """The model of the treebank."""
        check_arrays(arrays, {})
        check_facts(facts, {})
        return cls.of(grammar, weight)

    def describe(self) -> Facts:
        """Empty: there is nothing beyond the numbers of rules."""
        return {}
