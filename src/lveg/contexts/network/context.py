"""A network that scores anchored rules, given the vectors of the words around them  [math: network]."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lveg.contexts.context import ForestContext, Kept, forest_rows
from lveg.contexts.layers import Neural, Sizes, restore_layers
from lveg.families.family import Arrays, Facts
from lveg.forest.forest import Forest
from lveg.forest.reasons import Term
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import sum_of
from lveg.kernels.network import N_EDGES, N_PLACES, N_SHAPES, PADDING, WINDOW, anchor, fill_layer, visit

PLACES = (
    "2 before", "before", "first", "second", "last but one", "last", "after", "2 after",
    "2 left of split", "left of split", "right of split", "2 right of split",
)  # fmt: skip
"""The positions of the words that are inputs of the hidden layer, in the order of the kernels."""


@dataclass(frozen=True, eq=False)
class Network(Neural, ForestContext):
    """A network with one hidden layer, and outputs for rules and left-hand sides; lexical rules have only the latter.

    least: in training, edges with a smaller absolute gradient are ignored.
    """

    grammar: Grammar = field(kw_only=True)
    least: float = 0.0

    name = "network"

    @cached_property
    def _total_out(self) -> Floats:
        """Output weights of rules, with those of their left-hand sides added; then those of symbols."""
        out: Floats = self.layers.net(self.value).out.copy()
        n_rules = self.grammar.lexical_start
        out[:n_rules] += out[n_rules + self.grammar.rule_lhs[:n_rules]]
        return out

    def rows(self, forest: Forest) -> Ints:
        """The words of a forest, its nodes and its edges (see kernels.network)."""
        return forest_rows(self.layers.inputs.padded(forest.words, PADDING), forest)

    def score(self, rows: Ints, noise: int = 0, kept: Kept | None = None) -> Floats:
        """The output for the rule of each edge."""
        found = np.zeros(sum_of(rows, N_EDGES))
        share = np.ones_like(found) if kept is None else kept.astype(np.float64)
        self._visit(rows, found, share, None, 0.5, noise)
        return found

    def add(self, rows: Ints, edge_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Backpropagate through the network."""
        self._visit(rows, None, edge_slope, slope, self.least, noise)
        return np.arange(slope.size, dtype=np.int32)

    def _visit(
        self, rows: Ints, edge_score: Floats | None, edge_slope: Floats, slope: Floats | None, least: float, noise: int
    ) -> None:
        slopes = None if slope is None else self.layers.net(slope)
        visit(
            rows, self.layers.inputs.columns, self.layers.inputs.given, self.layers.net(self.value), self._total_out,
            self.grammar.lexical_start, edge_score, edge_slope, slopes, least, noise, self.dropout, self.input_dropout,
        )  # fmt: skip

    def reasons(self, grammar: Grammar, forest: Forest, edges: Ints) -> list[list[Term]]:
        """For each edge, which must have a rule, the contributions of the words around it and of lengths to its output.

        Active rectified units are linear in each word, so the contributions add up to the output.
        """
        net, padded = self.layers.net(self.value), self.layers.inputs.padded(forest.words, PADDING)
        inputs = self.layers.vectors_of(np.array(padded, np.int32), net)
        projected = (inputs @ net.project).reshape(len(padded), N_PLACES, self.layers.units)
        return [self._edge_reasons(forest, edge, projected, net.shape) for edge in edges.tolist()]

    def _edge_reasons(self, forest: Forest, edge: int, projected: Floats, shape: Floats) -> list[Term]:
        rule, node, right = int(forest.edge_rule[edge]), forest.edge_head[edge], forest.edge_right[edge]
        symbol, start, end = (int(array[node]) for array in (forest.node_symbol, forest.node_start, forest.node_end))
        split = end if right < 0 else int(forest.node_start[right])
        is_word = rule >= self.grammar.lexical_start
        kind = 0 if is_word else 1 if split == end else 2
        places = [
            (place, anchor(place // WINDOW, start, split, end) + place % WINDOW)
            for place in range(N_PLACES if kind == 2 else 2 * WINDOW)
        ]
        lengths = np.empty(self.layers.units)
        fill_layer(np.zeros((len(projected), N_PLACES * self.layers.units)), shape, kind, start, split, end, lengths)
        parts = np.stack([lengths, *(projected[word, place] for place, word in places)])
        out = self._total_out[self.grammar.lexical_start + symbol if is_word else rule]
        values = parts @ np.where(parts.sum(axis=0) > 0.0, out, 0.0)
        name = self.grammar.symbols[symbol].name if is_word else self.grammar.describe_rule(rule)
        words = [
            f'{PLACES[place]} "{forest.words[word - PADDING]}"'
            if 0 <= word - PADDING < forest.n_words
            else f"nothing {PLACES[place]}"
            for place, word in places
        ]
        return [(f"{text} & {name}", float(value)) for text, value in zip(["lengths", *words], values, strict=True)]

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Network:
        """The context from a model file."""
        return cls(*restore_layers(arrays, facts, sizes(grammar)), grammar=grammar)


def sizes(grammar: Grammar) -> Sizes:
    """The sizes of a network; its outputs are for rules that are not lexical, and for symbols."""
    return Sizes(N_PLACES, N_SHAPES, int(grammar.lexical_start) + grammar.n_nonterminals + len(grammar.tags))
