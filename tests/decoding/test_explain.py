"""Explanations against the enumeration of every derivation of small grammars."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles import Case, anchored_of, brackets, edge_lists, random_cases, subject

from lveg.chart.coarse import CoarseParser
from lveg.decoding.derivations import decode
from lveg.decoding.explain import edges_of, explain
from lveg.families.pcfg.family import Pcfg
from lveg.families.product.family import Product
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar


def analysed(case: Case) -> tuple[Grammar, Floats, Forest]:
    """The grammar of a case, its weights, and the forest of all derivations."""
    grammar, weight = subject(case.toy)
    return grammar, weight, CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)[1]


def test_edges_of_a_constituent_are_in_the_trees_that_have_it() -> None:
    seen = 0
    for case in random_cases(60, seed=5, most=60):
        grammar, _, forest = analysed(case)
        by_rules = {one.rules: one for one in case.found}
        has = {edges: set(brackets(case.toy, by_rules[anchored_of(forest, edges)])) for edges in edge_lists(forest)}
        for span in {span for spans in has.values() for span in spans}:
            made = edges_of(grammar, forest, span)
            for edges, spans in has.items():
                assert made[list(edges)].any() == (span in spans)
                seen += 1
    assert seen > 2000


def test_the_rival_is_the_best_derivation_without_the_constituent() -> None:
    without = 0
    for case in random_cases(150, seed=6, most=100):
        grammar, weight, forest = analysed(case)
        family, by_rules = Pcfg(weight), {one.rules: one for one in case.found}
        posterior = family.posterior(forest)
        for decoder in ("viterbi", "max-rule"):
            ((_, chosen),) = decode(grammar, forest, posterior, decoder)
            own = by_rules[anchored_of(forest, chosen.tolist())]
            explanations = explain(grammar, weight, forest, family, posterior, chosen, count=1)
            spans = [span for one in explanations for span in one.constituents]
            assert len(spans) == len(set(spans))
            assert {*spans} | {("TOP", 0, len(case.words))} == {*brackets(case.toy, own)} | {
                ("TOP", 0, len(case.words))
            }
            for one in explanations:
                for span in one.constituents:
                    rest = [other.weight for other in case.found if span not in brackets(case.toy, other)]
                    if not rest:
                        assert (one.rival, one.difference, one.parts) == (None, math.inf, ())
                        without += 1
                    else:
                        assert one.difference == pytest.approx(math.log(own.weight / max(rest)), abs=1e-9)
                        (part,) = one.parts
                        assert math.fsum(reason.value for reason in part.reasons) == pytest.approx(part.value, abs=1e-9)
                        assert part.value == one.difference
                        assert all(reason.value for reason in part.reasons)
    assert without > 20


def test_parts_of_a_product_whose_members_exclude_derivations() -> None:
    """If only one of two derivations is possible for a member, parts still add up to the difference."""
    undivided = divided = 0
    for number, case in enumerate(random_cases(60, seed=7, least=3, most=60)):
        grammar, weight, forest = analysed(case)
        gone = np.random.default_rng(number).random(len(weight)) < 0.15
        family = Product((Pcfg(weight), Pcfg(np.where(gone, 0.0, weight)), Pcfg(weight**2)))
        posterior, chosen = family.posterior(forest), [np.array(edges, np.int32) for edges in edge_lists(forest)]
        first, *logs = family.log_probs(grammar, forest, chosen, posterior)
        for log, parts in zip(logs, family.compare(grammar, weight, forest, chosen, posterior), strict=True):
            assert math.fsum(part.value for part in parts) == pytest.approx(first - log, abs=1e-9)
            assert parts[0].name == "rules"
            undivided += len(parts) == 2
            divided += len(parts) == 1
    assert min(undivided, divided) > 100
