"""A latent variable grammar with the hierarchy that its subtypes were split in, for coarse-to-fine inference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lveg.errors import GrammarError
from lveg.families.lvg import Lvg, Refined, pack
from lveg.families.pcfg import Posterior
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.factors import split_factors
from lveg.kernels.lvg_levels import Levels, coarse_to_fine

LEAST = 1e-4
"""Posterior below which an edge, or a subtype at a node, is left out at the next level (docs/decisions/0007)."""


@dataclass(frozen=True)
class SplitLvg(Refined):
    """The finest grammar, and for each coarser level the group of every subtype within its symbol.

    groups: int32 (levels, n_subtypes), coarse levels first, each a refinement of the one before; a level where every
    symbol has one subtype is the treebank grammar, which prunes already, and need not be there. usage: how often each
    subtype is used, by which groups mix their members.
    """

    finest: Lvg
    groups: Ints
    usage: Floats
    least: float = LEAST

    def __post_init__(self) -> None:
        size, first = self.finest.shape.n_subtypes, self.finest.shape.first
        if self.groups.ndim != 2 or self.groups.shape[1] != size or self.usage.shape != (size,):
            raise GrammarError("there is not one group and one number of uses a subtype")
        if not (np.isfinite(self.usage).all() and (self.usage >= 0.0).all()):
            raise GrammarError("a number of uses is not a number from 0 upwards")
        steps = np.diff(self.groups, axis=1)
        begins = first[1:-1] - 1
        inner = np.delete(steps, begins, axis=1)
        if (self.groups[:, first[:-1]] != 0).any() or ((inner != 0) & (inner != 1)).any():
            raise GrammarError("groups of subtypes are not numbered in order")
        if (np.diff(np.delete(steps, begins, axis=1), axis=0) < 0).any():
            raise GrammarError("a level of subtypes does not refine the one before")

    @cached_property
    def levels(self) -> Levels:
        """The grammars of all levels, as the kernel wants them."""
        shape = self.finest.shape
        own = np.arange(shape.n_subtypes, dtype=np.int32) - np.repeat(shape.first[:-1], shape.subtypes)
        groups = [*self.groups, own.astype(np.int32)]
        grammars = [*(self.finest.project(group, self.usage) for group in self.groups), self.finest]
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
        """Inside and outside over what each level leaves to the next; over the whole forest where that is nothing."""
        edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
        log_z = coarse_to_fine(pack(forest), split_factors(log_factor), self.levels, self.least, edge, node)
        if log_z == -np.inf:
            return self.finest.posterior(forest, log_factor)
        return Posterior(log_z, node, edge, np.empty(0))
