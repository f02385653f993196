"""Grammar symbols, which rules are made of."""

from __future__ import annotations

from typing import NamedTuple

PHRASE, PART, TAG = "phrase", "part", "tag"


class Symbol(NamedTuple):
    """A category of the grammar.

    kind: PHRASE (a constituent), PART (the rest of a constituent with more than two children) or TAG. label: the
    treebank's label. parents: labels above it, nearest first (vertical markovisation). siblings: labels already
    generated next to a PART (horizontal markovisation); side: the end at which a PART of head-outward binarisation
    still grows.
    """

    kind: str
    label: str
    parents: tuple[str, ...] = ()
    siblings: tuple[str, ...] = ()
    side: str = ""

    @property
    def name(self) -> str:
        """A readable name: `NP`, `@NP`, `NP^S`, `@NP^S[DT JJ]`."""
        name = ("@" if self.kind == PART else "") + "^".join((self.label, *self.parents))
        if self.siblings:
            name += f"[{' '.join(self.siblings)}]"
        return name + self.side
