"""The health of a treebank of bracketed trees."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lveg.checking.findings import Finding, counted, share, some
from lveg.checking.sentences import Item, Sentences, missing, rare
from lveg.trees import ROOT, WRAPPERS, Cleaning, Tree, bare_label

DEEP, WIDE, CHAIN = 40, 30, 4
"""Trees with more levels, phrases with more children, and unary chains of at least this many phrases are unusual."""

_TRACE = re.compile(r"\*[^*]+\*(?:-\d+)?|\*-\d+")  # *T*-1, *pro*, *-1


@dataclass(frozen=True)
class Read:
    """A tree as it was read, and cleaned; None if no word is left. place: file and line."""

    place: str
    tree: Tree
    cleaned: Tree | None


@dataclass(frozen=True)
class Trees:
    """All trees of a treebank, and how they are cleaned before training."""

    trees: Sequence[Read]
    cleaning: Cleaning

    @cached_property
    def kept(self) -> list[tuple[str, Tree]]:
        """The cleaned trees that have words, with their places."""
        return [(read.place, read.cleaned) for read in self.trees if read.cleaned is not None]

    @cached_property
    def sentences(self) -> Sentences:
        """The sentences of the cleaned trees."""
        return Sentences([Item(place, tuple(tree.words()), tuple(tree.tags()), tree) for place, tree in self.kept])

    @cached_property
    def labels(self) -> Counter[str]:
        """How often each phrase label occurs in cleaned trees, without the outer bracket."""
        return Counter(node.label for _, tree in self.kept for node in list(tree)[1:] if node.word is None)

    def facts(self) -> dict[str, Any]:
        """Sizes."""
        return self.sentences.facts() | {
            "phrase_labels": len(self.labels),
            "deepest_tree": f"{max((depth(tree) for _, tree in self.kept), default=0)} levels",
            "cleaning": self._cleaned(),
        }

    def _cleaned(self) -> dict[str, Any]:
        """What cleaning removes."""
        before = Counter(node.word is None for read in self.trees for node in read.tree)
        after = Counter(node.word is None for _, tree in self.kept for node in tree)
        phrases = {node.label for read in self.trees for node in read.tree if node.word is None}
        outer = Counter(read.tree.label or "()" for read in self.trees if read.tree.label in WRAPPERS)
        n_outer = ", ".join(f"{label} {count:,}" for label, count in outer.most_common())
        return {
            "outer_brackets": (n_outer or "none") + f", all {ROOT} after cleaning",
            "empty_elements_removed": before[False] - after[False],
            "phrases_removed (empty, or X over X)": max(before[True] - after[True], 0),
            "phrase_labels": f"{len(phrases):,} with function labels, {len(self.labels):,} without",
        }

    def find(self) -> Iterator[Finding]:
        """What is worth knowing about the trees."""
        yield from self.sentences.find()
        yield from rare("phrase label", self.labels, self._label_places())
        yield from self._empty()
        yield from self._traces()
        yield from self._tags()
        yield from self._shapes()
        yield from self._chains()

    def against(self, other: Trees) -> Iterator[Finding]:
        """What is worth knowing about development trees, if these trees are the training data."""
        yield from self.sentences.against(other.sentences)
        yield from missing("phrase label", self.labels, other.labels, other._label_places())

    def _label_places(self) -> dict[str, str]:
        return {node.label: place for place, tree in reversed(self.kept) for node in tree if node.word is None}

    def _empty(self) -> Iterator[Finding]:
        found = [f"{read.place}: {_cut(str(read.tree))}" for read in self.trees if read.cleaned is None]
        if found:
            yield Finding(
                "note",
                f"{counted(len(found), 'tree')} without words after cleaning",
                "They consist of traces only, and are left out.",
                "No action is needed.",
                some(found),
            )

    def _traces(self) -> Iterator[Finding]:
        left: Counter[tuple[str, str]] = Counter()
        places: dict[tuple[str, str], str] = {}
        for place, tree in self.kept:
            for leaf in tree.leaves():
                word = leaf.word or ""
                if _TRACE.fullmatch(word):
                    left[leaf.label, word] += 1
                    places.setdefault((leaf.label, word), place)
        if left and self.cleaning.empty_elements:
            yield Finding(
                "warning",
                f"{counted(left.total(), 'word')} like a trace, not removed",
                "Text to parse has no traces, so a parser trained on them expects words that never come.",
                "Remove them with --empty PATTERN, a regular expression for `label word`.",
                some([f"{places[key]}: ({key[0]} {key[1]}) {count:,} times" for key, count in left.most_common()]),
            )

    def _tags(self) -> Iterator[Finding]:
        tags = self.sentences.tags
        cut = {bare_label(tag) for tag in tags}
        longer = [tag for tag in tags if bare_label(tag) != tag]
        if len(cut) < 0.7 * len(tags) and not self.cleaning.strip_tags:
            yield Finding(
                "note",
                f"{len(tags):,} tags, {len(cut):,} if they are cut at - = and |",
                "Tags with case, number or the like after a hyphen are many, and each has fewer examples.",
                "Compare training with and without --cut-tags.",
                some(sorted(longer)),
            )
        both = sorted(set(tags) & set(self.labels))
        if both:
            yield Finding(
                "note",
                f"{counted(len(both), 'label')} used for both words and phrases",
                "lveg keeps the two apart; people and other programs may not.",
                "No action is needed, unless a word lacks its tag.",
                some(both),
            )

    def _shapes(self) -> Iterator[Finding]:
        deep = [f"{place}: {depth(tree)} levels" for place, tree in self.kept if depth(tree) > DEEP]
        if deep:
            yield Finding(
                "note",
                f"{counted(len(deep), 'tree')} with more than {DEEP} levels",
                "Such trees are rarely right: often a closing bracket is in the wrong place.",
                "Look at them with `lveg draw`.",
                some(deep),
            )
        wide = [
            f"{place}: {node.label} with {len(node.children)} children"
            for place, tree in self.kept
            for node in tree
            if len(node.children) > WIDE
        ]
        if wide:
            yield Finding(
                "note",
                f"{counted(len(wide), 'phrase')} with more than {WIDE} children",
                "Lists and tables look like this, and phrases that were not annotated inside.",
                "Look at them with `lveg draw`.",
                some(wide),
            )

    def _chains(self) -> Iterator[Finding]:
        chains = [(place, chain) for place, tree in self.kept for chain in unary_chains(tree)]
        cycles = Counter(" -> ".join(chain) for _, chain in chains if len(set(chain)) < len(chain))
        long = Counter(" -> ".join(chain) for _, chain in chains if len(chain) >= CHAIN)
        places = {" -> ".join(chain): place for place, chain in reversed(chains)}
        for found, what, meaning in (
            (cycles, "back to the same label", "A phrase that is the only part of a phrase with the same "
             "label adds nothing; most are annotation errors."),
            (long, f"of {CHAIN} phrases or more", "Each chain is a rule of its own, so rare ones are hard to learn."),
        ):  # fmt: skip
            if found:
                yield Finding(
                    "note",
                    f"{counted(found.total(), 'unary chain')} {what} ({share(found.total(), len(self.kept))} of trees)",
                    meaning,
                    "Look at the rare ones; they do not stop training.",
                    some([f"{places[chain]}: {chain} ({count:,})" for chain, count in found.most_common()]),
                )


def depth(tree: Tree) -> int:
    """The number of levels of a tree, words not counted."""
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for node in level for child in node.children]
    return deepest


def unary_chains(tree: Tree) -> Iterator[list[str]]:
    """The labels of each longest chain of two or more phrases that are the only child, without the outer bracket."""
    inside = set()
    for node in list(tree)[1:]:
        if node.word is not None or id(node) in inside:
            continue
        chain = [node.label]
        while len(node.children) == 1 and node.children[0].word is None:
            node = node.children[0]
            inside.add(id(node))
            chain.append(node.label)
        if len(chain) > 1:
            yield chain


def _cut(text: str) -> str:
    return text if len(text) <= 70 else text[:67] + "..."
