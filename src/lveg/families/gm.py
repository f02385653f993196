"""The Gaussian mixture family: every rule's weight is a mixture of Gaussians over the subtypes of its symbols."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.pcfg import Posterior
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels import gm as kernels
from lveg.kernels.gm import Components, Plan

COVARIANCES = ("spherical", "diagonal")


@dataclass(frozen=True)
class Gradient:
    """The derivative of an objective in each parameter, in the shapes of `Gm`."""

    log_weight: Floats
    mean: Floats
    log_std: Floats


@dataclass(frozen=True)
class Gm:
    """Parameters: rule r has components [ptr[r], ptr[r + 1]).

    log_weight: (C,). mean: (3, C, dim), for the slots left-hand side, left child and right child; slots that a rule
    lacks are 0 and stay so. log_std: (3, C, 1) for spherical, (3, C, dim) for diagonal covariances.
    """

    ptr: Ints
    log_weight: Floats
    mean: Floats
    log_std: Floats

    def __post_init__(self) -> None:
        size, dim = self.mean.shape[1], self.mean.shape[2]
        if self.log_weight.shape != (size,) or self.mean.shape[0] != 3 or int(self.ptr[-1]) != size:
            raise GrammarError("weights and means do not have one row a component")
        if self.log_std.shape not in ((3, size, 1), (3, size, dim)):
            raise GrammarError("standard deviations must be one a Gaussian, or one a dimension")
        for array in (self.log_weight, self.mean, self.log_std):
            if not np.isfinite(array).all():
                raise GrammarError("a parameter is not a finite number")

    @cached_property
    def components(self) -> Components:
        """The parameters as the kernels want them."""
        mean = np.ascontiguousarray(self.mean)
        return Components(self.ptr, np.exp(self.log_weight), mean, np.exp(2.0 * self.log_std))

    def plan(self, forest: Forest) -> Plan:
        """What inference over the forest needs, whatever the parameters."""
        return kernels.make_plan(self.ptr, forest.edge_ptr, forest.edge_rule, forest.edge_left, forest.edge_right)

    def log_z(self, forest: Forest, plan: Plan | None = None) -> float:
        """Log of the summed weight of all derivations and subtypes."""
        empty = np.empty(0)
        return self._run(forest, plan, 0.0, empty, empty, self._no_gradient)

    def posterior(self, forest: Forest, plan: Plan | None = None) -> Posterior:
        """Inside and outside over the forest; `edge_weight` is left empty, since no edge has a weight of its own."""
        edge, node = np.empty(forest.n_edges), np.empty(forest.n_nodes)
        log_z = self._run(forest, plan, 0.0, edge, node, self._no_gradient)
        return Posterior(log_z, node, edge, np.empty(0))

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints) -> float:
        """The log weight of the derivation with these edges, its subtypes integrated out."""
        return self.log_z(build_forest(grammar, forest.n_words, anchored_rules(forest, edges), may_stay=False))

    def add_gradient(self, forest: Forest, sign: float, into: Gradient, plan: Plan | None = None) -> float:
        """Add sign × the gradient of log Z; log Z."""
        empty = np.empty(0)
        return self._run(forest, plan, sign, empty, empty, into)

    def zero_gradient(self) -> Gradient:
        """Room for a gradient."""
        return Gradient(np.zeros_like(self.log_weight), np.zeros_like(self.mean), np.zeros_like(self.log_std))

    @cached_property
    def _no_gradient(self) -> Gradient:
        return Gradient(np.empty(0), np.empty((0, 0, 0)), np.empty((0, 0, 0)))

    def _run(self, forest: Forest, plan: Plan | None, sign: float, edge: Floats, node: Floats, into: Gradient) -> float:
        return kernels.run(
            self.plan(forest) if plan is None else plan,
            self.components,
            forest.edge_ptr,
            forest.edge_rule,
            forest.edge_left,
            forest.edge_right,
            sign,
            edge,
            node,
            into.log_weight,
            into.mean,
            into.log_std,
        )


def start(
    grammar: Grammar,
    weight: Floats,
    components: int,
    dim: int,
    covariance: str = "spherical",
    alpha: float | None = None,
    spread: float = 0.05,
    seed: int = 0,
) -> Gm:
    """A grammar to start learning from: weights alpha × P(rule), means uniform within ± spread, unit deviations.

    alpha None makes a rule's total weight about P(rule): an overlap of two Gaussians at the start is about (4
    pi)^(-dim/2).
    """
    if covariance not in COVARIANCES:
        raise GrammarError(f"covariance {covariance!r} is not one of {', '.join(COVARIANCES)}")
    if alpha is None:
        alpha = 0.7 * (4 * np.pi) ** (dim / 2) / components
    size = grammar.n_rules * components
    generator = np.random.default_rng(seed)
    mean = generator.uniform(-spread, spread, (3, size, dim))
    log_std = np.zeros((3, size, dim if covariance == "diagonal" else 1))
    lacks = np.zeros((3, grammar.n_rules), dtype=bool)
    lacks[0, grammar.kind_slice("root")] = True
    lacks[1:, grammar.kind_slice("lexical")] = True
    lacks[2, grammar.n_binary :] = True
    mean[np.repeat(lacks, components, axis=1)] = 0.0
    return Gm(
        ptr=np.arange(0, size + 1, components, dtype=np.int32),
        log_weight=np.repeat(np.log(np.maximum(alpha * weight, 1e-30)), components),
        mean=mean,
        log_std=log_std,
    )
