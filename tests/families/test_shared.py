"""Grammars in one space: against numeric integration, gradients, and special cases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles import central_difference, edge_lists, random_cases, subject

from lveg.chart.coarse import CoarseParser
from lveg.families.forest import Ask, pack
from lveg.families.pcfg.family import Pcfg
from lveg.families.shared.family import Parameters, Shared, rules_of, shapes
from lveg.families.shared.learning import at_middle, first_grammar, region_variance
from lveg.families.shared.options import SharedOptions
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar
from lveg.kernels.assemble import STAY
from lveg.kernels.shared import LEFT, RIGHT, ROOT, UNARY

GRID = np.linspace(-12.0, 12.0, 1201)
STEP = GRID[1] - GRID[0]


def small_forests(count: int, seed: int = 7) -> list[tuple[Grammar, Floats, Forest]]:
    """Grammars, weights and full forests of short sentences that have a derivation."""
    found = []
    for case in random_cases(count, seed, most=30):
        grammar, weight = subject(case.toy)
        found.append((grammar, weight, CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)[1]))
    return found


def random_model(grammar: Grammar, seed: int, components: int = 3, dim: int = 1, parts: int = 2) -> Shared:
    """A grammar with random parameters."""
    dice = np.random.default_rng(seed)
    return Shared.of(
        rules_of(grammar), Parameters(*(dice.normal(0.0, 0.4, s) for s in shapes(grammar, components, dim, parts)))
    )


def bell(mean: float, log_std: float) -> Floats:
    """A Gaussian of height 1 on the grid."""
    return np.exp(-0.5 * ((GRID - mean) / math.exp(log_std)) ** 2)


def region(own: Parameters, symbol: int) -> Floats:
    """The density of a symbol's subtypes on the grid."""
    parts = zip(own.region_mean[symbol, :, 0], own.region_log_std[symbol, :, 0], strict=True)
    density: Floats = np.mean(
        [bell(mean, std) / (math.exp(std) * math.sqrt(2 * math.pi)) for mean, std in parts], axis=0
    )
    return density


def integrate_derivation(grammar: Grammar, model: Shared, forest: Forest, edges: tuple[int, ...]) -> float:
    """The weight of one derivation, with subtypes integrated numerically; edges with parents first."""
    own, done = model.parameters, list[Floats]()
    for edge in reversed(edges):
        rule = int(forest.edge_rule[edge])
        if rule == STAY:
            continue
        lhs, weight = int(grammar.rule_lhs[rule]), math.exp(own.bias[rule])
        if rule >= grammar.lexical_start:
            word = rule - grammar.lexical_start
            middle = own.region_mean[lhs, :, 0].mean() + own.word_mean[word, 0]
            done.append(weight * np.sqrt(region(own, lhs)) * bell(middle, own.word_log_std[word, 0]))
            continue
        kinds = (LEFT, RIGHT) if forest.edge_right[edge] >= 0 else (UNARY if lhs >= 0 else ROOT,)
        symbols = (int(grammar.rule_left[rule]), int(grammar.rule_right[rule]))
        children = [done.pop() * np.sqrt(region(own, symbol)) for _, symbol in zip(kinds, symbols, strict=False)]
        total = np.zeros_like(GRID)
        for m in range(len(own.lhs_mean)):
            value = weight
            for kind, child in zip(kinds, children, strict=True):
                slot = bell(own.slot_mean[kind, 0, m], own.slot_log_std[kind, 0, m])
                value *= math.exp(own.height[kind, m]) * float((slot * child).sum() * STEP)
            total += value * (bell(own.lhs_mean[m, 0], own.lhs_log_std[m, 0]) if lhs >= 0 else 1.0)
        done.append(total * np.sqrt(region(own, lhs)) if lhs >= 0 else total)
    (result,) = done
    return float(result[0])


@pytest.mark.parametrize("parts", [1, 3])
def test_sums_and_posteriors_equal_enumeration_with_numeric_integration(parts: int) -> None:
    for number, (grammar, _, forest) in enumerate(small_forests(12)):
        model = random_model(grammar, number, parts=parts)
        found = [(edges, integrate_derivation(grammar, model, forest, edges)) for edges in edge_lists(forest)]
        total = sum(value for _, value in found)
        posterior = model.posterior(forest)
        assert posterior.log_z == pytest.approx(math.log(total), abs=1e-8)
        edge = np.zeros(forest.n_edges)
        for edges, value in found:
            edge[list(edges)] += value / total
        np.testing.assert_allclose(posterior.edge, edge, atol=1e-8)


@pytest.mark.parametrize(("components", "dim", "parts"), [(1, 1, 1), (3, 2, 1), (5, 3, 2)])
def test_gradients_equal_central_differences(components: int, dim: int, parts: int) -> None:
    """For every kind of parameter."""
    for number, (grammar, _, forest) in enumerate(small_forests(4)):
        check_gradient(random_model(grammar, number, components, dim, parts), forest, number)


def check_gradient(model: Shared, forest: Forest, seed: int) -> None:
    """Check some of the parameters of each kind whose gradient is not zero."""
    slope = np.zeros_like(model.value)
    model.run(pack(forest), None, Ask([1.0], slope))
    for places in model.with_value(np.arange(len(slope)) / len(slope)).parameters:
        numbers = np.rint(places.ravel() * len(slope)).astype(int)
        moving = numbers[np.abs(slope[numbers]) > 1e-10]
        for at in np.random.default_rng(seed).permutation(moving)[:8].tolist():
            expected = central_difference(lambda value: model.with_value(value).log_z(forest), model.value, at)
            assert slope[at] == pytest.approx(expected, rel=1e-6, abs=2e-9)


def test_the_start_is_about_the_pcfg_and_wide_components_are() -> None:
    for number, (grammar, weight, forest) in enumerate(small_forests(8)):
        expected = Pcfg(weight).posterior(forest)
        wide = first_grammar(grammar, weight, SharedOptions(components=4, dim=2, spread=0.0, width=1e-3), number)
        np.testing.assert_allclose(wide.posterior(forest).edge, expected.edge, atol=1e-4)
        spread = first_grammar(grammar, weight, SharedOptions(components=4, dim=2, spread=0.7, width=1e-3), number)
        assert spread.posterior(forest).log_z == pytest.approx(expected.log_z, abs=0.1)


def test_points_as_regions_are_a_table_of_low_rank() -> None:
    """A rule's weight is given by its bias and the components at the points of its symbols."""
    for number, (grammar, _, forest) in enumerate(small_forests(8)):
        model = random_model(grammar, number, components=3, dim=2, parts=1)
        model.parameters.region_log_std[:] = -12.0
        model.parameters.word_mean[:] = 0.0
        weight = np.exp(model.parameters.bias) * at_middle(grammar, model.parameters)
        found, expected = model.with_value(model.value).posterior(forest), Pcfg(weight).posterior(forest)
        assert found.log_z == pytest.approx(expected.log_z, abs=1e-6)
        np.testing.assert_allclose(found.edge, expected.edge, atol=1e-6)


def test_the_order_of_components_does_not_matter() -> None:
    grammar, _, forest = small_forests(1)[0]
    model = random_model(grammar, 3, components=4, dim=2)
    own = model.parameters
    turned = own._replace(
        height=own.height[:, ::-1], lhs_mean=own.lhs_mean[::-1], lhs_log_std=own.lhs_log_std[::-1],
        slot_mean=own.slot_mean[:, :, ::-1], slot_log_std=own.slot_log_std[:, :, ::-1],
    )  # fmt: skip
    assert Shared.of(model.rules, turned).log_z(forest) == pytest.approx(model.log_z(forest), abs=1e-12)


def test_cohesion_is_the_variance_of_regions() -> None:
    grammar, _, _ = small_forests(1)[0]
    model = random_model(grammar, 2, dim=2, parts=3)
    value, slope = region_variance(model)
    own, dice = model.parameters, np.random.default_rng(0)
    draws = dice.normal(own.region_mean, np.exp(own.region_log_std), (4000, *own.region_mean.shape))
    by_symbol = np.moveaxis(draws, 1, 0).reshape(len(own.region_mean), -1, 2)
    assert value == pytest.approx(by_symbol.var(axis=1).sum(), rel=0.05)
    for at in np.flatnonzero(slope)[:12].tolist():
        expected = central_difference(lambda x: region_variance(model.with_value(x))[0], model.value, at)
        assert slope[at] == pytest.approx(expected, rel=1e-6)
