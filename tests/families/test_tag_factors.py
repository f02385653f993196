"""Factors of words, tags and states on chains against enumeration, numeric integration and central differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import central_difference

from lveg.decoding.tags import decode_tags
from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, Factors, Lattices, open_table
from lveg.families.tag_gm.family import TagGm
from lveg.families.tag_lvg.family import TagLvg, size_of
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.chain import LACKING, NO_RULE, OPEN

TAGS, EMISSIONS = 3, 5
GRID = np.linspace(-12.0, 12.0, 1201)
STEP = GRID[1] - GRID[0]


class Entry(NamedTuple):
    """A tag that a word may have, its emission, the log factors of its states, and its number among all entries."""

    tag: int
    rule: int
    log_factor: Floats
    number: int


class Case(NamedTuple):
    """Sentences as lists of the entries of their words; as packed sentences; and the log factors of all entries."""

    sentences: list[list[list[Entry]]]
    given: list[list[int]]
    packed: Ints
    log_factor: Floats


def random_lvg(subtypes: int, seed: int) -> TagLvg:
    """Random unnormalised weights."""
    value = np.random.default_rng(seed).normal(0, 1.0, size_of(TAGS, EMISSIONS, subtypes))
    return TagLvg(open_table(TAGS), TAGS, EMISSIONS, subtypes, value)


def random_gm(components: int, dim: int, covariance: str, seed: int) -> TagGm:
    """Random parameters."""
    links = TAGS * TAGS + TAGS
    gaussians = (2 * links + EMISSIONS) * components
    sizes = (
        (links + TAGS + EMISSIONS) * components,
        dim * gaussians,
        (dim if covariance == "diagonal" else 1) * gaussians,
    )
    dice = np.random.default_rng(seed)
    value = np.concatenate([dice.normal(0, spread, size) for spread, size in zip((1.0, 0.8, 0.3), sizes, strict=True)])
    return TagGm(open_table(TAGS), TAGS, EMISSIONS, components, dim, covariance, value)


def random_case(width: int, seed: int, lengths: Sequence[int] = (1, 0, 3, 2), spread: float = 1.5) -> Case:
    """Words with some of the tags each, some of these without an emission, and given tags for half of the words."""
    dice = np.random.default_rng(seed)
    sentences: list[list[list[Entry]]] = []
    given: list[list[int]] = []
    packed: list[int] = []
    rows: list[Floats] = []
    for length in lengths:
        words = []
        for _ in range(length):
            tags = sorted(dice.choice(TAGS, dice.integers(1, TAGS + 1), replace=False).tolist())
            words.append(
                [Entry(tag, int(dice.integers(NO_RULE, EMISSIONS)), dice.normal(0, spread, width), 0) for tag in tags]
            )
        places = [int(dice.integers(len(word))) if dice.random() < 0.5 else OPEN for word in words]
        entries = [entry for word in words for entry in word]
        begin = np.cumsum([0, *map(len, words)]).tolist()
        body = [len(words), len(entries), *places, *begin, *(e.tag for e in entries), *(e.rule for e in entries)]
        packed += [len(body) + 1, *body]
        sentences.append(
            [
                [entry._replace(number=len(rows) + first + k) for k, entry in enumerate(word)]
                for word, first in zip(words, begin, strict=False)
            ]
        )
        given.append(places)
        rows += [entry.log_factor for entry in entries]
    return Case(sentences, given, np.array(packed, np.int32), np.array(rows))


def lvg_states(model: TagLvg, entries: Sequence[Entry]) -> dict[tuple[int, ...], float]:
    """The weight of each sequence of subtypes of a sequence of entries."""
    start, transition, end, emission = (np.exp(part) for part in model.parts(model.value))
    found = {}
    for subtypes in product(range(model.subtypes), repeat=len(entries)):
        states = [(entry.tag, s) for entry, s in zip(entries, subtypes, strict=True)]
        value = start[states[0]] * end[states[-1]]
        for entry, s in zip(entries, subtypes, strict=True):
            value *= math.exp(entry.log_factor[s]) * (emission[entry.rule, s] if entry.rule >= 0 else 1.0)
        for one, other in pairwise(states):
            value *= transition[(*one, *other)]
        found[subtypes] = float(value)
    return found


def gm_states(model: TagGm, entries: Sequence[Entry]) -> dict[tuple[int, ...], float]:
    """The weight of each sequence of components of emissions, the subtypes of one dimension integrated on the grid."""
    log_weight, mean, log_std = model.parts(model.value)
    count, n_links = model.components, TAGS * TAGS + TAGS
    weight = np.exp(log_weight).reshape(-1, count)

    def densities(first: int) -> Any:
        middle, deviation = mean[0, first : first + count, None], np.exp(log_std[0, first : first + count, None])
        return np.exp(-0.5 * ((GRID - middle) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))

    def reaches(rule: int) -> Any:
        return weight[rule] * densities((n_links + (rule if rule < TAGS * TAGS else rule - TAGS)) * count).T

    def emits(entry: Entry, component: int) -> Any:
        factor = math.exp(entry.log_factor[component])
        if entry.rule < 0:
            return factor / count
        own = densities((2 * n_links + entry.rule) * count)[component]
        return factor * weight[n_links + TAGS + entry.rule, component] * own

    found = {}
    for components in product(range(count), repeat=len(entries)):
        score = reaches(n_links + entries[0].tag).sum(axis=1)
        for place, (entry, component) in enumerate(zip(entries, components, strict=True)):
            score = score * emits(entry, component)
            is_last = place == len(entries) - 1
            rule = TAGS * TAGS + entry.tag if is_last else entry.tag * TAGS + entries[place + 1].tag
            out = (densities(rule * count) @ score) * STEP
            score = weight[rule] @ out if is_last else reaches(rule) @ out
        found[components] = float(score)
    return found


class Known(NamedTuple):
    """The summed weight of a sentence; the posteriors of entries, of their states, and of pairs of entries."""

    z: float
    share: dict[int, float]
    state: dict[tuple[int, int], float]
    pair: dict[tuple[int, int], float]


def enumerate_all(
    weigh: Callable[[Sequence[Entry]], dict[tuple[int, ...], float]], words: list[list[Entry]], given: list[int]
) -> Known:
    """Sums over all sequences of entries, and of those the given ones."""
    z, share, state, pair = 0.0, dict[int, float](), dict[tuple[int, int], float](), dict[tuple[int, int], float]()
    allowed = [word if place == OPEN else [word[place]] for word, place in zip(words, given, strict=True)]
    for entries in product(*allowed):
        for states, value in (weigh(entries) if entries else {(): 1.0}).items():
            z += value
            for entry, s in zip(entries, states, strict=True):
                share[entry.number] = share.get(entry.number, 0.0) + value
                state[entry.number, s] = state.get((entry.number, s), 0.0) + value
            for one, other in pairwise(entries):
                pair[one.number, other.number] = pair.get((one.number, other.number), 0.0) + value
    return Known(z, *({key: value / z for key, value in found.items()} for found in (share, state, pair)))  # type: ignore[arg-type]


def check_case(
    model: ChainFamily, case: Case, weigh: Callable[[Sequence[Entry]], dict[tuple[int, ...], float]]
) -> None:
    """Sums, posteriors and slopes of factors of packed sentences equal those over all sequences."""
    factors = Factors(case.log_factor)
    found = model.posteriors(case.packed, factors=factors)
    pairs = iter(found.pair)
    share = np.zeros(len(case.log_factor))
    slopes = {is_given: np.zeros_like(case.log_factor) for is_given in (False, True)}
    log_zs = dict[bool, list[float]]()
    for is_given, slope in slopes.items():
        expected, log_zs[is_given] = np.zeros_like(slope), []
        for words, given in zip(case.sentences, case.given, strict=True):
            known = enumerate_all(weigh, words, given if is_given else [OPEN] * len(words))
            log_zs[is_given].append(math.log(known.z))
            for place, value in known.state.items():
                expected[place] = value
            if not is_given:
                for number, value in known.share.items():
                    share[number] = value
                for one, other in pairwise(words):
                    for x, y in product(one, other):
                        assert next(pairs) == pytest.approx(known.pair[x.number, y.number], abs=1e-8)
        total = model.run(case.packed, is_given, 1.0, np.zeros_like(model.value), Factors(case.log_factor, slope))
        assert total == pytest.approx(sum(log_zs[is_given]), abs=1e-7)
        np.testing.assert_allclose(slope, expected, atol=1e-8)
    np.testing.assert_allclose(found.log_z, log_zs[False], atol=1e-8)
    np.testing.assert_allclose(model.log_zs(case.packed, factors), log_zs[True], atol=1e-8)
    np.testing.assert_allclose(found.share, share, atol=1e-8)
    assert next(pairs, None) is None


@pytest.mark.parametrize("subtypes", [1, 2, 3])
def test_subtypes_with_factors_equal_enumeration(subtypes: int) -> None:
    for seed in range(6):
        model = random_lvg(subtypes, seed)
        check_case(model, random_case(subtypes, seed), partial(lvg_states, model))


@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
@pytest.mark.parametrize("components", [1, 2, 3])
def test_gaussians_with_factors_equal_enumeration_with_numeric_integration(components: int, covariance: str) -> None:
    for seed in range(3):
        model = random_gm(components, 1, covariance, seed)
        check_case(model, random_case(components, seed), partial(gm_states, model))


MODELS: dict[str, Callable[[int], ChainFamily]] = {
    "lvg-1": partial(random_lvg, 1),
    "lvg-3": partial(random_lvg, 3),
    "gm-1-1": partial(random_gm, 1, 1, "spherical"),
    "gm-4-3": partial(random_gm, 4, 3, "spherical"),
    "gm-2-3-diagonal": partial(random_gm, 2, 3, "diagonal"),
}


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("is_given", [False, True])
def test_every_gradient_equals_central_differences(name: str, is_given: bool) -> None:
    for seed in range(2):
        model = MODELS[name](seed)
        case = random_case(model.width, seed, (1, 3, 0, 5, 2))
        slope, factor_slope = np.zeros_like(model.value), np.zeros_like(case.log_factor)
        model.run(case.packed, is_given, 1.0, slope, Factors(case.log_factor, factor_slope))

        def of_value(value: Floats, model: ChainFamily = model, case: Case = case) -> float:
            return model.with_value(value).log_z(case.packed, is_given, Factors(case.log_factor))

        def of_factors(log_factor: Floats, model: ChainFamily = model, case: Case = case) -> float:
            return model.log_z(case.packed, is_given, Factors(log_factor.reshape(-1, model.width)))

        for place in range(slope.size):
            assert slope[place] == pytest.approx(central_difference(of_value, model.value, place), rel=1e-6, abs=3e-9)
        for place in range(factor_slope.size):
            expected = central_difference(of_factors, case.log_factor.ravel(), place)
            assert factor_slope.flat[place] == pytest.approx(expected, rel=1e-6, abs=3e-9)


@pytest.mark.parametrize("name", list(MODELS))
def test_factors_of_one_change_nothing_and_a_negative_sign_subtracts_gradients(name: str) -> None:
    model, case = MODELS[name](3), random_case(MODELS[name](3).width, 3)
    ones = Factors(np.zeros_like(case.log_factor), np.zeros_like(case.log_factor))
    slope, other = np.zeros_like(model.value), np.zeros_like(model.value)
    assert model.run(case.packed, False, 1.0, slope, ones) == pytest.approx(model.run(case.packed, False, 1.0, other))
    np.testing.assert_allclose(slope, other, atol=1e-12)
    assert ones.slope is not None
    assert ones.slope.sum() == pytest.approx(sum(map(len, case.sentences)))
    model.run(case.packed, False, -1.0, slope, ones)
    np.testing.assert_allclose(ones.slope, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", list(MODELS))
def test_large_factors_lose_no_precision(name: str) -> None:
    """The same number added to the factors of a word is added to log Z; factors far apart are exact."""
    model, case = MODELS[name](4), random_case(MODELS[name](4).width, 4, (4, 2))
    plain = model.posteriors(case.packed, factors=Factors(case.log_factor))
    for by in (-500.0, 500.0):
        moved = model.posteriors(case.packed, factors=Factors(case.log_factor + by))
        np.testing.assert_allclose(moved.log_z, plain.log_z + by * np.array([4, 2]), rtol=1e-12)
        np.testing.assert_allclose(moved.share, plain.share, atol=1e-12)
    words, given = (
        [[Entry(0, 1, np.full(model.width, 500.0), 0), Entry(1, NO_RULE, np.full(model.width, -500.0), 1)]],
        [1],
    )
    packed = np.array([10, 1, 2, *given, 0, 2, 0, 1, 1, NO_RULE], np.int32)
    log_factor = np.stack([entry.log_factor for entry in words[0]])
    even = model.log_zs(packed, Factors(np.zeros_like(log_factor)))
    np.testing.assert_allclose(model.log_zs(packed, Factors(log_factor)), even - 500.0, rtol=1e-12)
    assert model.posteriors(packed, factors=Factors(log_factor)).share.tolist() == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("name", ["lvg-3", "gm-2-3-diagonal"])
def test_two_thousand_words_with_factors_do_not_underflow(name: str) -> None:
    model = MODELS[name](5)
    case = random_case(model.width, 5, (2000,), spread=100.0)
    found = model.posteriors(case.packed, pairs=False, factors=Factors(case.log_factor))
    assert math.isfinite(found.log_z[0])
    ends = np.cumsum([0, *map(len, case.sentences[0])])
    np.testing.assert_allclose(np.add.reduceat(found.share, ends[:-1]), 1.0, atol=1e-9)


@pytest.mark.parametrize("decoder", ["posterior", "viterbi"])
def test_decoders_see_factors(decoder: str) -> None:
    model = random_lvg(2, 6)
    case = random_case(2, 6, (1, 4, 0, 3))
    best = decode_tags(Lattices(model, case.packed, Factors(case.log_factor)), decoder)
    first = 0
    for number, words in enumerate(case.sentences):
        known = enumerate_all(partial(lvg_states, model), words, [OPEN] * len(words))
        tags = best.tag[0, first : first + len(words)].tolist()
        chosen = [next(e for e in word if e.tag == tag) for word, tag in zip(words, tags, strict=True)]
        confidence = [known.share[entry.number] for entry in chosen]
        np.testing.assert_allclose(best.confidence[0, first : first + len(words)], confidence, atol=1e-9)
        weight = sum(lvg_states(model, chosen).values()) if chosen else 1.0
        assert best.log_prob[number, 0] == pytest.approx(math.log(weight / known.z), abs=1e-9)
        if decoder == "posterior":
            assert confidence == pytest.approx([max(known.share[e.number] for e in word) for word in words])
        first += len(words)


def test_a_given_tag_that_is_lacking_has_no_weight() -> None:
    packed = np.array([8, 1, 1, LACKING, 0, 1, 0, 2], np.int32)
    for model in (random_lvg(2, 0), random_gm(2, 2, "spherical", 0)):
        factors = Factors(np.ones((1, 2)), np.zeros((1, 2)))
        assert model.run(packed, True, 1.0, np.zeros_like(model.value), factors) == -math.inf
        assert not factors.slope.any()  # type: ignore[union-attr]
        assert math.isfinite(model.log_z(packed, factors=factors))


def test_factors_that_do_not_fit_are_refused() -> None:
    case = random_case(2, 0)
    for log_factor in (case.log_factor[1:], case.log_factor[:, :1]):
        with pytest.raises(GrammarError, match="factors"):
            random_lvg(2, 0).log_z(case.packed, factors=Factors(log_factor))
