"""Atoms of words, and the templates that combine them to surface features."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from lveg.grammar.grammar import Ints
from lveg.kernels import features as kernel

ATOMS = ("word", "lower", "tag", "tags", "shape", "prefix2", "prefix3", "suffix1", "suffix2", "suffix3", "suffix4")
"""The atoms of a word. tag: its most likely tag. tags: the set of its likely tags."""


class Part(NamedTuple):
    """An atom of a word at a position, or a property of the span."""

    anchor: int
    offset: int = 0
    atom: str = "word"

    @property
    def code(self) -> int:
        """The part as encoded for kernels."""
        atom = ATOMS.index(self.atom)
        return self.anchor * kernel.WIDEST**2 + (self.offset + kernel.WIDEST // 2) * kernel.WIDEST + atom


PLACES = {
    "first": (kernel.FIRST, 0),
    "second": (kernel.FIRST, 1),
    "before": (kernel.FIRST, -1),
    "before2": (kernel.FIRST, -2),
    "last": (kernel.LAST, 0),
    "last2": (kernel.LAST, -1),
    "after": (kernel.LAST, 1),
    "after2": (kernel.LAST, 2),
    "left": (kernel.SPLIT, -1),
    "right": (kernel.SPLIT, 0),
}
SPECIAL = {
    "length": kernel.LENGTH,
    "left-length": kernel.LEFT_LENGTH,
    "right-length": kernel.RIGHT_LENGTH,
    "outline": kernel.OUTLINE,
}

Template = tuple[str, ...]
"""Names of parts: a special one, or `place.atom`."""

EDGES = ("first", "last", "before", "after")

SPAN: tuple[Template, ...] = (
    *((f"{place}.{atom}",) for place, atom in product(EDGES, ("lower", "suffix3", "tag"))),
    *((f"{one}.tag", f"{other}.tag") for one, other in (
        ("first", "last"), ("before", "after"), ("before", "first"), ("last", "after"), ("first", "after"),
        ("before", "last"),
    )),
    ("first.lower", "last.lower"),
    ("before.lower", "first.lower"),
    ("last.lower", "after.lower"),
    ("first.lower", "after.tag"),
    ("before.lower", "after.lower"),
    ("second.tag",),
    ("last2.tag",),
    ("length",),
    ("length", "first.tag"),
    ("length", "after.tag"),
    ("outline",),
)  # fmt: skip

SPLIT: tuple[Template, ...] = (
    *((f"{place}.{atom}",) for place, atom in product(("left", "right"), ("lower", "suffix3", "tag"))),
    ("left.tag", "right.tag"),
    ("left.lower", "right.lower"),
    ("left-length",),
    ("right-length",),
    ("left-length", "right-length"),
    ("first.tag", "right.tag"),
    ("first.lower", "right.lower"),
    ("left.tag", "right.tag", "last.tag"),
)  # fmt: skip

WORD: tuple[Template, ...] = (
    *((f"first.{atom}",) for atom in ATOMS if atom not in ("tag", "tags")),
    ("before.lower",),
    ("after.lower",),
    ("before.suffix3",),
    ("after.suffix3",),
    ("before.tags",),
    ("after.tags",),
    ("before.tag", "after.tag"),
    ("before2.tag", "before.tag"),
    ("after.tag", "after2.tag"),
    ("before.lower", "first.lower"),
    ("first.lower", "after.lower"),
)  # fmt: skip


def parts(template: Template) -> list[Part]:
    """The parts of a template."""
    found = []
    for name in template:
        place, _, atom = name.partition(".")
        found.append(Part(*PLACES[place], atom) if atom else Part(SPECIAL[name]))
    return found


def encode(templates: Sequence[Template]) -> Ints:
    """Templates as encoded for kernels."""
    codes = np.full((len(templates), kernel.MOST_PARTS), -1, np.int32)
    for row, template in enumerate(templates):
        codes[row, : len(template)] = [part.code for part in parts(template)]
    return codes


def all_templates() -> kernel.Templates:
    """The templates of spans, splits and words."""
    return kernel.Templates(encode(SPAN), encode(SPLIT), encode(WORD))
