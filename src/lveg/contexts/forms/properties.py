"""What the forms of a word and of its neighbours tell of its tag: each property that was seen is a row of weights.

The word itself, with and without capitals, its first and last letters, its shape; the words two before to two
behind, and the word with the one before or behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

LONGEST_PREFIX = 4
LONGEST_SUFFIX = 5
LONGEST_SHAPE = 8
_LEAST_NEAR = 2  # times that a neighbour must have been seen
_EDGE = ""  # what stands before the first and behind the last word


def shape(word: str) -> str:
    """Kinds of characters, runs as one: X for capitals, x for small letters, a for other letters, d for digits."""
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
    """The properties of a word that tell of its own tag."""
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
    return names


PLACES = (-2, -1, 1, 2)
"""Where the neighbours stand whose words tell of a word's tag."""


def near_name(place: int, lowered: str) -> str:
    """The property of having this neighbour, in small letters."""
    return f"{place:+d} {lowered}"


def pair_names(before: str, lowered: str, behind: str) -> tuple[str, str]:
    """The properties of being a certain word beside a certain neighbour, all in small letters."""
    return f"pair- {before}\t{lowered}", f"pair+ {lowered}\t{behind}"


@dataclass(frozen=True)
class Properties:
    """The properties that have a row of weights, and which of them the words of a sentence have."""

    names: tuple[str, ...]
    _own: dict[tuple[str, bool], list[int]] = field(default_factory=dict, repr=False, compare=False)
    _near: dict[str, tuple[str, int, int, int, int]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The row of each property."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], tuple[int, int]]:
        """For two words in small letters the row of the first as one before the second, and the reverse, or -1."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for name in self.names:
            kind, _, words = name.partition(" ")
            if kind in ("pair-", "pair+"):
                one, _, other = words.partition("\t")
                behind, before = pair_names(one, one, other)[1], pair_names(one, other, other)[0]
                found[one, other] = self.numbers.get(behind, -1), self.numbers.get(before, -1)
        return found

    def rows(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """(counts, rows): how many rows each word has, and the rows of all words one after the other."""
        near = [self._near_rows(word) for word in (_EDGE, _EDGE, *words, _EDGE, _EDGE)]
        pairs, none = self._pairs, (-1, -1)
        counts: list[int] = []
        rows: list[int] = []
        size, before = 0, pairs.get((near[1][0], near[2][0]), none)[1]
        for i, word in enumerate(words):
            rows += self._own_rows(word, i == 0)
            behind, next_before = pairs.get((near[i + 2][0], near[i + 3][0]), none)
            for row in (near[i][1], near[i + 1][2], near[i + 3][3], near[i + 4][4], before, behind):
                if row >= 0:
                    rows.append(row)
            before = next_before
            counts.append(len(rows) - size)
            size = len(rows)
        return counts, rows

    def _own_rows(self, word: str, is_first: bool) -> list[int]:
        found = self._own.get((word, is_first))
        if found is None:
            numbers = self.numbers
            found = [numbers[name] for name in own_names(word, is_first) if name in numbers]
            if len(self._own) < _MOST_CACHED:
                self._own[word, is_first] = found
        return found

    def _near_rows(self, word: str) -> tuple[str, int, int, int, int]:
        """The word in small letters, and its rows as the neighbour in each of PLACES, -1 for none."""
        found = self._near.get(word)
        if found is None:
            lowered = word.lower()
            two_before, before, behind, two_behind = (
                self.numbers.get(near_name(place, lowered), -1) for place in PLACES
            )
            found = lowered, two_before, before, behind, two_behind
            if len(self._near) < _MOST_CACHED:
                self._near[word] = found
        return found


_MOST_CACHED = 200_000  # words


def learn_properties(sentences: Iterable[Sequence[str]]) -> Properties:
    """The properties of the words of these sentences; neighbours must have been seen more than once."""
    own: Counter[str] = Counter()
    near: Counter[str] = Counter()
    for words in sentences:
        own.update(name for i, word in enumerate(words) for name in own_names(word, i == 0))
        lowered = [_EDGE, _EDGE, *(word.lower() for word in words), _EDGE, _EDGE]
        for i in range(2, len(words) + 2):
            near.update(near_name(place, lowered[i + place]) for place in PLACES)
            near.update(pair_names(*lowered[i - 1 : i + 2]))
    return Properties((*sorted(own), *sorted(name for name, count in near.items() if count >= _LEAST_NEAR)))
