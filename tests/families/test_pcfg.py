"""The PCFG family on forests against enumeration."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
from oracles import Rule, Toy, random_cases, rule_posteriors, subject, total

from lveg.chart.coarse import CoarseParser, TagLattice
from lveg.decoding.marginals import tag_posteriors
from lveg.families.estimate import hmm_weights
from lveg.families.pcfg import Pcfg
from lveg.forest.builders import Constraints
from lveg.grammar.grammar import tag_grammar
from lveg.grammar.lexicon import LexiconOptions


def test_expected_counts_equal_enumeration() -> None:
    for case in random_cases(120, seed=11, most=200):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        expected = np.zeros(len(weight))
        for (rule, *_), share in rule_posteriors(case.found).items():
            expected[rule] += share
        np.testing.assert_allclose(Pcfg(weight).expected_counts(forest), expected, rtol=1e-9, atol=1e-12)


def test_other_weights_over_the_same_forest() -> None:
    """A forest does not remember the weights it was built with."""
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
        np.testing.assert_allclose(Pcfg(thinned).expected_counts(forest), counts, rtol=1e-9, atol=1e-12)


def test_a_rule_of_weight_zero_beside_very_small_ones() -> None:
    """The scale of what weighs nothing must not overflow."""
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


TAGGED = [
    [("the", "D"), ("dog", "N"), ("barks", "V")],
    [("the", "D"), ("dog", "N"), ("walks", "N")],
    [("dog", "N"), ("walks", "V"), ("the", "D"), ("dog", "N")],
    [("barks", "V")],
]


def _hmm_enumeration(words: list[str]) -> dict[tuple[str, ...], float]:
    """The weight of every tag sequence, from the grammar's rules by name."""
    grammar = tag_grammar(TAGGED, LexiconOptions(threshold=1))
    weight = hmm_weights(grammar)
    by_name: dict[tuple[str, ...], float] = {}
    names = (*grammar.lexicon.words, *grammar.lexicon.classes)
    for rule in range(len(weight)):
        lhs, left, right = grammar.rule_lhs[rule], grammar.rule_left[rule], grammar.rule_right[rule]
        if rule >= grammar.lexical_start:
            key = ("emit", grammar.symbols[lhs].label, names[left])
        elif lhs == -1:
            key = ("start", grammar.symbols[left].label)
        elif right == -1:
            key = ("end", grammar.symbols[lhs].label)
        else:
            key = ("next", grammar.symbols[lhs].label, grammar.symbols[right].label)
            assert grammar.symbols[left].label == grammar.symbols[lhs].label
        by_name[key] = float(weight[rule])
    found = {}
    for tags in itertools.product("DNV", repeat=len(words)):
        product = by_name["start", tags[0]] * by_name["end", tags[-1]]
        for one, other in itertools.pairwise(tags):
            product *= by_name["next", one, other]
        for tag, word in zip(tags, words, strict=True):
            product *= by_name.get(("emit", tag, word), 0.0)
        if product:
            found[tags] = product
    return found


def test_hmm_lattice_equals_enumeration_of_tag_sequences() -> None:
    grammar = tag_grammar(TAGGED, LexiconOptions(threshold=1))
    weight = hmm_weights(grammar)
    lattice, family = TagLattice(grammar, weight), Pcfg(weight)
    dice = random.Random(14)
    for _ in range(60):
        words = [dice.choice(["the", "dog", "barks", "walks"]) for _ in range(dice.randint(1, 6))]
        sequences = _hmm_enumeration(words)
        forest = lattice.forest(words)
        posterior = family.posterior(forest)
        z = math.fsum(sequences.values())
        assert math.isclose(math.exp(posterior.log_z), z, rel_tol=1e-9)
        expected = np.zeros((len(words), 3))
        for tags, product in sequences.items():
            for index, tag in enumerate(tags):
                expected[index, "DNV".index(tag)] += product / z
        shares = tag_posteriors(grammar, forest, posterior)
        np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-9)
        np.testing.assert_allclose(shares.sum(1), 1.0, rtol=0, atol=1e-9)


def test_hmm_lattice_with_given_tags() -> None:
    grammar = tag_grammar(TAGGED, LexiconOptions(threshold=1))
    weight = hmm_weights(grammar)
    words = ["dog", "walks", "walks", "barks"]
    sequences = _hmm_enumeration(words)
    for given in itertools.product((None, "N", "V"), repeat=4):
        allowed = [
            product
            for tags, product in sequences.items()
            if all(want in (None, got) for want, got in zip(given, tags, strict=True))
        ]
        log_z = Pcfg(weight).log_z(TagLattice(grammar, weight).forest(words, Constraints(tags=given)))
        if allowed:
            assert math.isclose(math.exp(log_z), math.fsum(allowed), rel_tol=1e-9)
        else:
            assert log_z == -math.inf


def test_hmm_long_sentence() -> None:
    grammar = tag_grammar(TAGGED, LexiconOptions(threshold=1))
    weight = hmm_weights(grammar)
    words = ["dog", "walks"] * 1000
    forest = TagLattice(grammar, weight).forest(words)
    posterior = Pcfg(weight).posterior(forest)
    assert -8000 < posterior.log_z < -1000
    np.testing.assert_allclose(tag_posteriors(grammar, forest, posterior).sum(1), 1.0, rtol=0, atol=1e-9)
