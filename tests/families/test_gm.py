"""The Gaussian mixture family against numeric integration, central differences, and its special cases."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from oracles import central_difference, edge_lists, random_cases, subject

from lveg.chart.coarse import CoarseParser
from lveg.families.forest import Ask
from lveg.families.gm.family import ComponentPruning, Gm, columns_of, plan, start
from lveg.families.pcfg.family import Pcfg
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.estimate import pcfg_weights
from lveg.grammar.grammar import Floats, Grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.assemble import STAY
from lveg.kernels.gm import Cut, cut_smallest
from lveg.treebank.penn import parse_tree

GRID = np.linspace(-12.0, 12.0, 1201)
STEP = GRID[1] - GRID[0]


def small_forests(count: int, seed: int = 5) -> list[tuple[Grammar, Floats, Forest]]:
    """Grammars, weights and full forests of short sentences that have a derivation."""
    found = []
    for case in random_cases(count, seed, most=30):
        grammar, weight = subject(case.toy)
        found.append((grammar, weight, CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)[1]))
    return found


def random_model(grammar: Grammar, weight: Floats, dim: int, covariance: str, seed: int, count: int = 2) -> Gm:
    """A grammar with random values for every parameter."""
    dice = np.random.default_rng(seed)
    first = start(grammar, weight, count, dim, covariance, alpha=1.0, seed=seed)
    return Gm(
        first.ptr,
        first.first,
        first.log_weight + dice.normal(0, 0.5, first.log_weight.shape),
        dice.normal(0, 0.8, first.mean.shape),
        dice.normal(0, 0.3, first.log_std.shape),
    )


def normal(mean: float, std: float) -> Floats:
    """The density of a Gaussian on the grid."""
    return np.exp(-0.5 * ((GRID - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


def gaussian(model: Gm, slot: int, c: int) -> tuple[float, float]:
    """Mean and standard deviation of a slot (left-hand side, left child, right child) of a component, for d = 1."""
    column = model.first[slot] + c
    return model.mean[0, column], math.exp(model.log_std[0, column])


def integrate_derivation(model: Gm, forest: Forest, edges: tuple[int, ...]) -> float:
    """The weight of one derivation, its subtypes integrated on the grid; edges with parents first."""
    done: list[Floats] = []
    for edge in reversed(edges):
        rule = int(forest.edge_rule[edge])
        if rule == STAY:
            continue
        n_children = int(forest.edge_left[edge] >= 0) + int(forest.edge_right[edge] >= 0)
        children = [done.pop() for _ in range(n_children)]
        total: Floats | float = 0.0
        for c in range(model.ptr[rule], model.ptr[rule + 1]):
            value = math.exp(model.log_weight[c])
            for slot, child in enumerate(children, start=1):
                density = normal(*gaussian(model, slot, c))
                value *= float((density * child).sum() * STEP)
            is_root = forest.edge_head[edge] == forest.n_nodes - 1
            lhs = 1.0 if is_root else normal(*gaussian(model, 0, c))
            total = total + value * lhs
        done.append(np.asarray(total))
    (result,) = done
    return float(result)


def test_sums_and_posteriors_equal_enumeration_with_numeric_integration() -> None:
    for number, (grammar, weight, forest) in enumerate(small_forests(25)):
        model = random_model(grammar, weight, 1, "spherical", number, count=1 + number % 4)
        found = [(edges, integrate_derivation(model, forest, edges)) for edges in edge_lists(forest)]
        total = sum(value for _, value in found)
        posterior = model.posterior(forest)
        assert posterior.log_z == pytest.approx(math.log(total), abs=1e-8)
        assert model.log_z(forest) == posterior.log_z
        edge = np.zeros(forest.n_edges)
        for edges, value in found:
            edge[list(edges)] += value / total
        np.testing.assert_allclose(posterior.edge, edge, atol=1e-8)
        lexical = forest.edge_rule >= grammar.lexical_start
        assert posterior.edge[lexical].sum() == pytest.approx(forest.n_words, abs=1e-9)


@pytest.mark.parametrize(
    ("dim", "covariance", "count"),
    [(1, "spherical", 2), (3, "spherical", 4), (3, "spherical", 3), (2, "diagonal", 2), (2, "diagonal", 4)],
)
def test_gradients_equal_central_differences(dim: int, covariance: str, count: int) -> None:
    dice = random.Random(3)
    for number, (grammar, weight, forest) in enumerate(small_forests(12)):
        check_gradient(random_model(grammar, weight, dim, covariance, number, count), grammar, forest, dice)


def check_gradient(model: Gm, grammar: Grammar, forest: Forest, dice: random.Random) -> None:
    """Check log weights, means and log standard deviations of components that the forest uses."""
    slope = np.zeros_like(model.value)
    assert model.run(plan(forest), None, Ask([1.0], slope)) == pytest.approx(model.log_z(forest))
    used = sorted({int(rule) for rule in forest.edge_rule if rule >= 0})
    for places in model.parts(np.arange(len(slope), dtype=np.float64)):
        for _ in range(25):
            rule = dice.choice(used)
            c = dice.randrange(int(model.ptr[rule]), int(model.ptr[rule + 1]))
            n_slots = 1 if rule >= grammar.lexical_start else 3 if rule < grammar.n_binary else 2
            column = int(model.first[dice.randrange(n_slots)]) + c
            at = int(places[c] if places.ndim == 1 else places[dice.randrange(len(places)), column])
            expected = central_difference(lambda value: model.with_value(value).log_z(forest), model.value, at)
            assert slope[at] == pytest.approx(expected, rel=1e-6, abs=2e-9)


def test_a_negative_sign_subtracts_the_gradient() -> None:
    grammar, weight, forest = small_forests(1)[0]
    model = random_model(grammar, weight, 2, "diagonal", 1)
    slope = np.zeros_like(model.value)
    model.run(plan(forest), None, Ask([1.0], slope))
    assert slope.any()
    model.run(plan(forest), None, Ask([-1.0], slope))
    model.run(np.concatenate([plan(forest), plan(forest)]), None, Ask([-1.0, 1.0], slope))
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


def test_one_shared_gaussian_is_the_pcfg() -> None:
    """With K = 1 and all Gaussians equal, each child slot contributes the same overlap, and nothing else differs."""
    for grammar, weight, forest in small_forests(10):
        model = start(grammar, weight, 1, 2, alpha=1.0, spread=0.0)
        overlap = (4 * math.pi) ** -1.0  # two equal unit Gaussians in two dimensions
        slots = (forest.edge_left >= 0).astype(int) + (forest.edge_right >= 0)
        scaled = weight.copy()
        scaled[: grammar.n_binary] *= overlap**2
        scaled[grammar.n_binary : grammar.lexical_start] *= overlap
        assert slots.max() <= 2
        expected = Pcfg(scaled).posterior(forest)
        found = model.posterior(forest)
        assert found.log_z == pytest.approx(expected.log_z, abs=1e-10)
        np.testing.assert_allclose(found.edge, expected.edge, atol=1e-10)
        np.testing.assert_allclose(found.node, expected.node, atol=1e-10)


def test_spherical_is_diagonal_with_tied_variances_and_order_of_components_does_not_matter() -> None:
    for number, (grammar, weight, forest) in enumerate(small_forests(5)):
        model = random_model(grammar, weight, 3, "spherical", number)
        diagonal = Gm(model.ptr, model.first, model.log_weight, model.mean, np.repeat(model.log_std, 3, axis=0))
        assert diagonal.log_z(forest) == pytest.approx(model.log_z(forest), abs=1e-10)
        order = np.arange(model.mean.shape[1]).reshape(-1, 2)[:, ::-1].ravel()
        weights = model.log_weight[order[: len(model.log_weight)]]
        swapped = Gm(model.ptr, model.first, weights, model.mean[:, order], model.log_std[:, order])
        assert swapped.log_z(forest) == pytest.approx(model.log_z(forest), abs=1e-10)


def test_three_hundred_words_do_not_underflow() -> None:
    tree = parse_tree("(TOP (L (N a) (L (L (N a)) (L (N b) (L (N a))))))")
    grammar = tree_grammar([tree], Binarisation(), LexiconOptions(threshold=1))
    weight = pcfg_weights(grammar)
    _, forest = CoarseParser(grammar, weight).prune(["a", "b", "a"] * 100, 1e-4, 1e-4)
    posterior = start(grammar, weight, 2, 3).posterior(forest)
    assert math.isfinite(posterior.log_z)
    assert posterior.edge[forest.edge_rule >= grammar.lexical_start].sum() == pytest.approx(300, abs=1e-6)


def test_rules_may_differ_in_their_number_of_components() -> None:
    """A rule split into two equal halves of its weight is the same rule."""
    for number, (grammar, weight, forest) in enumerate(small_forests(8)):
        model = random_model(grammar, weight, 2, "diagonal", number, count=1)
        counts = 1 + np.arange(grammar.n_rules) % 3
        ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        *first, _ = columns_of(grammar, ptr)
        slots = (np.arange(grammar.n_rules), np.arange(grammar.lexical_start), np.arange(grammar.n_binary))
        columns = np.concatenate(
            [np.repeat(at + rules, counts[rules]) for at, rules in zip(model.first, slots, strict=True)]
        )
        log_weight = np.repeat(model.log_weight - np.log(counts), counts)
        parted = Gm(ptr, np.array(first), log_weight, model.mean[:, columns], model.log_std[:, columns])
        assert parted.log_z(forest) == pytest.approx(model.log_z(forest), abs=1e-10)
        np.testing.assert_allclose(parted.posterior(forest).edge, model.posterior(forest).edge, atol=1e-10)
        gradient, finer = np.zeros_like(model.value), np.zeros_like(parted.value)
        model.run(plan(forest), None, Ask([1.0], gradient))
        parted.run(plan(forest), None, Ask([1.0], finer))
        joined = np.zeros_like(model.mean)
        np.add.at(joined.T, columns, parted.parts(finer)[1].T)
        np.testing.assert_allclose(joined, model.parts(gradient)[1], atol=1e-10)


class TestComponentPruning:
    def test_keeps_all_if_there_are_few(self) -> None:
        for number, (grammar, weight, forest) in enumerate(small_forests(5)):
            model = random_model(grammar, weight, 2, "spherical", number, count=4)
            pruned = replace(model, pruning=ComponentPruning(10_000, 10_000))
            log_z, seen, cut = pruned.count_cut(plan(forest))
            assert log_z == pruned.log_z(forest) == model.log_z(forest)
            assert seen > 0
            assert cut == 0

    def test_follows_the_formula_of_the_paper(self) -> None:
        """Of c > k_min components min(k_min + floor(c ^ theta), k_max) are kept, the largest."""
        values = np.array([0.1, 0.0, 0.5, 0.2, 0.4, 0.3, 0.05])
        for least, most, power, kept in (
            (2, 4, 0.5, 4),
            (2, 3, 0.5, 3),
            (3, 9, 0.0, 4),
            (1, 1, 0.9, 1),
            (6, 9, 0.1, 6),
        ):
            cut = values.copy()
            tally = np.zeros(2, np.int64)
            cut_smallest(cut, 0, len(cut), Cut(least, most, power, tally))
            assert sorted(cut[cut > 0]) == sorted(values)[::-1][:kept][::-1]
            assert tally.tolist() == [6, 6 - kept]

    def test_equal_components_are_cut_to_the_number_allowed(self) -> None:
        values = np.full(6, 0.25)
        cut_smallest(values, 0, 6, Cut(2, 2, 0.0, np.zeros(2, np.int64)))
        assert (values > 0).sum() == 2

    def test_loses_weight_and_counts_it(self) -> None:
        lost = 0
        for number, (grammar, weight, forest) in enumerate(small_forests(10)):
            model = random_model(grammar, weight, 2, "spherical", number, count=4)
            pruned = replace(model, pruning=ComponentPruning(1, 1))
            assert pruned.log_z(forest) <= model.log_z(forest) + 1e-12
            posterior = pruned.posterior(forest)
            assert np.isfinite(posterior.edge).all()
            lost += pruned.count_cut(plan(forest))[2]
        assert lost > 0


def test_sample_frequencies_are_the_posterior() -> None:
    for number, (grammar, weight, forest) in enumerate(small_forests(12)):
        model = random_model(grammar, weight, 1, "spherical", number, count=1 + number % 3)
        values = {edges: integrate_derivation(model, forest, edges) for edges in edge_lists(forest)}
        total, draws = sum(values.values()), 4000
        drawn = Counter(tuple(edges.tolist()) for edges in model.samples(forest, draws, seed=number))
        assert sum(drawn.values()) == draws
        for edges, value in values.items():
            share = value / total
            assert abs(drawn[edges] / draws - share) < 5 * math.sqrt(share * (1 - share) / draws) + 3 / draws
        assert set(drawn) <= set(values)
        again = model.samples(forest, 5, seed=number)
        assert [edges.tolist() for edges in again] == [e.tolist() for e in model.samples(forest, 5, seed=number)]
