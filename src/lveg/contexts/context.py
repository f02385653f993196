"""Base classes of contexts. A context multiplies any family; it is trained with the family and saved with it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from lveg.families.family import Stored
from lveg.forest.forest import Forest
from lveg.forest.reasons import Term, edge_text
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.learning.optimiser import Optimiser

Kept = npt.NDArray[np.bool_]
"""For each edge, whether it is scored."""


class Context(Stored):
    """Log factors with parameters in one vector."""

    if TYPE_CHECKING:  # a field or a property, depending on the context

        @property
        def value(self) -> Floats:
            """All parameters in one vector; gradients have the same shape."""

    @abstractmethod
    def with_value(self, value: Floats) -> Self:
        """A copy with other parameters; the vector itself is not copied."""

    def scaled(self, share: float) -> Self:
        """A copy with log factors multiplied by `share`; only for contexts that are trained alone first."""
        raise NotImplementedError

    def rounded(self) -> Self:
        """A copy with parameters rounded as in a model file."""
        return self


class ForestContext(Context):
    """A factor for each edge of a forest."""

    @abstractmethod
    def rows(self, forest: Forest) -> Ints:
        """The inputs of the context for a forest, which do not depend on parameters; their length comes first."""

    @abstractmethod
    def score(self, rows: Ints, noise: int = 0, kept: Kept | None = None) -> Floats:
        """The log factor of each edge of a sequence of forests; 0 for edges without a rule or not in `kept`.

        noise: random seed of dropout in training; 0 for no dropout.
        """

    @abstractmethod
    def add(self, rows: Ints, edge_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Backpropagate: add to `slope`, the gradient of the parameters, given that of each log factor.

        Returns the indices of the parameters whose gradient may have changed.
        """

    def reasons(self, grammar: Grammar, forest: Forest, edges: Ints) -> list[list[Term]]:
        """For each edge, which must have a rule, named terms that add up to its log factor.

        By default there is a single term, the edge itself.
        """
        score = self.score(self.rows(forest), kept=np.isin(np.arange(forest.n_edges), edges))
        return [[(edge_text(grammar, forest, edge), float(score[edge]))] for edge in edges.tolist()]

    def occurring(self, rows: Ints, share: Floats) -> Ints:
        """The keys of what occurs in some forests and may have parameters, given the posterior of each edge."""
        return np.empty(0, np.int32)

    def grown(self, occurring: Iterable[Ints]) -> Self:
        """A copy with parameters for what occurs in forests."""
        return self


@dataclass(frozen=True)
class Alone:
    """How a context is trained on top of the treebank grammar, before it is trained with a richer family.

    On top of that family alone it would learn little, because the family fits the training data too well. share: factor
    for its log factors when it is combined with the family. optimiser: as in `Start`.
    """

    epochs: int
    batch: int
    share: float
    optimiser: Callable[[Floats, int], Optimiser]


@dataclass(frozen=True)
class Start:
    """An untrained context, and how it is trained.

    optimiser: makes the optimiser, given the initial parameters and the number of batches per epoch. alone: how the
    context is first trained on its own, if it is.
    """

    context: ForestContext
    optimiser: Callable[[Floats, int], Optimiser]
    alone: Alone | None = None


class ChainContext(Context):
    """A factor for each state of each tag that a word may have.

    Lattices are packed sentences (see kernels.chain); rows are the inputs of the context for each of them.
    """

    if TYPE_CHECKING:  # fields or properties, depending on the context

        @property
        def tags(self) -> int:
            """The number of tags."""

        @property
        def width(self) -> int:
            """The number of states per tag."""

    @abstractmethod
    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """The inputs of the context for each sentence, independent of parameters; each starts with its length."""

    @abstractmethod
    def score(self, lattices: Ints, rows: Ints, noise: int = 0) -> Floats:
        """The log factor of each state of each entry of the lattices, (entries, states).

        noise: as in `ForestContext.score`.
        """

    def factors(self, lattices: Ints, sentences: Sequence[Sequence[str]]) -> Floats:
        """The log factors for sentences that are tagged, for which nothing is learned: see `score`."""
        return self.score(lattices, self.rows(sentences))

    @abstractmethod
    def add(self, lattices: Ints, rows: Ints, factor_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Backpropagate: add to `slope`, the gradient of the parameters, given that of each log factor.

        Returns the indices of the parameters whose gradient may be different from 0.
        """

    @abstractmethod
    def widened(self, width: int) -> Self:
        """From a context for tags with one state: a copy for tags with `width` states, which all behave alike."""

    def thinned(self, dropout: float, input_dropout: float) -> Self:
        """A copy that is trained with dropout of hidden units and of inputs, if it has them."""
        return self


def forest_rows(words: Sequence[Sequence[int]], forest: Forest) -> Ints:
    """The inputs of contexts for a forest: total size; numbers of words, nodes and edges; the row of each word,
    including padding; symbols, starts and ends of nodes, and their first edges; rules and splits of edges."""
    split = np.where(
        forest.edge_right >= 0,
        forest.node_end[np.maximum(forest.edge_left, 0)] if forest.n_edges else 0,
        forest.node_end[forest.edge_head],
    )
    parts = [
        np.array(words, np.int32).ravel(), forest.node_symbol, forest.node_start, forest.node_end, forest.edge_ptr,
        forest.edge_rule, split,
    ]  # fmt: skip
    size = 4 + sum(part.size for part in parts)
    head = np.array([size, forest.n_words, forest.n_nodes, forest.n_edges])
    return np.concatenate([head, *parts]).astype(np.int32)
