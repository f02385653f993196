"""Bracketed trees: `( (S ...))`, `(ROOT ...)`, `(TOP ...)`, `(S1 ...)` or no wrapper; any layout of lines."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from lveg.errors import TreebankError
from lveg.treebank.source import Faults, Part, PathLike, Paths, display_name, expand, read_lines
from lveg.trees import EMPTY_TREE, WRAPPERS, Cleaning, Tree

# Only ASCII white space separates words: U+2009 and U+200A occur inside words.
_TOKEN = re.compile(r"[()]|[^ \t\r\n\v\f()]+")
_TREE_START = re.compile(r"[ \t]*\([ \t\r\n\v\f]*([^ \t\r\n\v\f()]*)")


_MOST_AGAIN = 700_000  # lines that are read again after trees that are never closed


class _Open:
    """A bracket that is still open. Most have children or atoms, not both: a list is made when it is needed."""

    __slots__ = ("atoms", "children", "label")

    def __init__(self) -> None:
        self.label: str | None = None
        self.children: list[Tree] | None = None
        self.atoms: list[str] | None = None


def read_trees(paths: Paths, faults: Faults | None = None, allow_empty: bool = False) -> Iterator[Tree]:
    """The trees of files and directories, in order, unchanged.

    Files in a directory that do not begin with a bracket are noted in `faults` and skipped, unless they have a treebank
    extension. allow_empty: accept `(())` and phrases without words, as parsers write them.
    """
    faults = faults or Faults()
    for path in expand(paths, "brackets", faults):
        yield from (tree for _, tree in numbered_trees(path, faults, allow_empty))


def read_gold_trees(paths: Paths, cleaning: Cleaning, faults: Faults | None = None) -> list[Tree]:
    """The cleaned trees of files and directories; trees without words are left out."""
    return [tree for tree in map(cleaning, read_trees(paths, faults)) if tree is not None]


def numbered_trees(
    path: str, faults: Faults, allow_empty: bool = False, part: Part | None = None
) -> Iterator[tuple[int, Tree]]:
    """(number of its first line, tree) of each tree in a file or a part of it."""
    reader = _Reader(path, faults, allow_empty, 0 if part is None else part.before)
    return ((reader.first_line, tree) for tree in reader.scan(read_lines(path, part)))


def read_tree_lists(path: PathLike) -> Iterator[list[Tree]]:
    """The lists of trees in a file that `lveg parse --kbest` wrote: an empty line ends the list of a sentence.

    If there is no empty line, each tree is a list of its own.
    """
    name = os.fspath(path)
    reader = _Reader(name, Faults(), allow_empty=True)
    lines = list(read_lines(name))
    ends = [index for index, (_, text) in enumerate(lines) if not text.strip()]
    if not ends:
        yield from ([tree] for tree in reader.scan(lines))
        return
    for begin, end in pairwise([-1, *ends, len(lines)]):
        trees = list(reader.scan(lines[begin + 1 : end]))
        if trees:
            yield trees


def parse_tree(text: str) -> Tree:
    """The one tree in the text."""
    reader = _Reader("<text>", Faults(), allow_empty=True)
    trees = list(reader.scan(enumerate(io.StringIO(text, newline="\n"), start=1)))
    if len(trees) != 1:
        raise TreebankError(f"<text>:1: expected one tree, found {len(trees)}")
    return trees[0]


class _Reader:
    """Turns the lines of one file into trees, without recursion and one tree at a time.

    After a fault, reading continues where the least is lost: a tree with balanced brackets is read to its end and
    dropped; after a tree that is never closed, the lines after its first line are read again.
    """

    def __init__(self, path: str, faults: Faults, allow_empty: bool, number: int = 0) -> None:
        self.name = display_name(path)
        self.faults = faults
        self.allow_empty = allow_empty
        self.number = number  # trees begun
        self.first_line = 0  # of the tree being read
        self.first_label = ""
        self.margin = 0  # white space before the tree's first line
        self.faulty = False  # a fault of the tree being read is already reported
        self.lost = False  # text outside brackets is already reported
        self.stack: list[_Open] = []
        self.kept: list[tuple[int, str]] = []  # lines since the tree began, to read again if it is never closed

    def scan(self, lines: Iterable[tuple[int, str]]) -> Iterator[Tree]:
        """The trees in the numbered lines."""
        yield from self._pass(lines)
        read_again = 0
        while self.stack:
            rest = self.kept[1:]
            read_again += len(rest)
            if read_again > _MOST_AGAIN:
                self._unclosed(" at the end of the file, after many others: what follows it is not read")
                return
            wrapped = self.first_label in WRAPPERS
            self._unclosed(" at the end of the file")
            # Inside a wrapper, an unindented phrase is part of the broken tree, not a separate tree.
            starts = (
                index
                for index, (_, text) in enumerate(rest)
                if (label := self._starts_tree(text)) is not None and (not wrapped or label in WRAPPERS)
            )
            yield from self._pass(rest[next(starts, len(rest)) :])

    def _pass(self, lines: Iterable[tuple[int, str]]) -> Iterator[Tree]:
        for numbered in lines:
            line, text = numbered
            if self.stack:
                # An unindented bracket with the same wrapper as the open tree shows that the open tree is not closed.
                if self.first_label in WRAPPERS and self._starts_tree(text) == self.first_label:
                    self._unclosed("")
                else:
                    self.kept.append(numbered)
            elif self.lost and self._starts_tree(text) is None:
                continue
            yield from self._line(line, text)

    def _starts_tree(self, text: str) -> str | None:
        """The label of a bracket at the start of the line, indented no further than the last tree, or None."""
        match = _TREE_START.match(text)
        return None if match is None or text.index("(") > self.margin else match[1]

    def _unclosed(self, where: str) -> None:
        number = len(self.stack)
        self._fault(self.first_line, f"has {number} unclosed bracket{'' if number == 1 else 's'}{where}")
        self.stack.clear()
        self.kept.clear()

    def _fault(self, line: int, what: str) -> None:
        if not self.faulty:
            self.faulty = True
            self.faults.report(f"{self.name}:{line}: tree {max(self.number, 1)} {what}")

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
            elif not stack:
                self._outside(line, token)
            elif token == ")":
                tree = self._close(stack.pop(), line)
                if stack:
                    above = stack[-1]
                    if above.children is None:
                        above.children = [tree]
                    else:
                        above.children.append(tree)
                    continue
                self.kept.clear()
                if not self.faulty:
                    yield EMPTY_TREE if self.allow_empty and not _has_content(tree) else tree
            elif stack[-1].label is None:
                stack[-1].label = token
            elif stack[-1].atoms is None:
                stack[-1].atoms = [token]
            else:
                stack[-1].atoms.append(token)

    def _begin(self, line: int, text: str, column: int) -> None:
        self.number += 1
        self.first_line = line
        match = _TREE_START.match(text, column)
        self.first_label = match[1] if match else ""
        self.margin = len(text) - len(text.lstrip(" \t"))
        self.faulty = self.lost = False
        self.kept = [(line, text)]

    def _outside(self, line: int, token: str) -> None:
        if not self.lost:
            self.lost, self.faulty = True, False
            what = "a stray closing bracket" if token == ")" else f"{token!r} outside any bracket"
            if self.number:
                self._fault(line, f"is followed by {what}")
            else:
                self._fault(line, f"is preceded by {what}; expected trees in brackets, such as (NP (DT a) (NN dog))")

    def _close(self, bracket: _Open, line: int) -> Tree:
        label, children, atoms = bracket.label or "", bracket.children or (), bracket.atoms or ()
        outermost = not self.stack
        if atoms and children:
            self._fault(line, f"has the bare word {atoms[0]!r} beside constituents under {label!r}")
        elif len(atoms) > 2:
            what = f"has {len(atoms)} words under one label {label!r}"
            self._fault(line, f"{what}; a leaf is (tag word) or (tag word lemma)")
        elif not atoms and not self.allow_empty:
            if not label and not outermost:
                self._fault(line, "has an empty label" if children else "has an empty bracket")
            elif not children:
                self._fault(line, "has no words" if outermost else f"has no word under {label!r}")
        return Tree(label, (), *atoms[:2]) if atoms else Tree(label, children)


def _has_content(tree: Tree) -> bool:
    return any(node.label or node.word is not None for node in tree)
