"""Families of tree grammars with factors from contexts for each edge  [math: context]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from lveg.contexts.context import ForestContext, Kept
from lveg.errors import GrammarError
from lveg.families.contextual.combined import Combined, join, separate
from lveg.families.family import Arrays, Facts
from lveg.families.forest import FORBIDDEN, SUMS, Ask, ForestFamily, Mask, Posterior
from lveg.families.insight import Insight
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.forest.forest import Forest, part_of
from lveg.forest.reasons import Part, difference, edge_text, real_edges
from lveg.grammar.grammar import Floats, Grammar, Ints

OUT = -100.0
"""The log factor of pruned edges."""

PRUNED = "pruned"
"""The name of the part of an explanation for pruned edges."""


@dataclass(frozen=True, eq=False)
class Contextual(Combined, ForestFamily):
    """A family of trees, multiplied by contexts.

    least: when parsing, contexts score only edges to which the family alone gives at least this posterior; the others
    are pruned.
    """

    family: ForestFamily
    contexts: tuple[ForestContext, ...]
    least: float = 0.0

    name = "contextual"

    @property
    def p_min(self) -> float:  # type: ignore[override]
        """The pruning threshold of the family."""
        return self.family.p_min

    def arrays(self) -> Arrays:
        """The arrays of the family and the contexts; names are prefixed with the number of the part."""
        return nested_arrays((self.family, *self.contexts))

    def facts(self) -> Facts:
        """Names and facts of the family and the contexts, and the threshold."""
        return nested_facts((self.family, *self.contexts)) | {"least": self.least}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Contextual:
        """The family and its contexts from a model file."""
        tasks, least = ("parser", "parser-context"), facts.get("least")
        if not isinstance(least, float) or not 0.0 <= least < 1.0:
            raise GrammarError("its threshold is not from 0 to 1")
        rest = {name: fact for name, fact in facts.items() if name != "least"}
        family, *contexts = restore_nested(tasks, cls.name, grammar, weight, arrays, rest)
        if not isinstance(family, ForestFamily) or not contexts:
            raise GrammarError("it needs a family whose rules can have factors, and contexts")
        return cls(family, tuple(cast(list[ForestContext], contexts)), least)

    @property
    def title(self) -> str:
        """The family and the contexts."""
        return f"{self.family.title} with {' and '.join(context.name for context in self.contexts)}"

    def insights(self, grammar: Grammar) -> list[Insight]:
        """What the family without its contexts learned."""
        return self.family.insights(grammar)

    def pack(self, forest: Forest) -> Ints:
        """The packed forest and the inputs of each context: total length, the length of each array, the arrays."""
        return join([self.family.pack(forest), *(context.rows(forest) for context in self.contexts)])

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each packed forest; adds sign × its gradient with respect to all parameters to `slope`."""
        plain, *rows = separate(packed, 1 + len(self.contexts))
        log_factor = self._score(rows, log_factor)
        if ask.slope is None:
            return self.family.run(plain, log_factor)
        edge_slope = np.empty_like(log_factor) if ask.edge_slope is None else ask.edge_slope
        own, *rest = self._parts(ask.slope)
        log_z = self.family.run(plain, log_factor, Ask(ask.signs, own, edge_slope))
        for context, row, part in zip(self.contexts, rows, rest, strict=True):
            context.add(row, edge_slope, part)
        return log_z

    def _score(self, rows: Sequence[Ints], more: Floats | None = None, kept: Kept | None = None) -> Floats:
        scores = [context.score(row, kept=kept) for context, row in zip(self.contexts, rows, strict=True)]
        total: Floats = np.sum(scores if more is None else [*scores, more], axis=0)
        return total

    def log_factor(self, forest: Forest) -> Floats:
        """The log factor of each edge of a forest."""
        return self._log_factor(forest, self._kept(forest))

    def _log_factor(self, forest: Forest, kept: Kept | None) -> Floats:
        score = self._score([context.rows(forest) for context in self.contexts], kept=kept)
        if kept is not None:
            score[~kept] = OUT
        return score

    def _kept(self, forest: Forest) -> Kept | None:
        """For each edge, whether contexts score it; None if they score all edges."""
        return self._likely(forest, self._first(forest))

    def _first(self, forest: Forest) -> Posterior | None:
        """The posterior of the family alone, if it is needed for pruning."""
        return self.family.posterior(forest) if self.least and not forest.is_empty else None

    def _likely(self, forest: Forest, first: Posterior | None) -> Kept | None:
        if first is None or not first.is_sound:
            return None
        return (first.edge >= self.least) | (forest.edge_rule < 0)

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Inside and outside over the forest, or over its unpruned part if that has a derivation.

        If the family gives a weight to each edge, the whole forest is used, so that all edges have one.
        """
        first = self._first(forest)
        kept = self._likely(forest, first)
        own = self._log_factor(forest, kept)
        total = own if log_factor is None else own + log_factor
        if first is not None and kept is not None and not first.edge_weight.size:
            part, nodes, edges = part_of(forest, kept)
            found = first if part.is_empty else self.family.posterior(part, total[edges])
            if not part.is_empty and found.is_sound:
                edge, node = first.edge * np.exp(OUT), np.zeros(forest.n_nodes)
                edge[edges], node[nodes] = found.edge, found.node
                return replace(found, edge=edge, node=node, log_factor=own, best=None)
        return replace(self.family.posterior(forest, total), log_factor=own)

    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """The posterior of the forest without some edges."""
        own = self.log_factor(forest) if posterior.log_factor is None else posterior.log_factor
        return replace(self.family.posterior(forest, np.where(edges, FORBIDDEN, own)), log_factor=own)

    def log_z(self, forest: Forest, log_factor: Floats | None = None) -> float:
        """Log of the summed weight of all derivations."""
        own = self.log_factor(forest)
        return self.family.log_z(forest, own if log_factor is None else own + log_factor)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations drawn from the posterior, independently; edges with parents first."""
        own = self.log_factor(forest)
        return self.family.samples(forest, count, seed, own if log_factor is None else own + log_factor)

    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """log P(derivation | sentence) of the derivations with these edges, given the posterior."""
        own = self.log_factor(forest) if posterior.log_factor is None else posterior.log_factor
        plain = self.family.log_probs(grammar, forest, chosen, posterior)
        return [log_prob + float(own[edges].sum()) for log_prob, edges in zip(plain, chosen, strict=True)]

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints) -> float:
        """The log weight of the derivation with these edges, including their factors."""
        return self.family.log_derivation(grammar, forest, edges) + float(self.log_factor(forest)[edges].sum())

    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """The parts of the family, one part for each context, and one for pruned edges."""
        found = self.family.compare(grammar, weight, forest, chosen, posterior)
        edges, kept = real_edges(forest, chosen), self._kept(forest)
        is_out = np.zeros(len(edges), bool) if kept is None else ~kept[edges]
        asked, out = edges[~is_out], edges[is_out].tolist()
        said = [
            (context.name, dict(zip(asked.tolist(), context.reasons(grammar, forest, asked), strict=True)))
            for context in self.contexts
        ]
        if out:
            said.append((PRUNED, {edge: [(edge_text(grammar, forest, edge), OUT)] for edge in out}))
        for parts, other in zip(found, chosen[1:], strict=True):
            more = (difference(name, terms, chosen[0], other) for name, terms in said)
            parts += [part for part in more if part.name != PRUNED or part.reasons]
        return found
