"""Classes for unknown words.

A scheme lists the classes a word could belong to, from the most specific to the most general; the lexicon
keeps some of them, and a word belongs to the first one kept. The most general class is always kept, so
every word has one.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping

UNKNOWN = "UNK"
SCHEMES = ("auto", "english", "single")

MAX_SUFFIX = 5
_MIN_CLASS = 4  # minimum number of rare-word tokens in a learned class
_MIN_GAIN = 3.0  # minimum gain, in nats, of a learned class over the class above it

Candidates = Callable[[str, bool, Collection[str]], list[str]]


def candidates(scheme: str) -> Candidates:
    """The function `(word, is_first, known_words) -> classes, most specific first` of a scheme."""
    return {"auto": _auto, "english": _english, "single": _single}[scheme]


def _single(word: str, is_first: bool, known: Collection[str]) -> list[str]:
    return [UNKNOWN]


_ENGLISH_SUFFIXES = ("ed", "ing", "ion", "er", "est", "ly", "ity", "y", "al")


def _english(word: str, is_first: bool, known: Collection[str]) -> list[str]:
    """The Berkeley parser's signature, then the same with its last features removed one by one."""
    lowered = word.lower()
    n_capitals = sum(character.isalpha() and not character.islower() for character in word)
    has_lower = any(character.islower() or (character.istitle() and not character.isupper()) for character in word)
    has_digit = any(character.isdigit() for character in word)
    has_dash = "-" in word
    features: list[str] = []
    if word[0].isupper() or word[0].istitle():
        if is_first and n_capitals == 1:
            features.append("INITC")
            if lowered in known:
                features.append("KNOWNLC")
        else:
            features.append("CAPS")
    elif not word[0].isalpha() and n_capitals > 0:
        features.append("CAPS")
    elif has_lower:
        features.append("LC")
    if has_digit:
        features.append("NUM")
    if has_dash:
        features.append("DASH")
    if lowered.endswith("s") and len(word) >= 3:
        if lowered[-2] not in "siu":
            features.append("s")
    elif len(word) >= 5 and not has_dash and not (has_digit and n_capitals > 0):
        features.extend([suffix for suffix in _ENGLISH_SUFFIXES if lowered.endswith(suffix)][:1])
    return ["-".join([UNKNOWN, *features[:count]]) for count in range(len(features), -1, -1)]


def _auto(word: str, is_first: bool, known: Collection[str]) -> list[str]:
    """Shape, then shape with longer and longer endings; endings are counted in characters of any script."""
    shape = _shape(word, is_first, known)
    lowered = word.lower()
    longest = min(MAX_SUFFIX, len(lowered) - 1)
    classes = [f"{shape}~{lowered[-length:]}" for length in range(longest, 0, -1)]
    broad = shape.split("-", 1)[0]
    return [*classes, shape, *([broad] if broad != shape else []), UNKNOWN]


def _shape(word: str, is_first: bool, known: Collection[str]) -> str:
    """The shape of the word: `lower`, `Title`, `Title-first`, `UPPER`, `digit`, `digit-mixed`, `punct`, ..."""
    letters = [character for character in word if character.isalpha()]
    digits = any(character.isdigit() for character in word)
    if not letters:
        if digits:
            return "digit"
        kinds = {unicodedata.category(character)[0] for character in word}
        return "punct" if kinds <= {"P"} else "symbol"
    if digits:
        return "digit-mixed"
    dash = "-dash" if "-" in word[1:-1] else ""
    if not any(character.isupper() or character.islower() for character in letters):
        return "caseless" + dash
    if not any(character.isupper() for character in letters):
        return "lower" + dash
    if all(not character.islower() for character in letters) and len(letters) > 1:
        return "UPPER" + dash
    if is_first and word[0].isupper():
        return "Title-first-known" if word.lower() in known else "Title-first"
    return ("Title" if word[0].isupper() else "Mixed") + dash


def learn_classes(
    rare: Mapping[tuple[tuple[str, ...], str], float],
) -> dict[str, str]:
    """The classes worth keeping, each with the next kept class above it ("" above the most general one).

    rare: counts of (candidate classes of a rare word, its tag). A class is kept if its tag distribution explains its
    own words better than that of the class above, by a margin.
    """
    tags_of: dict[str, Counter[str]] = defaultdict(Counter)
    above: dict[str, str] = {}
    depth: dict[str, int] = {UNKNOWN: 0}
    for (chain, tag), count in rare.items():
        for index, name in enumerate(chain):
            tags_of[name][tag] += count  # type: ignore[assignment]
            if index + 1 < len(chain):
                above[name] = chain[index + 1]
            depth[name] = len(chain) - 1 - index
    kept = {UNKNOWN: ""}
    for name in sorted(tags_of, key=lambda name: (depth[name], name)):
        if name == UNKNOWN:
            continue
        parent = above[name]
        while parent not in kept:
            parent = above[parent]
        counts = tags_of[name]
        if sum(counts.values()) >= _MIN_CLASS and _gain(counts, tags_of[parent]) >= _MIN_GAIN:
            kept[name] = parent
    return kept


def _gain(counts: Counter[str], above: Counter[str]) -> float:
    """The gain in nats of the counts' own distribution over the one above."""
    total, total_above = sum(counts.values()), sum(above.values())
    return sum(count * math.log(count / total * total_above / above[tag]) for tag, count in counts.items() if count > 0)
