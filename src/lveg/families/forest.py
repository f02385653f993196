"""What families of tree grammars share: what they say of a forest, derived from one function, `run`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.families.family import Family, Stored
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.forest.reasons import LATENT, RULES, Part, difference, rule_terms
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.lvg import Packed, pack_forest

Mask = npt.NDArray[np.bool_]
"""Of each edge whether it belongs to something."""

FORBIDDEN = -1e5
"""The log factor of an edge that must not be used; far below anything that is only improbable."""

P_MIN = 3e-5
"""Default posterior threshold for nodes and edges of the forests that are parsed (docs/decisions/0006)."""


@dataclass(frozen=True)
class Posterior:
    """What a family says of a forest: log Z and the probabilities of nodes and edges given the sentence.

    edge_weight: the weight of each edge alone; empty for families whose derivations are no products of edge weights.
    log_rule: what max-rule sums over edges, where that is not the log of `edge`. members: of a family that is made of
    others, what each of them says. log_factor: what multiplied each edge, where anything did. best: of a family that
    lists derivations, the log weights and edges of so many of them, best first.
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
        """Whether there is an answer in finite numbers; weights far from each other may leave none."""
        return bool(np.isfinite(self.log_z) and np.isfinite(self.edge).all())


class Ask(NamedTuple):
    """What is asked of packed forests beside their log Z.

    slope: sign × the derivative of each log Z in all parameters is added; one sign for each forest. edge_slope: filled
    with sign × the derivative in each log factor, which is the posterior of the edge; with `slope` only.
    """

    signs: Sequence[float] = ()
    slope: Floats | None = None
    edge_slope: Floats | None = None


SUMS = Ask()
"""Nothing but log Z."""


class Judge(Stored):
    """What a parser asks of the grammar that decides."""

    p_min: float = P_MIN

    @abstractmethod
    def posterior(self, forest: Forest) -> Posterior:
        """log Z, and the posteriors of nodes and edges; log Z is -inf if no derivation has any weight."""

    @abstractmethod
    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """What `posterior` would have said of a forest without some edges, for all the others."""

    def derives(self, forest: Forest) -> bool:
        """Whether any derivation of the forest has any weight."""
        return bool(np.isfinite(self.posterior(forest).log_z))

    @abstractmethod
    def samples(self, forest: Forest, count: int, seed: int = 0) -> list[Ints]:
        """Derivations drawn from the posterior, independently; edges with parents first."""

    @abstractmethod
    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """log P(derivation | sentence) of the derivations with these edges, given what `posterior` said."""

    @abstractmethod
    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """Why the first of some derivations is more probable than each of the others  [math: explanation].

        For each other derivation, parts that add up to the difference of the two `log_probs`, which are finite. weight:
        the treebank's own rule probabilities.
        """

    @abstractmethod
    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log of the share that the derivations of `part` have among those of `forest`."""


class ForestFamily(Family, Judge):
    """A family of tree grammars: sums over the derivations of a forest.

    log_factor, where it is given, multiplies each edge by exp of it: one number for each edge of all forests, one
    forest after the other; 0 for edges that stay.
    """

    @abstractmethod
    def pack(self, forest: Forest) -> Ints:
        """What inference reads of a forest, whatever the parameters, in one array with its length first."""

    @abstractmethod
    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each of the packed forests, one after the other in one array, and what is asked for."""

    @abstractmethod
    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """log Z, and the posteriors of nodes and edges; log Z is -inf if no derivation has any weight."""

    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """What `posterior` would have said of a forest without some edges, for all the others."""
        return self.posterior(forest, np.where(edges, FORBIDDEN, 0.0))

    @abstractmethod
    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Derivations drawn from the posterior, independently; edges with parents first."""

    def log_z(self, forest: Forest, log_factor: Floats | None = None) -> float:
        """Log of the summed weight of all derivations and subtypes, -inf if there is none."""
        return float(self.run(self.pack(forest), log_factor)[0])

    def derives(self, forest: Forest) -> bool:
        """Whether any derivation of the forest has any weight."""
        return bool(np.isfinite(self.log_z(forest)))

    def log_derivation(self, grammar: Grammar, forest: Forest, edges: Ints) -> float:
        """The log weight of the derivation with these edges, its subtypes summed out; without any factor."""
        return self.log_z(build_forest(grammar, forest.words, anchored_rules(forest, edges), may_stay=False))

    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """log P(derivation | sentence) of the derivations with these edges, given what `posterior` said."""
        return [self.log_derivation(grammar, forest, edges) - posterior.log_z for edges in chosen]

    def compare(
        self, grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints], posterior: Posterior
    ) -> list[list[Part]]:
        """The treebank's rules, and what the family adds to them."""
        terms = rule_terms(grammar, weight, forest, chosen)
        (one, *others), (log_one, *logs) = chosen, self.log_probs(grammar, forest, chosen, posterior)
        found = []
        for other, log in zip(others, logs, strict=True):
            rules = difference(RULES, terms, one, other)
            found.append([rules, Part(LATENT, log_one - log - rules.value)])
        return found

    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log of the share that the derivations of `part` have among those of `forest`."""
        log_part = self.log_z(part)
        return log_part - self.log_z(forest) if np.isfinite(log_part) else -np.inf

    def add(self, examples: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of examples; adds its derivative to `slope`.

        An example is two packed forests: all analyses, and those that are right.
        """
        signs = [1.0, -1.0] * (count_packed(examples) // 2)
        return float(np.dot(self.run(examples, None, Ask(signs, slope)), signs))


class SubtypeRules(NamedTuple):
    """The weights of rules between discrete subtypes: one row for each choice of subtypes with a weight above 0.

    A rule without any such choice has one row of weight 0. Subtypes of all symbols are numbered through: those of a
    symbol begin at first[symbol]; the last number is how many there are. Rule r has rows [ptr[r], ptr[r + 1]). lhs,
    left, right: the subtypes of each row, -1 for ROOT and for what is no symbol.
    """

    first: Ints
    ptr: Ints
    lhs: Ints
    left: Ints
    right: Ints
    weight: Floats


class DiscreteFamily(ForestFamily):
    """A family whose derivations weigh as by a grammar with discrete subtypes."""

    @abstractmethod
    def subtype_rules(self) -> SubtypeRules:
        """The weights of that grammar."""

    @abstractmethod
    def subtype_uses(self, packed: Ints) -> Floats:
        """How often each row of `subtype_rules` is used, on average, in the derivations of packed forests."""


def pack(forest: Forest) -> Ints:
    """The parts of a forest that inference reads, in one array with its length first."""
    return pack_forest(parts_of(forest))


def parts_of(forest: Forest) -> Packed:
    """The parts of a forest that inference reads."""
    return Packed(forest.node_symbol, forest.edge_ptr, forest.edge_rule, forest.edge_left, forest.edge_right)


def count_packed(packed: Ints) -> int:
    """How many packed forests there are, one after the other in an array."""
    count, begin = 0, 0
    while begin < len(packed):
        begin += int(packed[begin])
        count += 1
    return count
