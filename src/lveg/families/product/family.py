"""Several grammars at once: the product of their rule posteriors (Petrov 2010), and the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts
from lveg.families.forest import Judge, Posterior
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints

_FLOOR = 1e-5  # a rule that one grammar has pruned counts as this probable by it


@dataclass(frozen=True, eq=False)
class Product(Judge):
    """Grammars over the same rules; a grammar for which a forest holds no derivation says nothing of it."""

    members: tuple[Judge, ...]

    name = "product"

    def __post_init__(self) -> None:
        if not self.members:
            raise GrammarError("a product needs at least one grammar")

    @property
    def p_min(self) -> float:  # type: ignore[override]
        """The lowest of the members' thresholds."""
        return min(member.p_min for member in self.members)

    def arrays(self) -> Arrays:
        """Those of the members, each behind its number."""
        return nested_arrays(self.members)

    def facts(self) -> Facts:
        """Names and facts of the members."""
        return nested_facts(self.members)

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Product:
        """The grammars in a model file."""
        members = restore_nested(["parser"], cls.name, grammar, weight, arrays, facts)
        return cls(tuple(cast(list[Judge], members)))

    def describe(self) -> Facts:
        """What the members are."""
        return {"members": [{"model": member.name, **member.describe()} for member in self.members]}

    def posterior(self, forest: Forest) -> Posterior:
        """Means of the members' posteriors, and as `log_rule` the sum of their logs  [math: product]."""
        members = tuple(member.posterior(forest) for member in self.members)
        found = [one for one in members if one.is_sound]
        if not found:
            return Posterior(-np.inf, np.empty(0), np.empty(0), np.empty(0))
        edges = np.stack([one.edge for one in found])
        log_rule = np.where(edges.any(axis=0), np.log(np.maximum(edges, _FLOOR)).sum(axis=0), -np.inf)
        node = np.mean([one.node for one in found], axis=0)
        return Posterior(0.0, node, edges.mean(axis=0), np.empty(0), log_rule, members)

    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """The log of the members' mean probability of each derivation given the sentence."""
        logs = [
            member.log_probs(grammar, forest, chosen, found)
            for member, found in zip(self.members, posterior.members, strict=True)
            if found.is_sound
        ]
        return [_log_mean(column) for column in zip(*logs, strict=True)]

    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log of the mean share that the derivations of `part` have among those of `forest`."""
        return _log_mean([member.log_prob(part, forest) for member in self._able(forest)])

    def samples(self, forest: Forest, count: int, seed: int = 0) -> list[Ints]:
        """Derivations drawn independently, each from a member drawn evenly; edges with parents first."""
        able = self._able(forest)
        if not able:
            raise GrammarError("no derivation has any weight: there is none to draw")
        chosen = np.random.default_rng(seed).integers(len(able), size=count)
        drawn = [
            iter(member.samples(forest, int((chosen == number).sum()), seed)) for number, member in enumerate(able)
        ]
        return [next(drawn[number]) for number in chosen]

    def _able(self, forest: Forest) -> list[Judge]:
        """The members that say something of a forest."""
        return [member for member in self.members if member.derives(forest)]


def _log_mean(logs: Sequence[float]) -> float:
    """The log of the mean of numbers that are given as logs; of none, -inf."""
    return float(np.logaddexp.reduce(logs) - np.log(len(logs))) if logs else -np.inf
