"""A latent variable grammar with the hierarchy of its subtypes, for coarse-to-fine inference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts
from lveg.families.forest import SUMS, Ask, Posterior, parts_of
from lveg.families.lvg.family import LVG_ARRAYS, Lvg, Subtyped, shape_of
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import split_factors
from lveg.kernels.lvg_levels import Levels, coarse_to_fine

LEAST_KEPT = 1e-4
"""Posterior below which an edge, or a subtype at a node, is left out at the next level (docs/decisions/0007)."""

MOST_LEVELS = 16
"""Maximum number of coarse levels; each takes as much memory as a grammar."""


@dataclass(frozen=True, eq=False)
class SplitMerge(Subtyped):
    """The finest grammar, and for each coarser level the group of every subtype within its symbol.

    groups: int32 (levels, n_subtypes), coarse levels first, each a refinement of the one before; a level at which every
    symbol has one subtype is the treebank grammar, which already prunes, and may be omitted. usage: the number of uses
    of each subtype, by which groups weight their members.
    """

    grammar: Lvg
    groups: Ints
    usage: Floats
    least: float = LEAST_KEPT

    name = "split-merge"

    def __post_init__(self) -> None:
        size, first = self.grammar.shape.n_subtypes, self.grammar.shape.first
        if self.groups.ndim != 2 or self.groups.shape[1] != size or self.usage.shape != (size,):
            raise GrammarError("there is not one group and one number of uses per subtype")
        if not (np.isfinite(self.usage).all() and (self.usage >= 0.0).all()):
            raise GrammarError("a number of uses is not a number from 0 upwards")
        if len(self.groups) > MOST_LEVELS:
            raise GrammarError(f"there are more than {MOST_LEVELS} levels of subtypes")
        steps = np.diff(self.groups, axis=1)
        inner = np.delete(steps, first[1:-1] - 1, axis=1)
        if (self.groups[:, first[:-1]] != 0).any() or ((inner != 0) & (inner != 1)).any():
            raise GrammarError("groups of subtypes are not numbered in order")
        if (np.diff(inner, axis=0) < 0).any():
            raise GrammarError("a level of subtypes does not refine the one before")

    @property
    def finest(self) -> Lvg:
        """The grammar of the last level."""
        return self.grammar

    @property
    def hierarchy(self) -> Ints:
        """The group of each subtype at each coarser level."""
        return self.groups

    @property
    def value(self) -> Floats:
        """The log weights of the finest grammar."""
        return self.grammar.value

    def with_value(self, value: Floats) -> SplitMerge:
        """The same hierarchy with other log weights of the finest grammar."""
        return replace(self, grammar=self.grammar.with_value(value))

    @property
    def is_probability(self) -> bool:
        """Whether the weights of all trees sum to one."""
        return self.grammar.is_probability

    def arrays(self) -> Arrays:
        """The arrays of the finest grammar, and the hierarchy."""
        return self.grammar.arrays() | {"groups": self.groups, "usage": self.usage}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> SplitMerge:
        """The grammar in a model file."""
        check_arrays(arrays, LVG_ARRAYS | {"groups": (np.int32, 2), "usage": (np.float64, 1)})
        check_facts(facts, {})
        finest = Lvg(shape_of(grammar, arrays["subtypes"]), arrays["weight"])
        found = cls(finest, arrays["groups"], arrays["usage"])
        if not all(np.isfinite(array).all() for array in found.levels):
            raise GrammarError("its weights cannot be projected to coarser levels")
        return found

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the packed forests under the finest grammar; adds sign × its derivative to `slope`."""
        return self.grammar.run(packed, log_factor, ask)

    @cached_property
    def levels(self) -> Levels:
        """The grammars of all levels, as the kernel needs them."""
        shape = self.grammar.shape
        own = np.arange(shape.n_subtypes, dtype=np.int32) - np.repeat(shape.first[:-1], shape.subtypes)
        groups = [*self.groups, own.astype(np.int32)]
        grammars = [*(self.grammar.project(group, self.usage) for group in self.groups), self.grammar]
        sizes = np.cumsum([0, *(grammar.shape.size for grammar in grammars)])
        places = np.cumsum([0, *(grammar.shape.n_subtypes for grammar in grammars)])
        above = [np.zeros(grammars[0].shape.n_subtypes, np.int32)]
        for coarse, fine, grammar in zip(groups, groups[1:], grammars[1:], strict=False):
            place = np.repeat(grammar.shape.first[:-1], shape.subtypes) + fine
            belongs = np.zeros(grammar.shape.n_subtypes, np.int32)
            belongs[place] = coarse
            above.append(belongs)
        return Levels(
            subtypes=np.stack([grammar.shape.subtypes for grammar in grammars]),
            ptr=np.stack([size + g.shape.blocks.ptr for size, g in zip(sizes, grammars, strict=False)]),
            weight=np.concatenate([grammar.weight for grammar in grammars]),
            first=np.stack([place + g.shape.first for place, g in zip(places, grammars, strict=False)]),
            group=np.concatenate(above),
        )

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Coarse-to-fine inside and outside; over the whole forest if pruning leaves no derivation."""
        edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
        log_z = coarse_to_fine(parts_of(forest), split_factors(log_factor), self.levels, self.least, edge, node)
        if log_z == -np.inf:
            return super().posterior(forest, log_factor)
        return Posterior(log_z, node, edge, np.empty(0))
