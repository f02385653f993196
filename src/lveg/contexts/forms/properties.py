"""Properties of words that predict tags; each property seen in training has a row of weights.

Properties are the word itself, as written and lower-cased, its prefixes and suffixes, its shape; the two words before
and the two words after it; and pairs of the word and the word before or after it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.grammar.grammar import Ints
from lveg.kernels.forms import gather_rows
from lveg.text.surroundings import MORE

LONGEST_PREFIX = 4
LONGEST_SUFFIX = 5
LONGEST_SHAPE = 8
_LEAST_NEAR = 2  # minimum number of occurrences of a property of neighbours
_EDGE = ""  # placeholder before the first and after the last word


def shape(word: str) -> str:
    """Kinds of characters, without repeats: X for upper case, x for lower case, a for other letters, d for digits."""
    kinds: list[str] = []
    for character in word:
        if character.isupper():
            kind = "X"
        elif character.islower():
            kind = "x"
        elif character.isdigit():
            kind = "d"
        else:
            kind = "a" if character.isalpha() else character
        if kinds[-1:] != [kind]:
            kinds.append(kind)
    return "".join(kinds[:LONGEST_SHAPE])


def own_names(word: str, is_first: bool) -> list[str]:
    """The properties of a word that do not depend on its neighbours."""
    word, *more = word.split(MORE)
    lowered = word.lower()
    names = [f"word {word}", f"lower {lowered}", f"shape {shape(word)}"]
    names += [f"prefix {lowered[:length]}" for length in range(1, min(LONGEST_PREFIX, len(lowered) - 1) + 1)]
    names += [f"suffix {lowered[-length:]}" for length in range(1, min(LONGEST_SUFFIX, len(lowered) - 1) + 1)]
    if word[:1].isupper():
        names.append("capital first" if is_first else "capital")
    if len(word) > 1 and word.isupper():
        names.append("capitals")
    if any(character.isdigit() for character in word):
        names.append("digit")
    if "-" in word:
        names.append("dash")
    return names + more


def lowered_word(word: str) -> str:
    """The word in lower case, without what it brings along."""
    return word.partition(MORE)[0].lower()


PLACES = (-2, -1, 1, 2)
"""Positions of neighbours, relative to the word."""


def near_name(place: int, lowered: str) -> str:
    """The property of having this neighbour, lower-cased."""
    return f"{place:+d} {lowered}"


def pair_names(before: str, lowered: str, behind: str) -> tuple[str, str]:
    """The properties of being this word with this neighbour before or after it, all lower-cased."""
    return f"pair- {before}\t{lowered}", f"pair+ {lowered}\t{behind}"


class _Known:
    """A cache of the rows of words, by number. Number 0 is the placeholder at the edges of a sentence.

    Arrays are only appended to or replaced, so a thread can read them while another one adds words.
    """

    def __init__(self, properties: Properties) -> None:
        self._properties = properties
        self.inner, self.first = _Numbers(self, False), _Numbers(self, True)
        self.count = self.size = 0
        self.ptr, self.own = np.zeros(1025, np.int32), np.zeros(8192, np.int32)
        self.near, self.pair_id = np.zeros((1024, len(PLACES)), np.int32), np.zeros(1024, np.int32)
        self.add(_EDGE, False)

    def add(self, word: str, is_first: bool) -> int:
        """Add a new word; returns its number."""
        numbers, lowered = self._properties.numbers, lowered_word(word)
        own = [numbers[name] for name in own_names(word, is_first) if name in numbers] if word else []
        if self.count == len(self.pair_id):
            self.ptr = np.resize(self.ptr, 2 * self.count + 1)
            self.near, self.pair_id = (
                np.resize(self.near, (2 * self.count, len(PLACES))),
                np.resize(self.pair_id, 2 * self.count),
            )
        if self.size + len(own) > len(self.own):
            self.own = np.resize(self.own, 2 * (self.size + len(own)))
        self.own[self.size : self.size + len(own)] = own
        self.near[self.count] = [numbers.get(near_name(place, lowered), -1) for place in PLACES]
        self.pair_id[self.count] = self._properties.pairs.ids.get(lowered, -1)
        self.size += len(own)
        self.ptr[self.count + 1] = self.size
        self.count += 1
        return self.count - 1


class _Numbers(dict[str, int]):
    """The numbers of words, either within a sentence or at its beginning."""

    def __init__(self, known: _Known, is_first: bool) -> None:
        super().__init__()
        self._known, self._is_first = known, is_first

    def __missing__(self, word: str) -> int:
        self[word] = self._known.add(word, self._is_first)
        return self[word]


class _Pairs(NamedTuple):
    """Pairs of neighbours that have rows.

    ids: numbers of the lower-cased words. key: first × number of words + second, in ascending order. rows: for each
    pair, the row for the first word with the second after it, and that for the second with the first before it; or -1.
    """

    ids: dict[str, int]
    key: npt.NDArray[np.int64]
    rows: Ints


@dataclass(frozen=True)
class Properties:
    """The properties that have a row of weights, and a lookup of those of each word of a sentence."""

    names: tuple[str, ...]
    _cache: list[_Known] = field(default_factory=list, repr=False, compare=False)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The row of each property."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def pairs(self) -> _Pairs:
        """The pairs of neighbours that have rows."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for name in self.names:
            kind, _, words = name.partition(" ")
            if kind in ("pair-", "pair+"):
                one, _, other = words.partition("\t")
                behind, before = pair_names(one, one, other)[1], pair_names(one, other, other)[0]
                found[one, other] = self.numbers.get(behind, -1), self.numbers.get(before, -1)
        ids = {word: index for index, word in enumerate(sorted({word for pair in found for word in pair}))}
        key = np.array([ids[one] * len(ids) + ids[other] for one, other in found], np.int64)
        order = np.argsort(key)
        return _Pairs(ids, key[order], np.array(list(found.values()), np.int32).reshape(-1, 2)[order])

    def rows(self, sentences: Sequence[Sequence[str]]) -> Ints:
        """The rows of the words of each sentence, packed (see kernels.forms)."""
        with _LOCK:
            if not self._cache or self._cache[0].count > _MOST_CACHED:
                self._cache[:] = [_Known(self)]
            known = self._cache[0]
            words: list[int] = []
            for sentence in sentences:
                words += (0, 0, *map(known.first.__getitem__, sentence[:1]))
                words += (*map(known.inner.__getitem__, sentence[1:]), 0, 0)
        number, length = np.array(words, np.int32), np.fromiter(map(len, sentences), np.int32, len(sentences))
        n_words = int(length.sum())
        most = int((known.ptr[number + 1] - known.ptr[number]).sum()) + (1 + len(PLACES) + 2) * n_words + len(length)
        found = np.empty(most, np.int32)
        pairs = self.pairs
        size = gather_rows(
            number,
            length,
            known.ptr,
            known.own,
            known.near,
            known.pair_id,
            len(pairs.ids),
            pairs.key,
            pairs.rows,
            found,
        )
        return found[:size]


_LOCK = Lock()  # held while words are numbered
_MOST_CACHED = 200_000  # words


def learn_properties(sentences: Iterable[Sequence[str]]) -> Properties:
    """The properties of the words of these sentences.

    Those of neighbours, and those that words bring along, must occur more than once.
    """
    first, inner, brought = set[str](), set[str](), Counter[str]()
    ids = {_EDGE: 0}
    padded, places = [0, 0], list[int]()
    for words in sentences:
        first.update(words[:1])
        inner.update(words[1:])
        for word in words:
            if MORE in word:
                brought.update(word.split(MORE)[1:])
        places += range(len(padded), len(padded) + len(words))
        padded += [ids.setdefault(lowered_word(word), len(ids)) for word in words]
        padded += (0, 0)
    own = {name for group in (first, inner) for word in group for name in own_names(word, group is first)}
    own -= {name for name, count in brought.items() if count < _LEAST_NEAR}
    near = _near_names(list(ids), np.array(padded, np.int64), np.array(places, np.int64))
    return Properties((*sorted(own), *sorted(near)))


def _near_names(words: list[str], padded: npt.NDArray[np.int64], at: npt.NDArray[np.int64]) -> Iterator[str]:
    """The properties of neighbours that occur often enough.

    words: lower-cased, the placeholder first. padded: words of all sentences, with two placeholders before and after
    each sentence. at: where the words of sentences are in `padded`.
    """
    for place in PLACES:
        counts = np.bincount(padded[at + place], minlength=1)
        yield from (near_name(place, words[k]) for k in np.flatnonzero(counts >= _LEAST_NEAR))
    for side in (0, 1):
        keys, counts = np.unique(padded[at - 1 + side] * len(words) + padded[at + side], return_counts=True)
        for key in keys[counts >= _LEAST_NEAR].tolist():
            before, behind = words[key // len(words)], words[key % len(words)]
            yield pair_names(before, behind, _EDGE)[0] if side == 0 else pair_names(_EDGE, before, behind)[1]
