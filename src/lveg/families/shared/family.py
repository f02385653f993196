"""One space for all symbols: a symbol is a region of it, and all rules share the same Gaussians  [math: shared]."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_size, views
from lveg.families.forest import SUMS, Ask, ForestFamily, Posterior, count_packed, pack
from lveg.families.shared.options import MOST_COMPONENTS
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import split_factors
from lveg.kernels.shared import LEFT, N_KINDS, RIGHT, ROOT, UNARY, Slopes, Tables, draw_many, number_words, run
from lveg.kernels.shared_rows import Rows, Space, add_row_slopes, fill_rows
from lveg.kernels.shared_rows import Slopes as RowSlopes

MOST_PARAMETER = 100.0
"""Bound on abs(parameter), so that products of their exponentials are finite; trained parameters are far below it."""


MOST_OVERLAPS = 2**25
"""Maximum size of the table of overlaps: for each child slot of each symbol, components × components, 8 bytes each."""


class Parameters(NamedTuple):
    """All parameters, or arrays of the same shapes.

    bias: of each rule. height: (kinds, M), log heights of Gaussians over child slots. Means and log deviations: of
    left-hand sides (M, dim), of child slots (kinds, dim, M), of the parts of regions (symbols, parts, dim), of words
    (lexical rules, dim), relative to the middle of the tag's region, and (lexical rules, 1).
    """

    bias: Floats
    height: Floats
    lhs_mean: Floats
    lhs_log_std: Floats
    slot_mean: Floats
    slot_log_std: Floats
    region_mean: Floats
    region_log_std: Floats
    word_mean: Floats
    word_log_std: Floats


AXES = Parameters(1, 2, 2, 2, 3, 3, 3, 3, 2, 2)  # type: ignore[arg-type]
"""The number of axes of each array."""


@dataclass(frozen=True)
class Rules:
    """What the family needs of the grammar.

    block: (symbols, kinds), the first row for each symbol and kind of child slot in which it occurs, divided by the
    number of components; -1 if it does not occur there, and for tags. tag: of each lexical rule.
    """

    block: Ints
    tag: Ints
    n_rules: int

    @property
    def lexical_start(self) -> int:
        """The first lexical rule."""
        return self.n_rules - len(self.tag)


def rules_of(grammar: Grammar) -> Rules:
    """What the family needs of a grammar."""
    binary, unary, root = slice(0, grammar.n_binary), grammar.kind_slice("unary"), grammar.kind_slice("root")
    is_asked = np.zeros((len(grammar.symbols), N_KINDS), bool)
    is_asked[grammar.rule_left[binary], LEFT] = True
    is_asked[grammar.rule_right[binary], RIGHT] = True
    is_asked[grammar.rule_left[unary], UNARY] = True
    is_asked[grammar.rule_left[root], ROOT] = True
    is_asked[grammar.n_nonterminals :] = False
    block = np.where(is_asked, np.cumsum(is_asked).reshape(is_asked.shape) - 1, -1)
    return Rules(block.astype(np.int32), grammar.rule_lhs[grammar.lexical_start :], grammar.n_rules)


@dataclass(frozen=True, eq=False)
class Shared(ForestFamily):
    """Rules of a grammar, and parameters: `parameters` are views of the vector `value`."""

    rules: Rules
    parameters: Parameters
    value: Floats

    name = "shared"

    def __post_init__(self) -> None:
        check_size(self.value, MOST_PARAMETER)

    @classmethod
    def of(cls, rules: Rules, parameters: Parameters) -> Shared:
        """The family with a copy of the parameters in one vector."""
        components, blocks = len(parameters.lhs_mean), int(rules.block.max(initial=-1)) + 1
        if blocks * components**2 > MOST_OVERLAPS:
            raise GrammarError(
                f"{components} components are too many for its rules: tables of overlaps would be too large"
            )
        value = np.concatenate([array.ravel() for array in parameters])
        return cls(rules, _views(parameters, value), value)

    def with_value(self, value: Floats) -> Shared:
        """The same rules with other parameters; the vector is not copied."""
        return Shared(self.rules, _views(self.parameters, value), value)

    def arrays(self) -> Arrays:
        """The parameters by name."""
        return self.parameters._asdict()

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Shared:
        """The grammar from a model file."""
        check_arrays(arrays, {name: (np.float64, axes) for name, axes in AXES._asdict().items()})
        check_facts(facts, {})
        found = Parameters(**arrays)
        components, dim = found.lhs_mean.shape
        expected = shapes(grammar, components, dim, found.region_mean.shape[1])
        if min(dim, found.region_mean.shape[1]) < 1 or not 1 <= components <= MOST_COMPONENTS:
            raise GrammarError(f"it needs dimensions, parts of regions, and from 1 to {MOST_COMPONENTS} components")
        if tuple(array.shape for array in found) != expected:
            raise GrammarError("its arrays do not have the shapes that its rules need")
        return cls.of(rules_of(grammar), found)

    def describe(self) -> Facts:
        """Numbers of components, dimensions and parts of regions."""
        components, dim = self.parameters.lhs_mean.shape
        parts = self.parameters.region_mean.shape[1]
        return {"components": components, "dim": dim, "parts": parts, "parameters": int(self.value.size)}

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each packed forest; adds sign × its gradient to `slope`."""
        log_z = np.empty(count_packed(packed))
        factors, (tables, words) = split_factors(log_factor), self._tables(packed)
        if ask.slope is None:
            run(packed, np.ones(len(log_z)), factors, tables, False, log_z, _NO_SLOPES, _NOTHING, _NOTHING)
            return log_z
        sign, edge_slope = np.array(ask.signs, dtype=float), _NOTHING if ask.edge_slope is None else ask.edge_slope
        into = _views(self.parameters, ask.slope)
        slopes = Slopes(into.bias, np.zeros_like(tables.row), np.zeros_like(tables.word_row))
        run(packed, sign, factors, tables, True, log_z, slopes, edge_slope, _NOTHING)
        common = into.region_mean, into.region_log_std, into.slot_mean, into.slot_log_std, into.height
        lhs = RowSlopes(*common, into.lhs_mean, into.lhs_log_std)
        add_row_slopes(self.space, self._rows, *self._lhs, slopes.row, False, lhs)
        word = RowSlopes(*common, into.word_mean, into.word_log_std)
        add_row_slopes(self.space, words, *self._words, slopes.word_row, True, word)
        return log_z

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest; `edge_weight` is empty, since an edge has no single weight."""
        packed, log_z = pack(forest), np.empty(1)
        edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
        tables, _ = self._tables(packed)
        run(packed, np.ones(1), split_factors(log_factor), tables, True, log_z, _NO_SLOPES, edge, node)
        return Posterior(float(log_z[0]), node, edge, _NOTHING)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations drawn from the posterior, independently; edges with parents first."""
        if not np.isfinite(self.log_z(forest, log_factor)):
            raise GrammarError("no derivation has any weight: there is none to draw")
        n_edges, packed = 2 * forest.n_nodes, pack(forest)
        uniform = np.random.default_rng(seed).random((count, 2 * n_edges))
        chosen, sizes = np.empty((count, n_edges), np.int32), np.empty(count, np.int32)
        draw_many(packed, split_factors(log_factor), self._tables(packed)[0], uniform, chosen, sizes)
        return [row[:size].copy() for row, size in zip(chosen, sizes, strict=True)]

    @cached_property
    def space(self) -> Space:
        """Regions and child slots, in the layout of the kernels."""
        own = self.parameters
        return Space(
            own.region_mean, _precision(own.region_log_std), own.slot_mean, _precision(own.slot_log_std),
            np.exp(own.height),
        )  # fmt: skip

    @cached_property
    def _lhs(self) -> tuple[Floats, Floats]:
        """Means and precisions of left-hand sides."""
        return self.parameters.lhs_mean, _precision(self.parameters.lhs_log_std)

    @cached_property
    def _words(self) -> tuple[Floats, Floats]:
        """Means and precisions of words."""
        own, tag = self.parameters, self.rules.tag
        mean = own.word_mean + own.region_mean.mean(axis=1)[tag]
        return mean, np.repeat(_precision(own.word_log_std), mean.shape[1], axis=1)

    @cached_property
    def _rows(self) -> Rows:
        """The rows of left-hand sides."""
        components = len(self.parameters.lhs_mean)
        symbol, kind = (np.repeat(array, components) for array in np.nonzero(self.rules.block >= 0))
        below = np.arange(len(symbol)) % components
        return Rows(symbol.astype(np.int32), kind.astype(np.int32), below.astype(np.int32))

    @cached_property
    def _table(self) -> Floats:
        """Overlaps of the Gaussians of child slots and left-hand sides in each region."""
        table = np.empty((len(self._rows.symbol), len(self.parameters.lhs_mean)))
        fill_rows(self.space, self._rows, *self._lhs, table)
        return table

    @cached_property
    def _weight(self) -> Floats:
        weight: Floats = np.exp(self.parameters.bias)
        return weight

    @cached_property
    def _block(self) -> Ints:
        """The first row of each symbol in each kind of slot, -1 for none."""
        block, components = self.rules.block, len(self.parameters.lhs_mean)
        return np.where(block >= 0, block * np.int32(components), np.int32(-1))

    def _tables(self, packed: Ints) -> tuple[Tables, Rows]:
        """Tables for inference over packed forests, and the rows of their words."""
        numbers = np.full((len(self.rules.tag), N_KINDS), -1, np.int32)
        word, kind = number_words(packed, self.rules.lexical_start, numbers)
        rows, table = Rows(self.rules.tag[word], kind, word), np.empty((len(word), len(self.parameters.lhs_mean)))
        fill_rows(self.space, rows, *self._words, table)
        return Tables(self._weight, self._block, self._table, self.rules.lexical_start, numbers, table), rows


def shapes(grammar: Grammar, components: int, dim: int, parts: int) -> tuple[tuple[int, ...], ...]:
    """The shapes of all parameters."""
    n_words, n_symbols = grammar.n_rules - grammar.lexical_start, len(grammar.symbols)
    lhs, slot, region = (components, dim), (N_KINDS, dim, components), (n_symbols, parts, dim)
    return (
        (grammar.n_rules,), (N_KINDS, components), lhs, lhs, slot, slot, region, region, (n_words, dim), (n_words, 1),
    )  # fmt: skip


def _views(like: Parameters, vector: Floats) -> Parameters:
    """Views, in the shapes of the parameters, of a vector that has one element per parameter."""
    return Parameters(*views(vector, [array.shape for array in like]))


def _precision(log_std: Floats) -> Floats:
    """One over the variance."""
    precision: Floats = np.exp(-2.0 * log_std)
    return precision


_NOTHING = np.empty(0)
_NO_SLOPES = Slopes(_NOTHING, np.empty((0, 0)), np.empty((0, 0)))
