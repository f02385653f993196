"""Networks over vectors of words: where their parameters are in one vector, how they start, how files keep them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np

from lveg.contexts.inputs import FEW, Inputs, Parts, learn_inputs
from lveg.contexts.network.options import NetworkOptions
from lveg.contexts.vectors import NO_VECTORS, read_vectors
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value
from lveg.grammar.grammar import Floats
from lveg.kernels.network import Net
from lveg.learning.adam import Adam

LARGEST = 1000.0
"""Bound on abs(parameter)."""

FIRST_EMBEDDING = 0.2
"""Standard deviation of the numbers of learned vectors at first."""


@dataclass(frozen=True)
class Sizes:
    """places: of words that the hidden layer looks at. shapes: rows that are added by what is no word. outputs."""

    places: int
    shapes: int
    outputs: int


@dataclass(frozen=True, eq=False)
class Layers:
    """One hidden layer over the vectors of words; embedding: dimensions of learned vectors."""

    inputs: Inputs
    sizes: Sizes
    embedding: int
    units: int

    @property
    def _shapes(self) -> tuple[tuple[int, int], ...]:
        depth, sizes, units = self.inputs.given.shape[1] + self.embedding, self.sizes, self.units
        return (
            (len(self.inputs.names), self.embedding), (depth, sizes.places * units), (sizes.shapes, units),
            (sizes.outputs, units),
        )  # fmt: skip

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(rows * columns for rows, columns in self._shapes)

    def net(self, vector: Floats) -> Net:
        """The parts of a vector of something for every parameter."""
        ends = np.cumsum([0, *(rows * columns for rows, columns in self._shapes)]).tolist()
        parts = [vector[first:last] for first, last in pairwise(ends)]
        return Net(*(part.reshape(shape) for part, shape in zip(parts, self._shapes, strict=True)))

    def first_value(self, seed: int) -> Floats:
        """Random parameters to start from; outputs are 0, so that nothing is said at first."""
        random, value = np.random.default_rng(seed), np.zeros(self.size)
        net = self.net(value)
        net.embed[:] = random.normal(0.0, FIRST_EMBEDDING, net.embed.shape)
        scale = np.sqrt(2.0 / (net.project.shape[0] * self.sizes.places))
        net.project[:] = random.normal(0.0, scale, net.project.shape)
        return value


@dataclass(frozen=True, eq=False)
class Neural:
    """What contexts that are networks share.

    dropout, input_dropout: the shares of units, and of dimensions of words, that are left out at random in training.
    """

    layers: Layers
    value: Floats
    dropout: float = 0.0
    input_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_value(self.value, self.layers.size, LARGEST)

    def with_value(self, value: Floats) -> Self:
        """The same network with other parameters."""
        return replace(self, value=value)

    def scaled(self, share: float) -> Self:
        """With outputs that are multiplied by a number."""
        value = self.value.copy()
        self.layers.net(value).out[:] *= share
        return replace(self, value=value)

    def rounded(self) -> Self:
        """With parameters as float16."""
        return replace(self, value=self.value.astype(np.float16).astype(np.float64), dropout=0.0, input_dropout=0.0)

    def arrays(self) -> Arrays:
        """Given vectors and parameters, as float16."""
        return {**self.layers.inputs.arrays(), "value": self.value.astype(np.float16)}

    def facts(self) -> Facts:
        """What has vectors, and the sizes of the layers."""
        return {**self.layers.inputs.facts(), "embedding": self.layers.embedding, "units": self.layers.units}

    def describe(self) -> Facts:
        """Its size."""
        return {
            "units": self.layers.units,
            "vectors_given": len(self.layers.inputs.vectors.words),
            "vectors_learned": len(self.layers.inputs.names),
            "parameters": int(self.value.size),
        }


def restore_layers(arrays: Arrays, facts: Facts, sizes: Sizes, parts: Parts = FEW) -> tuple[Layers, Floats]:
    """The layers and parameters in a model file; a GrammarError if anything does not fit."""
    check_facts(facts, {"learned": list, "words": list, "embedding": int, "units": int})
    check_arrays(arrays, ({"given": (np.float16, 2)} if facts["words"] else {}) | {"value": (np.float16, 1)})
    if facts["embedding"] < 1 or facts["units"] < 1:
        raise GrammarError("its layers have no units")
    inputs = Inputs.restore(arrays, facts, parts)
    return Layers(inputs, sizes, facts["embedding"], facts["units"]), arrays["value"].astype(np.float64)


def start_layers(
    sentences: Iterable[Sequence[str]], options: NetworkOptions, sizes: Sizes, parts: Parts = FEW
) -> Layers:
    """Layers for the words of some sentences."""
    vectors = NO_VECTORS if options.vectors is None else read_vectors(options.vectors, options.vector_limit)
    return Layers(learn_inputs(sentences, vectors, parts), sizes, options.embedding, options.units)


def network_adam(options: NetworkOptions, value: Floats, n_batches: int, slow: float = 1.0) -> Adam:
    """What learns a network from these parameters; slow: what the rate is multiplied by."""
    return Adam.at(value, np.zeros_like(value), options.network_rate * slow, options.network_l2, n_batches)
