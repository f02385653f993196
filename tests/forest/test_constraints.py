"""Constraints with labels against enumeration of every derivation."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest
from oracles import Case, Derivation, anchored_of, brackets, edge_lists, random_cases, subject, tags, total

from lveg.chart import coarse
from lveg.chart.coarse import CoarseParser
from lveg.errors import GrammarError
from lveg.families.pcfg.family import Pcfg
from lveg.forest.constraints import Constraints, intersect
from lveg.forest.forest import Forest

CASES = list(random_cases(150, seed=21, most=80))


def _satisfies(case: Case, one: Derivation, constraints: Constraints) -> bool:
    """Whether a derivation satisfies the constraints, by their definition."""
    found: set[Any] = {(start, end, label) for label, start, end in brackets(case.toy, one)}
    found |= {(start, end) for start, end, _ in found}
    labels = [case.toy.symbols[tag][1] for tag in tags(case.toy, one)]
    given = constraints.given_tags(len(labels))
    return (
        set(constraints.spans) <= found
        and not set(constraints.not_spans) & found
        and all(want in (None, got) for want, got in zip(given, labels, strict=True))
    )


def _draw(case: Case, dice: random.Random) -> Constraints | None:
    """Random constraints, or None if they contradict one another."""
    n = len(case.words)

    def spans(count: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(count):
            start = dice.randrange(n)
            end = dice.randint(start + 1, n)
            kinds = sorted(
                {label for one in case.found for label, *at in brackets(case.toy, one) if at == [start, end]}
            )
            label = dice.choice([None, *kinds, *kinds])
            found.append((start, end) if label is None else (start, end, label))
        return found

    labels = {word: case.toy.symbols[tag][1] for word, tag in enumerate(tags(case.toy, dice.choice(case.found)))}
    given = {word: label for word, label in labels.items() if dice.random() < 0.2}
    constraints = Constraints(spans(dice.randint(0, 2)), spans(dice.randint(0, 2)), given or None)
    try:
        constraints.span_table(subject(case.toy)[0], n)
    except GrammarError:
        return None
    return constraints


def _derivations(forest: Forest) -> list[Any]:
    return sorted(anchored_of(forest, edges) for edges in edge_lists(forest))


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("threshold", [0.0, 1e-12])
def test_the_chart_has_exactly_the_derivations_that_satisfy_them(
    threshold: float, is_exact: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coarse, "_UNLIKELY", 1e-200)
    dice = random.Random(22)
    effective = labelled = 0
    for case in CASES * 3:
        constraints = _draw(case, dice)
        if constraints is None:
            continue
        grammar, weight = subject(case.toy)
        parser = CoarseParser(grammar, weight, is_exact)
        allowed = [one for one in case.found if _satisfies(case, one, constraints)]
        expected = sorted(one.rules for one in allowed)
        log_z, forest = parser.prune(case.words, threshold, threshold, constraints)
        assert _derivations(forest) == expected
        everything = parser.prune(case.words, 0.0, 0.0)[1]
        assert _derivations(intersect(grammar, everything, constraints)) == expected
        if expected:
            found = Pcfg(weight).posterior(forest)
            assert math.isclose(math.exp(found.log_z), total(allowed), rel_tol=1e-9)
            assert log_z > found.log_z - 1e-9
            assert not constraints.is_plain or math.isclose(log_z, found.log_z, rel_tol=1e-9, abs_tol=1e-9)
        effective += 0 < len(expected) < len(case.found)
        labelled += not constraints.is_plain and 0 < len(expected) < len(case.found)
    assert effective > labelled > 50


def test_log_z_is_not_claimed_where_the_chart_does_not_know_it() -> None:
    dice = random.Random(23)
    seen = set()
    for case in CASES:
        constraints = _draw(case, dice)
        if constraints is not None and any(_satisfies(case, one, constraints) for one in case.found):
            parses = CoarseParser(*subject(case.toy)).parses(case.words, 1e-9, constraints=constraints)
            assert (parses.log_z is None) == (not constraints.is_plain)
            seen.add(parses.fallback)
    assert None in seen


def test_pruning_is_loosened_for_an_improbable_label() -> None:
    """Under a high threshold only the likely label survives; the other one is found by loosening it."""
    found = set()
    for case in CASES:
        for start, end, label in sorted(
            {(s, e, label) for one in case.found for label, s, e in brackets(case.toy, one)}
        ):
            constraints = Constraints([(start, end, label)])
            parses = CoarseParser(*subject(case.toy)).parses(case.words, 0.9, constraints=constraints)
            assert parses.forest is not None
            allowed = {one.rules for one in case.found if _satisfies(case, one, constraints)}
            assert set(_derivations(parses.forest)) <= allowed
            found.add(parses.fallback)
    assert {None, "wide"} <= found <= {None, "wide", "unpruned"}


def test_glue_makes_a_phrase_with_a_needed_label() -> None:
    dice, glued = random.Random(24), 0
    for case in CASES:
        n = len(case.words)
        grammar, weight = subject(case.toy)
        start = dice.randrange(n)
        constraints = Constraints([(start, dice.randint(start + 1, n), dice.choice(grammar.labels))])
        if any(_satisfies(case, one, constraints) for one in case.found):
            continue
        parses = CoarseParser(grammar, weight).parses(case.words, 1e-5, constraints=constraints)
        assert parses.fallback == "glue"
        assert parses.forest is not None
        glued += 1
    assert glued > 50


def test_what_constraints_may_be() -> None:
    same = Constraints(spans=[(0, 2), (0, 3, "A")], tags=["t", None, None])
    assert same.spans == ((0, 2), (0, 3, "A"))
    assert same.given_tags(3) == Constraints(tags={0: "t"}).given_tags(3)
    assert Constraints([[0, 2]]) == Constraints([(0, 2)]) == Constraints(np.array([[0, 2]]))  # type: ignore[list-item]
    assert Constraints().is_plain
    assert Constraints([(0, 2)], [(1, 2)]).is_plain
    assert not Constraints([(0, 1)]).is_plain
    assert not Constraints((), [(0, 2, "A")]).is_plain


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (Constraints([(0, 2, "A")], [(0, 2)]), "0-2 cannot both be a constituent and not be one"),
        (Constraints([(0, 2, "A")], [(0, 2, "A")]), "0-2 cannot both be A and not be one"),
        (Constraints([(0, 2, "ZZ")]), "0-2: the grammar has no phrase label 'ZZ'"),
        (Constraints((), [(0, 2, "t")]), "0-2: the grammar has no phrase label 't'"),
        (Constraints([(2, 2, "A")]), "2-2 is not within a sentence of 3 words"),
        (Constraints(tags={3: "t"}), "word 3 was given a tag: expected a position from 0 to 2"),
    ],
)
def test_contradictions_and_unknown_labels_are_errors(constraints: Constraints, message: str) -> None:
    case = next(case for case in CASES if len(case.words) == 3 and {"A", "t"} <= {row[1] for row in case.toy.symbols})
    grammar, weight = subject(case.toy)
    with pytest.raises(GrammarError, match=message):
        CoarseParser(grammar, weight).parses(case.words, 1e-5, constraints=constraints)


@pytest.mark.parametrize("span", [(0,), (0, 1, 2), ("a", "b"), (0, 1, "A", "B"), 3])
def test_a_span_that_is_none_is_an_error(span: Any) -> None:
    with pytest.raises(GrammarError, match="expected a span"):
        Constraints([span])
