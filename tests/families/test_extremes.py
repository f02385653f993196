"""Extreme parameters, factors and lengths: numbers may overflow inside, but no answer contains NaN."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from test_contract import PARSERS, TAGGERS, family_of, forests, tagged, trained, trained_tagger, trees

from lveg.errors import GrammarError
from lveg.families.gm.family import Gm
from lveg.families.registry import Kind, treebank_kind
from lveg.families.tag_gm.family import TagGm
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats
from lveg.kernels.assemble import STAY

LOGS = (math.log(1e300), math.log(1e80), math.log(1e6))
"""Logs of extreme weights and standard deviations; a family refuses those that are beyond its limits."""

LONG = 400
"""The length of the long sentence, in words."""

pytestmark = pytest.mark.xdist_group("contract")


def extreme(family: Any) -> Iterator[Any]:
    """The family with extreme parameters: all large, all small, and mixed at random."""
    own, dice = family.value, np.random.default_rng(0)
    for size in LOGS:
        for signs in (np.ones(own.size), -np.ones(own.size), dice.choice([-1.0, 1.0], own.size)):
            try:
                yield family.with_value(np.where(np.isfinite(own), size * signs, own))
            except GrammarError:
                assert size > LOGS[-1]
    if isinstance(family, Gm | TagGm):  # variances alone
        for signs in (1.0, -1.0, dice.choice([-1.0, 1.0], own.size)):
            value = own.copy()
            family.parts(value)[2][:] = family.parts(LOGS[-1] * signs * np.ones(own.size))[2]
            yield family.with_value(value)


def factors_of(forest: Forest) -> list[Floats | None]:
    """No factors, factors of e^500, of e^-500, and of both."""
    signs = [np.ones(forest.n_edges), -np.ones(forest.n_edges)]
    signs.append(np.random.default_rng(1).choice([-1.0, 1.0], forest.n_edges))
    return [None, *(np.where(forest.edge_rule == STAY, 0.0, 500.0 * sign) for sign in signs)]


@cache
def many_words() -> list[str]:
    return [word for tree in trees() for word in tree.words()][:LONG]


@cache
def long_forest() -> Forest:
    forest = trained(treebank_kind("parser")).coarse.parses(many_words(), 1e-2).forest
    assert forest is not None
    assert len(forest.words) == LONG
    return forest


@pytest.mark.parametrize("kind", PARSERS.values(), ids=PARSERS)
class TestParsers:
    def test_extreme_parameters_and_factors(self, kind: Kind) -> None:
        forest, words = forests()[0][0], trees()[52].words()
        for family in extreme(family_of(kind)):
            for factor in factors_of(forest):
                posterior = family.posterior(forest, factor)
                assert not math.isnan(posterior.log_z)
                assert not math.isnan(family.log_z(forest, factor))
                if posterior.is_sound:
                    assert posterior.edge.min() > -1e-9
                    assert posterior.edge.max() < 1.0 + 1e-9
            for decoder in ("max-rule", "mbr"):
                parse = replace(trained(kind), family=family).parse(words, decoder=decoder, marginals=True)
                assert parse.tree.words() == words
                for number in (*parse.constituents.values(), *(one.log_prob or 0.0 for one in parse.trees)):
                    assert not math.isnan(number)

    def test_a_long_sentence_with_large_and_small_factors(self, kind: Kind) -> None:
        family, forest = family_of(kind), long_forest()
        for factor in factors_of(forest)[:3]:
            posterior = family.posterior(forest, factor)
            assert posterior.is_sound
            assert posterior.node[-1] == pytest.approx(1.0)
            assert math.isfinite(family.log_z(forest, factor))


@pytest.mark.parametrize("kind", TAGGERS.values(), ids=TAGGERS)
class TestTaggers:
    def test_extreme_parameters(self, kind: Kind) -> None:
        tagger = trained_tagger(kind)
        for family in extreme(tagger.family):
            for words in ([word for word, _ in tagged()[0]], many_words()):
                for decoder in ("posterior", "viterbi"):
                    found = replace(tagger, family=family).tag(words, decoder=decoder)
                    assert len(found.tags) == len(words)
                    assert not any(math.isnan(sequence.log_prob or 0.0) for sequence in found.sequences)

    def test_a_long_sentence(self, kind: Kind) -> None:
        for decoder in ("posterior", "viterbi"):
            found = trained_tagger(kind).tag(many_words(), decoder=decoder)
            assert (found.fallback, len(found.tags)) == (None, LONG)
            assert math.isfinite(found.sequences[0].log_prob or 0.0)
