"""Shared code of tag sequence families: lattices of the tags of each word, factors, and posteriors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Family
from lveg.families.insight import Insight, tag_view
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.grammar.lexicon import Tagged
from lveg.kernels.chain import (
    LACKING,
    NO_RULE,
    OPEN,
    Posteriors,
    TagTable,
    build_lattices,
    each_sentence,
    extents,
    scale_factors,
)
from lveg.learning.examples import Examples

GivenTags = Sequence[Sequence[int]]
"""The number of the given tag of each word of each sentence, OPEN if none is given."""

NOTHING_ASKED = Posteriors(np.empty(0), np.empty(0), np.empty(0))
_BLOCK = 256  # sentences that are packed together: one at a time would be slow
LEAST_FACTOR = -700.0
"""Lower bound on log factors relative to the largest of their word, so that exponentials stay above 0."""


class Factors(NamedTuple):
    """Log factors of each state of each entry of packed sentences, (entries, width), within about ± 500.

    slope: if given, receives the derivative with respect to the log factors, which is the posterior of the state.
    """

    log: Floats
    slope: Floats | None = None


class Lattices(NamedTuple):
    """Packed sentences, the family that weights their tag sequences, and factors of the tags, if any."""

    family: ChainFamily
    packed: Ints
    factors: Factors | None = None


class Chains(Family):
    """A family of tag sequences, with or without contexts."""

    @abstractmethod
    def lattices(
        self, grammar: Grammar, sentences: Sequence[Sequence[str]], given: GivenTags | None = None
    ) -> Lattices:
        """The possible tags of the words of sentences, ready for inference; a word with a given tag has no other."""

    @abstractmethod
    def pack(self, grammar: Grammar, tagged: Sequence[Tagged]) -> Iterator[Ints]:
        """Each sentence with its tags, as a training example."""

    @abstractmethod
    def add(self, examples: Ints, slope: Floats) -> float:
        """The negative log conditional likelihood of the tags of examples; adds its derivative to `slope`."""

    def insights(self, grammar: Grammar) -> list[Insight]:
        """What was learned about each tag, for `lveg inspect`; without subtypes, its words and neighbours."""
        return [tag_view(grammar).insight(self.name)]

    def examples(self, grammar: Grammar, tagged: Sequence[Tagged]) -> Examples:
        """Sentences with their tags, as training examples."""
        return Examples(partial(self.pack, grammar), tagged, block=_BLOCK)


class ChainFamily(Chains):
    """Weights of tag sequences. `value` contains all parameters; the named arrays are views of it.

    table: the tags that the lexicon allows for each word. Packed sentences may also come from other sources and have
    any tags. tags: the number of tags.
    """

    table: TagTable
    tags: int

    def lattices(
        self, grammar: Grammar, sentences: Sequence[Sequence[str]], given: GivenTags | None = None
    ) -> Lattices:
        """The sentences with the tags of the lexicon."""
        packed = lattices(self.table, list(map(grammar.lexicon.terminals, sentences)), given)
        return Lattices(self, packed if given is None else only_given(packed, given))

    def pack(self, grammar: Grammar, tagged: Sequence[Tagged]) -> Iterator[Ints]:
        """Each sentence, packed, with the tags of the lexicon and the given ones."""
        words, tags = words_and_tags(grammar, tagged)
        return iter(each_sentence(lattices(self.table, list(map(grammar.lexicon.terminals, words)), tags)))

    @abstractmethod
    def _run(
        self, packed: Ints, is_given: bool, sign: float, into: Floats | None, factor: Floats | None,
        factor_slope: Floats | None, found: Posteriors,
    ) -> float:  # fmt: skip
        """Like `run`, with linear factors of the entries in use."""

    def run(
        self, packed: Ints, is_given: bool, sign: float = 0.0, into: Floats | None = None,
        factors: Factors | None = None, found: Posteriors = NOTHING_ASKED,
    ) -> float:  # fmt: skip
        """The summed log Z of packed sentences, of their given tags or of all; adds sign × its gradient to `into`.

        found: receives other requested results; its shares and pairs must be zero, and are for open tags only.
        """
        if factors is None:
            return self._run(packed, is_given, sign, into, None, None, found)
        factor, shift = self._scaled(packed, is_given, factors.log)
        slope = None if into is None else factors.slope
        total = self._run(packed, is_given, sign, into, factor, slope, found)
        if len(found.log_z):
            found.log_z[:] += shift
        return total + float(shift.sum())

    def _scaled(self, packed: Ints, is_given: bool, log_factor: Floats) -> tuple[Floats, Floats]:
        """(factors of the entries in use, scaled to at most 1 per word; the sum of subtracted logs per sentence)."""
        n_sentences, _, n_entries, _ = extents(packed)
        if log_factor.shape != (n_entries, self.width):
            raise GrammarError(f"there are {log_factor.shape} factors where {(n_entries, self.width)} are needed")
        scaled, shift = np.empty_like(log_factor), np.zeros(n_sentences)
        scaled = scaled[: scale_factors(packed, is_given, log_factor, scaled, shift)]
        return np.exp(np.maximum(scaled, LEAST_FACTOR, out=scaled), out=scaled), shift

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of states of a tag that factors distinguish."""

    def log_z(self, packed: Ints, is_given: bool = False, factors: Factors | None = None) -> float:
        """Log of the summed weight of all tag sequences, or of the given one, of packed sentences."""
        return self.run(packed, is_given, factors=factors)

    def add(self, examples: Ints, slope: Floats, factors: Factors | None = None) -> float:
        """The negative log conditional likelihood of the tags of packed sentences; adds its derivative to `slope`."""
        return self.run(examples, False, 1.0, slope, factors) - self.run(examples, True, -1.0, slope, factors)

    def posteriors(self, packed: Ints, pairs: bool = True, factors: Factors | None = None) -> Posteriors:
        """The posteriors of packed sentences; those of neighbouring tags only with `pairs`."""
        n_sentences, _, n_entries, n_pairs = extents(packed)
        found = Posteriors(np.zeros(n_sentences), np.zeros(n_entries), np.zeros(n_pairs if pairs else 0))
        self.run(packed, False, factors=factors, found=found)
        return found

    def log_zs(self, packed: Ints, factors: Factors | None = None) -> Floats:
        """Log weight of the given tag sequence of each packed sentence."""
        found = NOTHING_ASKED._replace(log_z=np.zeros(extents(packed)[0]))
        self.run(packed, True, factors=factors, found=found)
        return np.asarray(found.log_z)


def words_and_tags(grammar: Grammar, tagged: Sequence[Tagged]) -> tuple[list[list[str]], list[list[int]]]:
    """The words of sentences, and the numbers of their tags."""
    numbers = {tag: index for index, tag in enumerate(grammar.tags)}
    words = [[word for word, _ in sentence] for sentence in tagged]
    return words, [[numbers[tag] for _, tag in sentence] for sentence in tagged]


def lattices(
    table: TagTable, sentences: Sequence[Sequence[int]], tags: Sequence[Sequence[int]] | None = None
) -> Ints:  # fmt: skip
    """The sentences with these terminals, packed (see kernels.chain); tags are OPEN if none is given."""
    length = np.fromiter(map(len, sentences), np.int32, len(sentences))
    terminal = np.fromiter(chain.from_iterable(sentences), np.int32)
    given = np.full_like(terminal, OPEN) if tags is None else np.fromiter(chain.from_iterable(tags), np.int32)
    n_entries = int((table.ptr[terminal + 1] - table.ptr[terminal]).sum())
    packed = np.empty(4 * len(length) + 2 * len(terminal) + 2 * n_entries, np.int32)
    build_lattices(table, length, terminal, given, packed)
    return packed


def only_given(packed: Ints, tags: GivenTags) -> Ints:
    """Packed sentences in which a word with a given tag has no other tag, and no tag is given any more.

    A word that the lexicon does not have with the given tag has no emission.
    """
    found = []
    for sentence, known in zip(each_sentence(packed), tags, strict=True):
        n, m = int(sentence[1]), int(sentence[2])
        given, begin = sentence[3 : 3 + n].tolist(), sentence[3 + n : 4 + 2 * n].tolist()
        tag, rule = sentence[4 + 2 * n : 4 + 2 * n + m], sentence[4 + 2 * n + m :]
        pieces = [
            (tag[first:last], rule[first:last])
            if place == OPEN
            else ([number], [NO_RULE] if place == LACKING else [rule[first + place]])
            for (first, last), place, number in zip(pairwise(begin), given, known, strict=True)
        ]
        starts = np.concatenate([[0], np.cumsum([len(piece) for piece, _ in pieces])])
        size = 4 + 2 * n + 2 * starts[-1]
        rules = [piece for _, piece in pieces]
        found += [[size, n, starts[-1]], np.full(n, OPEN), starts, *(piece for piece, _ in pieces), *rules]
    return np.concatenate(found).astype(np.int32)


def tag_table(grammar: Grammar) -> TagTable:
    """The tags and emissions of each terminal of a tag grammar."""
    lexical = grammar.kind_slice("lexical")
    left = grammar.rule_left[lexical]
    order = np.argsort(left, kind="stable").astype(np.int32)
    ptr = np.searchsorted(left[order], np.arange(grammar.lexicon.n_terminals + 1)).astype(np.int32)
    return TagTable(ptr, grammar.rule_lhs[lexical][order] - np.int32(grammar.n_nonterminals), order)


def word_tags(packed: Ints) -> list[list[int]]:
    """The possible tags of each word of packed sentences."""
    found = []
    for sentence in each_sentence(packed):
        n, m = int(sentence[1]), int(sentence[2])
        begin, tag = sentence[3 + n : 4 + 2 * n].tolist(), sentence[4 + 2 * n : 4 + 2 * n + m].tolist()
        found += [tag[first:last] for first, last in pairwise(begin)]
    return found


AnyChain = TypeVar("AnyChain", bound=ChainFamily)


def with_lexicon(family: AnyChain, grammar: Grammar) -> AnyChain:
    """From a family that lets every word have every tag: a copy that lets it have those of the lexicon."""
    if (np.diff(family.table.ptr) != family.tags).any():
        raise GrammarError("it needs a family that lets every word have every tag")
    table = tag_table(grammar)
    return replace(family, table=table._replace(rule=family.table.rule[table.tag]))  # type: ignore[type-var]


def open_table(n_tags: int, n_terminals: int = 1, with_emissions: bool = False) -> TagTable:
    """All tags for each terminal, without emissions, or with one for each tag."""
    tags = np.tile(np.arange(n_tags, dtype=np.int32), n_terminals)
    ptr = np.arange(0, len(tags) + 1, n_tags, dtype=np.int32)
    return TagTable(ptr, tags, tags if with_emissions else np.full_like(tags, NO_RULE))
