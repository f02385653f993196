"""The best tags and sequences against enumeration of all sequences."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from itertools import pairwise, product

import numpy as np
import pytest

from lveg.decoding.tags import TagSequences, decode_tags
from lveg.errors import UsageError
from lveg.families.chain import ChainFamily, Lattices, lattices, word_tags
from lveg.families.tag_hmm.family import Hmm
from lveg.families.tag_lvg.family import start_lvg
from lveg.grammar.estimate import hmm_weights
from lveg.grammar.grammar import Ints, tag_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.chain import each_sentence

TAGGED = [
    [("the", "D"), ("dog", "N"), ("barks", "V")],
    [("the", "D"), ("dog", "N"), ("walks", "N")],
    [("dog", "N"), ("walks", "V"), ("the", "D"), ("dog", "N")],
    [("barks", "V")],
]
GRAMMAR = tag_grammar(TAGGED, LexiconOptions(threshold=1))


def enumeration(words: list[str]) -> dict[tuple[str, ...], float]:
    """The weight of every tag sequence, from the grammar's rules by name."""
    grammar, weight = GRAMMAR, hmm_weights(GRAMMAR)
    by_name: dict[tuple[str, ...], float] = {}
    names = (*grammar.lexicon.words, *grammar.lexicon.classes)
    for rule in range(len(weight)):
        lhs, left, right = grammar.rule_lhs[rule], grammar.rule_left[rule], grammar.rule_right[rule]
        if rule >= grammar.lexical_start:
            key: tuple[str, ...] = ("emit", grammar.symbols[lhs].label, names[left])
        elif lhs == -1:
            key = ("start", grammar.symbols[left].label)
        elif right == -1:
            key = ("end", grammar.symbols[lhs].label)
        else:
            key = ("next", grammar.symbols[lhs].label, grammar.symbols[right].label)
            assert grammar.symbols[left].label == grammar.symbols[lhs].label
        by_name[key] = float(weight[rule])
    found = {}
    for tags in product("DNV", repeat=len(words)):
        weighed = by_name["start", tags[0]] * by_name["end", tags[-1]]
        for one, other in pairwise(tags):
            weighed *= by_name["next", one, other]
        for tag, word in zip(tags, words, strict=True):
            weighed *= by_name.get(("emit", tag, word), 0.0)
        if weighed:
            found[tags] = weighed
    return found


HMM = Hmm.of(GRAMMAR, hmm_weights(GRAMMAR))


def some_sentences(count: int) -> list[list[str]]:
    """Sentences of one to six words."""
    dice = random.Random(14)
    return [[dice.choice(["the", "dog", "barks", "walks"]) for _ in range(dice.randint(1, 6))] for _ in range(count)]


def packed_all(sentences: list[list[str]]) -> Ints:
    return lattices(HMM.table, [GRAMMAR.lexicon.terminals(words) for words in sentences])


def lists_of(best: TagSequences) -> list[list[tuple[tuple[str, ...], list[float], float, float]]]:
    """(tags, confidences, score, log P) of each sequence of each sentence."""
    first, last = 0, 0
    answers: list[list[tuple[tuple[str, ...], list[float], float, float]]] = []
    for number, (scores, log_probs) in enumerate(zip(best.score.tolist(), best.log_prob.tolist(), strict=True)):
        answers.append([])
        for rank, (score, log_prob) in enumerate(zip(scores, log_probs, strict=True)):
            sentence = each_sentence(best.packed[rank])[number]
            allowed, given = word_tags(sentence), sentence[3 : 3 + sentence[1]]
            last = first + len(given)
            if score > -math.inf:
                tags = best.tag[rank, first:last].tolist()
                assert tags == [own[place] for own, place in zip(allowed, given, strict=True)]
                confidence = best.confidence[rank, first:last].tolist()
                answers[-1].append((tuple(GRAMMAR.tags[tag] for tag in tags), confidence, score, log_prob))
        first = last
    assert first == best.tag.shape[1] == best.confidence.shape[1]
    return answers


def posteriors(found: dict[tuple[str, ...], float]) -> list[dict[str, float]]:
    """P(tag of word | sentence) from the weights of all sequences."""
    z = math.fsum(found.values())
    return [
        {tag: math.fsum(weight for tags, weight in found.items() if tags[i] == tag) / z for tag in "DNV"}
        for i in range(len(next(iter(found))))
    ]


def test_sums_of_the_hmm_equal_enumeration() -> None:
    sentences = some_sentences(60)
    packed = packed_all(sentences)
    found = HMM.posteriors(packed)
    shares = iter(found.share)
    for words, sentence, log_z in zip(sentences, each_sentence(packed), found.log_z, strict=True):
        sequences = enumeration(words)
        assert math.isclose(math.exp(log_z), math.fsum(sequences.values()), rel_tol=1e-9)
        for tags, share in zip(word_tags(sentence), posteriors(sequences), strict=True):
            for tag in tags:
                assert next(shares) == pytest.approx(share.pop(GRAMMAR.tags[tag]), abs=1e-9)
            assert sum(share.values()) == 0.0
    assert next(shares, None) is None


def test_given_tags_of_the_hmm() -> None:
    words = ["dog", "walks", "walks", "barks"]
    sequences = enumeration(words)
    for given in product((None, "N", "V"), repeat=4):
        allowed = [
            weight
            for tags, weight in sequences.items()
            if all(want in (None, got) for want, got in zip(given, tags, strict=True))
        ]
        numbers = [-1 if tag is None else GRAMMAR.tags.index(tag) for tag in given]
        log_z = HMM.log_z(lattices(HMM.table, [GRAMMAR.lexicon.terminals(words)], [numbers]), is_given=True)
        assert math.exp(log_z) == pytest.approx(math.fsum(allowed), rel=1e-9, abs=0.0)


def test_best_tags_of_the_hmm() -> None:
    sentences = some_sentences(60)
    for words, (answer,) in zip(
        sentences, lists_of(decode_tags(Lattices(HMM, packed_all(sentences)), "posterior")), strict=True
    ):
        tags, confidence, _, log_prob = answer
        sequences = enumeration(words)
        for tag, share, wanted in zip(tags, confidence, posteriors(sequences), strict=True):
            assert share == pytest.approx(max(wanted.values()), abs=1e-9)
            assert share == pytest.approx(wanted[tag], abs=1e-9)
        expected = sequences.get(tags, 0.0) / math.fsum(sequences.values())
        assert math.exp(log_prob) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_best_sequences_of_the_hmm_are_viterbis(count: int) -> None:
    sentences = [[], *some_sentences(40), []]
    best = lists_of(decode_tags(Lattices(HMM, packed_all(sentences)), "viterbi", count))
    assert [tags for tags, *_ in best[0]] == [tags for tags, *_ in best[-1]] == [()]
    for words, answers in zip(sentences[1:-1], best[1:-1], strict=True):
        sequences = enumeration(words)
        z, share = math.fsum(sequences.values()), posteriors(sequences)
        assert len({tags for tags, *_ in answers}) == len(answers) == min(count, len(sequences))
        expected = sorted((weight / z for weight in sequences.values()), reverse=True)
        for (tags, confidence, score, log_prob), probability in zip(answers, expected, strict=False):
            assert math.exp(score) == pytest.approx(probability, rel=1e-9)
            assert math.exp(log_prob) == pytest.approx(probability, rel=1e-9)
            assert sequences[tags] / z == pytest.approx(probability, rel=1e-9)
            assert confidence == pytest.approx([one[tag] for one, tag in zip(share, tags, strict=True)], abs=1e-9)


def latent(seed: int) -> ChainFamily:
    """Three subtypes with unnormalised weights."""
    first = start_lvg(GRAMMAR, hmm_weights(GRAMMAR), 3)
    return first.with_value(first.value + np.random.default_rng(seed).normal(0, 1.0, first.value.shape))


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_best_sequences_of_latent_models_are_those_of_the_markov_chain(count: int) -> None:
    for seed, words in enumerate(some_sentences(30)):
        family, terminals = latent(seed), GRAMMAR.lexicon.terminals(words)
        weight = {}
        for tags in enumeration(words):
            given = lattices(family.table, [terminals], [[GRAMMAR.tags.index(tag) for tag in tags]])
            weight[tags] = math.exp(family.log_z(given, is_given=True))
        z, share = math.fsum(weight.values()), posteriors(weight)
        both: defaultdict[tuple[int, str, str], float] = defaultdict(float)
        for tags, value in weight.items():
            for i, pair in enumerate(pairwise(tags)):
                both[i, pair[0], pair[1]] += value / z

        def chance(
            tags: tuple[str, ...], share: list[dict[str, float]] = share,
            both: dict[tuple[int, str, str], float] = both,
        ) -> float:  # fmt: skip
            steps = (both[i, pair[0], pair[1]] / share[i][pair[0]] for i, pair in enumerate(pairwise(tags)))
            return share[0][tags[0]] * math.prod(steps)

        (answers,) = lists_of(decode_tags(Lattices(family, lattices(family.table, [terminals])), "viterbi", count))
        expected = sorted(map(chance, weight), reverse=True)[:count]
        assert [math.exp(score) for _, _, score, _ in answers] == pytest.approx(expected, rel=1e-8)
        for tags, _, score, log_prob in answers:
            assert chance(tags) == pytest.approx(math.exp(score), rel=1e-8)
            assert weight[tags] / z == pytest.approx(math.exp(log_prob), rel=1e-8)


def test_a_long_sentence() -> None:
    words = ["dog", "walks"] * 1000
    best = decode_tags(Lattices(HMM, packed_all([words])), "viterbi", 3)
    assert -8000 < best.found.log_z[0] < -1000
    np.testing.assert_allclose(best.score, best.log_prob, atol=1e-7)
    assert best.score[0, 0] >= best.score[0, 1] >= best.score[0, 2] > -math.inf


def test_refusals() -> None:
    with pytest.raises(UsageError, match="'mbr' is not one of posterior, viterbi"):
        decode_tags(Lattices(HMM, packed_all([["dog"]])), "mbr")
    with pytest.raises(UsageError, match="a single sequence"):
        decode_tags(Lattices(HMM, packed_all([["dog"]])), "posterior", 2)
