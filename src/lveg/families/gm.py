"""The Gaussian mixture family: every rule's weight is a mixture of Gaussians over the subtypes of its symbols."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.pcfg import Posterior
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import split_factors
from lveg.kernels.gm import Cut, run
from lveg.kernels.gm_overlaps import Components
from lveg.kernels.gm_plan import make_plan
from lveg.kernels.gm_sample import draw_many

COVARIANCES = ("spherical", "diagonal")


@dataclass(frozen=True)
class Gradient:
    """The derivative of an objective in each parameter, in the shapes of `Gm`."""

    log_weight: Floats
    mean: Floats
    log_std: Floats


@dataclass(frozen=True)
class ComponentPruning:
    """An approximation that exact inference does not need: large mixtures lose their smallest components.

    Of c > k_min components of an inside or outside score the min(k_min + floor(c ** theta), k_max) largest are kept
    (section 3.2 of the paper); k_min = k_max is its k_hard. tally counts the components seen and those cut.
    """

    k_min: int
    k_max: int
    theta: float = 0.0
    tally: Ints = field(default_factory=lambda: np.zeros(2, np.int64), compare=False)

    def __post_init__(self) -> None:
        if not (1 <= self.k_min <= self.k_max and 0.0 <= self.theta <= 1.0):
            raise GrammarError("component pruning needs 1 <= k_min <= k_max and theta from 0 to 1")


@dataclass(frozen=True)
class Gm:
    """Parameters: rule r has components [ptr[r], ptr[r + 1]).

    log_weight: (C,). mean: (dim, G), a column a Gaussian; log_std: (1, G) for spherical, (dim, G) for diagonal
    covariances. first: the columns of component c are first[0] + c for its left-hand side, first[1] + c for its left
    child and first[2] + c for its right child, where its rule has them. pruning: None for exact inference.
    """

    ptr: Ints
    first: Ints
    log_weight: Floats
    mean: Floats
    log_std: Floats
    pruning: ComponentPruning | None = None

    def __post_init__(self) -> None:
        size, dim, columns = self.log_weight.shape[0], *self.mean.shape
        if self.log_weight.shape != (size,) or int(self.ptr[-1]) != size:
            raise GrammarError("there is not one weight a component")
        if not (int(self.first[0]) == 0 and size == int(self.first[1]) <= int(self.first[2]) <= columns):
            raise GrammarError("means do not have one column a Gaussian")
        if self.log_std.shape not in ((1, columns), (dim, columns)):
            raise GrammarError("standard deviations must be one a Gaussian, or one a dimension")
        for array in (self.log_weight, self.mean, self.log_std):
            if not np.isfinite(array).all():
                raise GrammarError("a parameter is not a finite number")

    @cached_property
    def components(self) -> Components:
        """The parameters as the kernels want them."""
        return Components(self.ptr, np.exp(self.log_weight), self.mean, np.exp(2.0 * self.log_std), self.first)

    def log_z(self, forest: Forest, log_factor: Floats | None = None) -> float:
        """Log of the summed weight of all derivations and subtypes; see `log_zs`."""
        return float(self.log_zs(plan(forest), log_factor)[0])

    def log_zs(self, plans: Ints, log_factor: Floats | None = None) -> Floats:
        """The log Z of each of the plans, one after the other in one array.

        log_factor: what multiplies each edge, for the edges of all forests; None for 1.
        """
        return self._run(plans, _NOTHING, log_factor, _NOTHING, _NOTHING, _NO_GRADIENT)

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest; `edge_weight` is left empty, since no edge has a weight of its own."""
        edge, node = np.zeros(forest.n_edges), np.empty(forest.n_nodes)
        (log_z,) = self._run(plan(forest), _NOTHING, log_factor, edge, node, _NO_GRADIENT)
        return Posterior(float(log_z), node, edge, np.empty(0))

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations drawn from the posterior, independently; edges with parents first."""
        n_edges = 2 * forest.n_nodes
        uniform = np.random.default_rng(seed).random((count, 2 * n_edges))
        chosen, sizes = np.empty((count, n_edges), np.int32), np.empty(count, np.int32)
        draw_many(plan(forest), split_factors(log_factor), self.components, uniform, chosen, sizes)
        return [row[:size].copy() for row, size in zip(chosen, sizes, strict=True)]

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints, log_factor: Floats | None = None) -> float:
        """The log weight of the derivation with these edges, its subtypes integrated out."""
        one = build_forest(grammar, forest.n_words, anchored_rules(forest, edges), may_stay=False)
        return self.log_z(one) + (0.0 if log_factor is None else float(log_factor[edges].sum()))

    def add_gradient(
        self,
        plans: Ints,
        signs: Sequence[float],
        into: Gradient,
        log_factor: Floats | None = None,
        edge_slope: Floats | None = None,
    ) -> Floats:
        """Add sign × the gradient of log Z of each plan; their log Z.

        edge_slope is filled with sign × the derivative in each log factor: the posterior of the edge.
        """
        edge_slope = _NOTHING if edge_slope is None else edge_slope
        return self._run(plans, np.array(signs, dtype=float), log_factor, edge_slope, _NOTHING, into)

    def zero_gradient(self) -> Gradient:
        """Room for a gradient."""
        return Gradient(np.zeros_like(self.log_weight), np.zeros_like(self.mean), np.zeros_like(self.log_std))

    def _run(
        self, plans: Ints, sign: Floats, log_factor: Floats | None, edge: Floats, node: Floats, into: Gradient
    ) -> Floats:
        log_z, factors = np.empty(count_plans(plans)), split_factors(log_factor)
        cut = _NO_CUT
        if self.pruning is not None:
            cut = Cut(self.pruning.k_min, self.pruning.k_max, self.pruning.theta, np.zeros(2, np.int64))
        run(plans, sign, factors, self.components, log_z, edge, node, into.log_weight, into.mean, into.log_std, cut)
        if self.pruning is not None:
            self.pruning.tally[:] += cut.tally
        return log_z


_NOTHING = np.empty(0)
_NO_GRADIENT = Gradient(np.empty(0), np.empty((0, 0)), np.empty((0, 0)))
_NO_CUT = Cut(0, 0, 0.0, np.zeros(2, np.int64))


def plan(forest: Forest) -> Ints:
    """What inference needs to know of a forest, whatever the parameters, in one compact array."""
    packed: Ints = make_plan(forest.node_symbol, forest.edge_ptr, forest.edge_rule, forest.edge_left, forest.edge_right)
    return packed


def count_plans(plans: Ints) -> int:
    """How many plans there are, one after the other in an array."""
    count, begin = 0, 0
    while begin < len(plans):
        begin += int(plans[begin])
        count += 1
    return count


def columns_of(grammar: Grammar, ptr: Ints) -> Ints:
    """Where the columns of left-hand sides, left and right children begin, and how many there are: (4,)."""
    n_left, n_right = int(ptr[grammar.lexical_start]), int(ptr[grammar.n_binary])
    return np.cumsum([0, int(ptr[-1]), n_left, n_right])


def start(
    grammar: Grammar,
    weight: Floats,
    components: int | Ints,
    dim: int,
    covariance: str = "spherical",
    alpha: float | None = None,
    spread: float = 0.05,
    seed: int = 0,
) -> Gm:
    """A grammar to start learning from: weights alpha × P(rule), means uniform within ± spread, unit deviations.

    components: how many Gaussians every rule has, or each. alpha None makes a rule's total weight about P(rule): an
    overlap of two Gaussians at the start is about (4 pi)^(-dim/2).
    """
    if covariance not in COVARIANCES:
        raise GrammarError(f"covariance {covariance!r} is not one of {', '.join(COVARIANCES)}")
    counts = np.broadcast_to(components, (grammar.n_rules,))
    heft = weight * (0.7 * (4 * np.pi) ** (dim / 2) / counts if alpha is None else alpha)
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    *first, size = columns_of(grammar, ptr)
    mean = np.random.default_rng(seed).uniform(-spread, spread, (dim, size))
    root = grammar.kind_slice("root")
    mean[:, ptr[root.start] : ptr[root.stop]] = 0.0
    return Gm(
        ptr=ptr,
        first=np.array(first),
        log_weight=np.repeat(np.log(np.maximum(heft, 1e-30)), counts),
        mean=mean,
        log_std=np.zeros((dim if covariance == "diagonal" else 1, size)),
    )
