"""A Gaussian mixture grammar to start learning from, by a grammar with discrete subtypes  [math: start]."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lveg.families.forest import DiscreteFamily, SubtypeRules
from lveg.families.gm.family import Gm, columns_of
from lveg.families.gm.options import GmOptions
from lveg.forest.builders import tree_forest
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.data import TreeData
from lveg.learning.run import Run
from lveg.trees import Tree

PARTS = 8
"""Parts of the treebank, each summed by one worker and added in order, so that workers change no bit."""

LAYOUT = 1.0
"""What distances of subtypes are multiplied by; Gaussians have a deviation of 1 (docs/decisions/0016)."""

EVENNESS = 0.3
"""A component's share in its rule is raised to this power, so that all of them learn (docs/decisions/0016)."""

_FEW = 1e-3  # uses of each rule that its weights share out: of a rule that the trees lack there are no others


def start_from(family: DiscreteFamily, data: TreeData, components: Ints, options: GmOptions, run: Run) -> Gm:
    """A grammar whose components are the most used choices of subtypes of each rule.

    components: how many each rule gets; one with fewer choices has some of them more than once. A subtype is a point,
    close to those of its symbol that are used alike. Means are near their points, at random; deviations are 1.
    """
    dim, spread = options.dim, options.spread
    rules, uses = family.subtype_rules(), expected_uses(family, data, run)
    used = uses_of_subtypes(rules, uses)
    points = LAYOUT * lay_out(rules, uses, used, dim)
    rows, share = most_used(rules, shares(rules, uses, used), components)
    lhs, left, right = rules.lhs[rows], rules.left[rows], rules.right[rows]
    met = np.append(densities(rules, used, points), 1.0)  # ROOT, whose number is -1, meets nothing
    weight = np.repeat(data.weight, components) * share / met[lhs]
    ptr = np.concatenate([[0], np.cumsum(components)]).astype(np.int32)
    *first, size = columns_of(data.grammar, ptr)
    moves = np.random.default_rng(run.seed).uniform(-spread, spread, (dim, int(size)))
    moves[:, : len(lhs)][:, lhs < 0] = 0.0
    at = np.append(points, np.zeros((dim, 1)), axis=1)
    return Gm(
        ptr=ptr,
        first=np.array(first),
        log_weight=np.log(np.maximum(weight, 1e-30)),
        mean=at[:, np.concatenate([lhs, left[left >= 0], right[right >= 0]])] + moves,
        log_std=np.zeros((dim if options.covariance == "diagonal" else 1, int(size))),
    )


def expected_uses(family: DiscreteFamily, data: TreeData, run: Run) -> Floats:
    """How often each choice of a rule's subtypes is used in the trees."""

    def work(trees: list[Tree]) -> Floats:
        packed = [family.pack(tree_forest(data.grammar, tree, data.scheme)) for tree in trees]
        return family.subtype_uses(np.concatenate(packed))

    parts = [list(data.trees[index::PARTS]) for index in range(min(PARTS, len(data.trees)))]
    total: Floats = np.sum(list(run.map(work, parts)), axis=0)
    return total


def uses_of_subtypes(rules: SubtypeRules, uses: Floats) -> Floats:
    """How often each subtype is used, by the uses of the rules below it."""
    has_lhs = rules.lhs >= 0
    return 1e-9 + np.bincount(rules.lhs[has_lhs], uses[has_lhs], minlength=int(rules.first[-1])).astype(np.float64)


def shares(rules: SubtypeRules, uses: Floats, used: Floats) -> Floats:
    """Of each choice of subtypes the share in its rule's uses."""
    sizes, begins = np.diff(rules.ptr), rules.ptr[:-1]
    prior = np.append(used, 1.0)[rules.lhs] * np.maximum(rules.weight, 1e-30)
    prior *= np.repeat(_FEW / np.add.reduceat(prior, begins), sizes)
    mixed = uses + prior
    found: Floats = mixed / np.repeat(np.add.reduceat(mixed, begins), sizes)
    return found


def most_used(rules: SubtypeRules, share: Floats, components: Ints) -> tuple[Ints, Floats]:
    """(the row of each component, the component's share in its rule)."""
    sizes, begins = np.diff(rules.ptr), rules.ptr[:-1]
    rule = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((-share, rule))
    number = np.arange(components.sum()) - np.repeat(np.cumsum(components) - components, components)
    chosen = np.minimum(sizes, components)  # choices of each rule that have components, in turn
    rows = order[np.repeat(begins, components) + number % np.repeat(chosen, components)].astype(np.int32)
    even = share[rows] ** EVENNESS
    totals = np.add.reduceat(even, np.cumsum(components) - components)
    return rows, even / np.repeat(totals, components)


def lay_out(rules: SubtypeRules, uses: Floats, used: Floats, dim: int) -> Floats:
    """A point for each subtype, (dim, n_subtypes): multidimensional scaling of each symbol's subtypes.

    The distance of two subtypes is Hellinger's, of which rules they have and of where in rules they are children.
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
    """For each symbol the square roots of the distribution of its subtypes over places: (subtypes, places)."""
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
    """Points whose distances are close to those of the rows of a table, weighted: classical scaling, (dim, rows)."""
    table = table - np.einsum("i,ij->j", weight, table)
    root = np.sqrt(weight)
    products = np.einsum("ij,kj->ik", table, table) * root * root[:, None]
    values, vectors = np.linalg.eigh(products)
    order = np.argsort(-values, kind="stable")[:dim]
    axes = vectors[:, order] * np.sign(vectors[np.abs(vectors[:, order]).argmax(axis=0), order] + 1e-300)
    points = np.zeros((dim, len(table)))
    points[: len(order)] = (axes * np.sqrt(np.maximum(values[order], 0.0)) / root[:, None]).T
    return points


def densities(rules: SubtypeRules, used: Floats, points: Floats) -> Floats:
    """By how much a Gaussian of each subtype overlaps, on average, with those that ask for its symbol."""
    found = np.empty(points.shape[1])
    for first, last in pairwise(rules.first):
        own = points[:, first:last]
        square = ((own[:, :, None] - own[:, None, :]) ** 2).sum(axis=0)
        overlap = (4 * np.pi) ** (-len(points) / 2) * np.exp(-square / 4)
        found[first:last] = (overlap * used[first:last]).sum(axis=1) / used[first:last].sum()
    return found
