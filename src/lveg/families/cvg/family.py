"""Compositional vector grammars: phrase vectors rerank the best trees of another family  [math: cvg]."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lveg.contexts.inputs import Inputs
from lveg.errors import GrammarError
from lveg.families.cvg.listing import Listing, best_trees
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value, views
from lveg.families.forest import SUMS, Ask, ForestFamily, Mask, Posterior
from lveg.families.insight import Insight
from lveg.families.nested import nested_arrays, nested_facts, restore_nested
from lveg.families.registry import kinds
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.cvg import HEAD, Net, add_to_words, compose, fill_words, go_back, spread, sum_up, tree_edges
from lveg.kernels.factors import each_packed

LARGEST = 1000.0
"""Bound on abs(parameter)."""

MOST_TREES = 10_000
"""Maximum number of trees in a list."""


@dataclass(frozen=True, eq=False)
class Units:
    """Numbers of everything with a score vector: tags, unary rules, and pairs of children, which also have a matrix.

    of_rule: the unit of each rule, -1 for root rules.
    """

    of_rule: Ints
    first_pair: int
    n_pairs: int

    @property
    def size(self) -> int:
        """The number of units."""
        return self.first_pair + self.n_pairs


def units_of(grammar: Grammar) -> Units:
    """The units of a grammar."""
    of_rule = np.full(grammar.n_rules, -1, np.int32)
    n_tags, binary, unary = len(grammar.tags), grammar.kind_slice("binary"), grammar.kind_slice("unary")
    lexical, first_pair = grammar.kind_slice("lexical"), n_tags + grammar.n_unary
    of_rule[lexical] = grammar.rule_lhs[lexical] - grammar.n_nonterminals
    of_rule[unary] = n_tags + np.arange(grammar.n_unary)
    children = np.stack([grammar.rule_left[binary], grammar.rule_right[binary]])
    pairs, number = np.unique(children, axis=1, return_inverse=True)
    of_rule[binary] = first_pair + number.ravel()
    return Units(of_rule, first_pair, pairs.shape[1])


@dataclass(frozen=True, eq=False)
class Form:
    """Layout of the parameters in one vector. dim: dimensions of word and phrase vectors."""

    inputs: Inputs
    units: Units
    dim: int

    @property
    def _shapes(self) -> tuple[tuple[int, ...], ...]:
        dim, units = self.dim, self.units
        return (
            (len(self.inputs.names), dim), (self.inputs.given.shape[1], dim), (units.size, dim + 1),
            (units.n_pairs, dim, 2 * dim + 1), (1,),
        )  # fmt: skip

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(map(math.prod, self._shapes))

    def net(self, vector: Floats) -> Net:
        """Views of a vector that has one element per parameter."""
        return Net(*views(vector, self._shapes))


class Trees(NamedTuple):
    """The contents of a packed list (see kernels.cvg), and its vectors and scores.

    known: see `knowledge` in learning.py. score: of each tree; -inf if its weight in the base is 0.
    """

    packed: Ints
    items: int
    n_edges: int
    edge: Ints
    known: Ints
    log_weight: Floats
    mask: Floats
    words: Floats
    vector: Floats
    score: Floats

    def probabilities(self) -> tuple[float, Floats]:
        """(log Z, the probability of each tree); the probabilities are 0 if all trees have weight 0."""
        log_z = float(np.logaddexp.reduce(self.score, initial=-np.inf))
        return log_z, np.exp(self.score - log_z) if np.isfinite(log_z) else np.zeros_like(self.score)

    def base_probabilities(self, log_factor: Floats | None) -> tuple[float, Floats]:
        """(the log of the sum of the trees' weights in the base, their probabilities within the list)."""
        log_weight = self.log_weight
        if log_factor is not None:
            total = log_factor[self.edge]
            sum_up(*self._children, total)
            log_weight = log_weight + total[len(total) - len(log_weight) :]
        log_sum = float(np.logaddexp.reduce(log_weight))
        return log_sum, np.exp(log_weight - log_sum)

    @property
    def _children(self) -> tuple[Ints, Ints]:
        n = len(self.vector)
        left, right = self.packed[self.items + n : self.items + 3 * n].reshape(2, n)
        return left, right

    def shares(self, values: Floats) -> Floats:
        """For each item, the sum of the values of the trees that contain it."""
        share = np.zeros(len(self.vector))
        share[len(share) - len(values) :] = values
        spread(*self._children, share)
        return share

    def edge_sums(self, values: Floats) -> Floats:
        """For each edge of the forest, the sum of the values of the trees that contain it."""
        return sums_of(self.edge, self.shares(values), self.n_edges)

    def best(self, count: int) -> list[tuple[float, Ints]]:
        """Scores and edges of the trees with the highest scores, at most `count`, best first."""
        order = np.argsort(-self.score, kind="stable")[:count].tolist()
        return [(float(self.score[rank]), self.edges_of(rank)) for rank in order if np.isfinite(self.score[rank])]

    def edges_of(self, rank: int) -> Ints:
        """The edges of one of the trees, parents first."""
        found = np.empty(2 * len(self.vector), np.int32)
        root = len(self.vector) - len(self.score) + rank
        return found[: tree_edges(self.edge, *self._children, root, found)].copy()


@dataclass(frozen=True, eq=False)
class Cvg(ForestFamily):
    """A base, which is not trained further, and parameters that rerank the `count` best trees of a forest."""

    base: ForestFamily
    form: Form
    value: Floats
    count: int

    name = "cvg"

    def __post_init__(self) -> None:
        check_value(self.value, self.form.size, LARGEST)
        if not 1 <= self.count <= MOST_TREES:
            raise GrammarError(f"the number of trees is not from 1 to {MOST_TREES}")

    @cached_property
    def net(self) -> Net:
        """The parameters, in the layout of the kernels."""
        return self.form.net(self.value)

    def with_value(self, value: Floats) -> Cvg:
        """A copy with other parameters."""
        return replace(self, value=value)

    def rounded(self) -> Cvg:
        """A copy with parameters rounded to float16, as in a model file."""
        return replace(self, value=self.value.astype(np.float16).astype(np.float64))

    def arrays(self) -> Arrays:
        """The arrays of the base, pretrained vectors, and parameters as float16."""
        own = {**self.form.inputs.arrays(), "value": self.value.astype(np.float16)}
        return nested_arrays([self.base]) | own

    def facts(self) -> Facts:
        """Name and facts of the base, names of the vectors, and sizes."""
        return {
            **nested_facts([self.base]), **self.form.inputs.facts(), "dim": self.form.dim, "count": self.count,
        }  # fmt: skip

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Cvg:
        """The grammar from a model file."""
        own = {"learned": list, "words": list, "dim": int, "count": int}
        check_facts(facts, {"parts": list, **own})
        inner = {name: array for name, array in arrays.items() if name.startswith("0.")}
        rest = {name: array for name, array in arrays.items() if name not in inner}
        check_arrays(rest, ({"given": (np.float16, 2)} if facts["words"] else {}) | {"value": (np.float16, 1)})
        (base,) = restore_nested(["parser"], cls.name, grammar, weight, inner, {"parts": facts["parts"][:1]})
        if not isinstance(base, ForestFamily) or len(facts["parts"]) != 1:
            raise GrammarError("it needs one base, which gives weights to trees")
        if kinds("parser")[base.name].is_layer or kinds("parser")[base.name].has_base:
            raise GrammarError("its base is built on another family itself")
        if facts["dim"] < 1:
            raise GrammarError("its vectors have no dimensions")
        form = Form(Inputs.restore(rest, facts), units_of(grammar), facts["dim"])
        return cls(base, form, rest["value"].astype(np.float64), facts["count"])

    def describe(self) -> Facts:
        """The base, and the sizes of the parameters on top."""
        inputs = self.form.inputs
        return {
            "base": {"model": self.base.name, **self.base.describe()},
            "trees": self.count,
            "dimensions": self.form.dim,
            "vectors_given": len(inputs.vectors.words),
            "vectors_learned": len(inputs.names),
            "parameters": int(self.value.size),
        }

    def insights(self, grammar: Grammar) -> list[Insight]:
        """What the base learned."""
        return self.base.insights(grammar)

    def pack(self, forest: Forest) -> Ints:
        """The packed list of the base's best trees."""
        return self._pack(forest, self.base.posterior(forest))

    def _pack(self, forest: Forest, posterior: Posterior, is_out: Mask | None = None) -> Ints:
        """The packed list of the base's best trees without the edges `is_out`; posterior: the base's."""
        listing = best_trees(self.base, forest, posterior, self.count, is_out)
        return pack_list(self.form.inputs, self.form.units.of_rule, forest, listing)

    def trees(
        self, packed: Ints, log_factor: Floats | None = None, masks: Iterator[Floats] | None = None
    ) -> Iterator[Trees]:
        """The trees of each packed list in turn, with their scores.

        masks: factors for the vectors of each list; 1 if not given.
        """
        first, whole = 0, np.ones(self.form.dim)
        for part in each_packed(packed):
            _, n_words, n_edges, n_items, n_trees = part[:HEAD].tolist()
            factor = _NOTHING if log_factor is None else log_factor[first : first + n_edges]
            mask = whole if masks is None else next(masks)
            yield self._trees(part, n_words, n_edges, n_items, n_trees, factor, mask)
            first += n_edges

    def _trees(
        self, packed: Ints, n_words: int, n_edges: int, n_items: int, n_trees: int, factor: Floats, mask: Floats
    ) -> Trees:
        items, dim = HEAD + n_words * self.form.inputs.columns, self.form.dim
        last = items + 4 * n_items + n_trees
        known, log_weight = packed[last - n_trees : last], packed[last:].copy().view(np.float64)
        words, vector, score = np.zeros((n_words, dim)), np.empty((n_items, dim)), np.empty(n_items)
        fill_words(packed, 0, self.form.inputs.columns, self.form.inputs.given, self.net, words)
        compose(packed, items, self.form.units.first_pair, words, self.net, mask, factor, vector, score)
        able = np.isfinite(log_weight)
        total = np.where(able, self.net.scale * np.where(able, log_weight, 0.0) + score[n_items - n_trees :], -np.inf)
        return Trees(
            packed, items, n_edges, packed[items : items + n_items], known, log_weight, mask, words, vector, total
        )

    def add_slope(self, trees: Trees, tree_slope: Floats, slope: Floats) -> None:
        """Backpropagate: add to the gradient of the parameters, given that of the score of each tree."""
        net, pull, word_pull = self.form.net(slope), np.zeros_like(trees.vector), np.zeros_like(trees.words)
        go_back(
            trees.packed, trees.items, self.form.units.first_pair, self.net, trees.mask, trees.vector,
            trees.shares(tree_slope), pull, word_pull, net,
        )  # fmt: skip
        inputs = self.form.inputs
        add_to_words(trees.packed, 0, inputs.columns, inputs.given, word_pull, net)
        used = tree_slope != 0.0
        net.scale[0] += tree_slope[used] @ trees.log_weight[used]

    def run(self, packed: Ints, log_factor: Floats | None = None, ask: Ask = SUMS) -> Floats:
        """The log Z of each packed list; adds sign × its gradient to `slope`."""
        found, first = [], 0
        for number, trees in enumerate(self.trees(packed, log_factor)):
            log_z, share = trees.probabilities()
            found.append(log_z)
            last = first + trees.n_edges
            if ask.slope is not None and np.isfinite(log_z):
                self.add_slope(trees, ask.signs[number] * share, ask.slope)
            if ask.edge_slope is not None:
                ask.edge_slope[first:last] = ask.signs[number] * trees.edge_sums(share)
            first = last
        return np.array(found)

    def posterior(self, forest: Forest, log_factor: Floats | None = None) -> Posterior:
        """Sums over the list, with the base for all other trees; log Z is scaled so that listed trees get Q(t)."""
        first = self.base.posterior(forest)
        whole = first if log_factor is None else self.base.posterior(forest, log_factor)
        (trees,) = self.trees(self._pack(forest, first), log_factor)
        return self._mixture(forest, trees, whole, log_factor)

    def without(self, forest: Forest, edges: Mask, posterior: Posterior) -> Posterior:
        """The posterior of the forest without some edges; the list is computed again."""
        first = self.base.posterior(forest)
        (trees,) = self.trees(self._pack(forest, first, edges))
        return self._mixture(forest, trees, self.base.without(forest, edges, first), None)

    def _mixture(self, forest: Forest, trees: Trees, whole: Posterior, log_factor: Floats | None) -> Posterior:
        """Combine the posteriors of the list with those of the base for all trees, `whole`."""
        log_z, share = trees.probabilities()
        edge, log_mass = trees.edge_sums(share), 0.0
        if np.isfinite(log_z):
            log_list, plain = trees.base_probabilities(log_factor)
            log_mass = min(0.0, log_list - whole.log_z)
            if log_mass < -_WHOLE:
                edge = np.maximum(whole.edge + np.exp(log_mass) * (edge - trees.edge_sums(plain)), 0.0)
        node = sums_of(forest.edge_head, edge, forest.n_nodes)
        return Posterior(log_z - log_mass, node, edge, _NOTHING, members=(whole,), best=trees.best)

    def samples(self, forest: Forest, count: int, seed: int = 0, log_factor: Floats | None = None) -> list[Ints]:
        """Trees drawn from the base; a listed tree is replaced by one drawn from the list. Edges with parents first."""
        (trees,) = self.trees(self.pack(forest), log_factor)
        log_z, share = trees.probabilities()
        if not np.isfinite(log_z):
            raise GrammarError("no derivation has any weight: there is none to draw")
        listed = [trees.edges_of(rank) for rank in range(len(share))]
        known = set(map(_key, listed))
        chosen = np.random.default_rng([seed, 1]).choice(len(share), count, p=share / share.sum()).tolist()
        drawn = self.base.samples(forest, count, seed, log_factor)
        return [listed[rank] if _key(edges) in known else edges for rank, edges in zip(chosen, drawn, strict=True)]

    def log_probs(self, grammar: Grammar, forest: Forest, chosen: Sequence[Ints], posterior: Posterior) -> list[float]:
        """log P(derivation | sentence); trees outside the list get that of the base."""
        own = super().log_probs(grammar, forest, chosen, posterior)
        if posterior.best is None:
            return own
        (whole,), listed = posterior.members, {_key(edges) for _, edges in posterior.best(self.count)}
        plain = self.base.log_probs(grammar, forest, chosen, whole)
        return [one if _key(edges) in listed else base for edges, one, base in zip(chosen, own, plain, strict=True)]

    def log_prob(self, part: Forest, forest: Forest) -> float:
        """The log probability of the derivations of `part`, all of them listed, among those of `forest`."""
        log_part = self.log_z(part)
        return log_part - self.posterior(forest).log_z if np.isfinite(log_part) else -np.inf


_WHOLE = 1e-9
"""A list is considered complete if the base gives all other trees together less than this probability."""


def _key(edges: Ints) -> bytes:
    """A key that identifies a derivation."""
    return np.sort(edges).tobytes()


_NOTHING = np.empty(0)


def sums_of(numbers: Ints, values: Floats, size: int) -> Floats:
    """For each number below `size`, the sum of its values."""
    return np.bincount(numbers, values, size).astype(np.float64)


def pack_list(
    inputs: Inputs, of_rule: Ints, forest: Forest, listing: Listing | None, known: Ints | None = None
) -> Ints:
    """A list of trees in one array (see kernels.cvg); of_rule: the unit of each rule."""
    if listing is None:
        return np.array([HEAD, 0, forest.n_edges, 0, 0], np.int32)
    part, n_trees = listing.forest, listing.n_trees
    unit = np.where(part.edge_rule >= 0, of_rule[part.edge_rule], -1)
    word = np.append(part.node_start[:-1], np.zeros(n_trees, np.int32))
    left = np.where(part.edge_left >= 0, part.edge_left, -2 - word)
    parts = [
        np.array([inputs.row(word) for word in forest.words]).ravel(), listing.edge, left, part.edge_right, unit,
        np.zeros(n_trees, np.int32) if known is None else known, listing.log_weight.view(np.int32),
    ]  # fmt: skip
    size = HEAD + sum(part.size for part in parts)
    head = np.array([size, forest.n_words, forest.n_edges, part.n_edges, n_trees])
    return np.concatenate([head, *parts]).astype(np.int32)
