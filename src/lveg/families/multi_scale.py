"""Multi-scale grammars: a rule tells apart only those subtypes of its symbols that matter to it (Petrov 2008).

Every symbol has a binary tree of subtypes. A *production* is a rule between nodes of such trees, at any depth, and has
one weight, which all choices of finest subtypes below it share.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lveg.errors import GrammarError
from lveg.families.lvg import Lvg, Refined, Shape
from lveg.grammar.grammar import Floats, Ints

LARGEST = 300.0
"""No log weight is farther from 0."""


@dataclass(frozen=True)
class MultiScale(Refined):
    """Log weights of productions, and the production of each choice of finest subtypes, in blocks as `shape` tells."""

    shape: Shape
    production: Ints
    log_weight: Floats
    finest: Lvg = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.production.shape != (self.shape.size,) or self.log_weight.ndim != 1:
            raise GrammarError(f"{self.production.size} choices of subtypes have a production, not {self.shape.size}")
        if (self.production < 0).any() or (self.production >= len(self.log_weight)).any():
            raise GrammarError("a choice of subtypes has a production that does not exist")
        if not (np.abs(self.log_weight) <= LARGEST).all():
            raise GrammarError(f"a log weight is not a number from {-LARGEST:g} to {LARGEST:g}")
        object.__setattr__(self, "finest", Lvg(self.shape, np.exp(self.log_weight)[self.production]))
