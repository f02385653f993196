"""A network that scores the tags of a word, given its vector and those of its neighbours  [math: network]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.contexts.inputs import MANY
from lveg.contexts.layers import Neural, Sizes, restore_layers, start_layers
from lveg.contexts.network.options import NetworkOptions
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import extents
from lveg.kernels.network import N_NEAR, PADDING, visit_words


@dataclass(frozen=True, eq=False)
class TagNetwork(Neural, ChainContext):
    """A network with one hidden layer, and one output for each state of each tag."""

    tags: int = field(kw_only=True)
    width: int = field(kw_only=True)

    name = "network"

    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """The words of each sentence (see kernels.network)."""
        padded = [np.array(self.layers.inputs.padded(words, PADDING), np.int32).ravel() for words in sentences]
        heads = [np.array([2 + numbers.size, len(words)]) for numbers, words in zip(padded, sentences, strict=True)]
        return np.concatenate([part for pair in zip(heads, padded, strict=True) for part in pair], dtype=np.int32)

    def score(self, lattices: Ints, rows: Ints, noise: int = 0) -> Floats:
        """The output for each state of each entry."""
        score = np.empty((extents(lattices)[2], self.width))
        self._visit(lattices, rows, score, None, None, noise)
        return score

    def add(self, lattices: Ints, rows: Ints, factor_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Backpropagate through the network."""
        self._visit(lattices, rows, None, factor_slope, slope, noise)
        return np.arange(slope.size, dtype=np.int32)

    def _visit(
        self, lattices: Ints, rows: Ints, score: Floats | None, score_slope: Floats | None, slope: Floats | None,
        noise: int,
    ) -> None:  # fmt: skip
        slopes, inputs = None if slope is None else self.layers.net(slope), self.layers.inputs
        visit_words(
            lattices, rows, inputs.columns, inputs.given, self.layers.net(self.value), self.tags, score, score_slope,
            slopes, noise, self.dropout, self.input_dropout,
        )  # fmt: skip

    def widened(self, width: int) -> TagNetwork:
        """A copy for tags with `width` states, with the same output for each state."""
        layers = replace(self.layers, sizes=sizes(self.tags, width))
        net = self.layers.net(self.value)
        parts = [part.ravel() for part in net._replace(out=np.repeat(net.out, width, axis=0))]
        return replace(self, layers=layers, value=np.concatenate(parts), width=width)

    def facts(self) -> Facts:
        """Names of the vectors, sizes of the layers, and the number of states per tag."""
        return super().facts() | {"width": self.width}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> TagNetwork:
        """The context from a model file."""
        facts, tags = dict(facts), len(grammar.tags)
        width = facts.pop("width", None)
        if type(width) is not int or width < 1:
            raise GrammarError("the number of states per tag must be at least 1")
        return cls(*restore_layers(arrays, facts, sizes(tags, width), MANY), tags=tags, width=width)


def sizes(tags: int, width: int) -> Sizes:
    """The sizes of a network for tags with `width` states each."""
    return Sizes(N_NEAR, 1, tags * width)


def start_network(
    sentences: Iterable[Sequence[str]], tags: int, width: int, options: NetworkOptions, seed: int
) -> TagNetwork:
    """An untrained network whose outputs are zero."""
    layers = start_layers(sentences, options, sizes(tags, width), MANY)
    return TagNetwork(
        layers, layers.first_value(seed), options.network_dropout, options.input_dropout, tags=tags, width=width
    )
