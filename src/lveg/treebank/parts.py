"""Files cut into parts of whole sentences, each of which is read by itself, in any order and in any process."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Protocol

from lveg.treebank.source import InputFormat, Part, numbered_bytes

LARGEST_PART = 1 << 20
"""A part ends when it has this many bytes, even if it has few sentences."""

_BRACKET = re.compile(rb"[()]")


def cut(file: str, input_format: InputFormat, is_raw: bool, count: int) -> Iterator[Part]:
    """The parts of a file, in order, one at a time: `count` sentences each, or paragraphs of raw text.

    They depend on nothing but the bytes of the file and these arguments. After a tree that is never closed, the rest of
    the file is one part.
    """
    rule = _rule(input_format, is_raw)
    number, first, before, found = 0, 1, 0, 0
    lines: list[bytes] = []
    size = 0
    for line, raw in numbered_bytes(file):
        if (found >= count or size >= LARGEST_PART) and rule.may_begin(raw):
            yield Part(number, first, before, b"".join(lines))
            number, first, before, found = number + 1, line, before + found, 0
            lines, size = [], 0
        lines.append(raw)
        size += len(raw)
        found += rule.ends(raw)
    if lines:
        yield Part(number, first, before, b"".join(lines))


class _Rule(Protocol):
    """Where a file may be cut."""

    def may_begin(self, line: bytes) -> bool:
        """Whether a part may begin with this line, which follows those that `ends` was called with."""

    def ends(self, line: bytes) -> int:
        """How many sentences end in a line; to be called for each line."""


def _rule(input_format: InputFormat, is_raw: bool) -> _Rule:
    if is_raw:
        return _Paragraphs()
    match input_format:
        case "conllu":
            return _Blocks()
        case "brackets":
            return Trees()
        case _:
            return _Lines()


class _Lines:
    """Every line is a sentence."""

    def may_begin(self, line: bytes) -> bool:
        return True

    def ends(self, line: bytes) -> int:
        return 1


class _Blocks:
    """Empty lines end sentences."""

    def __init__(self) -> None:
        self.is_between = True

    def may_begin(self, line: bytes) -> bool:
        return self.is_between

    def ends(self, line: bytes) -> int:
        self.is_between = self.is_blank(line)
        return int(self.is_between)

    def is_blank(self, line: bytes) -> bool:
        return line in (b"\n", b"\r\n")


class _Paragraphs(_Blocks):
    """Lines of nothing but white space end paragraphs."""

    def is_blank(self, line: bytes) -> bool:
        return not line.decode("utf-8", "replace").strip()


class Trees:
    """Trees end where all brackets are closed."""

    def __init__(self) -> None:
        self.depth = 0

    def may_begin(self, line: bytes) -> bool:
        return self.depth == 0 and line.lstrip().startswith(b"(")

    def ends(self, line: bytes) -> int:
        found = 0
        for mark in _BRACKET.findall(line):
            if mark == b"(":
                self.depth += 1
            elif self.depth:
                self.depth -= 1
                found += self.depth == 0
        return found
