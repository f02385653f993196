"""What families of tag sequences share: the tags of each word, packed sentences, posteriors, the best sequence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lveg.errors import GrammarError
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import TagTable, best_path


@dataclass(frozen=True)
class TagPosterior:
    """log Z of a sentence, P(tag of word | sentence) (n, T) and P(tags of neighbours | sentence) (n - 1, T, T)."""

    log_z: float
    tag: Floats
    pair: Floats

    def best_tags(self) -> Ints:
        """For each word the tag of highest posterior."""
        best: Ints = np.argmax(self.tag, axis=1)
        return best

    def best_sequence(self) -> Ints:
        """The best sequence of the Markov chain with these posteriors  [math: tag-max-rule]."""
        path = np.zeros(len(self.tag), np.int32)
        best_path(self.tag, self.pair, path)
        return path


class TagFamily(ABC):
    """Weights of tag sequences. All parameters are one vector, `value`, of which the named arrays are views."""

    value: Floats

    @abstractmethod
    def with_value(self, value: Floats) -> Self:
        """The same with other parameters, which are not copied."""

    @abstractmethod
    def run(
        self, packed: Ints, is_given: bool, sign: float = 0.0, into: Floats | None = None,
        posteriors: tuple[Floats, Floats] | None = None,
    ) -> float:  # fmt: skip
        """The summed log Z of packed sentences, of their given tags or of all; adds sign × its gradient to `into`.

        posteriors: room, all zero, for `TagPosterior` of one sentence.
        """

    @property
    @abstractmethod
    def n_tags(self) -> int:
        """The number of tags."""

    @property
    def is_probability(self) -> bool:
        """Whether Z is the probability of the sentence."""
        return False

    def log_z(self, packed: Ints, is_given: bool = False) -> float:
        """Log of the summed weight of all tag sequences, or of the given one, of packed sentences."""
        return self.run(packed, is_given)

    def posterior(self, packed: Ints) -> TagPosterior:
        """What is to be known of one packed sentence."""
        n = int(packed[0])
        tag, pair = np.zeros((n, self.n_tags)), np.zeros((max(n - 1, 0), self.n_tags, self.n_tags))
        return TagPosterior(self.run(packed, False, posteriors=(tag, pair)), tag, pair)


def pack(terminals: Sequence[int], tags: Sequence[int] | Ints | None = None) -> Ints:
    """A sentence as kernels want it; tags are -1 where they are open."""
    given = np.full(len(terminals), -1) if tags is None else tags
    return np.concatenate([[len(terminals)], terminals, given]).astype(np.int32)


def tag_table(grammar: Grammar) -> TagTable:
    """The tags and emissions of each terminal of a tag grammar."""
    lexical = grammar.kind_slice("lexical")
    left = grammar.rule_left[lexical]
    order = np.argsort(left, kind="stable").astype(np.int32)
    ptr = np.searchsorted(left[order], np.arange(grammar.lexicon.n_terminals + 1)).astype(np.int32)
    return TagTable(ptr, grammar.rule_lhs[lexical][order] - np.int32(grammar.n_nonterminals), order)


def check_value(value: Floats, size: int, largest: float) -> None:
    """Refuse parameters that are not finite numbers of a sensible size, or not as many as there should be."""
    if value.shape != (size,):
        raise GrammarError(f"there are {value.size} parameters where {size} are needed")
    if not (np.abs(value) <= largest).all():
        raise GrammarError(
            f"a parameter is not a number from {-largest:g} to {largest:g}; was the learning rate too high?"
        )
