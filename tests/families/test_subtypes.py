"""Grammars with discrete subtypes as Gaussian ones: the same sums, posteriors and probabilities of trees."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from oracles import edge_lists
from test_lvg import annotated, random_model, small_forests

from lveg.families.forest import DiscreteFamily, pack
from lveg.families.gm.family import FAR, Gm
from lveg.families.lvg.family import Lvg, shape_of
from lveg.families.multi_scale.family import MultiScale
from lveg.families.split_merge.family import SplitMerge
from lveg.grammar.grammar import Grammar


def split_merge(grammar: Grammar, seed: int) -> SplitMerge:
    """Four subtypes per symbol, in two groups, with random weights."""
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, np.full(len(grammar.symbols), 4, np.int32))
    groups = np.tile(np.array([0, 0, 1, 1], np.int32), len(grammar.symbols))[None]
    finest = Lvg(shape, dice.uniform(0.01, 1.0, shape.size) * (dice.random(shape.size) < 0.5))
    return SplitMerge(finest, groups, dice.uniform(0.1, 5.0, shape.n_subtypes), least=0.0)


def multi_scale(grammar: Grammar, seed: int) -> MultiScale:
    """Two subtypes per symbol, productions that tie some combinations, random log weights."""
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, np.full(len(grammar.symbols), 2, np.int32))
    production = np.cumsum(dice.random(shape.size) < 0.6).astype(np.int32)
    production -= production[0]
    return MultiScale(shape, production, dice.normal(-1.0, 1.0, int(production[-1]) + 1))


FAMILIES = {"lvg": random_model, "split-merge": split_merge, "multi-scale": multi_scale}
families = pytest.mark.parametrize("make", FAMILIES.values(), ids=FAMILIES)
Make = Callable[[Grammar, int], DiscreteFamily]


@families
def test_subtypes_far_apart_are_a_latent_variable_grammar(make: Make) -> None:
    derivable = 0
    for number, (grammar, _, forest) in enumerate(small_forests(12)):
        model = make(grammar, number)
        vectors = Gm.from_subtypes(model)
        log_z = model.log_z(forest)
        if log_z == -math.inf:
            assert vectors.log_z(forest) < -600.0
            continue
        derivable += 1
        assert vectors.log_z(forest) == pytest.approx(log_z, abs=1e-9)
        one, other = model.posterior(forest), vectors.posterior(forest)
        np.testing.assert_allclose(other.edge, one.edge, atol=1e-9)
        np.testing.assert_allclose(other.node, one.node, atol=1e-9)
        for edges in map(np.array, edge_lists(forest)):
            weight = model.log_derivation(grammar, forest, edges)
            if weight > -math.inf:
                assert vectors.log_derivation(grammar, forest, edges) == pytest.approx(weight, abs=1e-9)
    assert derivable > 8


@families
def test_rows_are_all_weights_with_their_subtypes(make: Make) -> None:
    for number, (grammar, _, _) in enumerate(small_forests(4)):
        model = make(grammar, number)
        rules, finest = model.subtype_rules(), model.finest  # type: ignore[attr-defined]
        assert (np.diff(rules.ptr) > 0).all()
        assert rules.weight.sum() == pytest.approx(finest.weight.sum())
        for rule in range(grammar.n_rules):
            table = finest.weight[finest.shape.blocks.ptr[rule] : finest.shape.blocks.ptr[rule + 1]]
            symbols = (grammar.rule_lhs[rule], finest.shape.left[rule], finest.shape.right[rule])
            sizes = [int(finest.shape.subtypes[symbol]) if symbol >= 0 else 1 for symbol in symbols]
            for row in range(rules.ptr[rule], rules.ptr[rule + 1]):
                slots = zip((rules.lhs[row], rules.left[row], rules.right[row]), symbols, strict=True)
                choice = tuple(slot - rules.first[symbol] if symbol >= 0 else slot + 1 for slot, symbol in slots)
                assert table.reshape(sizes)[choice] == rules.weight[row]


def test_uses_equal_enumeration() -> None:
    for number, (grammar, _, forest) in enumerate(small_forests(8)):
        model = random_model(grammar, number)
        found = annotated(model, grammar, forest)
        if not found:
            continue
        rules = model.subtype_rules()
        uses = model.subtype_uses(np.concatenate([pack(forest), pack(forest)]))
        total = sum(value for *_, value in found)
        of_rule = np.zeros(grammar.n_rules)
        for edges, _, value in found:
            for rule in forest.edge_rule[list(edges)]:
                if rule >= 0:
                    of_rule[rule] += 2.0 * value / total
        np.testing.assert_allclose(np.add.reduceat(uses, rules.ptr[:-1]), of_rule, atol=1e-9)


def test_many_subtypes_need_more_dimensions_and_rules_of_weight_zero_keep_it() -> None:
    grammar, _, forest = small_forests(1)[0]
    shape = shape_of(grammar, np.full(len(grammar.symbols), 30, np.int32))
    weight = np.random.default_rng(0).uniform(0.0, 1.0, shape.size) * (
        np.random.default_rng(1).random(shape.size) < 0.01
    )
    model = Lvg(shape, weight)
    vectors = Gm.from_subtypes(model)
    assert len(vectors.mean) == 2
    points = np.unique(vectors.mean, axis=1)
    distances = np.linalg.norm(points[:, :, None] - points[:, None, :], axis=0)
    assert distances[~np.eye(len(distances), dtype=bool)].min() >= FAR
    nothing = Gm.from_subtypes(Lvg(shape, np.zeros(shape.size)))
    assert nothing.log_z(forest) < -600.0
