"""Trees, and how they are cleaned before and after parsing; does no input or output.

No function here is recursive, so depth is limited only by memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lveg.errors import UsageError

ROOT = "TOP"
"""Label of the outer bracket, and of the start symbol. EVALB's parameter files delete this label."""

WRAPPERS = frozenset({"", "ROOT", "TOP", "S1"})
"""Labels of the outer bracket in common treebanks."""

EMPTY_ELEMENTS = r"-NONE- .*|sn\S* \*0\*"
"""Pattern for `label word` of traces (Penn's -NONE-, and the empty subjects of CESS)."""

_MOST_REPEATS = 3


UNWRITABLE = re.compile(r"[() \t\n\r\v\f]")
"""Characters that a word or label of a bracketed tree cannot have."""


def escape_word(word: str) -> str:
    """The word as written in a bracketed tree: brackets as -LRB- and -RRB-, ASCII white space as `_`."""
    if UNWRITABLE.search(word) is None:
        return word
    return UNWRITABLE.sub("_", word.replace("(", "-LRB-").replace(")", "-RRB-"))


class Tree:
    """A constituent: a label over child trees, or a tag over a word.

    `word` is None exactly for phrases. A phrase without children is an empty constituent, which occurs only in parser
    output. `lemma` is the third field of a leaf such as `(da0ms0 El el)`. Words and lemmas are escaped when a tree is
    created, so that any tree can be written. Do not change a tree in place: other trees may share its nodes.
    """

    __slots__ = ("children", "label", "lemma", "word")

    def __init__(
        self, label: str, children: Iterable[Tree] = (), word: str | None = None, lemma: str | None = None
    ) -> None:
        self.label = label
        self.children = tuple(children)
        self.word = None if word is None else escape_word(word)
        self.lemma = None if lemma is None else escape_word(lemma)

    @property
    def is_leaf(self) -> bool:
        """Whether this is a tag over a word."""
        return self.word is not None

    def __iter__(self) -> Iterator[Tree]:
        """All nodes, parents before children, left to right."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def leaves(self) -> list[Tree]:
        """The tags over their words, left to right."""
        return [node for node in self if node.word is not None]

    def words(self) -> list[str]:
        """The words, left to right."""
        return [node.word for node in self if node.word is not None]

    def tags(self) -> list[str]:
        """The tags, left to right."""
        return [node.label for node in self if node.word is not None]

    def spans(self) -> list[tuple[Tree, int, int]]:
        """(node, start, end) of every node, parents before children; word positions, half-open."""
        nodes = list(self)
        end_of: list[int] = [0] * len(nodes)
        starts: list[int] = []
        position = 0
        for node in nodes:
            starts.append(position)
            position += node.word is not None
        sizes = [1] * len(nodes)
        for index in range(len(nodes) - 1, -1, -1):
            child = index + 1
            end = starts[index] + (nodes[index].word is not None)
            for _ in nodes[index].children:
                end = end_of[child]
                sizes[index] += sizes[child]
                child += sizes[child]
            end_of[index] = end
        return list(zip(nodes, starts, end_of, strict=True))

    def to_nltk(self) -> Any:
        """The tree as an `nltk.Tree`; lemmas are left out. Needs the package nltk."""
        from nltk.tree import Tree as NltkTree

        done: list[Any] = []
        for node in reversed(list(self)):
            inside = [done.pop() for _ in node.children] if node.word is None else [node.word]
            done.append(NltkTree(node.label, inside))
        return done[0]

    @classmethod
    def from_nltk(cls, tree: Any) -> Tree:
        """The tree of an `nltk.Tree`, in which each word is the only child of its tag."""
        rows: list[Row] = []
        stack = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, str):
                raise UsageError(f"the word {node!r} has no tag: it must be the only child of a node")
            inside = list(node)
            is_tag = len(inside) == 1 and isinstance(inside[0], str)
            rows.append((str(node.label()), 0 if is_tag else len(inside), inside[0] if is_tag else None, None))
            stack += [] if is_tag else reversed(inside)
        return from_rows(rows)

    def _shape(self) -> list[tuple[str, int, str | None]]:
        return [(node.label, len(node.children), node.word) for node in self]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._shape() == other._shape()

    def __hash__(self) -> int:
        return hash(tuple(self._shape()))

    def __reduce__(self) -> tuple[Callable[[list[Row]], Tree], tuple[list[Row]]]:
        """Support for `pickle` and `copy`: the nodes as a flat list, so that depth does not matter."""
        return from_rows, (rows_of(self),)

    def _repr_svg_(self) -> str:
        """The drawing that notebooks show."""
        from lveg.drawing.svg import tree_svg

        return tree_svg(self)

    def __repr__(self) -> str:
        text = str(self)
        return f"Tree({text if len(text) <= 80 else text[:77] + '...'!r})"

    def __str__(self) -> str:
        """The tree in brackets, on one line; `(())` for an empty tree."""
        if not self.label and not self.children and self.word is None:
            return "(())"
        parts: list[str] = []
        stack: list[Tree | None] = [self]
        while stack:
            node = stack.pop()
            if node is None:
                parts.append(")")
                continue
            parts.append(f" ({node.label}" if parts else f"({node.label}")
            if node.word is not None:
                lemma = "" if node.lemma is None else f" {node.lemma}"
                parts.append(f" {node.word}{lemma})")
            else:
                stack.append(None)
                stack.extend(reversed(node.children))
        return "".join(parts)


Row = tuple[str, int, str | None, str | None]
"""Label, number of children, word and lemma of a node."""


def rows_of(tree: Tree) -> list[Row]:
    """All nodes, parents before children, left to right, as plain values."""
    return [(node.label, len(node.children), node.word, node.lemma) for node in tree]


def from_rows(rows: Sequence[Row]) -> Tree:
    """The tree made of nodes in the order of `rows_of`."""
    done: list[Tree] = []
    for label, count, word, lemma in reversed(rows):
        done.append(Tree(label, [done.pop() for _ in range(count)] if count else (), word, lemma))
    return done[0]


EMPTY_TREE = Tree("")
"""The analysis of a sentence without words."""


def trees_fingerprint(trees: Iterable[Tree]) -> str:
    """A short hash of the trees: words, tags and structure."""
    digest, separator = hashlib.sha256(), ""
    for tree in trees:
        digest.update(f"{separator}{tree}".encode())
        separator = "\n"
    return digest.hexdigest()[:16]


def rebuild(tree: Tree, make: Callable[[Tree, list[Tree]], Tree | None]) -> Tree | None:
    """The tree that `make(node, new_children)` builds bottom-up; nodes for which it is None are dropped."""
    nodes = list(tree)
    done: list[Tree | None] = []
    for node in reversed(nodes):
        count = len(node.children)
        children = [done.pop() for _ in range(count)]
        done.append(make(node, [child for child in children if child is not None]))
    return done[0]


def check_empty_elements(pattern: str) -> None:
    """Raise ValueError unless a pattern of empty elements is simple enough that it never takes long to match.

    That is, besides EMPTY_ELEMENTS: a regular expression without groups and with at most three of * + ?.
    """
    own = re.sub(r"\\.", "", pattern.removeprefix(EMPTY_ELEMENTS), flags=re.DOTALL)
    if re.search(r"[(){}]", own) or len(re.findall(r"[*+?]", own)) > _MOST_REPEATS:
        raise ValueError(f"it has a group, or more than {_MOST_REPEATS} of * + ?, and could take forever to match")
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"it is not a regular expression: {error}") from None


@dataclass(frozen=True)
class Cleaning:
    """The steps that turn an annotated tree into the tree that is modelled and scored.

    strip_functions: `NP-SBJ=2` to NP, `ADVP|PRT` to ADVP; labels that begin with `-` stay whole, and so do tags.
    strip_tags: the same for tags; in some treebanks they have case or the like after a hyphen, as in `N-D`.
    empty_elements: pattern for `label word` of leaves to remove, with phrases that become empty; "" for none.
    collapse_unaries: a phrase over one phrase of the same label becomes one phrase.
    """

    strip_functions: bool = True
    empty_elements: str = EMPTY_ELEMENTS
    collapse_unaries: bool = True
    strip_tags: bool = False

    def __call__(self, tree: Tree) -> Tree | None:
        """The cleaned tree under one ROOT bracket, or None if no word is left."""
        empty = re.compile(self.empty_elements) if self.empty_elements else None

        def make(node: Tree, children: list[Tree]) -> Tree | None:
            is_cut = self.strip_functions if node.word is None else self.strip_tags
            label = bare_label(node.label) if is_cut else node.label
            if node.word is not None:
                if empty is not None and empty.fullmatch(f"{node.label} {node.word}"):
                    return None
                return Tree(label, (), node.word, node.lemma)
            if not children and node.children:
                return None
            if self.collapse_unaries and len(children) == 1:
                child = children[0]
                if child.word is None and child.label == label:
                    return child
            return Tree(label, children)

        cleaned = rebuild(tree, make)
        return None if cleaned is None or not cleaned.words() else with_root(cleaned)


@lru_cache(maxsize=4096)
def bare_label(label: str) -> str:
    """The category without function tags, indices and alternatives."""
    if label[:1] == "-":
        return label
    return re.split(r"[-=|]", label, maxsplit=1)[0] or label


def with_root(tree: Tree) -> Tree:
    """The tree under exactly one outer bracket, labelled ROOT."""
    if tree.word is None and tree.label in WRAPPERS:
        while len(tree.children) == 1 and (child := tree.children[0]).word is None and child.label in WRAPPERS:
            tree = child
        return Tree(ROOT, tree.children)
    return Tree(ROOT, (tree,))
