"""The first layer of a network over the vectors of a word and its neighbours, and a cache of it for tagging."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from threading import Lock

import numpy as np

from lveg.contexts.layers import Layers, product
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.network import Net, add_neighbours

PADDING = 2
"""Number of neighbours on each side that are inputs, and of padding words before the first and after the last word."""

N_NEAR = 1 + 2 * PADDING

_MOST_CACHED = 8192  # words; 40 MB with 128 units
_LOCK = Lock()  # held while words are numbered


class Projections:
    """A cache of the projections of words. Number 0 is the padding at the edges of a sentence.

    Rows of the table are written once, and a full table is replaced, so a thread can read it while another adds words.
    """

    def __init__(self, layers: Layers, net: Net) -> None:
        self._layers, self.net = layers, net
        self._clear(0)

    def __reduce__(self) -> tuple[type[Projections], tuple[Layers, Net]]:
        """Other processes start with an empty cache."""
        return Projections, (self._layers, self.net)

    def _clear(self, room: int) -> None:
        """Start again, with room for at least this many words."""
        self._numbers: dict[str, int] = {}
        self._table = np.empty((1 + max(room, _MOST_CACHED), self.net.project.shape[1]))
        self._project([self._layers.inputs.edge], 0)

    def look_up(self, sentences: Sequence[Sequence[str]]) -> tuple[Floats, Ints]:
        """(projections, the numbers of those of each word and of its neighbours)."""
        edges = [0] * PADDING
        with _LOCK:
            distinct = dict.fromkeys(chain.from_iterable(sentences))
            new = [word for word in distinct if word not in self._numbers]
            if 1 + len(self._numbers) + len(new) > len(self._table):
                self._clear(len(distinct))
                new = list(distinct)
            first = 1 + len(self._numbers)
            self._project([self._layers.inputs.row(word) for word in new], first)
            self._numbers.update(zip(new, range(first, first + len(new)), strict=True))
            table, number_of = self._table, self._numbers.__getitem__
            padded = [[*edges, *map(number_of, words), *edges] for words in sentences]
        numbers = np.fromiter(chain.from_iterable(padded), np.int32)
        return table, neighbours(numbers, [len(words) for words in sentences])

    def _project(self, rows: Sequence[tuple[int, ...]], first: int) -> None:
        """Fill the table with the projections of words with these rows.

        Their number is made even, since `product` adds in another order for a single last row: the projection of a word
        must not depend on those that it is computed with.
        """
        if rows:
            even = np.array([*rows, *rows[: len(rows) % 2]], np.int32)
            vectors = self._layers.vectors_of(even, self.net)
            self._table[first : first + len(rows)] = product(vectors, self.net.project)[: len(rows)]


def neighbours(numbers: Ints, lengths: Sequence[int]) -> Ints:
    """(words, N_NEAR): the numbers of each word and its neighbours, given those of all words and padding."""
    first = np.repeat(np.arange(len(lengths)) * 2 * PADDING, lengths) + np.arange(sum(lengths))
    near: Ints = numbers[first[:, None] + np.arange(N_NEAR)]
    return near


def hidden_layer(projected: Floats, near: Ints, net: Net) -> Floats:
    """The hidden layer of each word before it is rectified; projected and near: see `add_neighbours`."""
    hidden = np.tile(net.shape[0], (len(near), 1))
    add_neighbours(projected, near, hidden)
    return hidden
