"""The chart that leaves unlikely symbols out: its estimates and what it keeps, against enumeration."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import (
    LONG,
    Rule,
    Toy,
    anchored_of,
    edge_lists,
    is_kept,
    node_posteriors,
    random_cases,
    rule_posteriors,
    subject,
    total,
)

import lveg.chart.tag_chain as tag_chain_module
from lveg.chart import coarse
from lveg.chart.coarse import CoarseParser
from lveg.chart.tag_chain import tag_chain
from lveg.forest.constraints import Constraints
from lveg.forest.forest import anchored_rules
from lveg.kernels.chart_estimate import TagChain, estimate_side

CASES = list(random_cases(250, seed=21, most=300))


def quick(toy: Toy) -> CoarseParser:
    return CoarseParser(*subject(toy), is_exact=False)


class Yield(NamedTuple):
    """A tree: its weight, its tags, its symbols (after the unary step) with their spans, and its rules."""

    weight: float
    tags: tuple[int, ...]
    symbols: tuple[tuple[int, int, int], ...]
    rules: tuple[int, ...]


def all_trees(toy: Toy, symbol: int) -> list[Yield]:
    """Every tree below a symbol of a grammar without recursion."""

    def moved(tree: Yield, by: int) -> tuple[tuple[int, int, int], ...]:
        return tuple((a, start + by, end + by) for a, start, end in tree.symbols)

    def branching(lhs: int) -> list[Yield]:
        if lhs >= toy.n_nonterminals:
            return [Yield(1.0, (lhs - toy.n_nonterminals,), (), ())]
        found = []
        for number, rule in enumerate(toy.rules):
            if rule.kind == "binary" and rule.lhs == lhs:
                for one, two in itertools.product(*(all_trees(toy, child) for child in rule.children)):
                    symbols = one.symbols + moved(two, len(one.tags))
                    rules = (number, *one.rules, *two.rules)
                    found.append(Yield(rule.weight * one.weight * two.weight, one.tags + two.tags, symbols, rules))
        return found

    found = branching(symbol)
    for number, rule in enumerate(toy.rules):
        if rule.kind == "unary" and rule.lhs == symbol:
            for tree in branching(rule.children[0]):
                found.append(tree._replace(weight=rule.weight * tree.weight, rules=(number, *tree.rules)))
    return [tree._replace(symbols=((symbol, 0, len(tree.tags)), *tree.symbols)) for tree in found]


def finite_toy(dice: random.Random) -> Toy:
    """A grammar without recursion whose trees' weights sum to one: symbols have children of higher numbers."""
    n, size = 4, 7
    unary_share = [dice.choice([0.0, 0.3]) for _ in range(n - 1)] + [0.0]
    binary, unary = [], []
    for lhs in range(n):
        pairs = {(dice.randint(lhs + 1, size - 1), dice.randint(lhs + 1, size - 1)) for _ in range(3)}
        shares = [dice.uniform(0.1, 1.0) for _ in pairs]
        for pair, share in zip(sorted(pairs), shares, strict=True):
            binary.append(Rule("binary", lhs, pair, (), (1 - unary_share[lhs]) * share / sum(shares)))
        if unary_share[lhs]:
            child = dice.randint(lhs + 1, size - 1)
            stay = 1 - unary_share[child] if child < n else 1.0
            unary.append(Rule("unary", lhs, (child,), (), unary_share[lhs] / stay))
    symbols: list[tuple[str, str, tuple[str, ...]]] = [("phrase", "ABCD"[a], ()) for a in range(n)]
    symbols += [("tag", "tuv"[t], ()) for t in range(size - n)]
    roots = [Rule("root", -1, (0,), (), 0.7), Rule("root", -1, (1,), (), 0.3)]
    lexical = [Rule("lexical", tag, (0,), (), 1.0) for tag in range(n, size)]
    return Toy(symbols, n, ["a"], binary + unary + roots + lexical)


@pytest.mark.parametrize("most_dense", [512, 0], ids=["by doubling", "step by step"])
def test_tag_statistics_equal_those_of_all_trees(most_dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tag_chain_module, "_MOST_DENSE", most_dense)
    dice = random.Random(5)
    for _ in range(20):
        toy = finite_toy(dice)
        n, end = toy.n_nonterminals, len(toy.symbols) - toy.n_nonterminals
        follows: dict[Any, float] = defaultdict(float)
        before: dict[Any, float] = defaultdict(float)
        after: dict[Any, float] = defaultdict(float)
        rules: Counter[int] = Counter()
        for number, root in enumerate(toy.rules):
            if root.kind != "root":
                continue
            for tree in all_trees(toy, root.children[0]):
                weight = root.weight * tree.weight
                around = (end, *tree.tags, end)
                for pair in itertools.pairwise(around):
                    follows[pair] += weight
                for symbol, start, stop in tree.symbols:
                    before[around[start], symbol] += weight
                    after[around[stop + 1], symbol] += weight
                for rule in (number, *tree.rules):
                    rules[rule] += weight  # type: ignore[assignment]
        grammar, weights = subject(toy)
        assert math.isclose(sum(rules[number] for number, rule in enumerate(toy.rules) if rule.kind == "root"), 1.0)
        counts = np.array([float(rules[number]) for number in range(len(toy.rules))])
        chain = tag_chain(replace(grammar, count=counts), weights)
        tokens = [sum(follows[t, u] for u in range(end + 1)) for t in range(end + 1)]
        for t in range(end + 1):
            if not tokens[t]:
                continue
            for u in range(end + 1):
                assert math.isclose(chain.follows[t, u], follows[t, u] / tokens[t], abs_tol=1e-9)
            for a in range(n):
                assert math.isclose(chain.begins[t, a], before[t, a] / tokens[t], abs_tol=1e-9)
                used = sum(after[u, a] for u in range(end + 1))
                if used:
                    assert math.isclose(chain.ends[t, a], after[t, a] / used, abs_tol=1e-9)


def estimates(chain: TagChain, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """P(words before, symbol begins), P(words after | symbol ends), P(words), by listing tag sequences."""
    n, n_tags = scores.shape
    before, after, whole = np.zeros((n + 1, chain.begins.shape[1])), np.zeros((n + 1, chain.ends.shape[1])), 0.0
    for length in range(n + 1):
        for tags in itertools.product(range(n_tags), repeat=length):
            first, last = (n_tags, *tags), (*tags, n_tags)
            words = math.prod(scores[i, t] for i, t in enumerate(tags))
            words *= math.prod(chain.follows[pair] for pair in itertools.pairwise(first))
            before[length] += words * chain.begins[first[-1]]
            whole += words * chain.follows[first[-1], n_tags] if length == n else 0.0
            words = math.prod(scores[n - length + i, t] for i, t in enumerate(tags))
            words *= math.prod(chain.follows[pair] for pair in itertools.pairwise(last))
            after[n - length] += words * chain.ends[last[0]]
    return before, after, whole


def test_estimates_sum_over_tag_sequences() -> None:
    dice = np.random.default_rng(6)
    for n in (1, 2, 4):
        follows = dice.random((4, 4))
        chain = TagChain(follows, np.ascontiguousarray(follows.T), dice.random((4, 5)), dice.random((4, 5)))
        scores = dice.random((n, 3)) * (dice.random((n, 3)) < 0.8) + 1e-3
        scale = dice.integers(-9, 9, n)
        real = scores * 2.0 ** scale[:, None]
        before, after, whole = estimates(chain, real)
        for backward, steps, table, expected in (
            (False, chain.follows, chain.begins, before),
            (True, chain.precedes, chain.ends, after),
        ):
            found, powers = np.zeros((n + 1, 5)), np.zeros(n + 1, np.int64)
            now, then = np.empty((2, 4))
            z = estimate_side(steps, table, scores, scale, backward, now, then, found, powers)
            np.testing.assert_allclose(found * 2.0 ** powers[:, None], expected, rtol=1e-12)
            assert math.isclose(z * 2.0 ** powers[0 if backward else n], whole, rel_tol=1e-12)


def likely_total(toy: Toy, terminals: list[int], chain: TagChain, least: float) -> float:
    """The summed weight of derivations all of whose symbols have an estimated posterior of at least `least`."""
    n, first_tag = len(terminals), toy.n_nonterminals
    tags = np.zeros((n, len(toy.symbols) - first_tag))
    for rule in toy.rules:
        if rule.kind == "lexical":
            for place, terminal in enumerate(terminals):
                tags[place, rule.lhs - first_tag] += rule.weight * (rule.children[0] == terminal)
    before, after, whole = estimates(chain, tags)
    full: dict[tuple[int, int], np.ndarray] = {}
    for start, end in sorted(itertools.combinations(range(n + 1), 2), key=lambda span: span[1] - span[0]):
        plain = np.zeros(len(toy.symbols))
        if end == start + 1:
            plain[first_tag:] = tags[start]
        for rule in toy.rules:
            if rule.kind == "binary":
                left, right = rule.children
                for split in range(start + 1, end):
                    plain[rule.lhs] += rule.weight * full[start, split][left] * full[split, end][right]
        top = plain.copy()
        for rule in toy.rules:
            if rule.kind == "unary":
                top[rule.lhs] += rule.weight * plain[rule.children[0]]
        for a in range(first_tag):
            if top[a] * before[start, a] * after[end, a] < least * whole:
                top[a] = 0.0
        full[start, end] = top
    return math.fsum(rule.weight * full[0, n][rule.children[0]] for rule in toy.rules if rule.kind == "root")


@pytest.mark.parametrize("share", [30.0, 1000.0])
def test_symbols_are_left_out_according_to_the_estimate(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "_UNLIKELY", share)
    fewer = 0
    for case in CASES:
        parser = quick(case.toy)
        left = likely_total(case.toy, case.terminals, parser.chain, share * 1e-3)
        log_z, _ = parser.prune(case.words, 1e-3, 1e-3)
        expected = left if left > 0 else total(case.found)  # if nothing is left, the exact chart is used
        assert math.isclose(math.exp(log_z), expected, rel_tol=1e-9)
        fewer += 0 < left < total(case.found) * (1 - 1e-6)
    assert fewer > 20


def test_with_threshold_zero_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e-200)
    for case in CASES:
        log_z, forest = quick(case.toy).prune(case.words, 1e-12, 1e-12)
        assert math.isclose(math.exp(log_z), total(case.found), rel_tol=1e-9)
        found = [anchored_of(forest, edges) for edges in edge_lists(forest)]
        assert sorted(found) == sorted(one.rules for one in case.found)


@pytest.mark.parametrize(("p_node", "p_edge"), [(0.01, 0.01), (0.1, 0.1), (0.2, 0.02), (0.02, 0.2)])
def test_pruning_keeps_rules_above_the_threshold(p_node: float, p_edge: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e-200)
    for case in CASES:
        rules, nodes = rule_posteriors(case.found), node_posteriors(case.toy, case.found)
        _, forest = quick(case.toy).prune(case.words, p_node, p_edge)
        kept = {tuple(anchored) for anchored in anchored_rules(forest).T.tolist()}
        assert all(is_kept(case, rules, nodes, one, p_node * (1 - 1e-9), p_edge * (1 - 1e-9)) for one in kept)
        for one in case.found:
            if all(is_kept(case, rules, nodes, rule, p_node * 1.2, p_edge * 1.2) for rule in one.rules):
                assert set(one.rules) <= kept


def test_constraints_are_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e-200)
    dice = random.Random(8)
    for case in CASES:
        n = len(case.words)
        start = dice.randrange(n)
        span = ((start, dice.randint(start + 1, n)),)
        tag = case.toy.symbols[dice.randrange(case.toy.n_nonterminals, len(case.toy.symbols))][1]
        for constraints in (
            Constraints(spans=span),
            Constraints(not_spans=span),
            Constraints(tags=(tag,) + (None,) * (n - 1)),
        ):
            exact_z, exact = CoarseParser(*subject(case.toy)).prune(case.words, 1e-12, 1e-12, constraints)
            log_z, forest = quick(case.toy).prune(case.words, 1e-12, 1e-12, constraints)
            assert math.isclose(log_z, exact_z, rel_tol=1e-9, abs_tol=1e-9)
            assert np.array_equal(anchored_rules(forest), anchored_rules(exact))


def test_the_exact_chart_is_used_if_nothing_is_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e30)
    for case in [case for case in CASES if len(case.words) > 1][:50]:
        exact = CoarseParser(*subject(case.toy)).parses(case.words, 1e-5)
        parses = quick(case.toy).parses(case.words, 1e-5)
        assert parses.fallback is None
        assert parses.log_z is None
        assert exact.log_z is not None
        assert parses.forest is not None
        assert exact.forest is not None
        assert np.array_equal(anchored_rules(parses.forest), anchored_rules(exact.forest))


def test_long_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z is far below the smallest double, and more rules are kept than the initial capacity."""
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e-200)
    dice = random.Random(4)
    terminals = [int(dice.random() < 0.3) for _ in range(150)]
    words = [LONG.words[terminal] for terminal in terminals]
    log_z, forest = quick(LONG).prune(words, 1e-6, 1e-6)
    assert log_z < -1000
    exact_z, exact = CoarseParser(*subject(LONG)).prune(words, 1e-6, 1e-6)
    assert math.isclose(log_z, exact_z, rel_tol=1e-12)
    assert math.isclose(forest.n_edges, exact.n_edges, rel_tol=0.02)
    assert forest.n_edges > 512 * 150


def test_the_exact_chart_is_not_used_if_the_likely_one_has_a_parse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then its kernels need not be compiled."""
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e-200)
    monkeypatch.setattr(coarse, "exact_chart", None)
    for case in CASES[:50]:
        assert not quick(case.toy).prune(case.words, 1e-12, 1e-12)[1].is_empty
