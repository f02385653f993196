"""Gaussian mixture grammars (GM-LVeGs) of tag sequences: tags have vectors as subtypes, rules Gaussian mixtures."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, open_table, tag_table
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value, views
from lveg.families.gm.mixture import Mixture, mixture_of
from lveg.families.gm.options import COVARIANCES, MOST_COMPONENTS
from lveg.families.insight import Insight, tag_view
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import Posteriors, TagTable
from lveg.kernels.chain_gm import GmArrays, run

MOST_PARAMETER = 200.0
"""Bound on abs(parameter): the exp of a sum of a few of them is finite; learned parameters are far below it."""


@dataclass(frozen=True, eq=False)
class TagGm(ChainFamily):
    """Log weights, means and log standard deviations of all components, in one vector (see GmArrays).

    by_word: whether emissions belong to the words of the lexicon, or only to tags.
    """

    table: TagTable
    tags: int
    n_emissions: int
    components: int
    dim: int
    covariance: str
    value: Floats
    by_word: bool = True

    name = "gm"

    def __post_init__(self) -> None:
        if self.covariance not in COVARIANCES:
            raise GrammarError(f"covariance {self.covariance!r} is not one of {', '.join(COVARIANCES)}")
        if not 1 <= self.components <= MOST_COMPONENTS or self.dim < 1:
            raise GrammarError(f"a rule has from 1 to {MOST_COMPONENTS} components, and a subtype some dimensions")
        check_value(self.value, sum(map(math.prod, self.shapes)), MOST_PARAMETER)

    @property
    def width(self) -> int:
        """The number of components of an emission."""
        return self.components

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """The shapes of log weights, as one row, means and log standard deviations."""
        return shapes_of(self.tags, self.n_emissions, self.components, self.dim, self.covariance)

    def with_value(self, value: Floats) -> TagGm:
        """The same with other parameters, which are not copied."""
        return replace(self, value=value)

    def arrays(self) -> Arrays:
        """The parameters."""
        return {"value": self.value}

    def facts(self) -> Facts:
        """The shape, and whether emissions belong to words or only to tags."""
        shape = {"components": self.components, "dim": self.dim, "covariance": self.covariance}
        return {**shape, "by_word": self.by_word}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> TagGm:
        """The tagger in a model file."""
        check_arrays(arrays, {"value": (np.float64, 1)})
        check_facts(facts, {"components": int, "dim": int, "covariance": str, "by_word": bool})
        tags, n_emissions, table = len(grammar.tags), grammar.n_rules - grammar.lexical_start, tag_table(grammar)
        if not facts["by_word"]:
            n_emissions, table = tags, open_table(tags, grammar.lexicon.n_terminals, with_emissions=True)
        shape = facts["components"], facts["dim"], facts["covariance"]
        return cls(table, tags, n_emissions, *shape, arrays["value"], facts["by_word"])

    def describe(self) -> Facts:
        """The shape and the number of parameters."""
        return {**self.facts(), "parameters": int(self.value.size)}

    def insights(self, grammar: Grammar) -> list[Insight]:
        """The Gaussians of each tag; a component's uses are its share of the weight in those of its rule."""
        view, k, links = tag_view(grammar), self.components, self.tags * (self.tags + 1)
        n_words = grammar.n_rules - grammar.lexical_start if self.by_word else 0
        rule = np.repeat(np.arange(grammar.lexical_start + n_words), k)
        weight, mean, variance = self.numbers
        scaled = weight[: len(rule)]
        uses = grammar.count[rule] * scaled / np.bincount(rule, scaled, grammar.n_rules)[rule]
        own = np.arange(len(rule))
        is_start = rule >= grammar.root_start
        word = own - grammar.lexical_start * k + 2 * links * k
        before = links * k + np.where(is_start, own - self.tags * k, own)
        symbols = view.with_gaussians(rule, uses, [word, own, before], mean, np.sqrt(variance))
        return [view.insight(self.name, symbols)]

    def parts(self, vector: Floats) -> GmArrays:
        """Views of a parameter-shaped vector as weights, means and deviations."""
        weight, mean, std = views(vector, self.shapes)
        return GmArrays(weight[0], mean, std)

    @cached_property
    def numbers(self) -> GmArrays:
        """The weights, in the linear domain, means and variances."""
        log_weight, mean, log_std = self.parts(self.value)
        return GmArrays(np.exp(log_weight), mean, np.exp(2.0 * log_std))

    def mixture(self, rule: int) -> Mixture:
        """The weights, means and variances of a rule's components.

        A transition has Gaussians of the tag that it leaves and of the one that it reaches, an end of the former, a
        start of the latter. An emission has one of its tag. Rules are numbered as in the grammar; without words of
        their own, emissions are numbered by tag instead.
        """
        ends, starts, emissions = self.tags**2, self.tags**2 + self.tags, self.tags**2 + 2 * self.tags
        size, leaves = self.components, rule < starts
        reached = rule if rule < ends else rule - self.tags if starts <= rule < emissions else -1
        columns = [rule] if leaves else []
        columns += [starts + reached] if reached >= 0 else []
        columns += [2 * starts + rule - emissions] if rule >= emissions else []
        weight, mean, variance = self.numbers
        part = weight[size * rule : size * (rule + 1)]
        return mixture_of(part, mean, variance, [size * column for column in columns], size)

    def _run(
        self, packed: Ints, is_given: bool, sign: float, into: Floats | None, factor: Floats | None,
        factor_slope: Floats | None, found: Posteriors,
    ) -> float:  # fmt: skip
        """The summed log Z of packed sentences; adds sign × its gradient to `into`."""
        slope = _NOTHING if into is None else self.parts(into)
        sign = 0.0 if into is None else sign
        factor, factor_slope = (_NONE if array is None else array for array in (factor, factor_slope))
        return run(
            packed, is_given, sign, self.tags, self.components, self.numbers, slope, factor, factor_slope, found
        )  # fmt: skip


def shapes_of(tags: int, n_emissions: int, components: int, dim: int, covariance: str) -> tuple[tuple[int, int], ...]:
    """The shapes of log weights, as one row, means and log standard deviations."""
    links = tags * tags + tags
    gaussians = (2 * links + n_emissions) * components
    variances = dim if covariance == "diagonal" else 1
    return (1, (links + tags + n_emissions) * components), (dim, gaussians), (variances, gaussians)


_NONE = np.empty((0, 0))
_NOTHING = GmArrays(np.empty(0), _NONE, _NONE)


def start_gm(
    grammar: Grammar,
    weight: Floats,
    components: int,
    dim: int,
    covariance: str = "spherical",
    spread: float = 0.05,
    seed: int = 0,
) -> TagGm:
    """The initial tagger: weights alpha × P(rule), means uniform within ± spread, unit deviations.

    Three unit Gaussians at the same point overlap by (2 pi √3)^-dim, once per word. A sequence has one emission and one
    rule out per word, so if alpha is the square root of that overlap's inverse, divided by the number of components, a
    sequence has about the same weight as in the HMM. (All sequences of a sentence have the same number of rules, so
    alpha changes no posterior.)
    """
    tags, n_emissions = len(grammar.tags), grammar.n_rules - grammar.lexical_start
    scaled = weight * (2 * np.pi * 3**0.5) ** (dim / 2) / components
    scaled[grammar.root_start : grammar.lexical_start] = weight[grammar.root_start : grammar.lexical_start] / components
    log_weight = np.repeat(np.log(np.maximum(scaled, 1e-30)), components)
    _, means, deviations = map(math.prod, shapes_of(tags, n_emissions, components, dim, covariance))
    mean = np.random.default_rng(seed).uniform(-spread, spread, means)
    value = np.concatenate([log_weight, mean, np.zeros(deviations)])
    return TagGm(tag_table(grammar), tags, n_emissions, components, dim, covariance, value)


def start_open_gm(tags: int, components: int, dim: int, spread: float = 0.05, seed: int = 0) -> TagGm:
    """An initial tagger without word emissions: equal weights, means uniform within ± spread."""
    weights, means, deviations = map(math.prod, shapes_of(tags, tags, components, dim, "spherical"))
    mean = np.random.default_rng(seed).uniform(-spread, spread, means)
    value = np.concatenate([np.zeros(weights), mean, np.zeros(deviations)])
    return TagGm(open_table(tags, with_emissions=True), tags, tags, components, dim, "spherical", value, by_word=False)
