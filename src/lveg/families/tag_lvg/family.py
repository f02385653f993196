"""Latent variable grammars of tag sequences: tags have N discrete subtypes each. With one subtype, the HMM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, open_table, tag_table
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value, views
from lveg.families.insight import Insight, expected_uses, tag_view
from lveg.grammar.grammar import NONE, Floats, Grammar, Ints
from lveg.kernels.chain import Posteriors, TagTable
from lveg.kernels.chain_lvg import LvgArrays, run

MOST_LOG = 700.0
"""Bound on abs(log weight): exp overflows beyond it. Probability 0 is represented by the lowest value."""


@dataclass(frozen=True, eq=False)
class TagLvg(ChainFamily):
    """Log weights of starts, transitions, ends and emissions of every subtype, in one vector (see LvgArrays)."""

    table: TagTable
    tags: int
    n_emissions: int
    subtypes: int
    value: Floats

    name = "lvg"

    def __post_init__(self) -> None:
        if self.subtypes < 1:
            raise GrammarError("a tag has at least one subtype")
        check_value(self.value, size_of(self.tags, self.n_emissions, self.subtypes), MOST_LOG)

    @property
    def width(self) -> int:
        """The number of subtypes of a tag."""
        return self.subtypes

    @cached_property
    def is_probability(self) -> bool:
        """Whether the probabilities of starts, of transitions from each subtype and of its words each sum to one."""
        start, transition, end, emission = self.weight
        if not self.n_emissions or not np.isclose(start.sum(), 1.0, rtol=0, atol=1e-6):
            return False
        words = np.zeros_like(end)
        np.add.at(words, self.table.tag, emission[self.table.rule])
        sums = (transition.sum(axis=(2, 3)) + end, words)
        return all(np.allclose(total, 1.0, rtol=0, atol=1e-6) for total in sums)

    def with_value(self, value: Floats) -> TagLvg:
        """The same with other parameters, which are not copied."""
        return TagLvg(self.table, self.tags, self.n_emissions, self.subtypes, value)

    def arrays(self) -> Arrays:
        """The parameters."""
        return {"value": self.value}

    def facts(self) -> Facts:
        """The number of subtypes, and whether the lexicon's words have weights."""
        return {"subtypes": self.subtypes, "has_emissions": self.n_emissions > 0}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> TagLvg:
        """The tagger in a model file."""
        check_arrays(arrays, {"value": (np.float64, 1)})
        check_facts(facts, {"subtypes": int, "has_emissions": bool})
        tags, n_emissions, table = len(grammar.tags), grammar.n_rules - grammar.lexical_start, tag_table(grammar)
        if not facts["has_emissions"]:
            n_emissions, table = 0, open_table(tags, grammar.lexicon.n_terminals)
        return cls(table, tags, n_emissions, facts["subtypes"], arrays["value"])

    def describe(self) -> Facts:
        """Numbers of subtypes and parameters."""
        return {"subtypes": self.subtypes, "parameters": int(self.value.size)}

    def insights(self, grammar: Grammar) -> list[Insight]:
        """The subtypes of each tag, with the words and neighbours that they are used with."""
        if self.subtypes == 1:
            return super().insights(grammar)
        view, t, n = tag_view(grammar), self.tags, self.subtypes
        first, own = np.arange(0, t * n + 1, n), np.arange(t * n)
        weight, owner = self.weight, grammar.rule_lhs[grammar.lexical_start :][: self.n_emissions]
        emits = ((owner - grammar.n_nonterminals)[:, None] * n + np.arange(n)).ravel()
        tag, none = own // n, np.full(t * n, NONE)
        rule = np.concatenate([
            (tag[:, None] * t + tag[None, :]).ravel(), t * t + tag, grammar.root_start + tag,
            np.repeat(grammar.lexical_start + np.arange(len(owner)), n),
        ])  # fmt: skip
        weights = np.concatenate(
            [part.ravel() for part in (weight.transition, weight.end, weight.start, weight.emission)]
        )
        lhs = np.concatenate([np.repeat(own, t * n), own, none, emits])
        reached = np.concatenate([np.tile(own, t * n), none, own, np.full(len(emits), NONE)])
        uses = expected_uses(grammar.count, first, rule, weights, lhs, [reached])
        is_word = rule >= grammar.lexical_start
        slots = [np.where(is_word, lhs, NONE), np.where(is_word, NONE, lhs), reached]
        return [view.insight(self.name, view.with_subtypes(first, rule, uses, slots))]

    @cached_property
    def weight(self) -> LvgArrays:
        """The weights, in the linear domain."""
        return self.parts(np.exp(self.value))

    def parts(self, vector: Floats) -> LvgArrays:
        """Views of a parameter-shaped vector as starts, transitions, ends and emissions."""
        t, n = self.tags, self.subtypes
        return LvgArrays(*views(vector, [(t, n), (t, n, t, n), (t, n), (self.n_emissions, n)]))

    def _run(
        self, packed: Ints, is_given: bool, sign: float, into: Floats | None, factor: Floats | None,
        factor_slope: Floats | None, found: Posteriors,
    ) -> float:  # fmt: skip
        """The summed log Z of packed sentences; adds sign × the expected uses of parameters to `into`."""
        use = None if into is None else self.parts(into)
        return run(packed, is_given, sign, self.weight, use, factor, factor_slope, found)


def size_of(tags: int, n_emissions: int, subtypes: int) -> int:
    """The number of parameters."""
    return (2 * tags + n_emissions) * subtypes + (tags * subtypes) ** 2


def start_lvg(grammar: Grammar, weight: Floats, subtypes: int, noise: float = 0.01, seed: int = 0) -> TagLvg:
    """Subtypes that are equal up to noise and sum to the HMM with these rule probabilities."""
    tags, n_emissions = len(grammar.tags), grammar.n_rules - grammar.lexical_start
    first = TagLvg(
        tag_table(grammar), tags, n_emissions, subtypes, np.zeros(size_of(tags, n_emissions, subtypes))
    )  # fmt: skip
    probability = first.parts(np.ones_like(first.value))
    for array, rules, share in (
        (probability.transition, weight[: tags * tags].reshape(tags, 1, tags, 1), subtypes),
        (probability.end, weight[tags * tags :][:tags, None], 1),
        (probability.start, weight[grammar.root_start :][:tags, None], subtypes),
        (probability.emission, weight[grammar.lexical_start :, None], 1),
    ):
        array *= rules / share
    flat = np.concatenate([part.ravel() for part in probability])
    flat *= 1.0 + np.random.default_rng(seed).uniform(-noise, noise, flat.shape)
    normalise(first.parts(flat), grammar)
    return first.with_value(logs(flat))


def normalise(probability: LvgArrays, grammar: Grammar) -> None:
    """Normalise the probabilities of starts, of transitions from each subtype and of its words, in place."""
    start, transition, end, emission = probability
    start /= start.sum()
    total = transition.sum(axis=(2, 3)) + end
    transition /= total[:, :, None, None]
    end /= total
    owner = grammar.rule_lhs[grammar.lexical_start :] - grammar.n_nonterminals
    sums = np.zeros((len(grammar.tags), emission.shape[1]))
    np.add.at(sums, owner, emission)
    emission /= np.maximum(sums, 1e-300)[owner]


def logs(probability: Floats) -> Floats:
    """Logarithms; zero is allowed."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probability), -MOST_LOG)
