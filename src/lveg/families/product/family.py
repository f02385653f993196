"""Combined grammars: the product of their rule posteriors (Petrov 2010), and the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts
from lveg.families.forest import Judge, Mask, Posterior
from lveg.families.insight import Insight
from lveg.families.nested import check_count, nested_arrays, nested_facts, restore_nested
from lveg.forest.forest import Forest
from lveg.forest.reasons import LATENT, RULES, Part, difference, mixture, rule_terms
from lveg.grammar.grammar import Floats, Grammar, Ints

_FLOOR = 1e-5  # posterior of a rule that a grammar has pruned


@dataclass(frozen=True, eq=False)
class Product(Judge):
    """Grammars over the same rules; a grammar for which a forest has no derivation is ignored for that forest."""

    members: tuple[Judge, ...]

    name = "product"

    def __post_init__(self) -> None:
        if not self.members:
            raise GrammarError("a product needs at least one grammar")
        check_count(self.members)

    @property
    def p_min(self) -> float:  # type: ignore[override]
        """The lowest of the members' thresholds."""
        return min(member.p_min for member in self.members)

    def arrays(self) -> Arrays:
        """The arrays of the members, each prefixed with its number."""
        return nested_arrays(self.members)

    def facts(self) -> Facts:
        """Names and facts of the members."""
        return nested_facts(self.members)

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Product:
        """The grammars in a model file."""
        members = restore_nested(["parser"], cls.name, grammar, weight, arrays, facts)
        return cls(tuple(cast(list[Judge], members)))

    @property
    def title(self) -> str:
        """The members."""
        return " × ".join(member.title for member in self.members)

    def describe(self) -> Facts:
        """The descriptions of the members."""
        return {"members": [{"model": member.name, **member.describe()} for member in self.members]}

    def insights(self, grammar: Grammar) -> list[Insight]:
        """The results of all members."""
        return [insight for member in self.members for insight in member.insights(grammar)]

    def posterior(self, forest: Forest) -> Posterior:
        """Means of the members' posteriors, and as `log_rule` the sum of their logs  [math: product]."""
        return _joined([member.posterior(forest) for member in self.members])

    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """The result of `posterior` for the forest without some edges, in the numbering of the whole forest."""
        pairs = zip(self.members, posterior.members, strict=True)
        return _joined([member.without(forest, edges, found) for member, found in pairs])

    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """The log of the members' mean probability of each derivation given the sentence."""
        able = self._sound(posterior)
        logs = [member.log_probs(grammar, forest, chosen, found) for _, member, found in able]
        return [_log_mean(column) for column in zip(*logs, strict=True)]

    def _sound(self, posterior: Posterior) -> list[tuple[int, Judge, Posterior]]:
        """The members with a sound result for a forest: number, counted from 1, member, and result."""
        pairs = enumerate(zip(self.members, posterior.members, strict=True), start=1)
        return [(number, member, found) for number, (member, found) in pairs if found.is_sound]

    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """The rules, and the other parts of each member, numbered and weighted by its share in the difference.

        If one of two derivations is impossible for a member, everything except the rules is one part.
        """
        able = self._sound(posterior)
        logs = np.array([member.log_probs(grammar, forest, chosen, found) for _, member, found in able])
        is_possible = np.isfinite(logs)
        said: list[dict[int, list[Part]]] = []  # for each member, by derivation that it can compare with the first
        for (number, member, found), row in zip(able, is_possible, strict=True):
            ranks = np.flatnonzero(row).tolist() if row[0] else [0]
            all_parts = member.compare(grammar, weight, forest, [chosen[rank] for rank in ranks], found)
            said.append(dict(zip(ranks[1:], (_numbered(parts, number) for parts in all_parts), strict=True)))
        terms, result = rule_terms(grammar, weight, forest, chosen), []
        for rank, other in enumerate(chosen[1:], start=1):
            if (is_possible[:, 0] == is_possible[:, rank]).all():
                kept = np.flatnonzero(is_possible[:, 0])
                shares = zip(kept.tolist(), _shares(logs[kept, 0], logs[kept, rank]).tolist(), strict=True)
                result.append(mixture((share, part) for place, share in shares for part in said[place][rank]))
            else:
                rules = difference(RULES, terms, chosen[0], other)
                whole = _log_mean(logs[:, 0].tolist()) - _log_mean(logs[:, rank].tolist())
                result.append([rules, Part(LATENT, whole - rules.value)])
        return result

    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log of the mean probability that a derivation of `forest` is in `part`."""
        return _log_mean([member.log_prob(part, forest) for member in self._able(forest)])

    def samples(self, forest: Forest, count: int, seed: int = 0) -> list[Ints]:
        """Derivations sampled independently, each from a uniformly sampled member; edges with parents first."""
        able = self._able(forest)
        if not able:
            raise GrammarError("no derivation has any weight: there is none to draw")
        chosen = np.random.default_rng(seed).integers(len(able), size=count)
        drawn = [
            iter(member.samples(forest, int((chosen == number).sum()), seed)) for number, member in enumerate(able)
        ]
        return [next(drawn[number]) for number in chosen]

    def _able(self, forest: Forest) -> list[Judge]:
        """The members that derive a forest."""
        return [member for member in self.members if member.derives(forest)]


def _joined(members: Sequence[Posterior]) -> Posterior:
    """The posterior of the product, given those of its members."""
    found = [one for one in members if one.is_sound]
    if not found:
        return Posterior(-np.inf, np.empty(0), np.empty(0), np.empty(0))
    edges = np.stack([one.edge for one in found])
    log_rule = np.where(edges.any(axis=0), np.log(np.maximum(edges, _FLOOR)).sum(axis=0), -np.inf)
    node = np.mean([one.node for one in found], axis=0)
    return Posterior(0.0, node, edges.mean(axis=0), np.empty(0), log_rule, tuple(members))


def _log_mean(logs: Sequence[float]) -> float:
    """The log of the mean of numbers given as logs; -inf if there are none."""
    return float(np.logaddexp.reduce(logs) - np.log(len(logs))) if logs else -np.inf


def _numbered(parts: Sequence[Part], number: int) -> list[Part]:
    """The parts of a member, with its number in the names of all parts except the rules."""
    return [part if part.name == RULES else replace(part, name=f"{part.name} {number}") for part in parts]


def _shares(one: Floats, other: Floats) -> Floats:
    """Shares w, with sum 1, such that sum w (one - other) = log sum exp(one) - log sum exp(other)  [math: explanation].

    These are logarithmic means (Sato 1976, Vartia 1976).
    """
    log_p, log_q = one - np.logaddexp.reduce(one), other - np.logaddexp.reduce(other)
    gap = np.abs(log_p - log_q)
    mean = np.exp(np.maximum(log_p, log_q)) * np.divide(-np.expm1(-gap), gap, where=gap > 0.0, out=np.ones_like(gap))
    shares: Floats = mean / mean.sum()
    return shares
