"""Marginals against enumeration."""

from __future__ import annotations

import math

import numpy as np
from oracles import bracket_posteriors, random_cases, subject, tag_shares

from lveg.chart.coarse import CoarseParser
from lveg.decoding.marginals import constituents, tag_posteriors
from lveg.families.pcfg.family import Pcfg


def test_constituents_equal_enumeration() -> None:
    """A label over a span counts once, even if a unary chain has it twice."""
    for case in random_cases(250, seed=41, most=200):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        found = constituents(grammar, forest, Pcfg(weight).posterior(forest))
        expected = bracket_posteriors(case.toy, case.found)
        for span in found.keys() | expected.keys():
            assert math.isclose(found.get(span, 0.0), expected.get(span, 0.0), rel_tol=1e-9, abs_tol=1e-12)
        assert all(0.0 <= share <= 1.0 for share in found.values())


def test_tag_posteriors_equal_enumeration() -> None:
    for case in random_cases(150, seed=42, most=200):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        expected = np.zeros((len(case.words), len(grammar.tags)))
        for (word, tag), share in tag_shares(case.toy, case.found).items():
            expected[word, tag - grammar.n_nonterminals] = share
        found = tag_posteriors(grammar, forest, Pcfg(weight).posterior(forest))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
