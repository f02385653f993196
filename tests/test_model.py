"""What a parser and a tagger say of a sentence, beyond what the command line shows."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from lveg.errors import UsageError
from lveg.learning.train import TaggerOptions, train_parser, train_tagger
from lveg.model import Parser, Tagger
from lveg.treebank.penn import parse_tree, read_trees
from lveg.treebank.synthetic import ENGLISH

DATA = ENGLISH.parent
SENTENCE = ["The", "dogs", "near", "the", "river", "saw", "a", "cat", "."]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return train_parser([str(DATA / "demo-train.mrg")])


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return train_tagger([str(DATA / "demo-train.conllu")], options=TaggerOptions("hmm"))


def test_probability_of_a_given_tree_is_that_of_the_k_best_list(parser: Parser) -> None:
    for candidate in parser.parse(SENTENCE, "viterbi", 5).trees:
        assert candidate.log_prob is not None
        assert parser.log_prob(candidate.tree) == pytest.approx(candidate.log_prob, abs=1e-9)


def test_gold_trees_have_a_probability(parser: Parser) -> None:
    for tree in list(read_trees(DATA / "demo-train.mrg"))[:50]:
        assert -math.inf < parser.log_prob(tree) <= 0


def test_a_tree_that_the_grammar_lacks_has_none(parser: Parser) -> None:
    assert parser.log_prob(parse_tree("(TOP (PP (NP (DT the)) (NP (DT the))))")) == -math.inf
    with pytest.raises(UsageError, match="no words"):
        parser.log_prob(parse_tree("(TOP (NP (-NONE- *)))"))


def test_samples_follow_the_probabilities(parser: Parser) -> None:
    best = parser.parse(SENTENCE, "viterbi").trees[0]
    drawn = Counter(map(str, parser.sample(SENTENCE, 2000, seed=3)))
    assert best.log_prob is not None
    expected = math.exp(best.log_prob)
    assert drawn[str(best.tree)] / 2000 == pytest.approx(expected, abs=5 * math.sqrt(expected / 2000))
    assert parser.sample(SENTENCE, 3, seed=3) == parser.sample(SENTENCE, 3, seed=3)


def test_tag_probabilities(tagger: Tagger) -> None:
    for decoder in ("posterior", "viterbi"):
        tagging = tagger.tag(SENTENCE, decoder)
        assert len(tagging.tags) == len(SENTENCE)
        assert all(0 < share <= 1 + 1e-12 for share in tagging.confidence)
        assert tagging.log_prob <= 1e-12
    assert tagger.tag([]).tags == []


def test_many_sentences_are_answered_as_each_alone(tagger: Tagger) -> None:
    several = [SENTENCE, [], SENTENCE[:1], ["Zyx-9", *SENTENCE]]
    for options in ({}, {"decoder": "viterbi"}, {"count": 3}, {"posteriors": True}):
        assert tagger.tag_all(several, **options) == [tagger.tag(words, **options) for words in several]  # type: ignore[arg-type]
    assert tagger.tag_all([]) == []


def test_tag_posteriors(tagger: Tagger) -> None:
    tagging = tagger.tag(["Zyx-9", *SENTENCE], posteriors=True)
    for tag, confidence, share in zip(tagging.tags, tagging.confidence, tagging.posteriors, strict=True):
        assert next(iter(share.items())) == (tag, confidence)
        assert sum(share.values()) == pytest.approx(1.0)
    assert len(tagging.posteriors[0]) > 2
    assert tagger.tag(SENTENCE).posteriors == []


def test_k_best_sequences(tagger: Tagger) -> None:
    sequences = tagger.tag(SENTENCE, count=5).sequences
    assert len({tuple(sequence.tags) for sequence in sequences}) == 5
    assert sequences[0] == tagger.tag(SENTENCE, "viterbi").sequences[0]
    for sequence in sequences:  # of an HMM the chain is the model
        assert sequence.score == pytest.approx(sequence.log_prob, abs=1e-9)
    with pytest.raises(UsageError, match="one sequence"):
        tagger.tag(SENTENCE, "posterior", count=2)
