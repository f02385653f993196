"""Decoders against the enumeration of every derivation."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from oracles import (
    Anchored,
    Case,
    anchored_of,
    bracket_posteriors,
    brackets,
    random_cases,
    rule_posteriors,
    subject,
    tag_shares,
    tags,
    total,
)

from lveg.chart.coarse import CoarseParser
from lveg.decoding.derivations import decode, derivation_of, mbr_scores, tree_of
from lveg.errors import UsageError
from lveg.families.forest import Posterior
from lveg.families.pcfg.family import Pcfg
from lveg.forest.best import best_derivations
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Grammar


def analysed(case: Case) -> tuple[Grammar, Forest, Posterior]:
    """The full forest of a case, with its posterior."""
    grammar, weight = subject(case.toy)
    _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
    return grammar, forest, Pcfg(weight).posterior(forest)


@pytest.mark.parametrize("tied", [False, True])
def test_k_best_equals_enumeration(tied: bool) -> None:
    """On 1,000 grammars: scores in order, each derivation once, each with its own tree and score."""
    counts = (1, 2, 5, 20, 150)
    exhausted = 0
    for number, case in enumerate(random_cases(500, seed=21 + tied, most=100, tied=tied)):
        grammar, forest, posterior = analysed(case)
        by_rules = {one.rules: one for one in case.found}
        ordered = sorted((math.log(one.weight) for one in case.found), reverse=True)
        count = counts[number % len(counts)]
        found = decode(grammar, forest, posterior, "viterbi", count)
        assert len(found) == min(count, len(case.found))
        exhausted += count > len(case.found)
        np.testing.assert_allclose([score for score, _ in found], ordered[:count], rtol=1e-12, atol=1e-12)
        seen = set()
        for score, edges in found:
            one = by_rules[anchored_of(forest, edges.tolist())]
            assert math.isclose(score, math.log(one.weight), rel_tol=1e-12, abs_tol=1e-12)
            assert str(tree_of(grammar, forest, edges, case.words)) == one.tree
            seen.add(one.rules)
        assert len(seen) == len(found)
    assert exhausted > 100


def test_k_best_of_larger_forests() -> None:
    """Deep queues: more derivations are requested than the hundreds that exist."""
    for case in random_cases(12, seed=23, least=300, most=1500):
        grammar, forest, posterior = analysed(case)
        ordered = sorted((math.log(one.weight) for one in case.found), reverse=True)
        for count in (20, 299, 2000):
            found = decode(grammar, forest, posterior, "viterbi", count)
            np.testing.assert_allclose([score for score, _ in found], ordered[:count], rtol=1e-12, atol=1e-12)
            assert len({tuple(edges.tolist()) for _, edges in found}) == len(found)


def test_longer_k_best_lists_begin_with_shorter_ones() -> None:
    for case in random_cases(30, seed=24, least=10, most=100, tied=True):
        grammar, forest, posterior = analysed(case)
        many = [edges.tolist() for _, edges in decode(grammar, forest, posterior, "viterbi", 50)]
        few = [edges.tolist() for _, edges in decode(grammar, forest, posterior, "viterbi", 7)]
        assert many[:7] == few


def test_viterbi_is_the_argmax() -> None:
    for case in random_cases(100, seed=25):
        grammar, forest, posterior = analysed(case)
        ((score, edges),) = decode(grammar, forest, posterior, "viterbi")
        best = max(case.found, key=lambda one: one.weight)
        assert math.isclose(score, math.log(best.weight), rel_tol=1e-12, abs_tol=1e-12)
        by_rules = {one.rules: one for one in case.found}
        mine = by_rules[anchored_of(forest, edges.tolist())]
        assert math.isclose(mine.weight, best.weight, rel_tol=1e-12)
        labels = [case.toy.symbols[tag][1] for tag in tags(case.toy, mine)]
        assert tree_of(grammar, forest, edges, case.words).tags() == labels


def test_max_rule_is_the_argmax_of_rule_posteriors() -> None:
    for case in random_cases(200, seed=26, most=150):
        grammar, forest, posterior = analysed(case)
        share = rule_posteriors(case.found)
        scores = {one.rules: sum(math.log(share[rule]) for rule in one.rules) for one in case.found}
        ordered = sorted(scores.values(), reverse=True)[:5]
        found = decode(grammar, forest, posterior, "max-rule", 5)
        np.testing.assert_allclose([score for score, _ in found], ordered, rtol=1e-9, atol=1e-9)
        for score, edges in found:
            own = scores[anchored_of(forest, edges.tolist())]
            assert math.isclose(score, own, rel_tol=1e-9, abs_tol=1e-9)


def _repeats(case: Case) -> bool:
    """Whether a tree has the same label twice over the same words."""
    return any(len(set(found)) < len(found) for found in (brackets(case.toy, one) for one in case.found))


def _recall_scores(case: Case, penalty: float) -> dict[tuple[Anchored, ...], float]:
    """Expected correct constituents and tags of every derivation, minus the penalty for each constituent."""
    share, tag_share = bracket_posteriors(case.toy, case.found), tag_shares(case.toy, case.found)
    return {
        one.rules: sum(share[bracket] - penalty for bracket in set(brackets(case.toy, one)))
        + sum(tag_share[key] for key in enumerate(tags(case.toy, one)))
        for one in case.found
    }


def _check_recall(case: Case, penalty: float) -> None:
    grammar, forest, posterior = analysed(case)
    scores = _recall_scores(case, penalty)
    ((score, edges),) = best_derivations(forest, mbr_scores(grammar, forest, posterior, penalty))
    assert math.isclose(score, max(scores.values()), rel_tol=1e-9, abs_tol=1e-9)
    assert math.isclose(score, scores[anchored_of(forest, edges.tolist())], rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("penalty", [0.0, 0.3])
def test_penalised_recall_is_the_argmax(penalty: float) -> None:
    cases = [case for case in random_cases(300, seed=27, most=150) if not _repeats(case)]
    assert sum(len(case.found) > 3 for case in cases) > 60
    for case in cases:
        _check_recall(case, penalty)


def test_a_repeated_label_is_correct_once() -> None:
    for case in random_cases(300, seed=27, most=150):
        _check_recall(case, 0.0)


def _expected_f1(case: Case) -> dict[tuple[Anchored, ...], float]:
    share = bracket_posteriors(case.toy, case.found)
    expected = sum(share.values())
    ratio = {}
    for one in case.found:
        proposed = set(brackets(case.toy, one))
        ratio[one.rules] = 2 * sum(share[bracket] for bracket in proposed) / max(len(proposed) + expected, 1e-9)
    return ratio


def test_mbr_has_the_highest_expected_f1() -> None:
    for case in random_cases(300, seed=28, most=150):
        if not _repeats(case):
            grammar, forest, posterior = analysed(case)
            ratio = _expected_f1(case)
            ((_, edges),) = decode(grammar, forest, posterior, "mbr")
            assert ratio[anchored_of(forest, edges.tolist())] >= max(ratio.values()) - 1e-6


def test_unknown_decoder_is_an_error() -> None:
    case = next(random_cases(1, seed=29))
    with pytest.raises(UsageError, match="decoder 'best'"):
        decode(*analysed(case), "best")


def test_sample_frequencies_are_the_posterior() -> None:
    draws = 20_000
    for case in random_cases(6, seed=30, least=5, most=60):
        grammar, forest, _ = analysed(case)
        model = Pcfg(subject(case.toy)[1])
        drawn = Counter(tuple(edges.tolist()) for edges in model.samples(forest, draws, seed=1))
        by_rules = Counter({anchored_of(forest, edges): count for edges, count in drawn.items()})
        z = total(case.found)
        assert set(by_rules) <= {one.rules for one in case.found}
        for one in case.found:
            share = one.weight / z
            deviation = abs(by_rules[one.rules] - draws * share)
            assert deviation <= 5 * math.sqrt(draws * share * (1 - share)) + 1
        first, again, other = ([edges.tolist() for edges in model.samples(forest, 50, seed=seed)] for seed in (1, 1, 2))
        assert first == again
        assert first != other
        edges = np.array(first[0], np.int32)
        assert str(tree_of(grammar, forest, edges, case.words)) in {one.tree for one in case.found}


def test_steps_have_children_before_parents() -> None:
    for case in random_cases(40, seed=31):
        grammar, forest, posterior = analysed(case)
        for _, edges in decode(grammar, forest, posterior, "viterbi", 3):
            steps = derivation_of(grammar, forest, edges)
            assert (steps[-1].start, steps[-1].end) == (0, len(case.words))
            for number, step in enumerate(steps):
                assert max(step.left, step.right) < number
                if step.right >= 0:
                    left, right = steps[step.left], steps[step.right]
                    assert (left.start, left.end, right.end) == (step.start, right.start, step.end)
