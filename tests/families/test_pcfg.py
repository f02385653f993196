"""The PCFG family on forests against enumeration."""

from __future__ import annotations

import math
import random

import numpy as np
from oracles import Rule, Toy, random_cases, rule_posteriors, subject, total

from lveg.chart.coarse import CoarseParser
from lveg.families.forest import Ask
from lveg.families.pcfg.family import Pcfg
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats


def expected_counts(weight: Floats, forest: Forest) -> Floats:
    """Expected uses of each rule: the derivative of log Z with respect to its log weight."""
    model, counts = Pcfg(weight), np.zeros(len(weight))
    model.run(model.pack(forest), None, Ask([1.0], counts))
    return counts


def test_expected_counts_equal_enumeration() -> None:
    for case in random_cases(120, seed=11, most=200):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        expected = np.zeros(len(weight))
        for (rule, *_), share in rule_posteriors(case.found).items():
            expected[rule] += share
        np.testing.assert_allclose(expected_counts(weight, forest), expected, rtol=1e-9, atol=1e-12)


def test_other_weights_over_the_same_forest() -> None:
    """A forest does not store the weights it was built with."""
    for case in random_cases(60, seed=12, most=100):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        other = np.random.default_rng(0).uniform(0.1, 2.0, len(weight))
        expected = math.fsum(math.prod(other[rule] for rule, *_ in one.rules) for one in case.found)
        assert math.isclose(math.exp(Pcfg(other).log_z(forest)), expected, rel_tol=1e-9)


def test_rules_of_weight_zero_are_not_used() -> None:
    for case in random_cases(80, seed=13, most=100):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        dice = random.Random(0)
        thinned = np.array([0.0 if dice.random() < 0.2 else value for value in weight])
        left = [one for one in case.found if all(thinned[rule] > 0 for rule, *_ in one.rules)]
        posterior = Pcfg(thinned).posterior(forest)
        if not left:
            assert posterior.log_z == -math.inf
            assert not posterior.edge.any()
            continue
        assert math.isclose(math.exp(posterior.log_z), total(left), rel_tol=1e-9)
        counts = np.zeros(len(weight))
        for (rule, *_), share in rule_posteriors(left).items():
            counts[rule] += share
        np.testing.assert_allclose(expected_counts(thinned, forest), counts, rtol=1e-9, atol=1e-12)


def test_a_rule_of_weight_zero_next_to_very_small_ones() -> None:
    """The scale of a zero weight must not overflow."""
    rules = [
        Rule("binary", 0, (1, 1), (), 1.0),
        Rule("binary", 0, (2, 2), (), 1.0),
        Rule("root", -1, (0,), (), 1.0),
        Rule("lexical", 1, (0,), (), 1.0),
        Rule("lexical", 2, (0,), (), 1.0),
    ]
    toy = Toy([("phrase", "A", ()), ("tag", "t", ()), ("tag", "u", ())], 1, ["a"], rules)
    _, forest = CoarseParser(*subject(toy)).prune(["a", "a"], 0.0, 0.0)
    posterior = Pcfg(np.array([0.0, 1.0, 1.0, 1.0, 1e-300])).posterior(forest)
    assert math.isclose(posterior.log_z, 2 * math.log(1e-300), rel_tol=1e-12)
    assert math.isclose(posterior.node[-1], 1.0, rel_tol=1e-12)
    assert np.isfinite(posterior.edge).all()
