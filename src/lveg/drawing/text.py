"""Trees drawn with lines for a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from lveg.drawing.layout import Layout

if TYPE_CHECKING:
    from lveg.trees import Tree

GAP = 2
"""Columns between neighbouring subtrees."""

BETWEEN = 6
"""Columns between drawings next to each other."""

_NO_LABEL = "()"


def draw_text(tree: Tree, width: int | None = None, labels: Sequence[str] | None = None) -> str:
    """The tree with each label centred over its children and the words on the last line.

    If the drawing has more than `width` columns, an outline with one node per line is returned instead; None means no
    limit. labels: what to write instead of the label of each node, parents first.
    """
    shown = labels or labels_of(tree)
    widths = [max(columns(label), columns(node.word or "")) for label, node in zip(shown, tree, strict=True)]
    layout = Layout(tree, widths, GAP)
    if width is not None and layout.width > width:
        return outline_text(tree, shown)
    return _render(layout, shown)


def outline_text(tree: Tree, labels: Sequence[str] | None = None) -> str:
    """The tree as an indented list, parents first; a tag and its word share a line."""
    lines: list[str] = []
    stack: list[tuple[Tree, str, str]] = [(tree, "", "")]
    for label in labels or labels_of(tree):
        node, lead, indent = stack.pop()
        lines.append(f"{lead}{label}" + ("" if node.word is None else f" {node.word}"))
        for place, child in enumerate(reversed(node.children)):
            branch, below = ("├─ ", "│  ") if place else ("└─ ", "   ")
            stack.append((child, indent + branch, indent + below))
    return "\n".join(lines)


def labels_of(tree: Tree) -> list[str]:
    """What is written for each node, parents first."""
    return [node.label or _NO_LABEL for node in tree]


def beside(drawings: Sequence[str], width: int) -> str:
    """Drawings next to each other if they fit into `width` columns, otherwise one below the other."""
    blocks = [drawing.splitlines() for drawing in drawings]
    sizes = [max(map(columns, block), default=0) for block in blocks]
    if sum(sizes) + BETWEEN * (len(sizes) - 1) > width:
        return "\n\n".join(drawings)
    rows = zip_longest(*blocks, fillvalue="")
    padded = (
        (" " * BETWEEN).join(line + " " * (size - columns(line)) for line, size in zip(row, sizes, strict=True))
        for row in rows
    )
    return "\n".join(row.rstrip() for row in padded)


def columns(text: str) -> int:
    """The number of terminal columns of the text."""
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _render(layout: Layout, labels: Sequence[str]) -> str:
    """The drawing, lines without trailing blanks.

    A label is in row 2 * depth and the lines to its children in the row below; the words share the last row.
    """
    has_words = any(node.word is not None for node in layout.nodes)
    last = 2 * max(layout.depth) + 2 * has_words
    rows = [[" "] * layout.width for _ in range(last + 1)]
    for index, node in enumerate(layout.nodes):
        row, centre = 2 * layout.depth[index], layout.centre[index]
        _write(rows[row], centre, labels[index])
        if node.word is not None:
            for between in rows[row + 1 : last]:
                between[centre] = "│"
            _write(rows[last], centre, node.word)
        elif layout.children[index]:
            _join(rows[row + 1], centre, [layout.centre[child] for child in layout.children[index]])
    return "\n".join("".join(row).rstrip() for row in rows)


def _write(row: list[str], centre: int, text: str) -> None:
    """Put the text into the row, one column per cell; the second cell of a wide character stays empty."""
    cell = centre - (columns(text) - 1) // 2
    for char in text:
        size = _char_columns(char)
        if size == 0:
            row[max(cell - 1, 0)] += char
            continue
        row[cell] = char
        if size == 2:
            row[cell + 1] = ""
        cell += size


def _join(row: list[str], parent: int, children: list[int]) -> None:
    """Draw the line between a parent's centre and its children's centres."""
    if len(children) == 1:
        row[children[0]] = "│"
        return
    for cell in range(children[0], children[-1] + 1):
        row[cell] = "─"
    for child in children:
        row[child] = "┬"
    row[children[0]], row[children[-1]] = "┌", "┐"
    row[parent] = "┼" if parent in children else "┴"
