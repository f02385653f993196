"""What is drawn: trees with probabilities and marks, independent of the format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from lveg.drawing.text import labels_of

if TYPE_CHECKING:
    from lveg.trees import Tree

Span = tuple[str, int, int]
"""(label, start, end) of a node, in words, half-open."""


MOST_MISSING = 2
"""Phrases that a caption lists."""


class Mark(NamedTuple):
    """How a node is drawn: its label, its words, its probability if known, and whether it is highlighted."""

    label: str
    start: int
    end: int
    posterior: float | None
    is_marked: bool


@dataclass(frozen=True)
class Figure:
    """A tree to draw. posteriors: of some constituents. marked: nodes to highlight. caption: a line of text."""

    tree: Tree
    posteriors: Mapping[Span, float] = field(default_factory=dict)
    marked: Collection[Span] = ()
    caption: str = ""

    def marks(self) -> list[Mark]:
        """How each node is drawn, parents first."""
        found = []
        for label, (node, start, end) in zip(labels_of(self.tree), self.tree.spans(), strict=True):
            span = (node.label, start, end)
            posterior = None if node.word is not None else self.posteriors.get(span)
            found.append(Mark(label, start, end, posterior, span in self.marked))
        return found


Row = Sequence[Figure]
"""The trees of one sentence, best first, to be drawn next to each other."""


def row_of(
    trees: Sequence[Tree], posteriors: Mapping[Span, float] | None = None, captions: Sequence[str] | None = None
) -> list[Figure]:
    """The trees of a sentence, best first.

    In the others, nodes that the best tree does not have are marked; those that only the best tree has are in the
    caption.
    """
    figures = []
    for tree, caption in zip(trees, captions or [""] * len(trees), strict=True):
        parts = [caption] * bool(caption) + _missing(trees[0], differences(tree, trees[0]))
        figures.append(Figure(tree, posteriors or {}, differences(trees[0], tree), " · ".join(parts)))
    return figures


def differences(best: Tree, other: Tree) -> set[Span]:
    """The nodes of the other tree that the best one does not have as often."""
    known, own = (Counter((node.label, start, end) for node, start, end in tree.spans()) for tree in (best, other))
    return set(own - known)


def _missing(tree: Tree, spans: Collection[Span]) -> list[str]:
    """The phrases of a tree that have these spans, as text, or nothing if there are none."""
    words, tags = tree.words(), {(node.label, start, end) for node, start, end in tree.spans() if node.word is not None}
    found = sorted((span for span in spans if span not in tags), key=lambda span: (span[1], -span[2]))
    texts = [f"{label} “{shortened(words[start:end])}”" for label, start, end in found[:MOST_MISSING]]
    more = [f"{len(found) - MOST_MISSING} more"] if len(found) > MOST_MISSING else []
    return [f"without {', '.join([*texts, *more])}"] if texts else []


def shortened(words: Sequence[str]) -> str:
    """The words, or only the first and the last if there are more than three."""
    return " ".join(words) if len(words) <= 3 else f"{words[0]} … {words[-1]}"


def percent(probability: float) -> str:
    """A probability in at most four characters."""
    if 0.0 < probability < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= probability < 1.0 - 1e-6 else f"{100 * probability:.0f}%"


def labels_with(marks: Sequence[Mark]) -> list[str]:
    """Labels with their probabilities, for text; a star after highlighted ones."""
    return [
        mark.label + ("" if mark.posterior is None else f" {percent(mark.posterior)}") + ("*" if mark.is_marked else "")
        for mark in marks
    ]
