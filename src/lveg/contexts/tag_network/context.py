"""A network that scores the tags of a word, given its vector and those of its neighbours  [math: network]."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.contexts.inputs import MANY
from lveg.contexts.layers import Neural, Sizes, product, restore_layers, start_layers
from lveg.contexts.network.options import NetworkOptions
from lveg.contexts.tag_network.projections import N_NEAR, PADDING, Projections, hidden_layer, neighbours
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import entries, extents
from lveg.kernels.factors import each_packed
from lveg.kernels.network import add_at


class Pass(NamedTuple):
    """The values of a pass through the network.

    distinct (vectors, columns): the different rows among those of all words; each is projected once. near (words,
    N_NEAR): the number of the row of each word and of its neighbours. inputs (vectors, dimensions), hidden (words,
    units): after dropout, by which input_kept and unit_kept multiplied them.
    """

    distinct: Ints
    near: Ints
    inputs: Floats
    hidden: Floats
    input_kept: Floats
    unit_kept: Floats


@dataclass(frozen=True, eq=False)
class TagNetwork(Neural, ChainContext):
    """A network with one hidden layer, and one output for each state of each tag."""

    tags: int = field(kw_only=True)
    width: int = field(kw_only=True)

    name = "network"

    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """For each sentence the size, and the numbers of the vectors of each word, including padding."""
        inputs = self.layers.inputs
        number = {word: index for index, word in enumerate(dict.fromkeys(chain.from_iterable(sentences)), 1)}
        table = np.array([inputs.edge, *map(inputs.row, number)], np.int32)
        edges = [0] * PADDING
        padded = [[*edges, *map(number.__getitem__, words), *edges] for words in sentences]
        sizes = np.fromiter(map(len, padded), np.int64, len(padded)) * inputs.columns
        flat = table[np.fromiter(chain.from_iterable(padded), np.int64, sizes.sum() // inputs.columns)].ravel()
        return np.insert(flat, np.cumsum(sizes) - sizes, sizes + 1)

    def score(self, lattices: Ints, rows: Ints, noise: int = 0) -> Floats:
        """The output for each state of each entry."""
        return self._outputs(lattices, self._forward(rows, noise).hidden)

    def factors(self, lattices: Ints, sentences: Sequence[Sequence[str]]) -> Floats:
        """The same outputs; words that were met before are not projected again."""
        projected, near = self._known.look_up(sentences)
        hidden = hidden_layer(projected, near, self._known.net)
        return self._outputs(lattices, np.maximum(hidden, 0.0, out=hidden))

    @cached_property
    def _known(self) -> Projections:
        return Projections(self.layers, self.layers.net(self.value))

    def _outputs(self, lattices: Ints, hidden: Floats) -> Floats:
        """The output for each state of each entry, given the hidden layer of each word."""
        outputs = product(hidden, self.layers.net(self.value).out.T)
        if extents(lattices)[2] == len(outputs) * self.tags:  # every word may have every tag
            return outputs.reshape(-1, self.width)
        found: Floats = outputs.reshape(-1, self.tags, self.width)[entries(lattices)]
        return found

    def add(self, lattices: Ints, rows: Ints, factor_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Backpropagate through the network."""
        net, slopes, made = self.layers.net(self.value), self.layers.net(slope), self._forward(rows, noise)
        by_state = np.zeros((len(made.hidden), self.tags, self.width))
        by_state[entries(lattices)] = factor_slope
        output_slope = by_state.reshape(len(made.hidden), -1)
        slopes.out[:] += product(output_slope.T, made.hidden)
        hidden_slope = product(output_slope, net.out) * made.unit_kept * (made.hidden > 0.0)
        slopes.shape[0] += hidden_slope.sum(axis=0)
        by_place = np.zeros((len(made.distinct) * N_NEAR, self.layers.units))
        for place in range(N_NEAR):
            add_at(by_place, made.near[:, place] * N_NEAR + place, hidden_slope)
        projected_slope = by_place.reshape(len(made.distinct), -1)
        slopes.project[:] += product(made.inputs.T, projected_slope)
        given = self.layers.inputs.given.shape[1]
        vector_slope = product(projected_slope, net.project[given:].T) * made.input_kept[:, given:]
        word, column = np.nonzero(made.distinct[:, 1:] >= 0)
        add_at(slopes.embed, made.distinct[:, 1:][word, column], vector_slope[word])
        return np.arange(slope.size, dtype=np.int32)

    def _forward(self, rows: Ints, noise: int) -> Pass:
        """The hidden layer of each word. noise: random seed of dropout; 0 for no dropout."""
        net, columns = self.layers.net(self.value), self.layers.inputs.columns
        parts = [part[1:] for part in each_packed(rows)]
        distinct, number = different(np.concatenate(parts).reshape(-1, columns))
        near = neighbours(number, [part.size // columns - 2 * PADDING for part in parts])
        random = np.random.default_rng(noise) if noise else None
        inputs = self.layers.vectors_of(distinct, net)
        input_kept = keep(inputs.shape, self.input_dropout, random)
        inputs *= input_kept
        hidden = hidden_layer(product(inputs, net.project), near, net)
        unit_kept = keep(hidden.shape, self.dropout, random)
        np.maximum(hidden, 0.0, out=hidden)
        hidden *= unit_kept
        return Pass(distinct, near, inputs, hidden, input_kept, unit_kept)

    def widened(self, width: int) -> TagNetwork:
        """A copy for tags with `width` states, with the same output for each state."""
        layers = replace(self.layers, sizes=sizes(self.tags, width))
        net = self.layers.net(self.value)
        parts = [part.ravel() for part in net._replace(out=np.repeat(net.out, width, axis=0))]
        return replace(self, layers=layers, value=np.concatenate(parts), width=width)

    def facts(self) -> Facts:
        """Names of the vectors, sizes of the layers, and the numbers of tags and of states per tag."""
        return super().facts() | {"tags": self.tags, "width": self.width}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> TagNetwork:
        """The context from a model file."""
        facts = dict(facts)
        tags, width = facts.pop("tags", None), facts.pop("width", None)
        if type(tags) is not int or type(width) is not int or min(tags, width) < 1:
            raise GrammarError("the numbers of tags and of states per tag must be at least 1")
        return cls(*restore_layers(arrays, facts, sizes(tags, width), MANY), tags=tags, width=width)


def different(rows: Ints) -> tuple[Ints, Ints]:
    """(the different rows, the number of each row among them); rows with equal 64-bit hashes are taken to be equal."""
    odd = np.random.default_rng(0).integers(1, 2**62, rows.shape[1]) | 1
    _, index, number = np.unique(rows.astype(np.int64) @ odd, return_index=True, return_inverse=True)
    return rows[index], number.astype(np.int32)


def keep(shape: tuple[int, int], dropout: float, random: np.random.Generator | None) -> Floats:
    """Factors of dropout: 0, or 1 / (1 - dropout); all 1 without random numbers."""
    if random is None or dropout == 0.0:
        return np.ones((1, shape[1]))
    is_kept = random.random(shape, np.float32) >= dropout
    return is_kept / (1.0 - dropout)


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
