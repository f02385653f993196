"""What families of tag sequences share: the tags of each word, packed sentences, posteriors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from lveg.families.family import Family
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import Posteriors, TagTable, extents
from lveg.learning.data import Tagged
from lveg.learning.examples import Examples

NOTHING_ASKED = Posteriors(np.empty(0), np.empty(0), np.empty(0))


class Chains(Family):
    """A family of tag sequences."""

    @abstractmethod
    def over(self, grammar: Grammar, sentences: Sequence[Sequence[str]]) -> tuple[ChainFamily, Ints]:
        """What weighs the tag sequences of these sentences, and the sentences packed for it."""


class ChainFamily(Chains):
    """Weights of tag sequences of words that the lexicon knows as terminals."""

    table: TagTable

    def over(self, grammar: Grammar, sentences: Sequence[Sequence[str]]) -> tuple[ChainFamily, Ints]:
        """The family itself, and the sentences with the lexicon's terminals."""
        return self, np.concatenate([pack(grammar.lexicon.terminals(words)) for words in sentences])

    @abstractmethod
    def run(
        self, packed: Ints, is_given: bool, sign: float = 0.0, into: Floats | None = None,
        found: Posteriors = NOTHING_ASKED,
    ) -> float:  # fmt: skip
        """The summed log Z of packed sentences, of their given tags or of all; adds sign × its gradient to `into`.

        found: room for what else is asked for; shares and pairs all zero, and with open tags only.
        """

    @property
    @abstractmethod
    def n_tags(self) -> int:
        """The number of tags."""

    def log_z(self, packed: Ints, is_given: bool = False) -> float:
        """Log of the summed weight of all tag sequences, or of the given one, of packed sentences."""
        return self.run(packed, is_given)

    def add(self, packed: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of the tags of packed sentences; adds its derivative to `slope`."""
        return self.run(packed, False, 1.0, slope) - self.run(packed, True, -1.0, slope)

    def posteriors(self, packed: Ints, pairs: bool = True) -> Posteriors:
        """Posteriors of each packed sentence; of neighbouring tags only with `pairs`."""
        n_sentences, _, n_tags, n_pairs = extents(self.table, packed)
        found = Posteriors(np.zeros(n_sentences), np.zeros(n_tags), np.zeros(n_pairs if pairs else 0))
        self.run(packed, False, found=found)
        return found

    def log_zs(self, packed: Ints) -> Floats:
        """Log of the weight of the given tag sequence of each of packed sentences."""
        found = NOTHING_ASKED._replace(log_z=np.zeros(extents(self.table, packed)[0]))
        self.run(packed, True, found=found)
        return np.asarray(found.log_z)


def pack(terminals: Sequence[int], tags: Sequence[int] | Ints | None = None) -> Ints:
    """A sentence as kernels want it; tags are -1 where they are open."""
    given = [-1] * len(terminals) if tags is None else tags
    return np.array([len(terminals), *terminals, *given], np.int32)


def tag_table(grammar: Grammar) -> TagTable:
    """The tags and emissions of each terminal of a tag grammar."""
    lexical = grammar.kind_slice("lexical")
    left = grammar.rule_left[lexical]
    order = np.argsort(left, kind="stable").astype(np.int32)
    ptr = np.searchsorted(left[order], np.arange(grammar.lexicon.n_terminals + 1)).astype(np.int32)
    return TagTable(ptr, grammar.rule_lhs[lexical][order] - np.int32(grammar.n_nonterminals), order)


def chain_examples(grammar: Grammar, tagged: Sequence[Tagged]) -> Examples:
    """The sentences with their tags, packed."""
    numbers = {tag: index for index, tag in enumerate(grammar.tags)}
    examples = Examples(2**40)
    for sentence in tagged:
        words, tags = [word for word, _ in sentence], [numbers[tag] for _, tag in sentence]
        examples.append(pack(grammar.lexicon.terminals(words), tags))
    return examples
