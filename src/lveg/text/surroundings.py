"""Properties of places in a text where a token or a sentence may end, which a character brings along.

A piece is what stands between spaces. Places are the ends of pieces, and those within pieces where the kind of
characters changes. They are described by the words around them, as written and by their looks; by the endings of words,
for multiword tokens; and by how far away other marks are that may end a sentence.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby

MORE = "\n"
"""Separates a character from the properties that it brings along."""

AROUND = ".,;:!?()[]<>\"'-*_"
"""Punctuation around a word."""

_LONGEST = 12  # characters of a piece that are seen
_SUFFIXES = range(2, 7)  # lengths of endings of words
_LONGEST_LOOK = 5
_LAST = ".!?…"  # marks that may end a sentence
_STEPS = (0, 1, 2, 3, 3, *[4] * 3, *[5] * 8, *[6] * 14, 7)  # distances in pieces, in few steps
_OPENING, _CLOSING, _QUOTE = "([{«“", ")]}»”", '"'
_FAR = 40  # pieces; brackets and quotation marks are soon closed, or never


def kind(character: str) -> str:
    """Symbols, which have no case: ⇑ for upper case, ⇓ for lower case, ¤ for other letters, # for digits."""
    if character.isupper():
        return "⇑"
    if character.islower():
        return "⇓"
    if character.isdigit():
        return "#"
    return "¤" if character.isalpha() else character


@lru_cache(10_000)
def look(piece: str) -> str:
    """The kinds of the characters of a piece, without repeats."""
    return "".join(one for one, _ in groupby(map(kind, piece)))[:_LONGEST_LOOK]


_category = lru_cache(10_000)(unicodedata.category)


def _categories(text: str) -> str:
    """Unicode's categories: letters, digits, punctuation, ..., without repeats; known for characters never seen."""
    return "".join(one for one, _ in groupby(_category(character)[0] for character in text))


def within(piece: str, cut: int, behind: str) -> str:
    """Properties of the place within a piece before the character `cut`. behind: the look of the next piece."""
    before, after = piece[max(0, cut - _LONGEST) : cut], piece[cut : cut + _LONGEST]
    left, right = before.lower(), after.lower()
    near, far = list(map(_category, before[-2:])), list(map(_category, after[:2]))
    names = (
        f"left {left}",
        f"right {right}",
        f"cut {left} {right}",
        f"left, next {left} {behind}",
        f"right, next {right} {behind}",
        f"category {near[-1]} {far[0]}",
        f"categories {''.join(near)} {''.join(far)}",
        f"sides {_categories(before)} {_categories(after)}",
        f"looks {look(before[::-1])} {look(after)}",
    )
    return MORE.join(("", *names))


def at_ends(pieces: Sequence[str]) -> list[str]:
    """Properties of the end of each piece."""
    looks = ["", *map(look, pieces), "", ""]
    endings = ["", *(piece[-_LONGEST:].lower() for piece in pieces)]
    written = [*(piece[:_LONGEST] for piece in pieces), "", ""]
    since, until = [0, *_distances(pieces)], [*_distances(pieces[::-1])[::-1], 0]
    found = []
    for number, (piece, enclosed) in enumerate(zip(pieces, _enclosed(pieces), strict=True)):
        before, here, after = endings[number], endings[number + 1], written[number + 1]
        look_before, look_here, look_after, look_later = looks[number : number + 4]
        last, case = kind(piece[-1:]), look_after[:1]
        length, past, future = len(piece.rstrip(AROUND)), since[number], until[number + 1]
        names = [
            f"end {here}",
            f"next {after}",
            f"before {before}",
            f"last, next {last} {after}",
            f"end, next {here} {look_after}",
            f"before, last {before} {last} {look_after}",
            f"before, end {before} {here}",
            f"last, two {last} {after.lower()} {written[number + 2].lower()}",
            f"looks before {look_before} {look_here} {look_after}",
            f"looks behind {look_here} {look_after} {look_later}",
            f"length {min(length, 5)} {last} {case}",
            f"length before {min(len(before), 5)} {look_here} {case}",
            f"since {past} {last} {case}",
            f"until {future} {last} {case}",
            f"since, until {past} {future} {look_here} {case}",
            f"enclosed {enclosed} {look_here} {case}",
        ]
        if piece[-1:].isalpha():
            names += (f"suffix of {here[-size:]}" for size in _SUFFIXES if size <= len(here))
            names += (f"suffix, length {here[-3:]} {min(len(here), 8)}", f"pair {here} {after.lower()}")
        found.append(MORE.join(("", *names)))
    return found


def _distances(pieces: Iterable[str]) -> list[int]:
    """How many pieces ago there was a mark that may end a sentence, in steps; 0 for a piece that has one."""
    found = []
    distance = 0
    for piece in pieces:
        distance = 0 if any(mark in piece for mark in _LAST) else distance + 1
        found.append(_STEPS[min(distance, len(_STEPS) - 1)])
    return found


def _enclosed(pieces: Iterable[str]) -> list[str]:
    """Whether the end of each piece is within brackets, and within quotation marks that open and close alike."""
    bracket = quote = -_FAR
    found = []
    for number, piece in enumerate(pieces):
        for character in piece:
            if character in _OPENING:
                bracket = number
            elif character in _CLOSING:
                bracket = -_FAR
            elif character == _QUOTE:
                quote = number if number - quote >= _FAR else -_FAR
        found.append(f"{number - bracket < _FAR:d}{number - quote < _FAR:d}")
    return found
