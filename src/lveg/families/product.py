"""Several models at once: the product of their rule posteriors (Petrov 2010), and the mean of their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lveg.families.gm import Gm
from lveg.families.lvg import Lvg
from lveg.families.multi_scale import MultiScale
from lveg.families.pcfg import Pcfg, Posterior
from lveg.families.split_lvg import SplitLvg
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints

Family = Pcfg | Gm | Lvg | SplitLvg | MultiScale
"""What weighs the derivations of a forest."""

_FLOOR = 1e-5  # a rule that one model has pruned counts as this probable by it


@dataclass(frozen=True)
class ProductPosterior(Posterior):
    """Means of the models' posteriors, and as `log_rule` the sum of the logs of them.

    log_zs: the log Z of each model, -inf of those that have no derivation and are left out.
    """

    log_zs: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class Product:
    """Models over the same rules."""

    members: tuple[Family, ...]

    def posterior(self, forest: Forest) -> ProductPosterior:
        """What the models say of the forest; those for which it holds no derivation say nothing  [math: product]."""
        all_found = [member.posterior(forest) for member in self.members]
        found = [one for one in all_found if np.isfinite(one.log_z)]
        if not found:
            return ProductPosterior(-np.inf, np.empty(0), np.empty(0), np.empty(0))
        edges = np.stack([one.edge for one in found])
        log_rule = np.where(edges.any(axis=0), np.log(np.maximum(edges, _FLOOR)).sum(axis=0), -np.inf)
        node, log_zs = np.mean([one.node for one in found], axis=0), np.array([one.log_z for one in all_found])
        return ProductPosterior(0.0, node, edges.mean(axis=0), np.empty(0), log_rule, log_zs)

    def log_prob(self, grammar: Grammar, forest: Forest, edges: Ints, posterior: ProductPosterior) -> float:
        """The log of the models' mean probability of a derivation given the sentence."""
        logs = [
            member.log_derivation(grammar, forest, edges) - log_z
            for member, log_z in zip(self.members, posterior.log_zs, strict=True)
            if np.isfinite(log_z)
        ]
        return float(np.logaddexp.reduce(logs) - np.log(len(logs)))

    def samples(self, forest: Forest, count: int, seed: int = 0) -> list[Ints]:
        """Derivations drawn independently, each from a model drawn evenly; edges with parents first."""
        chosen = np.random.default_rng(seed).integers(len(self.members), size=count)
        drawn = [
            iter(member.samples(forest, int((chosen == number).sum()), seed))
            for number, member in enumerate(self.members)
        ]
        return [next(drawn[number]) for number in chosen]
