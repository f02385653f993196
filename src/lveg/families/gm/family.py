"""The Gaussian mixture family: every rule's weight is a mixture of Gaussians over the subtypes of its symbols."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_size, views
from lveg.families.forest import SUMS, Ask, DiscreteFamily, ForestFamily, Posterior
from lveg.families.gm.mixture import Mixture, mixture_of
from lveg.families.gm.options import COVARIANCES
from lveg.families.insight import Insight, tree_view
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import split_batch, split_factors
from lveg.kernels.gm import Cut, Scores, Table, add_gradients, empty_scores, fill_posteriors, inside, outside
from lveg.kernels.gm_overlaps import Components, add_block_gradients, fill_overlaps
from lveg.kernels.gm_plan import Plan, edge_origins, number_blocks, pack_plan, unpack_plan
from lveg.kernels.gm_sample import draw_many


@dataclass(frozen=True)
class ComponentPruning:
    """Component pruning, an approximation that exact inference does not need: the smallest components are dropped.

    Of c > k_min components of an inside or outside score, the min(k_min + floor(c ** theta), k_max) largest are kept
    (section 3.2 of the paper); k_min = k_max is the paper's k_hard.
    """

    k_min: int
    k_max: int
    theta: float = 0.0

    def __post_init__(self) -> None:
        if not (1 <= self.k_min <= self.k_max and 0.0 <= self.theta <= 1.0):
            raise GrammarError("component pruning needs 1 <= k_min <= k_max and theta from 0 to 1")


MOST_PARAMETER = 200.0
"""Bound on abs(parameter): exp of twice this is finite; learned parameters are far below it."""

MOST_OVERLAPS = 2**25
"""Maximum number of overlaps of components for a sentence, with 8 bytes each; beyond it, the family has no result."""

Parts = tuple[Floats, Floats, Floats]
"""Values for every parameter, in the shapes of log weights, means and log standard deviations."""


@dataclass(frozen=True, eq=False)
class Gm(ForestFamily):
    """Parameters: rule r has components [ptr[r], ptr[r + 1]).

    log_weight: (C,). mean: (dim, G), one column per Gaussian; log_std: (1, G) for spherical, (dim, G) for diagonal
    covariances. first: the columns of component c are first[0] + c for its left-hand side, first[1] + c for its left
    child and first[2] + c for its right child, if its rule has them. pruning: None for exact inference.
    """

    ptr: Ints
    first: Ints
    log_weight: Floats
    mean: Floats
    log_std: Floats
    pruning: ComponentPruning | None = None

    name = "gm"

    def __post_init__(self) -> None:
        size, dim, columns = self.log_weight.shape[0], *self.mean.shape
        if self.log_weight.shape != (size,) or int(self.ptr[-1]) != size:
            raise GrammarError("there is not one weight per component")
        if not (int(self.first[0]) == 0 and size == int(self.first[1]) <= int(self.first[2]) <= columns):
            raise GrammarError("means do not have one column per Gaussian")
        if dim < 1:
            raise GrammarError("its subtype vectors have no dimensions")
        if self.log_std.shape not in ((1, columns), (dim, columns)):
            raise GrammarError("standard deviations must be one per Gaussian, or one per dimension")
        for array in (self.log_weight, self.mean, self.log_std):
            check_size(array, MOST_PARAMETER)

    @cached_property
    def components(self) -> Components:
        """The parameters as the kernels need them."""
        mean, log_std = np.ascontiguousarray(self.mean), np.ascontiguousarray(self.log_std)
        return Components(self.ptr, np.exp(self.log_weight), mean, np.exp(2.0 * log_std), self.first)

    def mixture(self, rule: int) -> Mixture:
        """The weights, means and variances of a rule's components."""
        begin, end = int(self.ptr[rule]), int(self.ptr[rule + 1])
        ends = np.append(self.first[1:], self.mean.shape[1])
        columns = [int(first) + begin for first, last in zip(self.first, ends, strict=True) if first + begin < last]
        _, weight, mean, variance, _ = self.components
        return mixture_of(weight[begin:end], mean, variance, columns, end - begin)

    @cached_property
    def most(self) -> int:
        """The largest number of components of any rule."""
        return int(np.diff(self.ptr).max(initial=1))

    @cached_property
    def value(self) -> Floats:
        """Log weights, means and log standard deviations."""
        return np.concatenate([self.log_weight, self.mean.ravel(), self.log_std.ravel()])

    def with_value(self, value: Floats) -> Gm:
        """The same rules and components with other parameters, which are not copied."""
        log_weight, mean, log_std = self.parts(value)
        return replace(self, log_weight=log_weight, mean=mean, log_std=log_std)

    def parts(self, vector: Floats) -> Parts:
        """Views of a parameter-shaped vector as log weights, means and log standard deviations."""
        log_weight, mean, log_std = views(vector, [self.log_weight.shape, self.mean.shape, self.log_std.shape])
        return log_weight, mean, log_std

    def arrays(self) -> Arrays:
        """The parameters, and the rule of each component."""
        return {"ptr": self.ptr, "log_weight": self.log_weight, "mean": self.mean, "log_std": self.log_std}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Gm:
        """The grammar in a model file."""
        check_arrays(
            arrays,
            {"ptr": (np.int32, 1), "log_weight": (np.float64, 1), "mean": (np.float64, 2), "log_std": (np.float64, 2)},
        )
        check_facts(facts, {})
        ptr = arrays["ptr"]
        if ptr.shape != (grammar.n_rules + 1,) or ptr[0] != 0 or (ptr[1:] <= ptr[:-1]).any():
            raise GrammarError("there are no components for each rule")
        *first, columns = columns_of(grammar, ptr)
        if arrays["mean"].shape[1] != columns:
            raise GrammarError("it does not have one mean per Gaussian")
        return cls(first=np.array(first), **arrays)

    @classmethod
    def from_subtypes(cls, family: DiscreteFamily) -> Gm:
        """A grammar with discrete subtypes as one with vectors, with the same tree weights  [math: subtypes].

        Each combination of a rule's subtypes is a component. Subtypes are points so far apart that two Gaussians
        overlap by 1 or by almost 0. A rule of weight 0 has a component at points far from all others.
        """
        rules = family.subtype_rules()
        above, below = rules.first[-1], rules.first[-1] + 1
        number = np.arange(above) - np.repeat(rules.first[:-1], np.diff(rules.first))
        points = _grid(np.append(number, number.max() + np.array([1, 2])))
        is_rule = rules.weight > 0.0
        lhs = np.where(is_rule, rules.lhs, above)
        left, right = (np.where(is_rule, slot, below)[slot >= 0] for slot in (rules.left, rules.right))
        columns = np.concatenate([lhs, left, right])
        return cls(
            ptr=rules.ptr,
            first=np.array([0, len(lhs), len(lhs) + len(left)]),
            log_weight=np.log(np.where(is_rule, rules.weight, 1.0)),
            mean=points[:, columns],
            log_std=np.full((1, len(columns)), -0.5 * np.log(4 * np.pi)),
        )

    def describe(self) -> Facts:
        """Numbers of components and dimensions."""
        return {"components": len(self.log_weight), "dim": len(self.mean), "parameters": int(self.value.size)}

    def insights(self, grammar: Grammar) -> list[Insight]:
        """The Gaussians of each symbol; a component's uses are its share of the weight in those of its rule."""
        view, rule = tree_view(grammar), np.repeat(np.arange(grammar.n_rules), np.diff(self.ptr))
        weight = np.exp(self.log_weight)
        uses = grammar.count[rule] * weight / np.bincount(rule, weight, grammar.n_rules)[rule]
        lhs, left, right = (begin + np.arange(len(rule)) for begin in self.first)
        symbols = view.with_gaussians(rule, uses, [lhs, lhs, left, right], self.mean, np.exp(self.log_std))
        return [view.insight(self.name, symbols)]

    def pack(self, forest: Forest) -> Ints:
        """The plan of a forest."""
        return plan(forest)

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the plans; adds sign × its gradient to `slope`."""
        if ask.slope is None:
            return self._log_zs(packed, log_factor, self._cut())
        factors, sign = split_factors(log_factor), np.array(ask.signs, dtype=float)
        log_z, edge_slope = np.empty(len(sign)), _NOTHING if ask.edge_slope is None else ask.edge_slope
        grad_weight, grad_mean, grad_std = self.parts(ask.slope)
        table, blocks = self._overlaps(packed)
        table = table._replace(posterior=np.zeros_like(table.overlap))
        add_gradients(
            packed, sign, factors, self.components, self.most, table, self._cut(), log_z, grad_weight, edge_slope
        )
        add_block_gradients(self.components, *blocks, table.posterior, grad_mean, grad_std)
        return log_z

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest; `edge_weight` is left empty, since no edge has a weight of its own."""
        edge, node, cut = np.zeros(forest.n_edges), np.zeros(forest.n_nodes), self._cut()
        try:
            plan, table, log_z, scores = self._sums(self.pack(forest), log_factor, cut)
        except GrammarError:  # too many components
            return Posterior(-np.inf, node, edge, _NOTHING)
        if log_z > -np.inf:
            outside(plan, self.components, table, len(table.use), 1.0, cut, scores)
            fill_posteriors(plan, self.components, scores, edge, node)
        return Posterior(log_z, node, edge, _NOTHING)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations sampled independently from the posterior; edges with parents first."""
        if not np.isfinite(self.log_z(forest, log_factor)):
            raise GrammarError("no derivation has any weight: there is none to draw")
        n_edges = 2 * forest.n_nodes
        uniform = np.random.default_rng(seed).random((count, 2 * n_edges))
        chosen, sizes = np.empty((count, n_edges), np.int32), np.empty(count, np.int32)
        plan, table, _, scores = self._sums(self.pack(forest), log_factor, None)
        draw_many(plan, table, scores, uniform, chosen, sizes)
        origin = edge_origins(plan)
        return [origin[row[:size]] for row, size in zip(chosen, sizes, strict=True)]

    def count_cut(self, plans: Ints) -> tuple[Floats, int, int]:
        """(log Z of each plan, number of components of scores, number of components that were pruned)."""
        cut = self._cut()
        log_z = self._log_zs(plans, None, cut)
        return (log_z, 0, 0) if cut is None else (log_z, int(cut.tally[0]), int(cut.tally[1]))

    def _cut(self) -> Cut | None:
        """The component pruning as the kernels need it."""
        if self.pruning is None:
            return None
        return Cut(self.pruning.k_min, self.pruning.k_max, self.pruning.theta, np.zeros(2, np.int64))

    def _log_zs(self, packed: Ints, log_factor: Floats | None, cut: Cut | None) -> Floats:
        """The log Z of each of the plans."""
        return np.array([self._sums(plan, factor, cut).log_z for plan, factor in split_batch(packed, log_factor)])

    def _sums(self, packed: Ints, log_factor: Floats | None, cut: Cut | None) -> _Sums:
        """Sums over the derivations of a single plan."""
        plan, (table, _) = unpack_plan(packed), self._overlaps(packed, MOST_OVERLAPS)
        scores = empty_scores(plan, self.most)
        log_z = inside(plan, split_factors(log_factor), self.components, table, 0, cut, scores)
        return _Sums(plan, table, log_z, scores)

    def _overlaps(self, packed: Ints, most: int = 2**31) -> tuple[Table, tuple[Ints, Ints, Ints]]:
        """The overlaps that plans use, at most so many, and the slots, rules and begins of their blocks."""
        use, slots, rules, begins = number_blocks(packed, self.ptr)
        if not 0 <= begins[-1] <= most:
            raise GrammarError("its rules have too many components for this sentence")
        overlap = np.empty(begins[-1])
        fill_overlaps(self.components, self.most, slots, rules, begins, overlap)
        return Table(overlap, use, _NOTHING), (slots, rules, begins)


class _Sums(NamedTuple):
    """Sums over the derivations of a plan, and the arrays used to compute them."""

    plan: Plan
    table: Table
    log_z: float
    scores: Scores


_NOTHING = np.empty(0)


FAR = 16.0
"""Gaussians of variance 1 / (4 pi) at this distance overlap by less than 1e-300; at the same point, by 1."""


def _grid(numbers: Ints) -> Floats:
    """A point for each number, FAR from those of other numbers: (dim, size), in as few dimensions as possible."""
    side = 2 * int(MOST_PARAMETER / FAR) + 1
    digits = [numbers % side]
    while (numbers >= side).any():
        numbers = numbers // side
        digits.append(numbers % side)
    return FAR * (np.array(digits, float) - side // 2)


def plan(forest: Forest) -> Ints:
    """The forest as inference needs it, independent of the parameters, in one compact array."""
    return pack_plan(forest.node_symbol, forest.edge_ptr, forest.edge_rule, forest.edge_left, forest.edge_right)


def columns_of(grammar: Grammar, ptr: Ints) -> Ints:
    """The first columns of left-hand sides, left and right children, and the number of columns: (4,)."""
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
    """The initial grammar: weights alpha × P(rule), means uniform within ± spread, unit deviations.

    components: the number of components of all rules, or of each. alpha None makes a rule's total weight about P(rule):
    the initial overlap of two Gaussians is about (4 pi)^(-dim/2).
    """
    if covariance not in COVARIANCES:
        raise GrammarError(f"covariance {covariance!r} is not one of {', '.join(COVARIANCES)}")
    counts = np.broadcast_to(components, (grammar.n_rules,))
    scaled = weight * (0.7 * (4 * np.pi) ** (dim / 2) / counts if alpha is None else alpha)
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    *first, size = columns_of(grammar, ptr)
    mean = np.random.default_rng(seed).uniform(-spread, spread, (dim, size))
    root = grammar.kind_slice("root")
    mean[:, ptr[root.start] : ptr[root.stop]] = 0.0
    return Gm(
        ptr=ptr,
        first=np.array(first),
        log_weight=np.repeat(np.log(np.maximum(scaled, 1e-30)), counts),
        mean=mean,
        log_std=np.zeros((dim if covariance == "diagonal" else 1, size)),
    )
