"""Coarse-to-fine inference against exact inference, and projections against sums over subtypes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_lvg import annotated, random_model, small_forests

import lveg
from lveg.errors import GrammarError
from lveg.families.forest import parts_of
from lveg.families.lvg.family import Lvg, from_counts, shape_of
from lveg.families.split_merge.family import SplitMerge
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Grammar, Ints, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.factors import split_factors
from lveg.kernels.lvg_levels import coarse_to_fine
from lveg.treebank.penn import parse_tree

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "0.1.0"


def split_model(grammar: Grammar, seed: int) -> SplitMerge:
    """Four subtypes per symbol, in two groups, and random weights."""
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, np.full(len(grammar.symbols), 4, np.int32))
    counts = np.tile(np.array([0, 0, 1, 1], np.int32), len(grammar.symbols))
    return SplitMerge(Lvg(shape, dice.uniform(0.01, 1.0, shape.size)), counts[None], dice.uniform(0.1, 5, len(counts)))


def test_without_pruning_levels_change_nothing() -> None:
    for number, (grammar, _, forest) in enumerate(small_forests(15)):
        model = replace(split_model(grammar, number), least=0.0)
        exact, found = model.finest.posterior(forest), model.posterior(forest)
        assert found.log_z == pytest.approx(exact.log_z, abs=1e-12)
        np.testing.assert_allclose(found.edge, exact.edge, atol=1e-12)
        np.testing.assert_allclose(found.node, exact.node, atol=1e-12)


def test_log_probs_of_parses_and_of_trees_differ_only_by_pruned_subtypes() -> None:
    """What docs/guide/probabilities.md says."""
    parser = lveg.load(str(GOLDEN / "parser-split-merge.model"))
    assert isinstance(parser, lveg.Parser)
    assert isinstance(parser.family, SplitMerge)
    exact = replace(parser, family=replace(parser.family, least=0.0))
    words = ["The", "dog", "saw", "a", "cat", "with", "a", "telescope", "."]
    for candidate in parser.kbest(words, 5):
        assert candidate.log_prob is not None
        assert parser.log_prob(candidate.tree) <= candidate.log_prob
        assert parser.log_prob(candidate.tree) == pytest.approx(candidate.log_prob, abs=0.01)
    for candidate in exact.kbest(words, 5):
        assert exact.log_prob(candidate.tree) == pytest.approx(candidate.log_prob, abs=1e-9)


def pruned_sum(model: SplitMerge, grammar: Grammar, forest: Forest) -> float:
    """The total weight of what the coarse level keeps, by enumeration of derivations and subtypes."""
    coarse = model.finest.project(model.groups[0], model.usage)
    known = annotated(coarse, grammar, forest)
    z = sum(value for _, _, value in known)
    edge, node = np.zeros(forest.n_edges), np.zeros((forest.n_nodes, 4))
    for edges, choice, value in known:
        for one, subtype in zip(edges, choice, strict=True):
            edge[one] += value / z
            node[forest.edge_head[one], subtype] += value / z
    total = 0.0
    for edges, choice, value in annotated(model.finest, grammar, forest):
        heads = [int(forest.edge_head[one]) for one in edges]
        groups = [
            0 if forest.node_symbol[head] < 0 else subtype // 2 for head, subtype in zip(heads, choice, strict=True)
        ]
        if (edge[list(edges)] >= model.least).all() and (node[heads, groups] >= model.least).all():
            total += value
    return total


def test_each_level_is_pruned_by_the_posteriors_before_it() -> None:
    pruned = 0
    for number, (grammar, _, forest) in enumerate(small_forests(12)):
        if forest.n_nodes > 8:
            continue
        model = replace(split_model(grammar, number), least=0.2)
        expected = pruned_sum(model, grammar, forest)
        edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
        found = coarse_to_fine(parts_of(forest), split_factors(None), model.levels, model.least, edge, node)
        assert found == (pytest.approx(np.log(expected), abs=1e-10) if expected > 0 else -np.inf)
        pruned += found < model.finest.log_z(forest) - 1e-9
    assert pruned > 2


def test_the_whole_forest_is_used_if_pruning_leaves_nothing() -> None:
    grammar, _, forest = small_forests(1)[0]
    model = replace(split_model(grammar, 1), least=1.1)
    assert model.posterior(forest).log_z == model.finest.log_z(forest)


def proper_grammar(seed: int) -> tuple[Grammar, Lvg]:
    """A grammar with unary chains over phrases and tags, and random probabilities between subtypes."""
    text = "(TOP (S (NP (D a) (N b)) (VP (V c) (NP (NP (N a)) (VP (V b) (S (VP (V c) (NP (D a) (N b)))))))))"
    grammar = tree_grammar([parse_tree(text)], Binarisation(), LexiconOptions(threshold=1))
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, dice.integers(1, 5, len(grammar.symbols)).astype(np.int32))
    return grammar, from_counts(shape, dice.uniform(0.1, 2.0, shape.size))


def own_numbers(model: Lvg) -> Ints:
    """The number of each subtype within its symbol."""
    shape = model.shape
    return (np.arange(shape.n_subtypes) - np.repeat(shape.first[:-1], shape.subtypes)).astype(np.int32)


def test_projections_sum_to_one_and_one_group_per_subtype_is_the_grammar_itself() -> None:
    for seed in range(10):
        _, model = proper_grammar(seed)
        dice = np.random.default_rng(seed)
        own = own_numbers(model)
        usage = dice.uniform(0.0, 3.0, model.shape.n_subtypes)
        for group in (own // 2, own // 3, np.zeros_like(own)):
            assert model.project(group, usage).is_probability
        np.testing.assert_allclose(model.project(own, usage).weight, model.weight, rtol=1e-13)


def test_projecting_twice_is_projecting_once() -> None:
    _, model = proper_grammar(3)
    own = own_numbers(model)
    usage = np.random.default_rng(3).uniform(0.5, 3.0, model.shape.n_subtypes)
    halves = model.project(own // 2, usage)
    place = np.repeat(halves.shape.first[:-1], model.shape.subtypes) + own // 2
    summed = np.bincount(place, weights=usage).astype(np.float64)
    twice = halves.project(np.zeros(halves.shape.n_subtypes, np.int32), summed)
    once = model.project(np.zeros_like(own), usage)
    np.testing.assert_allclose(twice.weight, once.weight, rtol=1e-12)


def test_an_invalid_hierarchy_is_refused() -> None:
    grammar, _, _ = small_forests(1)[0]
    good = split_model(grammar, 1)
    for change in (
        {"groups": good.groups[:, ::-1]},
        {"groups": good.groups * 2},
        {"groups": np.concatenate([good.groups, 0 * good.groups])},
        {"groups": good.groups[:, 1:]},
        {"usage": -good.usage},
        {"usage": good.usage * np.nan},
    ):
        with pytest.raises(GrammarError):
            replace(good, **change)
    with pytest.raises(GrammarError):
        Lvg(good.finest.shape, good.finest.weight[1:])
    with pytest.raises(GrammarError):
        random_model(grammar, 1).shape.with_subtypes(np.zeros(len(grammar.symbols), np.int32))
