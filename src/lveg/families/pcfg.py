"""The PCFG family: one number a node, one probability a rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels import semiring
from lveg.kernels.assemble import STAY


@dataclass(frozen=True)
class Posterior:
    """What a family says of a forest: log Z and the probabilities of nodes and edges given the sentence.

    edge_weight: the weight of each edge alone; empty for families whose derivations are no products of edge weights.
    """

    log_z: float
    node: Floats
    edge: Floats
    edge_weight: Floats


@dataclass(frozen=True)
class Pcfg:
    """Rule weights in the linear domain; a derivation weighs the product of its rules."""

    weight: Floats

    def edge_weights(self, forest: Forest) -> Floats:
        """The weight of each edge; 1 for STAY."""
        weight = self.weight[forest.edge_rule]
        weight[forest.edge_rule == STAY] = 1.0
        return weight

    def posterior(self, forest: Forest) -> Posterior:
        """Inside and outside over the forest, which must hold a derivation."""
        weight = self.edge_weights(forest)
        value = np.empty(forest.n_nodes)
        scale = np.empty(forest.n_nodes, np.int64)
        node, edge = np.zeros(forest.n_nodes), np.zeros(forest.n_edges)
        log_z = semiring.inside(forest.edge_ptr, forest.edge_left, forest.edge_right, weight, value, scale)
        if log_z > -np.inf:
            semiring.outside(forest.edge_ptr, forest.edge_left, forest.edge_right, weight, value, scale, node, edge)
        return Posterior(log_z, node, edge, weight)

    def log_z(self, forest: Forest) -> float:
        """Log of the summed weight of all derivations, -inf where there is none."""
        value, scale = np.empty(forest.n_nodes), np.empty(forest.n_nodes, np.int64)
        weight = self.edge_weights(forest)
        return semiring.inside(forest.edge_ptr, forest.edge_left, forest.edge_right, weight, value, scale)

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints) -> float:
        """The log weight of the derivation with these edges."""
        rules = forest.edge_rule[edges]
        return float(np.log(self.weight[rules[rules != STAY]]).sum())

    def expected_counts(self, forest: Forest) -> Floats:
        """Expected uses of each rule in a derivation drawn from the forest, (n_rules,)."""
        real = forest.edge_rule != STAY
        posterior = self.posterior(forest).edge
        counts = np.bincount(forest.edge_rule[real], weights=posterior[real], minlength=len(self.weight))
        return counts.astype(np.float64)
