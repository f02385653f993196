"""The coarse chart against enumeration of every derivation."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import Any

import numpy as np
import pytest
from oracles import (
    LONG,
    Case,
    Derivation,
    Rule,
    Toy,
    anchored_of,
    brackets,
    count_derivations,
    edge_lists,
    is_kept,
    log_inside,
    node_posteriors,
    random_cases,
    rule_posteriors,
    subject,
    tag_shares,
    tags,
    total,
)

from lveg.chart import coarse
from lveg.chart.chart import read_sentence
from lveg.chart.coarse import CoarseParser
from lveg.errors import GrammarError
from lveg.families.pcfg.family import Pcfg
from lveg.forest.constraints import Constraints, intersect
from lveg.forest.forest import anchored_rules, build_forest

CASES = list(random_cases(250, seed=1, most=300))
SMALL = [case for case in CASES if len(case.found) <= 60]


def test_cases_are_varied() -> None:
    sizes = [len(case.found) for case in CASES]
    assert max(sizes) > 100
    assert sizes.count(1) > 5
    assert {len(case.words) for case in CASES} == {1, 2, 3, 4, 5}
    used = {case.toy.rules[rule[0]].kind for case in CASES for one in case.found for rule in one.rules}
    assert used == {"binary", "unary", "root", "lexical"}


def test_log_z_is_the_sum_over_derivations() -> None:
    for case in CASES:
        log_z, forest = CoarseParser(*subject(case.toy)).prune(case.words, 0.0, 0.0)
        assert math.isclose(math.exp(log_z), total(case.found), rel_tol=1e-9)
        assert math.isclose(Pcfg(subject(case.toy)[1]).log_z(forest), log_z, rel_tol=1e-9, abs_tol=1e-9)


def test_forest_contains_exactly_the_derivations() -> None:
    for case in CASES:
        _, forest = CoarseParser(*subject(case.toy)).prune(case.words, 0.0, 0.0)
        found = [anchored_of(forest, edges) for edges in edge_lists(forest)]
        assert sorted(found) == sorted(one.rules for one in case.found)


def test_posteriors_equal_enumeration() -> None:
    for case in CASES:
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        posterior = Pcfg(weight).posterior(forest)
        rules, nodes = rule_posteriors(case.found), node_posteriors(case.toy, case.found)
        real = np.flatnonzero(forest.edge_rule >= 0)
        for anchored, edge in zip(anchored_rules(forest).T.tolist(), real.tolist(), strict=True):
            assert math.isclose(posterior.edge[edge], rules[tuple(anchored)], rel_tol=1e-9)
        columns = (forest.node_symbol, forest.node_start, forest.node_end, forest.node_level)
        for number, node in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            assert math.isclose(posterior.node[number], nodes[node], rel_tol=1e-9)


def test_tags_of_every_word_sum_to_one() -> None:
    for case in CASES:
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        posterior = Pcfg(weight).posterior(forest)
        is_tag = forest.node_symbol >= grammar.n_nonterminals
        by_word = np.bincount(forest.node_start[is_tag], posterior.node[is_tag], minlength=len(case.words))
        np.testing.assert_allclose(by_word, 1.0, rtol=0, atol=1e-9)
        assert math.isclose(posterior.node[-1], 1.0, rel_tol=1e-12)
        for (word, tag), share in tag_shares(case.toy, case.found).items():
            at = is_tag & (forest.node_start == word) & (forest.node_symbol == tag)
            assert math.isclose(posterior.node[at].sum(), share, rel_tol=1e-9)


@pytest.mark.parametrize(("p_node", "p_edge"), [(0.01, 0.01), (0.1, 0.1), (0.2, 0.02), (0.02, 0.2)])
def test_pruning_keeps_rules_above_the_threshold(p_node: float, p_edge: float) -> None:
    """Nothing below the thresholds is kept; every derivation whose parts are all well above them is."""
    slack = 1.2  # nodes far below the threshold pass nothing down
    pruned = 0
    for case in CASES:
        grammar, weight = subject(case.toy)
        log_z, forest = CoarseParser(grammar, weight).prune(case.words, p_node, p_edge)
        assert math.isclose(math.exp(log_z), total(case.found), rel_tol=1e-9)
        is_above = partial(is_kept, case, rule_posteriors(case.found), node_posteriors(case.toy, case.found))
        kept = {tuple(anchored) for anchored in anchored_rules(forest).T.tolist()}
        assert all(is_above(anchored, p_node * (1 - 1e-9), p_edge * (1 - 1e-9)) for anchored in kept)
        for one in case.found:
            if all(is_above(anchored, p_node * slack, p_edge * slack) for anchored in one.rules):
                assert set(one.rules) <= kept
        pruned += len(kept) < len({rule for one in case.found for rule in one.rules})
    assert pruned > 20


def test_no_derivation_is_minus_infinity_and_no_nodes() -> None:
    for case in random_cases(60, seed=2, least=0, most=0):
        grammar, weight = subject(case.toy)
        for threshold in (0.0, 1e-5):
            log_z, forest = CoarseParser(grammar, weight).prune(case.words, threshold, threshold)
            assert log_z == -math.inf
            assert forest.is_empty
            assert forest.n_edges == 0
        assert Pcfg(weight).log_z(forest) == -math.inf


def _spans(case: Case, derivation: Derivation) -> set[tuple[int, int]]:
    return {(start, end) for _, start, end in brackets(case.toy, derivation)}


def _random_constraints(case: Case, dice: random.Random) -> Constraints:
    n = len(case.words)
    spans = [(start, end) for start in range(n) for end in range(start + 2, n + 1)]
    dice.shuffle(spans)
    cut = dice.randint(0, min(2, len(spans)))
    given = tags(case.toy, dice.choice(case.found))
    labels = tuple(case.toy.symbols[tag][1] if dice.random() < 0.4 else None for tag in given)
    return Constraints(
        spans=tuple(spans[:cut]),
        not_spans=tuple(spans[cut : cut + dice.randint(0, 1)]),
        tags=labels if dice.random() < 0.7 else None,
    )


def _allowed(case: Case, constraints: Constraints) -> list[Derivation]:
    found = []
    for one in case.found:
        spans = _spans(case, one)
        labels = [case.toy.symbols[tag][1] for tag in tags(case.toy, one)]
        given = constraints.tags or [None] * len(labels)
        if (
            spans >= set(constraints.spans)
            and not spans & set(constraints.not_spans)
            and all(want in (None, got) for want, got in zip(given, labels, strict=True))
        ):
            found.append(one)
    return found


@pytest.mark.parametrize("threshold", [0.0, 1e-12])
def test_constraints_filter_the_derivations(threshold: float) -> None:
    dice = random.Random(3)
    effective = 0
    for case in SMALL * 3:
        grammar, weight = subject(case.toy)
        parser = CoarseParser(grammar, weight)
        constraints = _random_constraints(case, dice)
        allowed = _allowed(case, constraints)
        expected = sorted(one.rules for one in allowed)
        effective += 0 < len(expected) < len(case.found)
        log_z, forest = parser.prune(case.words, threshold, threshold, constraints)
        assert sorted(anchored_of(forest, edges) for edges in edge_lists(forest)) == expected
        assert math.isclose(math.exp(log_z), total(allowed), rel_tol=1e-9)
        everything = parser.prune(case.words, 0.0, 0.0)[1]
        cut = intersect(grammar, everything, constraints)
        assert sorted(anchored_of(cut, edges) for edges in edge_lists(cut)) == expected
    assert effective > 100


@pytest.mark.parametrize("threshold", [0.0, 1e-12])
def test_one_word_may_be_forbidden_to_be_a_constituent(threshold: float) -> None:
    effective = 0
    for case in SMALL:
        grammar, weight = subject(case.toy)
        for word in range(len(case.words)):
            constraints = Constraints(not_spans=((word, word + 1),))
            allowed = _allowed(case, constraints)
            expected = sorted(one.rules for one in allowed)
            effective += 0 < len(expected) < len(case.found)
            log_z, forest = CoarseParser(grammar, weight).prune(case.words, threshold, threshold, constraints)
            assert math.isclose(math.exp(log_z), total(allowed), rel_tol=1e-9)
            assert sorted(anchored_of(forest, edges) for edges in edge_lists(forest)) == expected
            cut = intersect(grammar, CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)[1], constraints)
            assert sorted(anchored_of(cut, edges) for edges in edge_lists(cut)) == expected
    assert effective > 20


def test_contradictory_constraints_are_errors() -> None:
    case = next(case for case in CASES if len(case.words) == 3)
    grammar, _ = subject(case.toy)
    with pytest.raises(GrammarError, match="cannot both be"):
        Constraints(((0, 2),), ((0, 2),)).span_table(grammar, 3)
    with pytest.raises(GrammarError, match="not within a sentence"):
        Constraints(((0, 4),)).span_table(grammar, 3)
    with pytest.raises(GrammarError, match="not within a sentence"):
        Constraints((), ((2, 2),)).span_table(grammar, 3)
    with pytest.raises(GrammarError, match="2 tags were given for 3 words"):
        Constraints(tags=("t", None)).tag_ids(grammar, 3)
    with pytest.raises(GrammarError, match="word 2 was given the tag 'zz'"):
        Constraints(tags=(None, "zz", None)).tag_ids(grammar, 3)


def test_long_sentence_has_a_finite_log_z() -> None:
    """300 words: Z is far below the smallest double."""
    dice = random.Random(4)
    terminals = [int(dice.random() < 0.3) for _ in range(300)]
    log_z, forest = CoarseParser(*subject(LONG)).prune([LONG.words[t] for t in terminals], 1e-2, 1e-2)
    expected = log_inside(LONG, terminals)
    assert expected < -2000
    assert math.isclose(log_z, expected, rel_tol=1e-9)
    assert forest.n_words == 300


def test_medium_sentence_agrees_with_enumeration() -> None:
    dice = random.Random(5)
    terminals = [int(dice.random() < 0.3) for _ in range(40)]
    grammar, weight = subject(LONG)
    log_z, forest = CoarseParser(grammar, weight).prune([LONG.words[t] for t in terminals], 0.0, 0.0)
    posterior = Pcfg(weight).posterior(forest)
    assert math.isclose(log_z, log_inside(LONG, terminals), rel_tol=1e-9)
    assert math.isclose(posterior.log_z, log_z, rel_tol=1e-9)
    words = forest.node_symbol >= grammar.n_nonterminals
    by_word = np.bincount(forest.node_start[words], posterior.node[words], minlength=40)
    np.testing.assert_allclose(by_word, 1.0, rtol=0, atol=1e-9)


def test_catalan_numbers() -> None:
    """With one rule of weight 1 over n words, Z counts the binary trees."""
    rules = [
        Rule("binary", 0, (0, 0), (), 1.0),
        Rule("unary", 0, (1,), (), 1.0),
        Rule("root", -1, (0,), (), 1.0),
        Rule("lexical", 1, (0,), (), 1.0),
    ]
    toy = Toy([("phrase", "S", ()), ("tag", "t", ())], 1, ["a"], rules)
    for n in (1, 2, 5, 30, 250):
        log_z, _ = CoarseParser(*subject(toy)).prune(["a"] * n, 0.5, 0.5)
        expected = math.lgamma(2 * n - 1) - math.lgamma(n) - math.lgamma(n + 1)
        assert math.isclose(log_z, expected, rel_tol=1e-9, abs_tol=1e-9)
    assert count_derivations(toy, [0] * 6) == 42


def test_rules_are_sorted_as_forests_need_them() -> None:
    for case in CASES:
        grammar, weight = subject(case.toy)
        for is_exact in (True, False):
            _, forest = CoarseParser(grammar, weight, is_exact).prune(case.words, 1e-2, 1e-2)
            again = build_forest(grammar, case.words, anchored_rules(forest))
            for name in ("node_symbol", "node_start", "node_end", "node_level", "edge_ptr", "edge_rule", "edge_left"):
                assert np.array_equal(getattr(forest, name), getattr(again, name))


def test_a_sentence_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence is read once, however many thresholds are tried, and again only for the glue grammar."""
    calls: list[Any] = []

    def read(*facts: Any) -> Any:
        calls.append(facts)
        return read_sentence(*facts)

    monkeypatch.setattr(coarse, "read_sentence", read)
    for case in SMALL[:20]:
        calls.clear()
        parses = CoarseParser(*subject(case.toy)).parses(case.words, 0.999)
        assert len(calls) == 1 + (parses.fallback == "glue")
