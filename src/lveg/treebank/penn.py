"""Bracketed trees: `( (S ...))`, `(ROOT ...)`, `(TOP ...)`, `(S1 ...)` or no wrapper; any layout of lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from lveg.errors import TreebankError
from lveg.treebank.source import expand, read_lines
from lveg.trees import EMPTY_TREE, WRAPPERS, Tree

# Only ASCII white space separates: real words hold U+2009 and U+200A.
_TOKEN = re.compile(r"[()]|[^ \t\r\n\v\f()]+")
_TREE_START = re.compile(r"\(\s*([^ \t\r\n\v\f()]*)")


@dataclass
class Faults:
    """What happens at a malformed tree: an error, or, with `skip`, a line in `messages` and on with the next."""

    skip: bool = False
    messages: list[str] = field(default_factory=list)

    def report(self, message: str) -> None:
        """Raise the fault, or note it."""
        if not self.skip:
            raise TreebankError(message)
        self.messages.append(message)


class _Fault(Exception):
    """A malformed tree: what is wrong, and the line it is seen on."""


class _Open:
    """A bracket that is still open."""

    __slots__ = ("atoms", "children", "label")

    def __init__(self) -> None:
        self.label: str | None = None
        self.children: list[Tree] = []
        self.atoms: list[str] = []


def read_trees(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    faults: Faults | None = None,
    allow_empty: bool = False,
) -> Iterator[Tree]:
    """The trees of files and directories, in order, as they stand.

    allow_empty: accept `(())` and phrases without words, as parsers write them.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    for path in expand(listed):
        yield from _Reader(path, faults or Faults(), allow_empty).trees()


def parse_tree(text: str) -> Tree:
    """The one tree in the text."""
    reader = _Reader("<text>", Faults(), allow_empty=True)
    trees = list(reader.scan(enumerate(text.splitlines(keepends=True), start=1)))
    if len(trees) != 1:
        raise TreebankError(f"<text>:1: expected one tree, found {len(trees)}")
    return trees[0]


class _Reader:
    """Turns the lines of one file into trees, without recursion and one tree at a time."""

    def __init__(self, path: str, faults: Faults, allow_empty: bool) -> None:
        self.path = path
        self.faults = faults
        self.allow_empty = allow_empty
        self.number = 0  # trees begun
        self.first_line = 0  # of the tree being read
        self.first_label = ""
        self.stack: list[_Open] = []
        self.kept: list[tuple[int, str]] = []  # lines since the tree began, to read again if it never closes

    def trees(self) -> Iterator[Tree]:
        """The file's trees."""
        return self.scan(read_lines(self.path))

    def scan(self, lines: Iterable[tuple[int, str]]) -> Iterator[Tree]:
        """The trees in the numbered lines."""
        skipping = False  # after a fault, until a line begins a tree
        for numbered in lines:
            line, text = numbered
            if text.startswith("("):
                if self.stack and self._begins_another(text):
                    self._fault(self.first_line, f"has {_count(len(self.stack), 'unclosed bracket')}")
                skipping = False
            if skipping:
                continue
            if self.stack:
                self.kept.append(numbered)
            try:
                yield from self._line(line, text)
            except _Fault as fault:
                self._fault(line, str(fault))
                skipping = True
        if self.stack:
            again = self.kept[1:]
            self._fault(self.first_line, f"has {_count(len(self.stack), 'unclosed bracket')} at the end of the file")
            while again and not again[0][1].startswith("("):
                del again[0]
            if again:
                yield from self.scan(again)

    def _begins_another(self, text: str) -> bool:
        """Whether an unindented bracket with the wrapper that the open tree has shows that tree to be unclosed."""
        match = _TREE_START.match(text)
        return match is not None and match[1] in WRAPPERS and match[1] == self.first_label

    def _fault(self, line: int, what: str) -> None:
        self.stack.clear()
        self.kept.clear()
        self.faults.report(f"{self.path}:{line}: tree {max(self.number, 1)} {what}")

    def _line(self, line: int, text: str) -> Iterator[Tree]:
        stack = self.stack
        for match in _TOKEN.finditer(text):
            token = match[0]
            if token == "(":
                if not stack:
                    self._begin(line, text, match.start())
                elif stack[-1].label is None:
                    stack[-1].label = ""
                stack.append(_Open())
            elif token == ")":
                if not stack:
                    raise _Fault("is followed by a stray closing bracket")
                tree = self._close(stack.pop(), outermost=not stack)
                if stack:
                    stack[-1].children.append(tree)
                else:
                    self.kept.clear()
                    yield EMPTY_TREE if self.allow_empty and not _has_content(tree) else tree
            elif not stack:
                raise _Fault(f"is followed by {token!r} outside any bracket")
            elif stack[-1].label is None:
                stack[-1].label = token
            else:
                stack[-1].atoms.append(token)

    def _begin(self, line: int, text: str, column: int) -> None:
        self.number += 1
        self.first_line = line
        match = _TREE_START.match(text, column)
        self.first_label = match[1] if match else ""
        self.kept = [(line, text)]

    def _close(self, bracket: _Open, outermost: bool) -> Tree:
        label, children, atoms = bracket.label or "", bracket.children, bracket.atoms
        if atoms:
            if children:
                raise _Fault(f"has the bare word {atoms[0]!r} beside constituents under {label!r}")
            if len(atoms) > 2:
                raise _Fault(f"has {len(atoms)} words under one label {label!r}; a leaf is (tag word) or (tag word lemma)")
            if not label:
                raise _Fault(f"has an empty label over {atoms[0]!r}")
            tree = Tree(label, (), *atoms)
        else:
            tree = Tree(label, children)
        if self.allow_empty:
            return tree
        if not label and not outermost:
            raise _Fault("has an empty label" if children else "has an empty bracket")
        if not atoms and not children:
            raise _Fault("has no words" if outermost else f"has no word under {label!r}")
        return tree


def _has_content(tree: Tree) -> bool:
    return any(node.label or node.word is not None for node in tree)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
