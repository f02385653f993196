"""The Gaussian mixture family against numeric integration, central differences, and its special cases."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from oracles import edge_lists, random_cases, subject

from lveg.chart.coarse import CoarseParser
from lveg.families.estimate import pcfg_weights
from lveg.families.gm import Gm, plan, start
from lveg.families.pcfg import Pcfg
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.assemble import STAY
from lveg.treebank.penn import parse_tree

GRID = np.linspace(-12.0, 12.0, 1201)
STEP = GRID[1] - GRID[0]


def small_forests(count: int, seed: int = 5) -> list[tuple[Grammar, np.ndarray, Forest]]:
    """Grammars, weights and full forests of short sentences that have a derivation."""
    found = []
    for case in random_cases(count, seed, most=30):
        grammar, weight = subject(case.toy)
        found.append((grammar, weight, CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)[1]))
    return found


def random_model(grammar: Grammar, weight: np.ndarray, dim: int, covariance: str, seed: int, count: int = 2) -> Gm:
    """A grammar far from its start: every parameter is random."""
    dice = np.random.default_rng(seed)
    first = start(grammar, weight, count, dim, covariance, alpha=1.0, seed=seed)
    return Gm(
        first.ptr,
        first.first,
        first.log_weight + dice.normal(0, 0.5, first.log_weight.shape),
        dice.normal(0, 0.8, first.mean.shape),
        dice.normal(0, 0.3, first.log_std.shape),
    )


def normal(mean: float, std: float) -> np.ndarray:
    """The density of a Gaussian on the grid."""
    return np.exp(-0.5 * ((GRID - mean) / std) ** 2) / (std * math.sqrt(2 * math.pi))


def gaussian(model: Gm, slot: int, c: int) -> tuple[float, float]:
    """Mean and standard deviation of a slot (left-hand side, left child, right child) of a component, for d = 1."""
    column = model.first[slot] + c
    return model.mean[0, column], math.exp(model.log_std[0, column])


def integrate_derivation(model: Gm, forest: Forest, edges: tuple[int, ...]) -> float:
    """The weight of one derivation, its subtypes integrated on the grid; edges with parents first."""
    done: list[np.ndarray] = []
    for edge in reversed(edges):
        rule = int(forest.edge_rule[edge])
        if rule == STAY:
            continue
        n_children = int(forest.edge_left[edge] >= 0) + int(forest.edge_right[edge] >= 0)
        children = [done.pop() for _ in range(n_children)]
        total: np.ndarray | float = 0.0
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
        model = random_model(grammar, weight, dim, covariance, number, count)
        gradient = model.zero_gradient()
        assert model.add_gradient(plan(forest), [1.0], gradient) == pytest.approx(model.log_z(forest))
        used = sorted({int(rule) for rule in forest.edge_rule if rule >= 0})
        for name in ("log_weight", "mean", "log_std"):
            slope = getattr(gradient, name)
            for _ in range(25):
                rule = dice.choice(used)
                c = dice.randrange(int(model.ptr[rule]), int(model.ptr[rule + 1]))
                n_slots = 1 if rule >= grammar.lexical_start else 3 if rule < grammar.n_binary else 2
                column = int(model.first[dice.randrange(n_slots)]) + c
                place = (c,) if slope.ndim == 1 else (dice.randrange(slope.shape[0]), column)
                values = []
                for step in (1e-5, -1e-5):
                    arrays = {key: getattr(model, key).copy() for key in ("log_weight", "mean", "log_std")}
                    arrays[name][place] += step
                    values.append(Gm(model.ptr, model.first, **arrays).log_z(forest))
                assert slope[place] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6, abs=2e-9)


def test_a_minus_sign_takes_the_gradient_away() -> None:
    grammar, weight, forest = small_forests(1)[0]
    model = random_model(grammar, weight, 2, "diagonal", 1)
    room = model.zero_gradient()
    model.add_gradient(plan(forest), [1.0], room)
    model.add_gradient(plan(forest), [-1.0], room)
    model.add_gradient(np.concatenate([plan(forest), plan(forest)]), [-1.0, 1.0], room)
    for array in (room.log_weight, room.mean, room.log_std):
        np.testing.assert_allclose(array, 0.0, atol=1e-12)


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
