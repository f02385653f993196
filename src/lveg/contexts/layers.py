"""Networks over word vectors: parameter layout, initialisation, and storage in model files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lveg.contexts.inputs import FEW, Inputs, Parts, learn_inputs
from lveg.contexts.network.options import NetworkOptions
from lveg.contexts.vectors import NO_VECTORS, read_vectors
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value, views
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.network import Net, add_product, fill_inputs
from lveg.learning.adam import Adam

LARGEST = 1000.0
"""Bound on abs(parameter)."""

FIRST_EMBEDDING = 0.2
"""Standard deviation of the initial learned vectors."""


@dataclass(frozen=True)
class Sizes:
    """places: number of word positions. shapes: number of other inputs of the hidden layer. outputs: their number."""

    places: int
    shapes: int
    outputs: int


@dataclass(frozen=True, eq=False)
class Layers:
    """One hidden layer over word vectors. embedding: dimensions of learned vectors."""

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
        """Views of a vector that has one element per parameter."""
        return Net(*views(vector, self._shapes))

    def vectors_of(self, rows: Ints, net: Net) -> Floats:
        """The vectors of words with these rows: the pretrained vector, and the sum of the learned ones."""
        given = self.inputs.given
        vectors = np.zeros((len(rows), given.shape[1] + self.embedding))
        fill_inputs(np.ascontiguousarray(rows).ravel(), 0, self.inputs.columns, given, net.embed, vectors, 0, 0.0)
        return vectors

    def first_value(self, seed: int) -> Floats:
        """Random initial parameters, with output weights of 0, so that all log factors are 0."""
        random, value = np.random.default_rng(seed), np.zeros(self.size)
        net = self.net(value)
        net.embed[:] = random.normal(0.0, FIRST_EMBEDDING, net.embed.shape)
        scale = np.sqrt(2.0 / (net.project.shape[0] * self.sizes.places))
        net.project[:] = random.normal(0.0, scale, net.project.shape)
        return value


@dataclass(frozen=True, eq=False)
class Neural:
    """Base class of contexts that are networks.

    dropout, input_dropout: the dropout rates of hidden units and of the dimensions of word vectors in training.
    """

    layers: Layers
    value: Floats
    dropout: float = 0.0
    input_dropout: float = 0.0

    def __post_init__(self) -> None:
        check_value(self.value, self.layers.size, LARGEST)

    def with_value(self, value: Floats) -> Self:
        """A copy with other parameters."""
        return replace(self, value=value)

    def scaled(self, share: float) -> Self:
        """A copy with outputs multiplied by `share`."""
        value = self.value.copy()
        self.layers.net(value).out[:] *= share
        return replace(self, value=value)

    def rounded(self) -> Self:
        """A copy with parameters rounded to float16, without dropout."""
        return replace(self, value=self.value.astype(np.float16).astype(np.float64), dropout=0.0, input_dropout=0.0)

    def thinned(self, dropout: float, input_dropout: float) -> Self:
        """A copy that is trained with dropout of hidden units and of inputs."""
        return replace(self, dropout=dropout, input_dropout=input_dropout)

    def arrays(self) -> Arrays:
        """Pretrained vectors and parameters, as float16."""
        return {**self.layers.inputs.arrays(), "value": self.value.astype(np.float16)}

    def facts(self) -> Facts:
        """Names of the vectors, and sizes of the layers."""
        return {**self.layers.inputs.facts(), "embedding": self.layers.embedding, "units": self.layers.units}

    def describe(self) -> Facts:
        """The sizes of the network."""
        return {
            "units": self.layers.units,
            "vectors_given": len(self.layers.inputs.vectors.words),
            "vectors_learned": len(self.layers.inputs.names),
            "parameters": int(self.value.size),
        }


def product(left: Floats, right: Floats) -> Floats:
    """The product of two matrices. Unlike that of numpy, its bits do not depend on the number of threads."""
    total = np.zeros((left.shape[0], right.shape[1]))
    add_product(np.ascontiguousarray(left), np.ascontiguousarray(right), total)
    return total


def restore_layers(arrays: Arrays, facts: Facts, sizes: Sizes, parts: Parts = FEW) -> tuple[Layers, Floats]:
    """The layers and parameters from a model file; raises GrammarError if they are inconsistent."""
    check_facts(facts, {"learned": list, "words": list, "embedding": int, "units": int})
    check_arrays(arrays, ({"given": (np.float16, 2)} if facts["words"] else {}) | {"value": (np.float16, 1)})
    if facts["embedding"] < 1 or facts["units"] < 1:
        raise GrammarError("the sizes of its layers must be at least 1")
    inputs = Inputs.restore(arrays, facts, parts)
    return Layers(inputs, sizes, facts["embedding"], facts["units"]), arrays["value"].astype(np.float64)


def start_layers(
    sentences: Iterable[Sequence[str]], options: NetworkOptions, sizes: Sizes, parts: Parts = FEW
) -> Layers:
    """The layers of a network for the words of some sentences."""
    vectors = NO_VECTORS if options.vectors is None else read_vectors(options.vectors, options.vector_limit)
    return Layers(learn_inputs(sentences, vectors, parts), sizes, options.embedding, options.units)


def network_adam(options: NetworkOptions, value: Floats, n_batches: int, slow: float = 1.0) -> Adam:
    """The optimiser of a network, with these initial parameters. slow: factor of the step size."""
    return Adam.at(value, np.zeros_like(value), options.network_rate * slow, options.network_l2, n_batches)
