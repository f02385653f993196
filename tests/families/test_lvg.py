"""Latent variable grammars against enumeration of derivations and subtypes, central differences, and the PCFG."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from oracles import central_difference, edge_lists, random_cases, subject

from lveg.chart.coarse import CoarseParser
from lveg.families.forest import Ask, pack
from lveg.families.lvg.family import Lvg, from_counts, from_pcfg, shape_of
from lveg.families.pcfg.family import Pcfg
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.estimate import pcfg_weights
from lveg.grammar.grammar import Floats, Grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.assemble import STAY
from lveg.treebank.penn import parse_tree


def small_forests(count: int, seed: int = 5) -> list[tuple[Grammar, Floats, Forest]]:
    """Grammars, weights and full forests of short sentences that have a derivation."""
    found = []
    for case in random_cases(count, seed, most=30, max_words=4):
        grammar, weight = subject(case.toy)
        found.append((grammar, weight, CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)[1]))
    return found


def random_model(grammar: Grammar, seed: int, most: int = 3) -> Lvg:
    """Random weights, and a random number of subtypes for each symbol."""
    dice = np.random.default_rng(seed)
    shape = shape_of(grammar, dice.integers(1, most + 1, len(grammar.symbols)).astype(np.int32))
    return Lvg(shape, dice.uniform(0.01, 1.0, shape.size) * (dice.random(shape.size) < 0.8))


def subtype_weight(model: Lvg, grammar: Grammar, rule: int, a: int, b: int, c: int) -> float:
    """The weight of a rule between subtypes, from its expected position in the block."""
    n_left = n_right = 1
    if rule < grammar.lexical_start:
        n_left = int(model.shape.subtypes[grammar.rule_left[rule]])
    if rule < grammar.n_binary:
        n_right = int(model.shape.subtypes[grammar.rule_right[rule]])
    return float(model.weight[model.shape.blocks.ptr[rule] + (a * n_left + b) * n_right + c])


def annotated(model: Lvg, grammar: Grammar, forest: Forest) -> list[tuple[tuple[int, ...], tuple[int, ...], float]]:
    """(edges, subtype of each edge's head, weight) of every derivation with every combination of subtypes."""
    found = []
    for edges in edge_lists(forest):
        # Edges have parents first and left before right: walk them with a stack to find each edge's children.
        children: list[list[int]] = [[] for _ in edges]
        waiting: list[int] = []
        for index in reversed(range(len(edges))):
            n_children = int(forest.edge_left[edges[index]] >= 0) + int(forest.edge_right[edges[index]] >= 0)
            children[index] = [waiting.pop() for _ in range(n_children)]
            waiting.append(index)
        symbols = [int(forest.node_symbol[forest.edge_head[edge]]) for edge in edges]
        sizes = [int(model.shape.subtypes[symbol]) if symbol >= 0 else 1 for symbol in symbols]
        for choice in itertools.product(*(range(size) for size in sizes)):
            value = 1.0
            for index, edge in enumerate(edges):
                below = [choice[child] for child in children[index]] + [0, 0]
                rule = int(forest.edge_rule[edge])
                if rule == STAY:
                    value *= float(choice[index] == below[0])
                else:
                    value *= subtype_weight(model, grammar, rule, choice[index], below[0], below[1])
            if value > 0.0:
                found.append((edges, choice, value))
    return found


def test_sums_and_posteriors_equal_enumeration() -> None:
    seen = 0
    for number, (grammar, _, forest) in enumerate(small_forests(30)):
        model = random_model(grammar, number)
        found = annotated(model, grammar, forest)
        total = math.fsum(value for _, _, value in found)
        posterior = model.posterior(forest)
        assert model.log_z(forest) == posterior.log_z
        if not found:
            assert posterior.log_z == -np.inf
            continue
        seen += 1
        assert posterior.log_z == pytest.approx(math.log(total), abs=1e-12)
        edge, node = np.zeros(forest.n_edges), np.zeros(forest.n_nodes)
        usage = np.zeros(model.shape.n_subtypes)
        for edges, choice, value in found:
            edge[list(edges)] += value / total
            for one, subtype in zip(edges, choice, strict=True):
                head = forest.edge_head[one]
                node[head] += value / total
                if forest.node_symbol[head] >= 0:
                    usage[model.shape.first[forest.node_symbol[head]] + subtype] += value / total
        np.testing.assert_allclose(posterior.edge, edge, atol=1e-12)
        np.testing.assert_allclose(posterior.node, node, atol=1e-12)
        told = np.zeros_like(usage)
        model.add_uses(pack(forest), Ask([1.0], np.zeros(model.shape.size)), usage=told)
        np.testing.assert_allclose(told, usage, atol=1e-12)
    assert seen > 20


def test_gradients_equal_central_differences() -> None:
    for number, (grammar, _, forest) in enumerate(small_forests(15)):
        model = random_model(grammar, number)
        check_gradients(Lvg(model.shape, np.where(model.weight > 0, model.weight, 1e-3)), forest, number)


def check_gradients(model: Lvg, forest: Forest, seed: int) -> None:
    """Check the derivatives with respect to weights and log weights."""
    slope, log_slope = np.zeros(model.shape.size), np.zeros(model.shape.size)
    assert model.add_uses(pack(forest), Ask([1.0], slope)) == model.run(pack(forest), None, Ask([1.0], log_slope))
    for at in np.random.default_rng(seed).integers(0, model.shape.size, 40).tolist():
        expected = central_difference(lambda weight: Lvg(model.shape, weight).log_z(forest), model.weight, at, 1e-6)
        assert slope[at] == pytest.approx(expected, rel=1e-6, abs=1e-8)
        expected = central_difference(lambda value: model.with_value(value).log_z(forest), model.value, at)
        assert log_slope[at] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_several_forests_in_one_call_with_signs() -> None:
    (grammar, _, forest) = small_forests(1)[0]
    model = random_model(grammar, 2)
    both, one = np.zeros(model.shape.size), np.zeros(model.shape.size)
    log_z = model.add_uses(np.concatenate([pack(forest)] * 3), Ask([1.0, -1.0, 1.0], both))
    model.add_uses(pack(forest), Ask([1.0], one))
    assert (log_z == model.log_z(forest)).all()
    np.testing.assert_allclose(both, one, atol=1e-12)


def test_one_subtype_is_the_pcfg_exactly() -> None:
    for grammar, weight, forest in small_forests(20):
        found, expected = from_pcfg(grammar, weight).posterior(forest), Pcfg(weight).posterior(forest)
        assert found.log_z == pytest.approx(expected.log_z, abs=1e-14)
        np.testing.assert_allclose(found.edge, expected.edge, rtol=1e-14, atol=0)
        np.testing.assert_allclose(found.node, expected.node, rtol=1e-14, atol=0)


def test_probabilities_from_counts_with_one_subtype_are_those_of_the_treebank_grammar() -> None:
    trees = [
        parse_tree("(TOP (S (NP (D a) (N b)) (VP (V c) (NP (N a)))))"),
        parse_tree("(TOP (S (VP (V c) (NP (NP (N b)) (PP (P of) (NP (N a)))))))"),
    ]
    grammar = tree_grammar(trees, Binarisation(), LexiconOptions(threshold=1))
    shape = shape_of(grammar, np.ones(len(grammar.symbols), np.int32))
    model = from_counts(shape, grammar.count)
    np.testing.assert_allclose(model.weight, pcfg_weights(grammar), rtol=1e-14)
    assert model.is_probability
    assert from_counts(shape, grammar.count, 0.1, 0.2).weight == pytest.approx(model.weight, rel=1e-12)


def test_smoothed_probabilities_sum_to_one() -> None:
    trees = [parse_tree("(TOP (S (NP (D a) (N b)) (VP (V c) (NP (NP (N a)) (VP (V b))))))")]
    grammar = tree_grammar(trees, Binarisation(), LexiconOptions(threshold=1))
    dice = np.random.default_rng(1)
    shape = shape_of(grammar, dice.integers(1, 5, len(grammar.symbols)).astype(np.int32))
    counts = dice.uniform(0.1, 2.0, shape.size)
    plain, smoothed = from_counts(shape, counts), from_counts(shape, counts, 0.3, 0.6)
    for model in (plain, smoothed):
        assert model.is_probability
    assert not np.allclose(plain.weight, smoothed.weight)
    assert not Lvg(shape, plain.weight * 1.01).is_probability


def test_sample_frequencies_are_the_posterior() -> None:
    for number, (grammar, _, forest) in enumerate(small_forests(10)):
        model = random_model(grammar, number)
        if model.log_z(forest) == -np.inf:
            continue
        expected: Counter[tuple[int, ...]] = Counter()
        for edges, _, value in annotated(model, grammar, forest):
            expected[edges] += value / math.exp(model.log_z(forest))  # type: ignore[assignment]
        drawn = Counter(tuple(edges.tolist()) for edges in model.samples(forest, 4000, seed=number))
        assert set(drawn) <= set(expected)
        for edges, share in expected.items():
            assert drawn[edges] / 4000 == pytest.approx(share, abs=5 * math.sqrt(share * (1 - share) / 4000) + 1e-9)


def test_the_weight_of_a_derivation_sums_over_subtypes() -> None:
    for number, (grammar, _, forest) in enumerate(small_forests(10)):
        model = random_model(grammar, number)
        by_edges: Counter[tuple[int, ...]] = Counter()
        for edges, _, value in annotated(model, grammar, forest):
            by_edges[edges] += value  # type: ignore[assignment]
        for edges, value in by_edges.items():
            found = model.log_derivation(grammar, forest, np.array(edges, np.int32))
            assert found == pytest.approx(math.log(value), abs=1e-10)


def test_three_hundred_words_do_not_underflow() -> None:
    tree = parse_tree("(TOP (L (N a) (L (L (N a)) (L (N b) (L (N a))))))")
    grammar = tree_grammar([tree], Binarisation(), LexiconOptions(threshold=1))
    _, forest = CoarseParser(grammar, pcfg_weights(grammar)).prune(["a", "b", "a"] * 100, 1e-4, 1e-4)
    posterior = random_model(grammar, 3).posterior(forest)
    assert math.isfinite(posterior.log_z)
    assert posterior.edge[forest.edge_rule >= grammar.lexical_start].sum() == pytest.approx(300, abs=1e-6)
