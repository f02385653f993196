"""An initial Gaussian mixture grammar from a grammar with discrete subtypes  [math: start]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lveg.families.forest import DiscreteFamily, SubtypeRules
from lveg.families.gm.family import Gm, columns_of
from lveg.families.gm.options import GmOptions
from lveg.forest.builders import tree_forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.gm_start import cluster_rows
from lveg.learning.data import TreeData
from lveg.learning.run import Run
from lveg.trees import Tree

PARTS = 8
"""Parts of the treebank, each summed by one worker and added in order; workers do not change the result."""

LAYOUT = 3.0
"""Factor for the distances of subtypes; a subtype has a variance of 1 (docs/decisions/0016)."""

_LEAST_SHARE = 1e-4  # minimum share of a component in its rule


def start_from(family: DiscreteFamily, data: TreeData, components: Ints, options: GmOptions, run: Run) -> Gm:
    """A grammar whose components are clusters of each rule's combinations of subtypes.

    components: the number for each rule; if a rule has fewer combinations, some are repeated. A subtype is a Gaussian
    of variance 1 at a point, close to other subtypes of its symbol that are used in similar ways; a component has the
    mean and variance of its combinations. Means are moved at random by up to the spread.
    """
    rules, uses = family.subtype_rules(), expected_uses(family, data, run)
    used = uses_of_subtypes(rules, uses)
    points = LAYOUT * lay_out(rules, uses, used, options.dim)
    found = cluster(rules, shares(rules, used), points, components)
    met = densities(data.grammar.rule_lhs, rules, used, points, found, components)
    weight = np.repeat(data.weight, components) * found.share / met
    ptr = np.concatenate([[0], np.cumsum(components)]).astype(np.int32)
    *first, size = columns_of(data.grammar, ptr)
    ends = np.diff([*first, size])
    mean = np.concatenate([mean[:end] for mean, end in zip(found.mean, ends, strict=True)]).T
    variance = np.concatenate([spread[:end] for spread, end in zip(found.variance, ends, strict=True)])
    moves = np.random.default_rng(run.seed).uniform(-options.spread, options.spread, mean.shape)
    moves[:, : len(weight)] *= np.repeat(data.grammar.rule_lhs, components) >= 0
    return Gm(
        ptr=ptr,
        first=np.array(first),
        log_weight=np.log(np.maximum(weight, 1e-30)),
        mean=mean + moves,
        log_std=np.tile(0.5 * np.log(variance), (options.dim if options.covariance == "diagonal" else 1, 1)),
    )


class Clusters(NamedTuple):
    """Components. share: share of each in its rule. mean: (3, C, dim). variance: (3, C), for all dimensions."""

    share: Floats
    mean: Floats
    variance: Floats


def cluster(rules: SubtypeRules, share: Floats, points: Floats, components: Ints) -> Clusters:
    """The combinations of subtypes of each rule, clustered into its components."""
    sizes, dim = np.diff(rules.ptr), len(points)
    rule = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-share, rule))
    counts = np.minimum(sizes, components)  # clusters; additional components are copies
    ptr = np.concatenate([[0], np.cumsum(counts)])
    begins = np.repeat(rules.ptr[:-1] - ptr[:-1], counts)
    seeds = order[begins + np.arange(ptr[-1])]
    slots = np.stack([rules.lhs, rules.left, rules.right])
    mean = np.zeros((3, len(seeds), dim))
    own = cluster_rows(rules.ptr, slots, share, np.ascontiguousarray(points.T), ptr, seeds, mean)
    mass = np.maximum(np.bincount(own, share, minlength=len(seeds)), _LEAST_SHARE)
    variance = np.ones((3, len(seeds)))
    for slot, of_slot, into in zip(slots, mean, variance, strict=True):
        square = np.where(slot >= 0, ((points[:, slot].T - of_slot[own]) ** 2).sum(axis=1) / dim, 0.0)
        into += np.bincount(own, share * square, minlength=len(seeds)) / mass
    number = np.arange(components.sum()) - np.repeat(np.cumsum(components) - components, components)
    chosen = np.repeat(ptr[:-1], components) + number % np.repeat(counts, components)
    copies = np.bincount(chosen, minlength=len(seeds))
    totals = np.repeat(np.add.reduceat(mass, ptr[:-1]), components)
    return Clusters((mass / copies)[chosen] / totals, mean[:, chosen], variance[:, chosen])


def densities(
    lhs: Ints, rules: SubtypeRules, used: Floats, points: Floats, found: Clusters, components: Ints
) -> Floats:
    """The average overlap of each component with the subtypes of its left-hand side.

    lhs: the left-hand side of each rule. The overlap is 1 for ROOT, which has no subtypes.
    """
    symbol, dim = np.repeat(lhs, components), len(points)
    met = np.ones(len(symbol))
    for number, (first, last) in enumerate(pairwise(rules.first)):
        own = np.flatnonzero(symbol == number)
        variance = 1.0 + found.variance[0, own, None]
        square = np.zeros((len(own), last - first))
        for axis in range(dim):
            square += (found.mean[0, own, axis, None] - points[None, axis, first:last]) ** 2
        overlap = np.exp(-square / (2.0 * variance)) * (2.0 * np.pi * variance) ** (-dim / 2)
        met[own] = (overlap * used[first:last]).sum(axis=1) / used[first:last].sum()
    return met


def expected_uses(family: DiscreteFamily, data: TreeData, run: Run) -> Floats:
    """The expected uses of each combination of a rule's subtypes in the trees."""
    parts = [range(index, len(data.trees), PARTS) for index in range(min(PARTS, len(data.trees)))]
    work = partial(uses_in, family, data.grammar, data.scheme, data.trees)
    total: Floats = np.sum(list(run.map(work, parts)), axis=0)
    return total


def uses_in(
    family: DiscreteFamily, grammar: Grammar, scheme: Binarisation, trees: Sequence[Tree], values: Sequence[Floats]
) -> Callable[[Sequence[int]], Floats]:
    """Computes the expected uses in the trees with some numbers; there are no other parameters."""

    def work(numbers: Sequence[int]) -> Floats:
        forests = (tree_forest(grammar, trees[number], scheme) for number in numbers)
        return family.subtype_uses(np.concatenate([family.pack(forest) for forest in forests]))

    return work


def uses_of_subtypes(rules: SubtypeRules, uses: Floats) -> Floats:
    """The uses of each subtype, from the uses of the rules below it."""
    has_lhs = rules.lhs >= 0
    return 1e-9 + np.bincount(rules.lhs[has_lhs], uses[has_lhs], minlength=int(rules.first[-1])).astype(np.float64)


def shares(rules: SubtypeRules, used: Floats) -> Floats:
    """The share of each combination of subtypes in its rule's uses, from its weight and the uses of its left-hand side.

    Weights are smoothed, but uses in the trees are not and would be overconfident for rare rules (docs/decisions/0016).
    """
    joint = np.append(used, 1.0)[rules.lhs] * np.maximum(rules.weight, 1e-30)
    found: Floats = joint / np.repeat(np.add.reduceat(joint, rules.ptr[:-1]), np.diff(rules.ptr))
    return found


def lay_out(rules: SubtypeRules, uses: Floats, used: Floats, dim: int) -> Floats:
    """A point for each subtype, (dim, n_subtypes): multidimensional scaling of each symbol's subtypes.

    The distance of two subtypes is the Hellinger distance of the rules they have and of the rule positions in which
    they are children.
    """
    n_rules = len(rules.ptr) - 1
    rule = np.repeat(np.arange(n_rules, dtype=np.int32), np.diff(rules.ptr))
    points = np.zeros((dim, int(rules.first[-1])))
    below = _roots(rules.first, [rules.lhs], [rule], uses)
    above = _roots(rules.first, [rules.left, rules.right], [rule, n_rules + rule], uses)
    for symbol, (first, last) in enumerate(pairwise(rules.first)):
        table = np.concatenate([below[symbol], above[symbol]], axis=1)
        points[:, first:last] = scaled(table, used[first:last] / used[first:last].sum(), dim)
    return points


def _roots(first: Ints, subtypes: list[Ints], places: list[Ints], uses: Floats) -> list[Floats]:
    """For each symbol, the square roots of the distributions of its subtypes over places: (subtypes, places)."""
    subtype, place = np.concatenate(subtypes), np.concatenate(places)
    order = np.argsort(subtype, kind="stable")
    begins = np.searchsorted(subtype[order], first)
    uses, found = np.tile(uses, len(subtypes)), []
    for symbol, (begin, end) in enumerate(pairwise(begins)):
        rows = order[begin:end]
        names, column = np.unique(place[rows], return_inverse=True)
        table = np.zeros((int(first[symbol + 1] - first[symbol]), len(names)))
        np.add.at(table, (subtype[rows] - first[symbol], column), uses[rows])
        totals = table.sum(axis=1, keepdims=True)
        found.append(np.sqrt(table / np.maximum(totals, 1e-300)))
    return found


def scaled(table: Floats, weight: Floats, dim: int) -> Floats:
    """Points whose distances approximate those of the rows of a table: weighted classical scaling, (dim, rows)."""
    table = table - np.einsum("i,ij->j", weight, table)
    root = np.sqrt(weight)
    products = np.einsum("ij,kj->ik", table, table) * root * root[:, None]
    values, vectors = np.linalg.eigh(products)
    order = np.argsort(-values, kind="stable")[:dim]
    axes = vectors[:, order] * np.sign(vectors[np.abs(vectors[:, order]).argmax(axis=0), order] + 1e-300)
    points = np.zeros((dim, len(table)))
    points[: len(order)] = (axes * np.sqrt(np.maximum(values[order], 0.0)) / root[:, None]).T
    return points
