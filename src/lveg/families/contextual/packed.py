"""Examples of a family with contexts: what each of them reads, in one array."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lveg.grammar.grammar import Floats, Ints


def join(parts: Sequence[Ints]) -> Ints:
    """Several arrays as one: its length, their lengths, and they."""
    sizes = [len(part) for part in parts]
    head = np.array([1 + len(sizes) + sum(sizes), *sizes], np.int32)
    return np.concatenate([head, *parts])


def separate(joined: Ints, count: int) -> list[Ints]:
    """From arrays joined of `count` parts, one after the other: all first parts, all second ones, and so on."""
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
    """Where the vectors after the first begin, once all are one vector."""
    return np.cumsum([first.size, *(vector.size for vector in rest)])[:-1]
