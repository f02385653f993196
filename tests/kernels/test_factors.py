"""Factors of edges in all dynamic programs over forests: enumeration of derivations, and central differences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import Case, Rule, Toy, central_difference, derivations, edge_lists, random_cases, subject

from lveg.families.forest import Ask
from lveg.families.gm.family import ComponentPruning, Gm, columns_of
from lveg.families.lvg.family import Lvg, shape_of
from lveg.families.multi_scale.family import MultiScale
from lveg.families.pcfg.family import Pcfg
from lveg.families.split_merge.family import SplitMerge
from lveg.forest.forest import Forest, build_forest
from lveg.grammar.grammar import Floats, Grammar
from lveg.kernels.assemble import STAY
from lveg.kernels.factors import split_factors

Model = Pcfg | Lvg | SplitMerge | MultiScale | Gm


def whole_forest(grammar: Grammar, case: Case, may_stay: bool = True) -> Forest:
    """The forest of all derivations of a case."""
    items = sorted({anchored for one in case.found for anchored in one.rules})
    return build_forest(grammar, case.words, np.ascontiguousarray(np.array(items, np.int32).T), may_stay)


def forests(count: int, seed: int = 21) -> Iterator[tuple[Grammar, Forest]]:
    """Grammars and full forests of short sentences."""
    for case in random_cases(count, seed, most=40, max_words=4):
        grammar, _ = subject(case.toy)
        yield grammar, whole_forest(grammar, case)


def random_weights(dice: np.random.Generator, size: int) -> Floats:
    """Weights of which one in ten is 0."""
    return dice.uniform(0.01, 1.0, size) * (dice.random(size) < 0.9)


def pcfg(grammar: Grammar, seed: int) -> Pcfg:
    return Pcfg(random_weights(np.random.default_rng(seed), grammar.n_rules))


def lvg(grammar: Grammar, seed: int) -> Lvg:
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, dice.integers(1, 4, len(grammar.symbols)).astype(np.int32))
    return Lvg(shape, random_weights(dice, shape.size))


def split_merge(grammar: Grammar, seed: int) -> SplitMerge:
    """Four subtypes per symbol; above them a level with two and one with a single group; nothing is pruned."""
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, np.full(len(grammar.symbols), 4, np.int32))
    groups = np.tile(np.array([[0, 0, 0, 0], [0, 0, 1, 1]], np.int32), len(grammar.symbols))
    finest = Lvg(shape, random_weights(dice, shape.size))
    return SplitMerge(finest, groups, dice.uniform(0.1, 5.0, shape.n_subtypes), least=0.0)


def multi_scale(grammar: Grammar, seed: int) -> MultiScale:
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, np.full(len(grammar.symbols), 2, np.int32))
    production = (np.arange(shape.size) // 2).astype(np.int32)
    return MultiScale(shape, production, dice.normal(-1.0, 1.0, int(production[-1]) + 1))


def gm(components: int, diagonal: bool) -> Callable[[Grammar, int], Gm]:
    def make(grammar: Grammar, seed: int) -> Gm:
        dice, dim = np.random.default_rng(seed), 2
        ptr = np.arange(0, components * grammar.n_rules + 1, components, dtype=np.int32)
        *first, size = columns_of(grammar, ptr)
        log_std = dice.normal(0.0, 0.3, (dim if diagonal else 1, size))
        log_weight = dice.normal(-1.0, 0.5, ptr[-1])
        return Gm(ptr, np.array(first), log_weight, dice.normal(0.0, 0.8, (dim, size)), log_std)

    return make


FAMILIES: dict[str, Callable[[Grammar, int], Any]] = {
    "pcfg": pcfg,
    "lvg": lvg,
    "split-merge": split_merge,
    "multi-scale": multi_scale,
    **{f"gm-spherical-{count}": gm(count, False) for count in (1, 2, 4)},
    **{f"gm-diagonal-{count}": gm(count, True) for count in (1, 2, 4)},
}

family = pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)


def combine(model: Model, grammar: Grammar, rule: int, children: list[Floats]) -> Floats:
    """The value of a rule over its children: a number for each subtype, or component, of its left-hand side."""
    if isinstance(model, Pcfg):
        return np.asarray(model.weight[rule] * np.asarray(math.prod(children)))
    if isinstance(model, Gm):
        own = range(model.ptr[rule], model.ptr[rule + 1])
        values = np.exp(model.log_weight[own])
        for slot, child in enumerate(children, start=1):
            columns = [int(column) for column in child[1]]
            asked = [[overlap(model, int(model.first[slot]) + c, column) for column in columns] for c in own]
            values = values * (np.array(asked) @ child[0])
        return np.stack([values, np.array(own, dtype=float)])  # a component is the column of its left-hand side
    finest = model if isinstance(model, Lvg) else model.finest
    weight, ptr = finest.weight, finest.shape.blocks.ptr
    if isinstance(model, MultiScale):
        weight = np.exp(model.log_weight)[model.production]
    block = weight[ptr[rule] : ptr[rule + 1]]
    n_lhs = 1 if grammar.rule_lhs[rule] < 0 else int(finest.shape.subtypes[grammar.rule_lhs[rule]])
    below = reduce(np.outer, children).ravel() if children else np.ones(1)
    return block.reshape(n_lhs, -1) @ below


def overlap(model: Gm, one: int, other: int) -> float:
    """The integral of the product of two Gaussians, given by their columns."""
    std = np.broadcast_to(np.exp(model.log_std), model.mean.shape)
    variance = std[:, one] ** 2 + std[:, other] ** 2
    square = (model.mean[:, one] - model.mean[:, other]) ** 2 / variance
    return float(np.exp(-0.5 * square.sum()) / np.sqrt(np.prod(2.0 * math.pi * variance)))


def log_weight(model: Model, grammar: Grammar, forest: Forest, edges: tuple[int, ...]) -> float:
    """The log weight of one derivation without factors, from the words upwards; -inf for none."""
    done: list[Floats] = []
    for edge in reversed(edges):
        rule = int(forest.edge_rule[edge])
        if rule != STAY:
            n_children = int(forest.edge_left[edge] >= 0) + int(forest.edge_right[edge] >= 0)
            done.append(combine(model, grammar, rule, [done.pop() for _ in range(n_children)]))
    (root,) = done
    total = float(root[0].sum() if isinstance(model, Gm) else root.sum())
    return math.log(total) if total > 0.0 else -math.inf


class Truth(NamedTuple):
    """Every derivation's edges and probability, and what they sum to."""

    log_z: float
    share: dict[tuple[int, ...], float]
    edge: Floats
    node: Floats


def enumerate_all(model: Model, grammar: Grammar, forest: Forest, log_factor: Floats) -> Truth | None:
    """The expected results of inference; None if no derivation has any weight."""
    found = edge_lists(forest)
    logs = np.array([log_weight(model, grammar, forest, edges) + log_factor[list(edges)].sum() for edges in found])
    if not np.isfinite(logs).any():
        return None
    log_z = float(np.logaddexp.reduce(logs))
    edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
    share = dict(zip(found, np.exp(logs - log_z).tolist(), strict=True))
    for edges, value in share.items():
        edge[list(edges)] += value
        node[forest.edge_head[list(edges)]] += value
    return Truth(log_z, share, edge, node)


def random_factors(forest: Forest, seed: int, reach: float) -> Floats:
    """Log factors within ± reach, 0 for edges that stay."""
    log_factor = np.random.default_rng(seed).uniform(-reach, reach, forest.n_edges)
    log_factor[forest.edge_rule == STAY] = 0.0
    return log_factor


@pytest.mark.parametrize("reach", [2.0, 300.0, 500.0])
@family
def test_sums_and_posteriors_equal_enumeration(make: Callable[[Grammar, int], Model], reach: float) -> None:
    stays = dead = 0
    for number, (grammar, forest) in enumerate(forests(25)):
        model, log_factor = make(grammar, number), random_factors(forest, number, reach)
        truth = enumerate_all(model, grammar, forest, log_factor)
        if truth is None:
            assert model.log_z(forest, log_factor) == -math.inf
            dead += 1
            continue
        posterior = model.posterior(forest, log_factor)
        assert posterior.log_z == pytest.approx(truth.log_z, abs=1e-10, rel=1e-13)
        assert model.log_z(forest, log_factor) == pytest.approx(truth.log_z, abs=1e-10, rel=1e-13)
        np.testing.assert_allclose(posterior.edge, truth.edge, atol=1e-10)
        np.testing.assert_allclose(posterior.node, truth.node, atol=1e-10)
        stays += int((forest.edge_rule == STAY).sum())
    assert stays > 5
    assert dead < 10


@family
def test_no_factors_equal_factors_of_one(make: Callable[[Grammar, int], Model]) -> None:
    for number, (grammar, forest) in enumerate(forests(4)):
        model = make(grammar, number)
        plain, ones = model.posterior(forest), model.posterior(forest, np.zeros(forest.n_edges))
        assert ones.log_z == plain.log_z
        np.testing.assert_array_equal(ones.edge, plain.edge)
        np.testing.assert_array_equal(ones.node, plain.node)


@family
def test_the_derivative_in_a_log_factor_is_the_posterior(make: Callable[[Grammar, int], Model]) -> None:
    for number, (grammar, forest) in enumerate(forests(5, seed=22)):
        model, log_factor = make(grammar, number), random_factors(forest, number, 2.0)
        if model.log_z(forest, log_factor) == -math.inf:
            continue
        edge = model.posterior(forest, log_factor).edge
        for place in range(forest.n_edges):
            slope = central_difference(lambda some: model.log_z(forest, some), log_factor, place)  # noqa: B023
            assert edge[place] == pytest.approx(slope, abs=1e-9)


@family
def test_sample_frequencies_are_the_posterior(make: Callable[[Grammar, int], Model]) -> None:
    draws = 3000
    for number, (grammar, forest) in enumerate(forests(5, seed=23)):
        model, log_factor = make(grammar, number), random_factors(forest, number, 2.0)
        truth = enumerate_all(model, grammar, forest, log_factor)
        if truth is None:
            continue
        drawn = Counter(tuple(edges.tolist()) for edges in model.samples(forest, draws, number, log_factor))
        for edges, share in truth.share.items():
            assert abs(drawn[edges] / draws - share) < 5 * math.sqrt(share * (1 - share) / draws) + 3 / draws
        assert sum(drawn[edges] for edges in truth.share) == draws


@family
def test_samples_with_factors_far_apart_are_the_likely_derivations(make: Callable[[Grammar, int], Model]) -> None:
    for number, (grammar, forest) in enumerate(forests(5, seed=24)):
        model, log_factor = make(grammar, number), random_factors(forest, number, 300.0)
        truth = enumerate_all(model, grammar, forest, log_factor)
        if truth is not None:
            drawn = {tuple(edges.tolist()) for edges in model.samples(forest, 20, number, log_factor)}
            assert all(truth.share[edges] > 1e-6 for edges in drawn)


@family
def test_the_weight_of_a_derivation_equals_enumeration(make: Callable[[Grammar, int], Model]) -> None:
    for number, (grammar, forest) in enumerate(forests(5, seed=25)):
        model = make(grammar, number)
        for edges in edge_lists(forest)[:10]:
            expected = log_weight(model, grammar, forest, edges)
            if expected > -math.inf:
                found = model.log_derivation(grammar, forest, np.array(edges, np.int32))
                assert found == pytest.approx(expected, abs=1e-10)


class Batch(NamedTuple):
    """Forests of different sizes of one grammar, with signs, and the log factors of all their edges."""

    grammar: Grammar
    forests: list[Forest]
    signs: list[float]
    log_factor: Floats

    def parts(self, values: Floats) -> list[Floats]:
        """Split the values of all edges by forest."""
        return np.split(values, np.cumsum([forest.n_edges for forest in self.forests])[:-1])


def batches(count: int, seed: int = 26, reach: float = 2.0) -> Iterator[Batch]:
    """The forest of a sentence, of one of its derivations alone, and of the sentence backwards if it has one."""
    for number, case in enumerate(random_cases(count, seed, most=40, least=2, max_words=4)):
        grammar, _ = subject(case.toy)
        first = Case(case.toy, case.terminals, case.words, case.found[:1])
        some = [whole_forest(grammar, case), whole_forest(grammar, first, may_stay=False)]
        backwards = derivations(case.toy, case.terminals[::-1])
        if backwards:
            some.append(whole_forest(grammar, Case(case.toy, case.terminals[::-1], case.words[::-1], backwards)))
        factors = [random_factors(forest, number + index, reach) for index, forest in enumerate(some)]
        yield Batch(grammar, some, [1.0, -1.0, 0.5][: len(some)], np.concatenate(factors))


def log_z_and_slopes(model: Model, some: Batch, log_factor: Floats) -> tuple[Floats, Floats, Floats]:
    """(log Z of each forest, the gradient in all parameters, and in the log factors) by a batch."""
    edge_slope, slope = np.full(len(some.log_factor), np.nan), np.zeros_like(model.value)
    packed = np.concatenate([model.pack(forest) for forest in some.forests])
    return model.run(packed, log_factor, Ask(some.signs, slope, edge_slope)), slope, edge_slope


@pytest.mark.parametrize("reach", [2.0, 300.0])
@family
def test_a_batch_gives_each_forest_its_own_posteriors_times_its_sign(
    make: Callable[[Grammar, int], Model], reach: float
) -> None:
    sizes = set()
    for number, some in enumerate(batches(6, reach=reach)):
        model = make(some.grammar, number)
        log_z, _, edge_slope = log_z_and_slopes(model, some, some.log_factor)
        for index, (forest, factors, slopes) in enumerate(
            zip(some.forests, some.parts(some.log_factor), some.parts(edge_slope), strict=True)
        ):
            alone = model.posterior(forest, factors)
            assert log_z[index] == pytest.approx(alone.log_z, abs=1e-12, rel=1e-14)
            np.testing.assert_allclose(slopes, some.signs[index] * alone.edge, atol=1e-13)
            sizes.add(forest.n_edges)
    assert len(sizes) > 6


@family
def test_gradients_with_factors_equal_central_differences(make: Callable[[Grammar, int], Model]) -> None:
    for number, some in enumerate(batches(4, seed=27)):
        model = make(some.grammar, number)
        value = np.maximum(model.value, -5.0)  # away from weights of 0, where differences are undefined
        _, slope, _ = log_z_and_slopes(model.with_value(value), some, some.log_factor)

        def objective(value: Floats, model: Model = model, some: Batch = some) -> float:
            log_z, _, _ = log_z_and_slopes(model.with_value(value), some, some.log_factor)
            return float(np.dot(log_z, some.signs))

        for place in np.random.default_rng(number).choice(len(value), min(30, len(value)), replace=False):
            expected = central_difference(objective, value, int(place))
            assert slope[place] == pytest.approx(expected, abs=1e-8, rel=1e-7)


def test_a_forest_without_weight_in_a_batch_has_no_posteriors() -> None:
    for number, some in enumerate(batches(4, seed=28)):
        full = FAMILIES["lvg"](some.grammar, number)
        rule = int(some.forests[1].edge_rule[-1])
        weight, ptr = full.weight.copy() + 0.1, full.shape.blocks.ptr
        weight[ptr[rule] : ptr[rule + 1]] = 0.0
        log_z, _, edge_slope = log_z_and_slopes(Lvg(full.shape, weight), some, some.log_factor)
        assert log_z[1] == -math.inf
        assert not some.parts(edge_slope)[1].any()
        assert np.isfinite(edge_slope).all()


def test_an_edge_without_weight_does_not_hide_others_far_below_it() -> None:
    """No weight fits its subtypes, but its scale is higher by more than the range of doubles."""
    rules = [
        Rule("binary", 0, (1, 1), (), 1.0),
        Rule("binary", 0, (2, 2), (), 1.0),
        Rule("root", -1, (0,), (), 1.0),
        Rule("lexical", 1, (0,), (), 1.0),
        Rule("lexical", 2, (0,), (), 1.0),
    ]
    toy = Toy([("phrase", "A", ()), ("tag", "t", ()), ("tag", "u", ())], 1, ["a"], rules)
    grammar, _ = subject(toy)
    forest = whole_forest(grammar, Case(toy, [0, 0], ["a", "a"], derivations(toy, [0, 0])))
    shape = shape_of(grammar, np.array([2, 2, 2], np.int32))
    weight, ptr = np.ones(shape.size), shape.blocks.ptr
    weight[ptr[3] : ptr[4]] = [1.0, 0.0]  # words have only the first subtype of t,
    weight[ptr[0] : ptr[1]] = [0.0, 1.0, 1.0, 1.0] * 2  # and the first rule all pairs but two of those
    log_factor = np.where(forest.edge_rule == 0, 500.0, np.where(forest.edge_rule == 1, -500.0, 0.0))
    for model in (Lvg(shape, weight), SplitMerge(Lvg(shape, weight), np.zeros((1, 6), np.int32), np.ones(6))):
        truth = enumerate_all(model, grammar, forest, log_factor)
        assert truth is not None
        posterior = model.posterior(forest, log_factor)
        assert posterior.log_z == pytest.approx(truth.log_z, rel=1e-13)
        np.testing.assert_allclose(posterior.edge, truth.edge, atol=1e-12)
        np.testing.assert_allclose(posterior.node, truth.node, atol=1e-12)


class TestComponentPruning:
    def test_that_keeps_all_changes_nothing(self) -> None:
        for number, (grammar, forest) in enumerate(forests(5, seed=29)):
            model, log_factor = FAMILIES["gm-spherical-4"](grammar, number), random_factors(forest, number, 300.0)
            exact = model.posterior(forest, log_factor)
            pruned = replace(model, pruning=ComponentPruning(10_000, 10_000)).posterior(forest, log_factor)
            assert pruned.log_z == exact.log_z
            np.testing.assert_array_equal(pruned.edge, exact.edge)

    def test_that_cuts_loses_weight(self) -> None:
        for number, (grammar, forest) in enumerate(forests(5, seed=29)):
            model, log_factor = FAMILIES["gm-spherical-4"](grammar, number), random_factors(forest, number, 300.0)
            pruned = replace(model, pruning=ComponentPruning(1, 1)).posterior(forest, log_factor)
            assert pruned.log_z <= model.log_z(forest, log_factor)
            assert pruned.node[-1] == pytest.approx(1.0, abs=1e-12)


def test_factors_in_two_parts_have_their_logs() -> None:
    log_factor = np.concatenate([np.random.default_rng(0).uniform(-700.0, 700.0, 1000), [0.0, -500.0, 500.0]])
    mantissa, exponent = split_factors(log_factor)
    assert mantissa.dtype == np.float64
    assert exponent.dtype == np.int32
    assert ((mantissa > 0.7) & (mantissa < 1.5)).all()
    np.testing.assert_allclose(np.log(mantissa) + exponent * math.log(2.0), log_factor, rtol=1e-15, atol=2e-13)
    assert (mantissa[1000], exponent[1000]) == (1.0, 0)
    assert split_factors(None).mantissa.size == split_factors(None).exponent.size == 0
