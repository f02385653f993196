"""Latent variable grammars: every symbol has discrete subtypes, every rule a weight for each combination of them.

With one subtype per symbol this is the PCFG.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts
from lveg.families.forest import SUMS, Ask, DiscreteFamily, Posterior, SubtypeRules, count_packed, parts_of
from lveg.families.insight import Insight, expected_uses, tree_view
from lveg.forest.forest import Forest
from lveg.grammar.estimate import STAY_PRIOR
from lveg.grammar.grammar import NONE, Floats, Grammar, Ints
from lveg.kernels.factors import split_batch, split_factors
from lveg.kernels.lvg import Weights, draw_many, run, unpack_forest
from lveg.kernels.lvg_blocks import (
    Blocks,
    draw_together,
    regroup,
    scale_children,
    scale_rows,
    sum_children,
    sum_rows,
)
from lveg.kernels.lvg_levels import Levels, coarse_to_fine

Places = npt.NDArray[np.int64]

MOST_SUBTYPES = 4096
"""Maximum number of subtypes of a symbol."""


@dataclass(frozen=True)
class Shape:
    """The number of subtypes of each symbol, which determines where the weights of each rule are.

    lhs, left, right: the symbols of each rule, NONE for ROOT and for slots that are not symbols. Subtypes of all
    symbols are numbered consecutively: those of a symbol begin at first[symbol].
    """

    subtypes: Ints
    lhs: Ints
    left: Ints
    right: Ints
    n_binary: int
    root_start: int
    lexical_start: int

    def __post_init__(self) -> None:
        if (self.subtypes < 1).any() or (self.subtypes > MOST_SUBTYPES).any():
            raise GrammarError(f"every symbol needs from 1 to {MOST_SUBTYPES} subtypes")

    @cached_property
    def first(self) -> Places:
        """The first subtype of each symbol, and at the end the total number."""
        return np.concatenate([[0], np.cumsum(self.subtypes, dtype=np.int64)])

    @cached_property
    def blocks(self) -> Blocks:
        """Where the weights of each rule are."""
        slots = (self.lhs, self.left, self.right)
        sizes = [np.where(slot >= 0, self.subtypes[slot], 1).astype(np.int64) for slot in slots]
        places = [np.where(slot >= 0, self.first[slot], -1) for slot in slots]
        places[0][self.lhs < 0] = self.n_subtypes
        ptr = np.concatenate([[0], np.cumsum(sizes[0] * sizes[1] * sizes[2])])
        return Blocks(ptr, *places, *sizes)

    @property
    def size(self) -> int:
        """The number of weights."""
        return int(self.blocks.ptr[-1])

    @property
    def n_subtypes(self) -> int:
        """The number of subtypes of all symbols."""
        return int(self.first[-1])

    @cached_property
    def is_tag(self) -> npt.NDArray[np.bool_]:
        """Whether each subtype belongs to a tag; also has an entry for ROOT, which does not."""
        tags = np.zeros(len(self.subtypes), dtype=bool)
        tags[self.lhs[self.lexical_start :]] = True
        return np.append(np.repeat(tags, self.subtypes), False)

    def with_subtypes(self, subtypes: Ints) -> Shape:
        """The same rules with other numbers of subtypes."""
        return replace(self, subtypes=np.ascontiguousarray(subtypes, np.int32))

    def subtypes_at(self, places: Places) -> tuple[Ints, Ints, Ints]:
        """The subtypes of left-hand side, left and right child of the weights at some indices, NONE for no symbol."""
        blocks = self.blocks
        rule = np.searchsorted(blocks.ptr, places, side="right") - 1
        rest, right = np.divmod(places - blocks.ptr[rule], blocks.n_right[rule])
        lhs, left = np.divmod(rest, blocks.n_left[rule])
        slots = ((self.lhs, blocks.lhs, lhs), (self.left, blocks.left, left), (self.right, blocks.right, right))
        found = [np.where(symbol[rule] >= 0, first[rule] + number, NONE) for symbol, first, number in slots]
        return found[0].astype(np.int32), found[1].astype(np.int32), found[2].astype(np.int32)

    def mean_of_symbol(self, values: Floats) -> Floats:
        """The mean over each symbol's subtypes, repeated for each of them; (n_subtypes,) in and out."""
        means: Floats = np.repeat(np.add.reduceat(values, self.first[:-1]) / self.subtypes, self.subtypes)
        return means


def shape_of(grammar: Grammar, subtypes: Ints) -> Shape:
    """The shape of a grammar whose symbols have these numbers of subtypes."""
    if subtypes.shape != (len(grammar.symbols),):
        raise GrammarError(f"there are {len(subtypes)} numbers of subtypes for {len(grammar.symbols)} symbols")
    is_word = np.arange(grammar.n_rules) >= grammar.lexical_start
    return Shape(
        np.ascontiguousarray(subtypes, np.int32),
        grammar.rule_lhs,
        np.where(is_word, np.int32(NONE), grammar.rule_left),
        grammar.rule_right,
        grammar.n_binary,
        grammar.root_start,
        grammar.lexical_start,
    )


class Subtyped(DiscreteFamily):
    """A family that is equivalent to a grammar with discrete subtypes, `finest`."""

    @property
    @abstractmethod
    def finest(self) -> Lvg:
        """The equivalent grammar."""

    @property
    def subtypes(self) -> Ints:
        """The number of subtypes of each symbol."""
        return self.finest.shape.subtypes

    def rule_weights(self, rule: int) -> Floats:
        """The weights of a rule between subtypes: (left-hand side, left child, right child), 1 for what it lacks."""
        blocks = self.finest.shape.blocks
        shape = blocks.n_lhs[rule], blocks.n_left[rule], blocks.n_right[rule]
        return self.finest.weight[blocks.ptr[rule] : blocks.ptr[rule + 1]].reshape(shape)

    def subtype_rule_weights(self, symbol: int, subtype: int) -> dict[int, float]:
        """The rules of a subtype of a symbol; their weights, summed over the subtypes of children, largest first."""
        rules = np.flatnonzero(self.finest.shape.lhs == symbol).tolist()
        found = {rule: float(self.rule_weights(rule)[subtype].sum()) for rule in rules}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest; `edge_weight` is left empty, since no edge has a weight of its own."""
        edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
        factors, level = split_factors(log_factor), self.finest.level
        log_z = coarse_to_fine(parts_of(forest), factors, level, 0.0, edge, node)
        return Posterior(log_z, node, edge, _NOTHING)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations sampled independently from the posterior; edges with parents first."""
        if not np.isfinite(self.log_z(forest, log_factor)):
            raise GrammarError("no derivation has any weight: there is none to draw")
        n_edges = 2 * forest.n_nodes
        uniform = np.random.default_rng(seed).random((count, 2 * n_edges))
        chosen, sizes = np.empty((count, n_edges), np.int32), np.empty(count, np.int32)
        draw_many(parts_of(forest), split_factors(log_factor), self.finest.weights, uniform, chosen, sizes)
        return [row[:size].copy() for row, size in zip(chosen, sizes, strict=True)]

    def subtype_rules(self) -> SubtypeRules:
        """The weights of the finest grammar."""
        shape, rows = self.finest.shape, self.finest.rows
        ptr = np.searchsorted(rows, shape.blocks.ptr).astype(np.int32)
        return SubtypeRules(shape.first.astype(np.int32), ptr, *shape.subtypes_at(rows), self.finest.weight[rows])

    def subtype_uses(self, packed: Ints) -> Floats:
        """The expected uses of the weights of the finest grammar."""
        finest, slope = self.finest, np.zeros(self.finest.shape.size)
        finest.add_uses(packed, Ask([1.0] * count_packed(packed), slope))
        uses: Floats = (slope * finest.weight)[finest.rows]
        return uses

    @property
    def hierarchy(self) -> Ints | None:
        """The group of each subtype at each level, if there is a hierarchy; (levels, n_subtypes)."""
        return None

    def insights(self, grammar: Grammar) -> list[Insight]:
        """The subtypes of each symbol, with the rules and words that they are used in."""
        view, rules = tree_view(grammar), self.subtype_rules()
        rule = np.repeat(np.arange(grammar.n_rules), np.diff(rules.ptr))
        slots = (rules.left, rules.right)
        uses = expected_uses(grammar.count, rules.first, rule, rules.weight, rules.lhs, slots)
        is_word = rule >= grammar.lexical_start
        over_rules, over_words = np.where(is_word, NONE, rules.lhs), np.where(is_word, rules.lhs, NONE)
        owners = [over_rules, over_words, *slots]
        return [view.insight(self.name, view.with_subtypes(rules.first, rule, uses, owners, self.hierarchy))]

    def describe(self) -> Facts:
        """Numbers of subtypes and parameters."""
        return {"subtypes": self.finest.shape.n_subtypes, "parameters": int(self.value.size)}


@dataclass(frozen=True, eq=False)
class Lvg(Subtyped):
    """Rule weights in the linear domain, in blocks as described by `shape`."""

    shape: Shape
    weight: Floats

    name = "lvg"

    def __post_init__(self) -> None:
        if self.weight.shape != (self.shape.size,):
            raise GrammarError(f"there are {self.weight.size} weights where {self.shape.size} are needed")
        if not (np.isfinite(self.weight).all() and (self.weight >= 0.0).all()):
            raise GrammarError("a weight is not a number from 0 upwards")

    @property
    def finest(self) -> Lvg:
        """The grammar itself."""
        return self

    @cached_property
    def value(self) -> Floats:
        """The log weights."""
        with np.errstate(divide="ignore"):
            return np.log(self.weight)

    def with_value(self, value: Floats) -> Lvg:
        """The grammar with other log weights."""
        return Lvg(self.shape, np.exp(value))

    def arrays(self) -> Arrays:
        """Numbers of subtypes, and weights."""
        return {"subtypes": self.shape.subtypes, "weight": self.weight}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Lvg:
        """The grammar in a model file."""
        check_arrays(arrays, LVG_ARRAYS)
        check_facts(facts, {})
        return cls(shape_of(grammar, arrays["subtypes"]), arrays["weight"])

    @cached_property
    def rows(self) -> Places:
        """The indices of the weights above 0, and of the first weight of each rule that has none."""
        is_row = self.weight > 0.0
        begins = self.shape.blocks.ptr[:-1]
        is_row[begins] |= ~np.logical_or.reduceat(is_row, begins)
        return np.flatnonzero(is_row)

    @cached_property
    def weights(self) -> Weights:
        """The weights as the kernels need them."""
        return Weights(self.shape.subtypes, self.shape.blocks.ptr, self.weight)

    @cached_property
    def level(self) -> Levels:
        """The grammar as the only level of a hierarchy."""
        shape, group = self.shape, np.zeros(self.shape.n_subtypes, np.int32)
        return Levels(shape.subtypes[None], shape.blocks.ptr[None], self.weight, shape.first[None], group)

    @cached_property
    def is_probability(self) -> bool:
        """Whether the weights of all trees sum to one, because those of each subtype do."""
        stay, step = self._stays(), self.weight.copy()
        shape = self.shape
        scale_children(shape.blocks, shape.n_binary, shape.root_start, step, stay)
        sums = np.zeros(shape.n_subtypes + 1)
        sum_rows(shape.blocks, 0, len(shape.blocks.lhs), step, sums)
        return bool(np.allclose(sums[sums > 0.0], 1.0, rtol=0.0, atol=1e-6))

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the packed forests; adds sign × the expected uses of weights to `slope`."""
        if ask.slope is None:
            parts = [(unpack_forest(part), split_factors(factor)) for part, factor in split_batch(packed, log_factor)]
            return np.array([coarse_to_fine(*part, self.level, 0.0, _NOTHING, _NOTHING) for part in parts])
        slopes = np.zeros_like(ask.slope)
        log_z = self.add_uses(packed, ask._replace(slope=slopes), log_factor)
        ask.slope[:] += slopes * self.weight
        return log_z

    def add_uses(self, packed: Ints, ask: Ask, log_factor: Floats | None = None, usage: Floats | None = None) -> Floats:
        """Like `run`, but with derivatives with respect to the weights in `ask.slope`; also adds the uses of subtypes.

        Multiplied by the weights, the derivatives are the expected uses, which are the derivatives with respect to log
        weights.
        """
        log_z, factors, sign = np.empty(len(ask.signs)), split_factors(log_factor), np.array(ask.signs, dtype=float)
        usage = _NOTHING if usage is None else usage
        edge_slope = _NOTHING if ask.edge_slope is None else ask.edge_slope
        run(packed, sign, factors, self.weights, log_z, edge_slope, ask.slope, usage)
        return log_z

    def project(self, group: Ints, usage: Floats) -> Lvg:
        """The grammar whose subtypes are groups of subtypes, each a mixture of its members weighted by their uses.

        group: the number of each subtype's group within its symbol. If the probabilities of each subtype summed to one
        before, they still do  [math: projection].
        """
        old = self.shape
        counts = np.maximum.reduceat(group, old.first[:-1]) + 1
        new = old.with_subtypes(counts)
        place = np.repeat(new.first[:-1], old.subtypes) + group
        usage = np.maximum(usage, 1e-30)
        share = np.append(usage / np.bincount(place, weights=usage)[place], 1.0)
        values, weight = self.weight.copy(), np.zeros(new.size)
        scale_children(old.blocks, old.n_binary, old.root_start, values, self._stays())
        regroup(old.blocks, new.blocks, np.append(group, 0), share, values, weight)
        projected = Lvg(new, weight)
        scale_children(new.blocks, new.n_binary, new.root_start, weight, _inverse(projected._stays()))
        return projected

    def _stays(self) -> Floats:
        """The probability that a subtype takes no unary step: the sum of its binary rules; 1 for tags."""
        shape = self.shape
        stay = np.zeros(shape.n_subtypes + 1)
        sum_rows(shape.blocks, 0, shape.n_binary, self.weight, stay)
        stay[shape.is_tag] = 1.0
        return stay


LVG_ARRAYS = {"subtypes": (np.int32, 1), "weight": (np.float64, 1)}
_NOTHING = np.empty(0)


def from_counts(shape: Shape, counts: Floats, rules: float = 0.0, words: float = 0.0) -> Lvg:
    """The grammar with probabilities estimated from these counts of rules between subtypes  [math: lvg-em].

    Like `pcfg_weights` with one subtype per symbol. rules, words: the share of the mean over the symbol's subtypes in
    each probability of a rule or word.
    """
    blocks, unary, root, lexical = shape.blocks, shape.n_binary, shape.root_start, shape.lexical_start
    n_rules = len(blocks.lhs)
    branching, with_unary, below, others = (np.zeros(shape.n_subtypes + 1) for _ in range(4))
    sum_rows(blocks, 0, unary, counts, branching)
    sum_rows(blocks, unary, root, counts, with_unary)
    sum_children(blocks, unary, root, counts, below)
    sum_rows(blocks, root, n_rules, counts, others)

    prior = np.append(STAY_PRIOR / np.repeat(shape.subtypes, shape.subtypes), 0.0)
    plain = np.where(branching > 0.0, np.maximum(branching - below, 0.0) + prior, 0.0)
    stay = plain * _inverse(with_unary + plain)
    step = (1.0 - stay) * _inverse(with_unary)
    stay[shape.is_tag] = 1.0
    stay[:-1] = (1.0 - rules) * stay[:-1] + rules * shape.mean_of_symbol(stay[:-1])

    weight = counts.copy()
    for begin, end, factor, share in (
        (0, unary, _inverse(branching), rules),
        (unary, root, step, rules),
        (root, lexical, _inverse(others), 0.0),
        (lexical, n_rules, _inverse(others), words),
    ):
        scale_rows(blocks, begin, end, weight, factor)
        if share > 0.0:
            draw_together(blocks, begin, end, weight, share)
    scale_rows(blocks, 0, unary, weight, stay)
    scale_children(blocks, unary, root, weight, _inverse(stay))
    weight[weight < _LEAST] = 0.0
    return Lvg(shape, weight)


_LEAST = 1e-30  # smaller probabilities are set to 0: arithmetic with numbers below 1e-308 is slow


def _inverse(values: Floats) -> Floats:
    """One over each value, 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0.0)


def from_pcfg(grammar: Grammar, weight: Floats) -> Lvg:
    """The treebank grammar as one with a single subtype per symbol."""
    return Lvg(shape_of(grammar, np.ones(len(grammar.symbols), np.int32)), weight.astype(np.float64))
