"""Taggers with latent subtypes against enumeration, numeric integration, central differences and special cases."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import central_difference

from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, lattices, open_table, tag_table, word_tags
from lveg.families.tag_gm.family import TagGm, start_gm
from lveg.families.tag_hmm.family import Hmm
from lveg.families.tag_lvg.family import TagLvg, start_lvg
from lveg.grammar.estimate import hmm_weights
from lveg.grammar.grammar import Floats, Grammar, Ints, tag_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.chain import LACKING, NO_RULE, OPEN, each_sentence

GRID = np.linspace(-12.0, 12.0, 1201)
STEP = GRID[1] - GRID[0]
WORDS = "abcd"


def random_grammar(seed: int) -> Grammar:
    """A tag grammar of two or three tags and ambiguous words."""
    dice = random.Random(seed)
    tags = "XYZ"[: dice.randint(2, 3)]
    sentences = [[(dice.choice(WORDS), dice.choice(tags)) for _ in range(dice.randint(1, 4))] for _ in range(6)]
    return tag_grammar(sentences, LexiconOptions("single", 1, 0))


def random_lvg(grammar: Grammar, subtypes: int, seed: int) -> TagLvg:
    """Random unnormalised weights."""
    first = start_lvg(grammar, hmm_weights(grammar), subtypes)
    return first.with_value(first.value + np.random.default_rng(seed).normal(0, 1.0, first.value.shape))


def random_gm(grammar: Grammar, components: int, dim: int, covariance: str, seed: int) -> TagGm:
    """Random parameters."""
    dice = np.random.default_rng(seed)
    model = start_gm(grammar, hmm_weights(grammar), components, dim, covariance)
    parts = model.parts(model.value)
    for array, spread in zip(parts, (0.5, 0.8, 0.3), strict=True):
        array += dice.normal(0, spread, array.shape)
    return model


def sentences(grammar: Grammar, seed: int, count: int = 4, most: int = 4) -> list[list[int]]:
    """Terminals of some sentences, the first of one word."""
    dice = random.Random(seed)
    lengths = [1, *(dice.randint(2, most) for _ in range(count - 1))]
    return [grammar.lexicon.terminals([dice.choice(WORDS) for _ in range(length)]) for length in lengths]


def has_tag(grammar: Grammar, tag: int, terminal: int) -> bool:
    return grammar.lexical_id(grammar.n_nonterminals + tag, terminal) is not None


def sequences(grammar: Grammar, terminals: list[int]) -> Iterator[tuple[int, ...]]:
    """All tag sequences that the lexicon allows."""
    allowed = [[tag for tag in range(len(grammar.tags)) if has_tag(grammar, tag, terminal)] for terminal in terminals]
    return product(*allowed)


def emission(grammar: Grammar, tag: int, terminal: int) -> int:
    rule = grammar.lexical_id(grammar.n_nonterminals + tag, terminal)
    assert rule is not None
    return rule - grammar.lexical_start


def lvg_weight(model: TagLvg, grammar: Grammar, terminals: list[int], tags: tuple[int, ...]) -> float:
    """The weight of a tag sequence: the sum over all sequences of subtypes."""
    start, transition, end, emit = (np.exp(part) for part in model.parts(model.value))
    total = 0.0
    for subtypes in product(range(model.subtypes), repeat=len(tags)):
        states = list(zip(tags, subtypes, strict=True))
        value = start[states[0]] * end[states[-1]]
        for state, terminal in zip(states, terminals, strict=True):
            value *= emit[emission(grammar, state[0], terminal), state[1]]
        for one, other in pairwise(states):
            value *= transition[(*one, *other)]
        total += float(value)
    return total


def gm_weight(model: TagGm, grammar: Grammar, terminals: list[int], tags: tuple[int, ...]) -> float:
    """The weight of a tag sequence for one dimension, its subtypes integrated on the grid."""
    log_weight, mean, log_std = model.parts(model.value)
    count, n_tags = model.components, len(grammar.tags)
    weight = np.exp(log_weight).reshape(-1, count)
    n_links = n_tags * n_tags + n_tags

    def densities(first: int) -> Any:
        middle, deviation = mean[0, first : first + count, None], np.exp(log_std[0, first : first + count, None])
        return np.exp(-0.5 * ((GRID - middle) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))

    def leaves(rule: int) -> Any:
        return densities(rule * count)

    def reaches(rule: int) -> Any:
        place = rule if rule < n_tags * n_tags else rule - n_tags
        return densities((n_links + place) * count)

    rule = n_links + tags[0]
    score = weight[rule] @ reaches(rule)
    for place, (tag, terminal) in enumerate(zip(tags, terminals, strict=True)):
        word = emission(grammar, tag, terminal)
        score = score * (weight[n_links + n_tags + word] @ densities((2 * n_links + word) * count))
        is_last = place == len(tags) - 1
        rule = n_tags * n_tags + tag if is_last else tag * n_tags + tags[place + 1]
        out = weight[rule] * (leaves(rule) @ score) * STEP
        if is_last:
            return float(out.sum())
        score = out @ reaches(rule)
    raise AssertionError


def gm_weight_by_components(model: TagGm, grammar: Grammar, terminals: list[int], tags: tuple[int, ...]) -> float:
    """The same for any number of dimensions: a sum over the components of all rules of products of integrals."""
    log_weight, mean, log_std = model.parts(model.value)
    count, n_tags, n_words = model.components, len(grammar.tags), len(tags)
    n_links = n_tags * n_tags + n_tags
    deviation = np.exp(np.broadcast_to(log_std, mean.shape))

    def integral(*columns: int) -> float:
        """The integral of the product of Gaussians, dimension by dimension."""
        value = 1.0
        for d in range(model.dim):
            density = np.ones_like(GRID)
            for column in columns:
                density *= np.exp(-0.5 * ((GRID - mean[d, column]) / deviation[d, column]) ** 2)
                density /= deviation[d, column] * math.sqrt(2 * math.pi)
            value *= float(density.sum()) * STEP
        return value

    steps = [t * n_tags + u for t, u in pairwise(tags)]
    rules = [n_links + tags[0], *steps, n_tags * n_tags + tags[-1]]
    reached = [n_links + n_tags * n_tags + tags[0], *(n_links + step for step in steps)]  # a rule's second Gaussians
    words = [emission(grammar, tag, terminal) for tag, terminal in zip(tags, terminals, strict=True)]
    meeting = [
        np.array([[[
            integral(reached[i] * count + k, (2 * n_links + words[i]) * count + j, rules[i + 1] * count + m)
            for m in range(count)] for j in range(count)] for k in range(count)]
        )
        for i in range(n_words)
    ]  # fmt: skip
    weight = np.exp(log_weight)
    total = 0.0
    for links in product(range(count), repeat=n_words + 1):
        for emissions in product(range(count), repeat=n_words):
            value = math.prod(weight[rule * count + k] for rule, k in zip(rules, links, strict=True))
            for i, j in enumerate(emissions):
                value *= weight[(n_links + n_tags + words[i]) * count + j] * meeting[i][links[i], j, links[i + 1]]
            total += value
    return total


class Known(NamedTuple):
    """log Z of a sentence, P(tag of word | sentence) (n, T) and P(tags of neighbours | sentence) (n - 1, T, T)."""

    log_z: float
    tag: np.ndarray
    pair: np.ndarray


def known(model: ChainFamily, sentences: list[list[int]]) -> list[Known]:
    """The posteriors of sentences that are packed together, with zeros for the tags that a word cannot have."""
    n_tags, packed = model.tags, lattices(model.table, sentences)
    found = model.posteriors(packed)
    shares, pairs = iter(found.share), iter(found.pair)
    answers = []
    for allowed, log_z in zip(map(word_tags, each_sentence(packed)), found.log_z, strict=True):
        n = len(allowed)
        tag, pair = np.zeros((n, n_tags)), np.zeros((max(n - 1, 0), n_tags, n_tags))
        for i, tags in enumerate(allowed):
            for t in tags:
                tag[i, t] = next(shares)
        for i, (tags, others) in enumerate(pairwise(allowed)):
            for t, u in product(tags, others):
                pair[i, t, u] = next(pairs)
        answers.append(Known(float(log_z), tag, pair))
    assert (next(shares, None), next(pairs, None)) == (None, None)
    return answers


def test_lattices_name_the_tags_and_emissions_of_each_word() -> None:
    grammar = random_grammar(5)
    table, n_tags = tag_table(grammar), len(grammar.tags)
    several = [[], *sentences(grammar, 5), []]
    tags = [[(place + number) % (n_tags + 1) - 1 for place in range(len(one))] for number, one in enumerate(several)]
    for terminals, given, packed in zip(several, tags, each_sentence(lattices(table, several, tags)), strict=True):
        allowed = [[tag for tag in range(n_tags) if has_tag(grammar, tag, one)] for one in terminals]
        places = [
            OPEN if tag < 0 else own.index(tag) if tag in own else LACKING
            for own, tag in zip(allowed, given, strict=True)
        ]
        begin = np.cumsum([0, *map(len, allowed)])
        rules = [emission(grammar, tag, one) for own, one in zip(allowed, terminals, strict=True) for tag in own]
        size, n, m = packed[:3]
        assert (size, n, m) == (len(packed), len(terminals), begin[-1])
        assert packed[3:].tolist() == [*places, *begin, *(tag for own in allowed for tag in own), *rules]
        assert word_tags(packed) == allowed
    whole = lattices(open_table(3), [[0, 0]], [[2, OPEN]])
    assert whole.tolist() == [20, 2, 6, 2, OPEN, 0, 3, 6, *(0, 1, 2) * 2, *[NO_RULE] * 6]


def check_sums(
    model: ChainFamily, grammar: Grammar, terminals: list[int], weigh: Callable[[tuple[int, ...]], float]
) -> None:
    """Sums and posteriors equal those over all sequences."""
    n, n_tags = len(terminals), len(grammar.tags)
    found = {tags: weigh(tags) for tags in sequences(grammar, terminals)}
    total = sum(found.values())
    (posterior,) = known(model, [terminals])
    assert posterior.log_z == pytest.approx(math.log(total), abs=1e-8)
    assert model.log_z(lattices(model.table, [terminals])) == posterior.log_z
    tag, pair = np.zeros((n, n_tags)), np.zeros((n - 1, n_tags, n_tags))
    for tags, value in found.items():
        assert model.log_z(lattices(model.table, [terminals], [tags]), True) == pytest.approx(math.log(value), abs=1e-8)
        for i in range(n):
            tag[i, tags[i]] += value / total
            if i:
                pair[i - 1, tags[i - 1], tags[i]] += value / total
    np.testing.assert_allclose(posterior.tag, tag, atol=1e-8)
    np.testing.assert_allclose(posterior.pair, pair, atol=1e-8)


@pytest.mark.parametrize("subtypes", [1, 2, 3])
def test_subtypes_equal_enumeration(subtypes: int) -> None:
    for seed in range(8):
        grammar = random_grammar(seed)
        model = random_lvg(grammar, subtypes, seed)
        for terminals in sentences(grammar, seed):
            check_sums(model, grammar, terminals, partial(lvg_weight, model, grammar, terminals))


@pytest.mark.parametrize("components", [1, 2, 4])
@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
def test_gaussians_equal_enumeration_with_numeric_integration(components: int, covariance: str) -> None:
    for seed in range(6):
        grammar = random_grammar(seed)
        model = random_gm(grammar, components, 1, covariance, seed)
        for terminals in sentences(grammar, seed):
            check_sums(model, grammar, terminals, partial(gm_weight, model, grammar, terminals))


@pytest.mark.parametrize(("components", "dim"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
def test_gaussians_of_several_dimensions_equal_enumeration(components: int, dim: int, covariance: str) -> None:
    for seed in range(2):
        grammar = random_grammar(seed)
        model = random_gm(grammar, components, dim, covariance, seed)
        for terminals in sentences(grammar, seed, count=2, most=2):
            check_sums(model, grammar, terminals, partial(gm_weight_by_components, model, grammar, terminals))


MODELS: dict[str, Callable[[Grammar, int], ChainFamily]] = {
    "lvg-1": lambda grammar, seed: random_lvg(grammar, 1, seed),
    "lvg-3": lambda grammar, seed: random_lvg(grammar, 3, seed),
    "lvg-16": lambda grammar, seed: random_lvg(grammar, 16, seed),
    "gm-1-1": lambda grammar, seed: random_gm(grammar, 1, 1, "spherical", seed),
    "gm-4-3": lambda grammar, seed: random_gm(grammar, 4, 3, "spherical", seed),
    "gm-4-3-diagonal": lambda grammar, seed: random_gm(grammar, 4, 3, "diagonal", seed),
}


def log_z_at(model: ChainFamily, packed: Ints, is_given: bool, value: Floats) -> float:
    return model.with_value(value).log_z(packed, is_given)


@pytest.mark.parametrize("name", list(MODELS))
@pytest.mark.parametrize("is_given", [False, True])
def test_every_gradient_equals_central_differences(name: str, is_given: bool) -> None:
    for seed in range(1 if name == "lvg-16" else 3):
        grammar = random_grammar(seed)
        model = MODELS[name](grammar, seed)
        dice = random.Random(seed)
        several = sentences(grammar, seed, count=5, most=5)
        packed = lattices(model.table, several, [dice.choice(list(sequences(grammar, one))) for one in several])
        slope = np.zeros_like(model.value)
        assert model.run(packed, is_given, 1.0, slope) == pytest.approx(model.log_z(packed, is_given), abs=1e-10)
        assert np.count_nonzero(slope) > len(slope) / 8
        log_z = partial(log_z_at, model, packed, is_given)
        for place in range(len(slope)):
            expected = central_difference(log_z, model.value, place)
            assert slope[place] == pytest.approx(expected, rel=1e-6, abs=3e-9)


@pytest.mark.parametrize("name", list(MODELS))
def test_a_negative_sign_subtracts_the_gradient_and_sentences_add_up(name: str) -> None:
    grammar = random_grammar(1)
    model = MODELS[name](grammar, 1)
    packed = lattices(model.table, sentences(grammar, 1))
    slope = np.zeros_like(model.value)
    total = model.run(packed, False, 1.0, slope)
    assert total == pytest.approx(sum(model.run(one, False, -1.0, slope) for one in each_sentence(packed)), abs=1e-10)
    np.testing.assert_allclose(slope, 0.0, atol=1e-12)


def test_one_subtype_without_noise_has_the_weights_of_the_hmm() -> None:
    for seed in range(10):
        grammar = random_grammar(seed)
        model = Hmm.of(grammar, hmm_weights(grammar))
        np.testing.assert_allclose(np.exp(model.value).sum(), 2 * len(grammar.tags) + 1)
        assert model.is_probability


@pytest.mark.parametrize("name", list(MODELS))
def test_sentences_packed_together_give_the_same_results_as_alone(name: str) -> None:
    grammar = random_grammar(4)
    model = MODELS[name](grammar, 4)
    several = [[], *sentences(grammar, 4, count=6), []]
    packed = lattices(model.table, several)
    assert model.posteriors(packed, pairs=False).pair.size == 0
    for together, terminals in zip(known(model, several), several, strict=True):
        (alone,) = known(model, [terminals])
        for one, other in zip(together, alone, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("subtypes", [2, 5])
def test_subtypes_start_as_the_hmm(subtypes: int) -> None:
    grammar = random_grammar(3)
    weight = hmm_weights(grammar)
    one, alike, noisy = (
        start_lvg(grammar, weight, n, noise) for n, noise in ((1, 0.0), (subtypes, 0.0), (subtypes, 0.01))
    )
    packed = lattices(one.table, [grammar.lexicon.terminals(list("abcd"))])
    assert alike.log_z(packed) == pytest.approx(one.log_z(packed), abs=1e-10)
    assert noisy.log_z(packed) == pytest.approx(one.log_z(packed), abs=0.05)
    assert noisy.log_z(packed) != alike.log_z(packed)
    probability = noisy.weight
    np.testing.assert_allclose(probability.start.sum(), 1.0)
    np.testing.assert_allclose(probability.transition.sum(axis=(2, 3)) + probability.end, 1.0)


@pytest.mark.parametrize(("components", "dim"), [(1, 1), (4, 3), (2, 5)])
def test_gaussians_start_as_the_hmm(components: int, dim: int) -> None:
    for seed in range(5):
        grammar = random_grammar(seed)
        weight = hmm_weights(grammar)
        model = start_gm(grammar, weight, components, dim, spread=0.0)
        plain = Hmm.of(grammar, weight)
        for terminals in sentences(grammar, seed):
            (found,), (expected,) = known(model, [terminals]), known(plain, [terminals])
            # A start has a Gaussian too, but every word has one triple overlap and two rules of weight alpha.
            assert found.log_z == pytest.approx(expected.log_z, abs=1e-9)
            np.testing.assert_allclose(found.tag, expected.tag, atol=1e-10)


def test_spherical_is_diagonal_with_tied_variances_and_the_order_of_components_does_not_matter() -> None:
    for seed in range(5):
        grammar = random_grammar(seed)
        model = random_gm(grammar, 2, 3, "spherical", seed)
        log_weight, mean, log_std = model.parts(model.value)
        tied = np.concatenate([log_weight, mean.ravel(), np.tile(log_std, (3, 1)).ravel()])
        diagonal = TagGm(model.table, model.tags, model.n_emissions, 2, 3, "diagonal", tied)
        swapped = [array.reshape(*array.shape[:-1], -1, 2)[..., ::-1].ravel() for array in (log_weight, mean, log_std)]
        other = model.with_value(np.concatenate(swapped))
        for terminals in sentences(grammar, seed):
            packed = lattices(model.table, [terminals])
            assert diagonal.log_z(packed) == pytest.approx(model.log_z(packed), abs=1e-10)
            assert other.log_z(packed) == pytest.approx(model.log_z(packed), abs=1e-10)
            np.testing.assert_allclose(diagonal.posteriors(packed).pair, model.posteriors(packed).pair, atol=1e-10)
            slope, tied_slope = np.zeros_like(model.value), np.zeros_like(diagonal.value)
            model.run(packed, False, 1.0, slope)
            diagonal.run(packed, False, 1.0, tied_slope)
            for one, several in zip(model.parts(slope), diagonal.parts(tied_slope), strict=True):
                if one.shape != several.shape:  # a tied deviation has the slopes of all dimensions
                    several = several.sum(axis=0, keepdims=True)
                np.testing.assert_allclose(several, one, atol=1e-10)


@pytest.mark.parametrize("name", list(MODELS))
def test_two_thousand_words_do_not_underflow(name: str) -> None:
    grammar = random_grammar(2)
    (posterior,) = known(MODELS[name](grammar, 2), [grammar.lexicon.terminals(list("abcd") * 500)])
    assert math.isfinite(posterior.log_z)
    np.testing.assert_allclose(posterior.tag.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(posterior.pair.sum(axis=2), posterior.tag[:-1], atol=1e-9)
    np.testing.assert_allclose(posterior.pair.sum(axis=1), posterior.tag[1:], atol=1e-9)


def test_sentences_too_long_to_keep_all_overlaps() -> None:
    grammar = random_grammar(2)
    model = random_gm(grammar, 8, 2, "diagonal", 2)
    count = np.diff(model.table.ptr)
    terminals = [int(count.argmax())] * 1200
    assert int(count.max()) ** 3 * 1200 * 8**3 > 2**22
    packed = lattices(model.table, [terminals])
    (posterior,) = known(model, [terminals])
    np.testing.assert_allclose(posterior.tag.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(posterior.pair.sum(axis=2), posterior.tag[:-1], atol=1e-9)
    slope = np.zeros_like(model.value)
    model.run(packed, False, 1.0, slope)
    way = np.random.default_rng(0).normal(size=slope.shape) * 1e-5
    ahead, behind = (model.with_value(model.value + sign * way).log_z(packed) for sign in (1, -1))
    assert slope @ way == pytest.approx((ahead - behind) / 2, rel=1e-5)


def test_a_given_tag_that_the_lexicon_lacks_has_no_weight() -> None:
    grammar = tag_grammar([[("a", "X"), ("b", "Y")]], LexiconOptions("single", 1, 0))
    for model in (random_lvg(grammar, 2, 0), random_gm(grammar, 2, 2, "spherical", 0)):
        packed = lattices(model.table, [grammar.lexicon.terminals(["a", "b"])], [[1, 1]])
        slope = np.zeros_like(model.value)
        assert model.run(packed, True, 1.0, slope) == -math.inf
        assert not slope.any()
        assert math.isfinite(model.log_z(packed))
        assert model.log_z(lattices(model.table, [[]])) == 0.0


def test_parameters_are_checked() -> None:
    grammar = random_grammar(0)
    for model in (random_lvg(grammar, 2, 0), random_gm(grammar, 2, 2, "diagonal", 0)):
        for value in (model.value[:-1], np.append(model.value, 0.0), model.value + np.nan, model.value + np.inf):
            with pytest.raises(GrammarError):
                model.with_value(value)
    weight = hmm_weights(grammar)
    with pytest.raises(GrammarError, match="one subtype"):
        start_lvg(grammar, weight, 0)
    with pytest.raises(GrammarError, match="not one of spherical, diagonal"):
        start_gm(grammar, weight, 2, 2, "full")
    with pytest.raises(GrammarError, match="from 1 to 64 components"):
        start_gm(grammar, weight, 1, 0)
