"""Where the nodes of a drawn tree are; used by all drawings that place nodes themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lveg.trees import Tree


class Layout:
    """The positions of all nodes: for each node (parents first) its depth and the horizontal position of its centre.

    Each subtree has a block of its own, `gap` apart from its neighbours. All sizes are whole numbers of any unit.
    widths: of each node's label, or of its word if that is wider.
    """

    def __init__(self, tree: Tree, widths: Sequence[int], gap: int) -> None:
        self.nodes = list(tree)
        self.gap = gap
        count = len(self.nodes)
        self.children: list[list[int]] = [[] for _ in range(count)]
        self.depth = [0] * count
        self._link()
        self.block = [0] * count  # width of the subtree
        self.centre = [0] * count  # centre of the node, from the left edge of its block, later absolute
        self.inset = [0] * count  # how far the children are moved right under a wide label
        for index in range(count - 1, -1, -1):
            self._measure(index, widths[index])
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

    def _measure(self, index: int, own: int) -> None:
        """Set the block and centre of a node whose children have theirs."""
        children = self.children[index]
        if not children:
            self.block[index] = own
            self.centre[index] = (own - 1) // 2
            return
        below = sum(self.block[child] for child in children) + self.gap * (len(children) - 1)
        middle = self._middle(children)
        left = (own - 1) // 2  # what is to the left of the label's centre
        self.inset[index] = max(0, left - middle)
        self.centre[index] = middle + self.inset[index]
        self.block[index] = max(below + self.inset[index], self.centre[index] - left + own)

    def _middle(self, children: list[int]) -> int:
        """The position half-way between the outer children, or that of a child at most one unit away from it."""
        edge = 0
        centres: list[int] = []
        for child in children:
            centres.append(edge + self.centre[child])
            edge += self.block[child] + self.gap
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
                edge += self.block[child] + self.gap
