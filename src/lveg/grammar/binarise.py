"""Lossless conversion between trees and derivations with binary and unary steps.

docs/decisions/0001-unary-chains.md explains why a chain of unaries is one step that stores its inner labels.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lveg.errors import GrammarError
from lveg.grammar.symbols import PART, PHRASE, TAG, Symbol
from lveg.trees import ROOT, Tree


class Step(NamedTuple):
    """One node of a derivation, with the rule applied there.

    left and right are indices of earlier steps: both for a binary step, only left for a unary one, none (-1) for a tag
    over its word. `path` has the labels inside a collapsed unary chain, top to bottom.
    """

    symbol: Symbol
    start: int
    end: int
    left: int = -1
    right: int = -1
    path: tuple[str, ...] = ()


Derivation = list[Step]
"""Steps with children before parents; the last one is the tree below the ROOT bracket."""

HeadTable = dict[str, dict[str, float]]
"""For each phrase label, how strongly a child label marks the head."""


@dataclass(frozen=True)
class Binarisation:
    """How phrases with more than two children are binarised, and what symbols store.

    direction: `right` (the treebank's X-bar grammar), `left`, or `head` (outward from the head child, by `heads`).
    horizontal: number of neighbouring labels that a PART stores. vertical: 1 for a label alone, 2 with its parent's,
    ...
    """

    direction: str = "right"
    horizontal: int = 0
    vertical: int = 1
    heads: HeadTable = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.direction not in ("right", "left", "head"):
            raise GrammarError(f"binarisation {self.direction!r} is not one of right, left, head")
        if self.horizontal < 0 or self.vertical < 1:
            raise GrammarError("horizontal markovisation starts at 0 and vertical at 1")


def binarise(tree: Tree, scheme: Binarisation) -> Derivation:
    """The derivation of a tree under one ROOT bracket (see `trees.Cleaning`); every phrase must contain a word."""
    steps: Derivation = []
    done: list[int] = []
    top = tree.children[0] if len(tree.children) == 1 else tree
    # Two visits to a node: on the way down, to push its children; on the way up, when they are done.
    stack: list[tuple[Tree, tuple[str, ...], bool]] = [(top, (), False)]
    position = 0
    while stack:
        node, parents, children_done = stack.pop()
        context = parents[: scheme.vertical - 1]
        if node.word is not None:
            done.append(len(steps))
            steps.append(Step(Symbol(TAG, node.label), position, position + 1))
            position += 1
            continue
        bottom, labels = node, [node.label]
        while len(bottom.children) == 1 and bottom.children[0].word is None:
            bottom = bottom.children[0]
            labels.append(bottom.label)
        below = (tuple(reversed(labels[-scheme.vertical :])) + parents)[: scheme.vertical]
        if not children_done:
            if not bottom.children:
                raise GrammarError(f"phrase {bottom.label!r} has no words")
            stack.append((node, parents, True))
            stack.extend((child, below, False) for child in reversed(bottom.children))
            continue
        count = len(bottom.children)
        parts = done[-count:]
        del done[-count:]
        symbol = Symbol(PHRASE, node.label, context)
        if count > 1:
            inner = symbol if bottom is node else Symbol(PHRASE, bottom.label, below[1 : scheme.vertical])
            index = _cut(steps, inner, bottom, parts, scheme)
            path = tuple(labels[1:-1])
        else:  # a chain that ends in a tag
            index = parts[0]
            path = tuple(labels[1:])
        if count == 1 or bottom is not node:
            steps.append(Step(symbol, steps[index].start, steps[index].end, index, -1, path))
            index = len(steps) - 1
        done.append(index)
    return steps


def _cut(steps: Derivation, symbol: Symbol, node: Tree, parts: list[int], scheme: Binarisation) -> int:
    """Append the binary steps of one phrase over its finished children; returns the index of the last."""
    first, last = 0, len(parts) - 1
    head = _head(node, scheme.heads) if scheme.direction == "head" else 0
    # Outermost cut first: (symbol, which side is cut off, its step).
    cuts: list[tuple[Symbol, bool, int]] = []
    seen: tuple[str, ...] = ()
    while last - first > 1:
        from_left = scheme.direction == "right" or (scheme.direction == "head" and first < head)
        taken = first if from_left else last
        cuts.append((symbol, from_left, parts[taken]))
        first, last = first + from_left, last - (not from_left)
        seen = (node.children[taken].label, *seen)
        side = "" if scheme.direction != "head" else ("<" if first < head else ">")
        symbol = Symbol(PART, node.label, symbol.parents, seen[: scheme.horizontal], side)
    left, right = parts[first], parts[last]
    steps.append(Step(symbol, steps[left].start, steps[right].end, left, right))
    for outer, from_left, taken in reversed(cuts):
        index = len(steps) - 1
        left, right = (taken, index) if from_left else (index, taken)
        steps.append(Step(outer, steps[left].start, steps[right].end, left, right))
    return len(steps) - 1


def debinarise(derivation: Derivation, words: list[str]) -> Tree:
    """The tree of a derivation."""
    pieces: list[list[Tree]] = []  # for each step: one tree, or the children of a PART so far
    for step in derivation:
        label = step.symbol.label
        if step.right >= 0:
            children = pieces[step.left] + pieces[step.right]
            pieces.append(children if step.symbol.kind == PART else [Tree(label, children)])
        elif step.left >= 0:
            children = pieces[step.left]
            for inner in reversed(step.path):
                children = [Tree(inner, children)]
            pieces.append(children if step.symbol.kind == PART else [Tree(label, children)])
        else:
            pieces.append([Tree(label, (), words[step.start])])
    (tree,) = pieces[-1]
    return tree if tree.label == ROOT and tree.word is None else Tree(ROOT, (tree,))


def learn_heads(trees: Iterable[Tree]) -> HeadTable:
    """For each phrase label, a score of its child labels as heads, learned without a head table.

    A head child occurs in nearly every phrase of that label and rarely in other phrases: the score is the share of
    phrases that contain the child label, times the ratio of its frequency in them to its overall frequency.
    """
    containing: dict[str, Counter[str]] = defaultdict(Counter)
    phrases: Counter[str] = Counter()
    anywhere: Counter[str] = Counter()
    for tree in trees:
        for node in tree:
            if len(node.children) > 1:
                labels = {child.label for child in node.children}
                phrases[node.label] += 1
                anywhere.update(labels)
                containing[node.label].update(labels)
    total = sum(phrases.values())
    return {
        parent: {
            child: round(count / phrases[parent] * (count / phrases[parent]) / (anywhere[child] / total), 6)
            for child, count in sorted(counts.items())
        }
        for parent, counts in sorted(containing.items())
    }


def _head(node: Tree, heads: HeadTable) -> int:
    scores = heads.get(node.label, {})
    return max(range(len(node.children)), key=lambda index: scores.get(node.children[index].label, 0.0))
