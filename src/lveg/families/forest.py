"""Shared code of tree grammar families: posteriors and probabilities, derived from one function, `run`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.families.family import Family, Stored
from lveg.families.insight import Insight, tree_view
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.forest.reasons import LATENT, RULES, Part, difference, rule_terms
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import each_packed
from lveg.kernels.lvg import Packed, pack_forest

Mask = npt.NDArray[np.bool_]
"""A boolean for each edge."""

FORBIDDEN = -1e5
"""The log factor of an edge that must not be used; far below that of any improbable edge."""

P_MIN = 3e-5
"""Default posterior threshold for nodes and edges when parsing (docs/decisions/0006)."""


@dataclass(frozen=True)
class Posterior:
    """A family's result for a forest: log Z and the probabilities of nodes and edges given the sentence.

    edge_weight: the weight of each edge alone; empty for families whose derivations are not products of edge weights.
    log_rule: what max-rule sums over edges, if that is not the log of `edge`. members: for a family that is made of
    others, the results of each. log_factor: the log factors of edges, if any. best: for a family that lists
    derivations, the log weights and edges of the best ones, best first.
    """

    log_z: float
    node: Floats
    edge: Floats
    edge_weight: Floats
    log_rule: Floats | None = None
    members: tuple[Posterior, ...] = ()
    log_factor: Floats | None = None
    best: Callable[[int], list[tuple[float, Ints]]] | None = None

    @property
    def is_sound(self) -> bool:
        """Whether the result is finite; extreme weights may overflow or underflow."""
        return bool(np.isfinite(self.log_z) and np.isfinite(self.edge).all())


class Ask(NamedTuple):
    """What to compute for packed forests besides their log Z.

    slope: sign × the derivative of each log Z with respect to all parameters is added; one sign for each forest.
    edge_slope: filled with sign × the derivative with respect to each log factor, which is the posterior of the edge;
    only with `slope`.
    """

    signs: Sequence[float] = ()
    slope: Floats | None = None
    edge_slope: Floats | None = None


SUMS = Ask()
"""Only log Z."""


class Judge(Stored):
    """The interface of a grammar that a parser needs."""

    p_min: float = P_MIN

    @abstractmethod
    def posterior(self, forest: Forest) -> Posterior:
        """log Z, and the posteriors of nodes and edges; log Z is -inf if no derivation has any weight."""

    @abstractmethod
    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """The result of `posterior` for the forest without some edges, in the numbering of the whole forest."""

    def derives(self, forest: Forest) -> bool:
        """Whether any derivation of the forest has any weight."""
        return bool(np.isfinite(self.posterior(forest).log_z))

    @abstractmethod
    def samples(self, forest: Forest, count: int, seed: int = 0) -> list[Ints]:
        """Derivations sampled independently from the posterior; edges with parents first."""

    @abstractmethod
    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """log P(derivation | sentence) of the derivations with these edges, given the result of `posterior`."""

    @abstractmethod
    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """Why the first of some derivations is more probable than each of the others  [math: explanation].

        Returns, for each other derivation, parts that add up to the difference of the two `log_probs`, which are
        finite. weight: the treebank's own rule probabilities.
        """

    @abstractmethod
    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log of the probability that a derivation of `forest` is in `part`."""

    def insights(self, grammar: Grammar) -> list[Insight]:
        """What was learned about each symbol, for `lveg inspect`; without subtypes, the rules and words it is used in.

        A family that is made of several grammars returns one result for each.
        """
        return [tree_view(grammar).insight(self.name)]


class ForestFamily(Family, Judge):
    """A family of tree grammars: sums over the derivations of a forest.

    If log_factor is given, each edge is multiplied by exp(log_factor): one number for each edge of all forests, one
    forest after the other; 0 for STAY edges.
    """

    def pack(self, forest: Forest) -> Ints:
        """The forest as inference needs it, independent of the parameters, in one array with its length first."""
        return pack(forest)

    @abstractmethod
    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the packed forests in one array; also computes what `ask` requests."""

    @abstractmethod
    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """log Z, and the posteriors of nodes and edges; log Z is -inf if no derivation has any weight."""

    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """The result of `posterior` for the forest without some edges, in the numbering of the whole forest."""
        return self.posterior(forest, np.where(edges, FORBIDDEN, 0.0))

    @abstractmethod
    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations sampled independently from the posterior; edges with parents first."""

    def log_z(self, forest: Forest, log_factor: Floats | None = None) -> float:
        """Log of the total weight of all derivations and subtypes, -inf if there is none."""
        return float(self.run(self.pack(forest), log_factor)[0])

    def derives(self, forest: Forest) -> bool:
        """Whether any derivation of the forest has any weight."""
        return bool(np.isfinite(self.log_z(forest)))

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints) -> float:
        """The log weight of the derivation with these edges, with subtypes summed out and without factors."""
        return self.log_z(build_forest(grammar, forest.words, anchored_rules(forest, edges), may_stay=False))

    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """log P(derivation | sentence) of the derivations with these edges, given the result of `posterior`."""
        return [self.log_derivation(grammar, forest, edges) - posterior.log_z for edges in chosen]

    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """The parts `rules`, from the treebank's probabilities, and `latent`, the rest of the family's weight."""
        terms = rule_terms(grammar, weight, forest, chosen)
        (one, *others), (log_one, *logs) = chosen, self.log_probs(grammar, forest, chosen, posterior)
        found = []
        for other, log in zip(others, logs, strict=True):
            rules = difference(RULES, terms, one, other)
            found.append([rules, Part(LATENT, log_one - log - rules.value)])
        return found

    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log of the probability that a derivation of `forest` is in `part`."""
        log_part = self.log_z(part)
        return log_part - self.log_z(forest) if np.isfinite(log_part) else -np.inf

    def add(self, examples: Ints, slope: Floats) -> float:
        """The negative log conditional likelihood of examples; adds its derivative to `slope`.

        An example is two packed forests: all analyses, and the gold ones.
        """
        signs = [1.0, -1.0] * (count_packed(examples) // 2)
        return float(np.dot(self.run(examples, None, Ask(signs, slope)), signs))


class SubtypeRules(NamedTuple):
    """The weights of rules between discrete subtypes: one row for each combination of subtypes with a weight above 0.

    A rule without any such combination has one row of weight 0. Subtypes of all symbols are numbered consecutively:
    those of a symbol begin at first[symbol]; the last element is the total number. Rule r has rows [ptr[r], ptr[r +
    1]). lhs, left, right: the subtypes of each row, -1 for ROOT and for slots that are not symbols.
    """

    first: Ints
    ptr: Ints
    lhs: Ints
    left: Ints
    right: Ints
    weight: Floats


class DiscreteFamily(ForestFamily):
    """A family that is equivalent to a grammar with discrete subtypes."""

    @abstractmethod
    def subtype_rules(self) -> SubtypeRules:
        """The weights of that grammar."""

    @abstractmethod
    def subtype_uses(self, packed: Ints) -> Floats:
        """The expected number of uses of each row of `subtype_rules` in the derivations of packed forests."""


def pack(forest: Forest) -> Ints:
    """The parts of a forest that inference needs, in one array with its length first."""
    return pack_forest(parts_of(forest))


def parts_of(forest: Forest) -> Packed:
    """The parts of a forest that inference needs."""
    return Packed(forest.node_symbol, forest.edge_ptr, forest.edge_rule, forest.edge_left, forest.edge_right)


def count_packed(packed: Ints) -> int:
    """The number of packed forests in an array."""
    return sum(1 for _ in each_packed(packed))
