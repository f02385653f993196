"""Trees drawn with lines for a terminal. No function here recurses."""

from __future__ import annotations

import unicodedata

from lveg.trees import Tree

GAP = 2
"""Columns between neighbouring subtrees."""

_NO_LABEL = "()"


def draw_text(tree: Tree, width: int | None = None) -> str:
    """The tree with each label centred over its children and the words on the last line.

    If the drawing has more than `width` columns, an outline with one node per line is returned instead; None means no
    limit.
    """
    layout = _Layout(tree)
    if width is not None and layout.width > width:
        return outline_text(tree)
    return layout.render()


def outline_text(tree: Tree) -> str:
    """The tree as an indented list, parents first; a tag and its word share a line."""
    lines: list[str] = []
    stack: list[tuple[Tree, str, str]] = [(tree, "", "")]
    while stack:
        node, lead, indent = stack.pop()
        lines.append(f"{lead}{_label(node)}" + ("" if node.word is None else f" {node.word}"))
        for place, child in enumerate(reversed(node.children)):
            branch, below = ("├─ ", "│  ") if place else ("└─ ", "   ")
            stack.append((child, indent + branch, indent + below))
    return "\n".join(lines)


def columns(text: str) -> int:
    """The number of terminal columns of the text."""
    return sum(_char_columns(char) for char in text)


def _char_columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _label(node: Tree) -> str:
    return node.label or _NO_LABEL


class _Layout:
    """The positions of all nodes: for each node (parents first) its depth and the column of its centre.

    Each subtree has a block of columns of its own. A label is in row 2 * depth and the lines to its children in the row
    below; the words share the last row.
    """

    def __init__(self, tree: Tree) -> None:
        self.nodes = list(tree)
        count = len(self.nodes)
        self.children: list[list[int]] = [[] for _ in range(count)]
        self.depth = [0] * count
        self._link()
        self.block = [0] * count  # columns of the subtree
        self.centre = [0] * count  # column of the node's centre, from the left edge of its block, later absolute
        self.inset = [0] * count  # columns by which the children are moved right under a wide label
        for index in range(count - 1, -1, -1):
            self._measure(index)
        self._place()
        self.width = self.block[0]

    def _link(self) -> None:
        waiting: list[list[int]] = []  # [node, number of children still to come] of the open ancestors
        for index, node in enumerate(self.nodes):
            if waiting:
                parent = waiting[-1]
                self.children[parent[0]].append(index)
                self.depth[index] = self.depth[parent[0]] + 1
                parent[1] -= 1
            if node.children:
                waiting.append([index, len(node.children)])
            while waiting and not waiting[-1][1]:
                waiting.pop()

    def _measure(self, index: int) -> None:
        """Set the block and centre of a node whose children have theirs."""
        node, children = self.nodes[index], self.children[index]
        own = columns(_label(node))
        if not children:
            self.block[index] = max(own, columns(node.word or ""))
            self.centre[index] = (self.block[index] - 1) // 2
            return
        below = sum(self.block[child] for child in children) + GAP * (len(children) - 1)
        middle = self._middle(children)
        left = (own - 1) // 2  # columns of the label to the left of its centre
        self.inset[index] = max(0, left - middle)
        self.centre[index] = middle + self.inset[index]
        self.block[index] = max(below + self.inset[index], self.centre[index] - left + own)

    def _middle(self, children: list[int]) -> int:
        """The column half-way between the outer children, or that of a child at most one column away from it."""
        edge = 0
        centres: list[int] = []
        for child in children:
            centres.append(edge + self.centre[child])
            edge += self.block[child] + GAP
        middle = (centres[0] + centres[-1]) // 2
        return next((centre for centre in centres if abs(centre - middle) <= 1), middle)

    def _place(self) -> None:
        """Make the centres absolute."""
        left = [0] * len(self.nodes)
        for index, children in enumerate(self.children):
            edge = left[index] + self.inset[index]
            self.centre[index] += left[index]
            for child in children:
                left[child] = edge
                edge += self.block[child] + GAP

    def render(self) -> str:
        """The drawing, lines without trailing blanks."""
        has_words = any(node.word is not None for node in self.nodes)
        last = 2 * max(self.depth) + 2 * has_words
        rows = [[" "] * self.width for _ in range(last + 1)]
        for index, node in enumerate(self.nodes):
            row, centre = 2 * self.depth[index], self.centre[index]
            _write(rows[row], centre, _label(node))
            if node.word is not None:
                for between in rows[row + 1 : last]:
                    between[centre] = "│"
                _write(rows[last], centre, node.word)
            elif self.children[index]:
                _join(rows[row + 1], centre, [self.centre[child] for child in self.children[index]])
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
