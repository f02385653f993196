"""What contexts share. A context multiplies any family; its parameters are learned with it and saved with it."""

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
"""Of each edge whether it is asked about."""


class Context(Stored):
    """Log factors from parameters that are one vector."""

    if TYPE_CHECKING:  # a field or a property, as the context likes

        @property
        def value(self) -> Floats:
            """All parameters in one vector, in which gradients are taken."""

    @abstractmethod
    def with_value(self, value: Floats) -> Self:
        """The same context with other parameters, which are not copied."""

    def scaled(self, share: float) -> Self:
        """With log factors that are multiplied by a number; only for contexts that are learned alone at first."""
        raise NotImplementedError

    def rounded(self) -> Self:
        """As a model file keeps it."""
        return self


class ForestContext(Context):
    """A factor for each edge of a forest."""

    @abstractmethod
    def rows(self, forest: Forest) -> Ints:
        """What the context reads of a forest and its words, whatever the parameters, with its length first."""

    @abstractmethod
    def score(self, rows: Ints, noise: int = 0, kept: Kept | None = None) -> Floats:
        """The log factor of each edge of forests one after the other; 0 for edges that stay, or are not kept.

        noise: if not 0, something of what the context reads is left out at random, as learning wants it; the same
        number leaves out the same.
        """

    @abstractmethod
    def add(self, rows: Ints, edge_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Add to `slope` the derivative of something, given its derivative in each log factor.

        The numbers of the parameters whose slope is no longer 0, if it was.
        """

    def reasons(self, grammar: Grammar, forest: Forest, edges: Ints) -> list[list[Term]]:
        """For each of some edges with rules the terms, in words, that add up to its log factor.

        Unless a context can say more: the edge itself.
        """
        score = self.score(self.rows(forest), kept=np.isin(np.arange(forest.n_edges), edges))
        return [[(edge_text(grammar, forest, edge), float(score[edge]))] for edge in edges.tolist()]

    def grown(self, examples: Iterable[tuple[Ints, Floats]]) -> Self:
        """With parameters for what occurs in some forests, given their rows and the posterior of each edge."""
        return self


@dataclass(frozen=True)
class Alone:
    """How a context is learned on top of the treebank grammar, before it joins a family that knows more.

    On top of the family it would learn little, because that one explains the training data too well. share: what its
    log factors are multiplied by when it joins. optimiser: as in `Start`.
    """

    epochs: int
    batch: int
    share: float
    optimiser: Callable[[Floats, int], Optimiser]


@dataclass(frozen=True)
class Start:
    """A context before anything is learned of it, and what its parameters are learned by.

    optimiser: for the parameters to begin with, given the number of batches in an epoch. alone: if it is to be learned
    on its own at first.
    """

    context: ForestContext
    optimiser: Callable[[Floats, int], Optimiser]
    alone: Alone | None = None


class ChainContext(Context):
    """A factor for each state of each tag that a word may have.

    Lattices are packed sentences (see kernels.chain), rows what the context reads of the words of each of them. width:
    how many states a tag has.
    """

    width: int

    @abstractmethod
    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """What the context reads of each sentence, whatever the parameters, each with its length first."""

    @abstractmethod
    def score(self, lattices: Ints, rows: Ints, noise: int = 0) -> Floats:
        """The log factor of each state of each entry of the lattices, (entries, states).

        noise: as with the factors of edges.
        """

    @abstractmethod
    def add(self, lattices: Ints, rows: Ints, factor_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Add to `slope` the derivative of something, given its derivative in each log factor.

        The numbers of the parameters whose slope may no longer be 0.
        """

    @abstractmethod
    def widened(self, width: int) -> Self:
        """The same, of tags with one state, for tags with this many states that are all alike."""


def forest_rows(words: Sequence[Sequence[int]], forest: Forest) -> Ints:
    """What contexts read of a forest: size, numbers of words, nodes and edges; numbers for each word, with those beyond
    the ends; symbols, starts and ends of nodes, where their edges begin; rules and splits of edges."""
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
