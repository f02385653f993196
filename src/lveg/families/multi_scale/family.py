"""Multi-scale grammars: a rule distinguishes only those subtypes of its symbols that matter to it (Petrov 2008).

Every symbol has a binary tree of subtypes. A *production* is a rule between nodes of such trees, at any depth, and has
one weight, which all combinations of finest subtypes below it share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts
from lveg.families.forest import SUMS, Ask
from lveg.families.lvg.family import Lvg, Shape, Subtyped, shape_of
from lveg.grammar.grammar import Floats, Grammar, Ints

MOST_LOG_WEIGHT = 300.0
"""Bound on abs(log weight)."""


@dataclass(frozen=True, eq=False)
class MultiScale(Subtyped):
    """Log weights of productions, and the production of each combination of finest subtypes, in blocks of `shape`."""

    shape: Shape
    production: Ints
    log_weight: Floats

    name = "multi-scale"

    def __post_init__(self) -> None:
        if self.production.shape != (self.shape.size,) or self.log_weight.ndim != 1:
            raise GrammarError(f"{self.production.size} subtype combinations have a production, not {self.shape.size}")
        if (self.production < 0).any() or int(self.production.max()) + 1 != len(self.log_weight):
            raise GrammarError("there is not one log weight per production")
        if not (np.abs(self.log_weight) <= MOST_LOG_WEIGHT).all():
            raise GrammarError(f"a log weight is not a number from {-MOST_LOG_WEIGHT:g} to {MOST_LOG_WEIGHT:g}")

    @cached_property
    def finest(self) -> Lvg:
        """The grammar in which each combination of subtypes has the weight of its production."""
        return Lvg(self.shape, np.exp(self.log_weight)[self.production])

    @property
    def value(self) -> Floats:
        """The log weights of productions."""
        return self.log_weight

    def with_value(self, value: Floats) -> MultiScale:
        """The same productions with other log weights."""
        return replace(self, log_weight=value)

    def arrays(self) -> Arrays:
        """Numbers of subtypes, productions and their log weights."""
        return {"subtypes": self.shape.subtypes, "production": self.production, "log_weight": self.log_weight}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> MultiScale:
        """The grammar in a model file."""
        check_arrays(arrays, {"subtypes": (np.int32, 1), "production": (np.int32, 1), "log_weight": (np.float64, 1)})
        check_facts(facts, {})
        return cls(shape_of(grammar, arrays["subtypes"]), arrays["production"], arrays["log_weight"])

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the packed forests; adds sign × the expected uses of productions to `slope`."""
        if ask.slope is None:
            return self.finest.run(packed, log_factor)
        slopes = np.zeros(self.shape.size)
        log_z = self.finest.add_uses(packed, ask._replace(slope=slopes), log_factor)
        ask.slope[:] += np.bincount(self.production, slopes * self.finest.weight, minlength=len(ask.slope))
        return log_z
