"""A network that scores anchored rules by the vectors of the words around them  [math: network]."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lveg.contexts.context import ForestContext, Kept, forest_rows
from lveg.contexts.inputs import COLUMNS
from lveg.contexts.layers import Neural, Sizes, restore_layers
from lveg.families.family import Arrays, Facts
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import sum_of
from lveg.kernels.network import N_EDGES, N_PLACES, N_SHAPES, PADDING, visit


@dataclass(frozen=True, eq=False)
class Network(Neural, ForestContext):
    """One hidden layer; outputs for rules, and for left-hand sides, which are all that words have.

    least: slopes of edges below it are neglected while the network is learned.
    """

    grammar: Grammar = field(kw_only=True)
    least: float = 0.0

    name = "network"

    @cached_property
    def _total_out(self) -> Floats:
        """The outputs of rules with those of their left-hand sides, then those of symbols."""
        out: Floats = self.layers.net(self.value).out.copy()
        n_rules = self.grammar.lexical_start
        out[:n_rules] += out[n_rules + self.grammar.rule_lhs[:n_rules]]
        return out

    def rows(self, forest: Forest) -> Ints:
        """The words of a forest, its nodes and its edges (see kernels.network)."""
        return forest_rows(self.layers.inputs.padded(forest.words, PADDING), forest)

    def score(self, rows: Ints, noise: int = 0, kept: Kept | None = None) -> Floats:
        """The output of each edge's rule."""
        found = np.zeros(sum_of(rows, N_EDGES))
        share = np.ones_like(found) if kept is None else kept.astype(np.float64)
        self._visit(rows, found, share, None, 0.5, noise)
        return found

    def add(self, rows: Ints, edge_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Go back through the network."""
        self._visit(rows, None, edge_slope, slope, self.least, noise)
        return np.arange(slope.size, dtype=np.int32)

    def _visit(
        self, rows: Ints, edge_score: Floats | None, edge_slope: Floats, slope: Floats | None, least: float, noise: int
    ) -> None:
        slopes = None if slope is None else self.layers.net(slope)
        visit(
            rows, COLUMNS, self.layers.inputs.given, self.layers.net(self.value), self._total_out,
            self.grammar.lexical_start, edge_score, edge_slope, slopes, least, noise, self.dropout,
        )  # fmt: skip

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Network:
        """The context in a model file."""
        return cls(*restore_layers(arrays, facts, sizes(grammar)), grammar=grammar)


def sizes(grammar: Grammar) -> Sizes:
    """The sizes of a network; its outputs are for rules of phrases, and for symbols."""
    return Sizes(N_PLACES, N_SHAPES, int(grammar.lexical_start) + grammar.n_nonterminals + len(grammar.tags))
