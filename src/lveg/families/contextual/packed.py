"""Examples of a family with contexts: the inputs of all of them in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lveg.grammar.grammar import Floats, Ints


def join(parts: Sequence[Ints]) -> Ints:
    """Join arrays into one: its total length, the length of each array, the arrays."""
    sizes = [len(part) for part in parts]
    head = np.array([1 + len(sizes) + sum(sizes), *sizes], np.int32)
    return np.concatenate([head, *parts])


def separate(joined: Ints, count: int) -> list[Ints]:
    """Split a sequence of joined arrays of `count` parts: all first parts, all second parts, and so on."""
    found: list[list[Ints]] = [[] for _ in range(count)]
    begin = 0
    while begin < len(joined):
        at = begin + 1 + count
        for part, size in zip(found, joined[begin + 1 : at].tolist(), strict=True):
            part.append(joined[at : at + size])
            at += size
        begin = at
    return [np.concatenate(part) for part in found]


def part_sizes(first: Floats, rest: Sequence[Floats]) -> Ints:
    """Start positions of all vectors but the first when they are concatenated."""
    return np.cumsum([first.size, *(vector.size for vector in rest)])[:-1]
