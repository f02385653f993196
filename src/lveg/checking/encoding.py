"""Characters that are probably not meant: in files and in words."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from lveg.checking.findings import Finding, counted, some
from lveg.errors import LvegError
from lveg.treebank.source import numbered_bytes

_MOJIBAKE = re.compile(r"[ÃÂ][\u0080-\u00bf]|â€|ï»¿|Ð[\u0080-\u00bf]Ñ")
_KINDS = {
    "replacement characters (U+FFFD)": (
        re.compile("\ufffd"),
        "Characters were lost in an earlier conversion.",
        "Convert the original file again.",
    ),
    "control characters": (
        re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]"),
        "They cannot be seen, and make a word differ from the same word without them.",
        "Remove them.",
    ),
    "invisible characters (byte-order mark, zero-width space, soft hyphen, directions)": (
        re.compile("[\ufeff\u200b\u2060\u00ad\u200e\u200f\u202a-\u202e\u2066-\u2069]"),
        "They cannot be seen, and make a word differ from the same word without them.",
        "Remove them, unless the text that you will analyse has them too.",
    ),
    "sequences that look like UTF-8 read as Latin-1, such as Ã©": (
        _MOJIBAKE,
        "The text was probably decoded with the wrong encoding.",
        "Convert the original file again, as UTF-8.",
    ),
}
_SPACES = re.compile(r"[\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\x85]")


def check_bytes(files: Sequence[str]) -> Iterator[Finding]:
    """Byte-order marks, and line ends of both kinds."""
    marks, ends = [], []
    for file in files:
        windows = lines = 0
        try:
            for number, raw in numbered_bytes(file):
                if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                    marks.append(file)
                windows += raw.endswith(b"\r\n")
                lines += 1
        except LvegError:  # reported where the file is read
            continue
        if 0 < windows < lines:
            ends.append(f"{file}: {windows:,} of {lines:,} lines end in CR LF")
    if marks:
        yield Finding(
            "note",
            f"{counted(len(marks), 'file')} with a byte-order mark",
            "lveg ignores it; other programs may take it for a part of the first word.",
            "Save as UTF-8 without a byte-order mark.",
            some(marks),
        )
    if ends:
        yield Finding(
            "note",
            f"{counted(len(ends), 'file')} with two kinds of line ends",
            "lveg reads both; probably files from two sources were joined.",
            "No action is needed.",
            some(ends),
        )


def check_words(places: Mapping[str, str]) -> Iterator[Finding]:
    """Characters in words. places: each word, and where it occurs first."""
    for name, (pattern, meaning, advice) in _KINDS.items():
        found = [f"{place}: {word!a}" for word, place in places.items() if pattern.search(word)]
        if found:
            yield Finding("warning", f"{counted(len(found), 'word')} with {name}", meaning, advice, some(found))
    found = [f"{place}: {word!a}" for word, place in places.items() if _SPACES.search(word)]
    if found:
        yield Finding(
            "note",
            f"{counted(len(found), 'word')} with white space inside, such as a no-break space",
            "Only ASCII white space separates words, so these stay whole.",
            "No action is needed, if they are meant to be one word.",
            some(found),
        )
    yield from _check_normalisation(places)


def _check_normalisation(places: Mapping[str, str]) -> Iterator[Finding]:
    forms = defaultdict(list)
    for word in places:
        if not word.isascii():
            forms[unicodedata.normalize("NFC", word)].append(word)
    double = [group for group in forms.values() if len(group) > 1]
    other = [word for form, group in forms.items() for word in group if word != form]
    if double:
        yield Finding(
            "warning",
            f"{counted(len(double), 'word')} in two Unicode forms that look the same",
            "For a model these are different words, each with a part of the examples.",
            "Normalise the treebank, and the text that you will analyse, to NFC.",
            some([f"{places[group[0]]}: {group[0]!a} and {places[group[1]]}: {group[1]!a}" for group in double]),
        )
    elif other:
        yield Finding(
            "note",
            f"{counted(len(other), 'word')} not in the Unicode form NFC",
            "Text from other sources is mostly in NFC; there, a model would not know these words.",
            "Normalise the treebank, and the text that you will analyse, to NFC.",
            some([f"{places[word]}: {word!a}" for word in other]),
        )
