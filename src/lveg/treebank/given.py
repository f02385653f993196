"""Gold data that callers give: files, or trees and tagged sentences in memory."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

from lveg.compact import chosen, compact_sentences, compact_trees
from lveg.errors import UsageError
from lveg.report import Report
from lveg.text.tokens import TokenSentence
from lveg.treebank.conllu import each_tagged
from lveg.treebank.penn import read_trees
from lveg.treebank.raw import read_tokens
from lveg.treebank.source import Faults
from lveg.trees import Cleaning, Tree

Item = TypeVar("Item")

Path = str | os.PathLike[str]
Trees = Path | Iterable[Path] | Iterable[Tree]
"""Files of bracketed trees, or trees."""

Pairs = list[tuple[str, str]]
"""A sentence as (word, tag) pairs."""

Sentences = Path | Iterable[Path] | Iterable[Sequence[tuple[str, str]]]
"""CoNLL-U files, or sentences as (word, tag) pairs."""


Texts = Path | Iterable[Path] | Iterable[TokenSentence]
"""CoNLL-U files, or sentences as tokens."""


def items_of(source: Any) -> list[Any]:
    """The list of items, which has one element if `source` is a path."""
    return [source] if isinstance(source, str | os.PathLike) else list(source)


def given_trees(items: list[Any], faults: Faults | None = None, allow_empty: bool = False) -> Iterable[Tree]:
    """Trees, from files or from memory, as they are; files are read one tree at a time."""
    if items and all(isinstance(item, Tree) for item in items):
        return items
    return read_trees(check_files(items, "trees"), faults, allow_empty)


def given_tags(items: list[Any], column: str, faults: Faults | None = None) -> Iterable[Pairs]:
    """Tagged sentences, from files or from memory; files are read one sentence at a time."""
    if items and all(isinstance(item, list | tuple) for item in items):
        return (list(map(partial(_pair, number), item)) for number, item in enumerate(items, start=1))
    return each_tagged(check_files(items, "sentences"), column, faults)


def given_tokens(items: list[Any], faults: Faults | None = None) -> list[TokenSentence]:
    """Tokenised sentences, from files or from memory."""
    if items and all(isinstance(item, TokenSentence) for item in items):
        return items
    return read_tokens(check_files(items, "sentences"), faults)


def named(items: list[Any]) -> str:
    """The first path as the prefix of a message; empty if there is none."""
    return f"{os.fspath(items[0])}: " if items and isinstance(items[0], str | os.PathLike) else ""


def _pair(sentence: int, found: Any) -> tuple[str, str]:
    """A word and its tag, checked."""
    if not (
        isinstance(found, list | tuple) and len(found) == 2 and all(isinstance(part, str) and part for part in found)
    ):
        raise UsageError(f"sentence {sentence}: expected (word, tag) pairs of texts, found {found!r}")
    return found[0], found[1]


def check_files(items: list[Any], others: str) -> list[str]:
    """The names of files; an error if one is not a file name. others: what else could have been given."""
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise UsageError(f"expected either files or {others}, found {item!r}")
    return [os.fspath(item) for item in items]


def short_enough(
    found: Sequence[Item], limit: int | None, length: Callable[[Item], int], report: Report
) -> Sequence[Item]:
    """The sentences that are not longer than the limit."""
    lengths = array("i", map(length, found))
    report("read", {"sentences": len(found), "words": sum(lengths)})
    if limit is None:
        return found
    short = chosen(found, (size <= limit for size in lengths))
    report("filter", {"sentences": len(short), "max_length": limit})
    if not short:
        raise UsageError(f"no training sentence has at most {limit} words: raise --max-length")
    return short


def gold_trees(source: Trees, cleaning: Cleaning, faults: Faults | None, why: str = "to learn from") -> Sequence[Tree]:
    """Cleaned trees, from files or from memory."""
    items = items_of(source)
    trees = compact_trees(tree for tree in map(cleaning, given_trees(items, faults)) if tree is not None)
    return _some(trees, items, f"trees {why}")


def gold_tags(source: Sentences, column: str, faults: Faults | None, why: str = "to learn from") -> Sequence[Pairs]:
    """Tagged sentences, from files or from memory."""
    items = items_of(source)
    return _some(compact_sentences(given_tags(items, column, faults)), items, f"sentences {why}")


def gold_tokens(source: Texts, faults: Faults | None, why: str = "to learn from") -> Sequence[TokenSentence]:
    """Tokenised sentences, from files or from memory."""
    items = items_of(source)
    return _some(given_tokens(items, faults), items, f"sentences {why}")


def _some(found: Sequence[Item], items: list[Any], what: str) -> Sequence[Item]:
    """What was found in the items; an error if that is nothing."""
    if not found:
        raise UsageError(f"{named(items)}there are no {what}")
    return found
