"""The PCFG family: one number a node, one probability a rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels import semiring
from lveg.kernels.assemble import STAY
from lveg.kernels.factors import split_factors


@dataclass(frozen=True)
class Posterior:
    """What a family says of a forest: log Z and the probabilities of nodes and edges given the sentence.

    edge_weight: the weight of each edge alone; empty for families whose derivations are no products of edge weights.
    log_rule: what max-rule sums over edges, where that is not the log of `edge`.
    """

    log_z: float
    node: Floats
    edge: Floats
    edge_weight: Floats
    log_rule: Floats | None = None


@dataclass(frozen=True)
class Pcfg:
    """Rule weights in the linear domain; a derivation weighs the product of its rules."""

    weight: Floats

    def edge_weights(self, forest: Forest) -> Floats:
        """The weight of each edge; 1 for STAY."""
        weight = self.weight[forest.edge_rule]
        weight[forest.edge_rule == STAY] = 1.0
        return weight

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest, which must hold a derivation; log_factor: of each edge."""
        weight, factors = self.edge_weights(forest), split_factors(log_factor)
        value = np.empty(forest.n_nodes)
        scale = np.empty(forest.n_nodes, np.int64)
        node, edge = np.zeros(forest.n_nodes), np.zeros(forest.n_edges)
        edges = (forest.edge_ptr, forest.edge_left, forest.edge_right)
        log_z = semiring.inside(*edges, weight, factors, value, scale)
        if log_z > -np.inf:
            semiring.outside(*edges, weight, factors, value, scale, node, edge)
        if log_factor is not None:
            weight = weight * np.exp(log_factor)
        return Posterior(log_z, node, edge, weight)

    def log_z(self, forest: Forest, log_factor: Floats | None = None) -> float:
        """Log of the summed weight of all derivations, -inf where there is none; log_factor: of each edge."""
        value, scale = np.empty(forest.n_nodes), np.empty(forest.n_nodes, np.int64)
        weight, factors = self.edge_weights(forest), split_factors(log_factor)
        edges = (forest.edge_ptr, forest.edge_left, forest.edge_right)
        return semiring.inside(*edges, weight, factors, value, scale)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations drawn from the posterior, independently; edges with parents first."""
        return draw_edges(forest, self.posterior(forest, log_factor).edge, count, seed)

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints, log_factor: Floats | None = None) -> float:
        """The log weight of the derivation with these edges."""
        rules = forest.edge_rule[edges]
        log_weight = float(np.log(self.weight[rules[rules != STAY]]).sum())
        return log_weight if log_factor is None else log_weight + float(log_factor[edges].sum())

    def expected_counts(self, forest: Forest) -> Floats:
        """Expected uses of each rule in a derivation drawn from the forest, (n_rules,)."""
        real = forest.edge_rule != STAY
        posterior = self.posterior(forest).edge
        counts = np.bincount(forest.edge_rule[real], weights=posterior[real], minlength=len(self.weight))
        return counts.astype(np.float64)


def draw_edges(forest: Forest, edge_post: Floats, count: int, seed: int) -> list[Ints]:
    """Derivations drawn independently, each edge of a node in proportion to its posterior; parents first."""
    generator = np.random.default_rng(seed)
    chosen = np.empty(forest.n_nodes, np.int32)
    drawn = []
    for _ in range(count):
        uniform = generator.random(forest.n_nodes)
        size = semiring.sample(forest.edge_ptr, forest.edge_left, forest.edge_right, edge_post, uniform, chosen)
        drawn.append(chosen[:size].copy())
    return drawn
