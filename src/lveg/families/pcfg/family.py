"""The PCFG family: one number per node, one weight per rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts
from lveg.families.forest import SUMS, Ask, ForestFamily, Posterior
from lveg.forest.forest import Forest
from lveg.forest.reasons import RULES, Part, difference, rule_terms
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels import semiring
from lveg.kernels.assemble import STAY
from lveg.kernels.factors import split_batch, split_factors
from lveg.kernels.lvg import Packed, unpack_forest


@dataclass(frozen=True, eq=False)
class Pcfg(ForestFamily):
    """Rule weights in the linear domain; the weight of a derivation is the product of its rules."""

    weight: Floats

    name = "pcfg"
    p_min = 1e-5

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weight).all() and (self.weight >= 0.0).all()):
            raise GrammarError("a rule weight is not a number from 0 upwards")

    @cached_property
    def value(self) -> Floats:
        """The log weights."""
        with np.errstate(divide="ignore"):
            return np.log(self.weight)

    @property
    def is_probability(self) -> bool:
        """Always true: its weights are the treebank's rule probabilities."""
        return True

    def with_value(self, value: Floats) -> Pcfg:
        """The grammar with other log weights."""
        return Pcfg(np.exp(value))

    def arrays(self) -> Arrays:
        """Empty: the rule probabilities are those of the treebank grammar, which every model file has."""
        return {}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Pcfg:
        """The treebank grammar."""
        check_arrays(arrays, {})
        check_facts(facts, {})
        return cls(weight)

    def describe(self) -> Facts:
        """Empty: there is nothing beyond the numbers of rules."""
        return {}

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the packed forests; adds sign × the expected uses of rules to `slope`."""
        found: list[float] = []
        first = 0
        for part, factor in split_batch(packed, log_factor):
            forest = unpack_forest(part)
            last = first + len(forest.edge_rule)
            posterior = self._weigh(forest, factor, ask.slope is not None)
            if ask.slope is not None:
                edge = ask.signs[len(found)] * posterior.edge
                real = forest.edge_rule != STAY
                np.add.at(ask.slope, forest.edge_rule[real], edge[real])
                if ask.edge_slope is not None:
                    ask.edge_slope[first:last] = edge
            found.append(posterior.log_z)
            first = last
        return np.array(found)

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest."""
        return self._weigh(forest, log_factor, True)

    def _weigh(self, forest: Forest | Packed, log_factor: Floats | None, with_outside: bool) -> Posterior:
        """log Z, and with the outside pass the posteriors of nodes and edges."""
        weight, factors = self.weight[forest.edge_rule], split_factors(log_factor)
        weight[forest.edge_rule == STAY] = 1.0
        size = len(forest.node_symbol)
        value, scale, factor = np.empty(size), np.empty(size, np.int64), np.empty(len(weight))
        node, edge = np.zeros(size), np.zeros(len(weight))
        links = forest.edge_ptr, forest.edge_left, forest.edge_right
        log_z = semiring.inside(*links, weight, factors, value, scale, factor)
        if with_outside and log_z > -np.inf:
            semiring.outside(*links, factor, value, node, edge)
        if log_factor is not None:
            with np.errstate(over="ignore"):
                weight = np.minimum(weight * np.exp(log_factor), np.finfo(float).max)
        return Posterior(log_z, node, edge, weight)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations sampled independently from the posterior; edges with parents first."""
        posterior = self.posterior(forest, log_factor)
        if not np.isfinite(posterior.log_z):
            raise GrammarError("no derivation has any weight: there is none to draw")
        generator = np.random.default_rng(seed)
        chosen = np.empty(forest.n_nodes, np.int32)
        drawn = []
        for _ in range(count):
            uniform = generator.random(forest.n_nodes)
            size = semiring.sample(
                forest.edge_ptr, forest.edge_left, forest.edge_right, posterior.edge, uniform, chosen
            )  # fmt: skip
            drawn.append(chosen[:size].copy())
        return drawn

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints) -> float:
        """The log weight of the derivation with these edges."""
        rules = forest.edge_rule[edges]
        return float(self.value[rules[rules != STAY]].sum())

    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """Only the part `rules`."""
        terms = rule_terms(grammar, self.weight, forest, chosen)
        return [[difference(RULES, terms, chosen[0], other)] for other in chosen[1:]]
