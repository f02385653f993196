"""Tag scores: hand-counted cases and laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lveg.errors import UsageError
from lveg.evaluation.tags import (
    LabelScore,
    TagCounts,
    accuracy_counts,
    accuracy_from_counts,
    per_tag,
    score_tags,
    summary_json,
    top_confusions,
)

WORDS = [["the", "cat", "saw"], ["dogs", "run"], ["go"]]
GOLD = [["D", "N", "V"], ["N", "V"], ["V"]]
SYSTEM = [["D", "N", "N"], ["N", "V"], ["N"]]
KNOWN = {"the", "cat", "run"}


def test_hand_counted() -> None:
    counts = score_tags(WORDS, GOLD, SYSTEM, KNOWN)
    assert (counts.sentences, counts.sentences_correct, counts.tokens, counts.correct) == (3, 1, 6, 4)
    assert (counts.known_tokens, counts.known_correct) == (3, 3)
    assert (counts.unknown_tokens, counts.unknown_correct) == (3, 1)
    assert counts.gold == {"D": 1, "N": 2, "V": 3}
    assert counts.system == {"D": 1, "N": 4, "V": 1}
    assert counts.matched == {"D": 1, "N": 2, "V": 1}
    assert counts.confusions == {("V", "N"): 2}
    assert summary_json(counts) == {
        "sentences": 3,
        "tokens": 6,
        "token_accuracy": 66.67,
        "sentence_accuracy": 33.33,
        "known_accuracy": 100.0,
        "unknown_accuracy": 33.33,
    }


def test_per_tag_scores() -> None:
    verb, noun, determiner = per_tag(score_tags(WORDS, GOLD, SYSTEM))
    assert verb == LabelScore("V", 3, 1, 1)
    assert [verb.precision, verb.recall, verb.f1] == pytest.approx([100, 100 / 3, 50])
    assert [noun.precision, noun.recall, noun.f1] == pytest.approx([50, 100, 200 / 3])
    assert determiner.f1 == 100.0


def test_tag_of_one_side_only() -> None:
    missed, made_up = per_tag(score_tags([["a"]], [["X"]], [["Y"]]))
    assert (missed.label, missed.precision, missed.recall, missed.f1) == ("X", 0.0, 0.0, 0.0)
    assert (made_up.label, made_up.precision, made_up.recall, made_up.f1) == ("Y", 0.0, 0.0, 0.0)


def test_top_confusions_by_number_then_name() -> None:
    counts = score_tags([["w"] * 6], [list("AABBCA")], [list("BBAABB")])
    assert top_confusions(counts.confusions) == [("A", "B", 3), ("B", "A", 2), ("C", "B", 1)]
    assert top_confusions(counts.confusions, 1) == [("A", "B", 3)]
    assert top_confusions(score_tags([["w"] * 2], [list("CA")], [list("DB")]).confusions) == [
        ("A", "B", 1),
        ("C", "D", 1),
    ]


def test_undefined_accuracies() -> None:
    without = score_tags(WORDS, GOLD, SYSTEM)
    assert without.known_accuracy is None
    assert without.unknown_accuracy is None
    all_known = score_tags(WORDS, GOLD, SYSTEM, {word for sentence in WORDS for word in sentence})
    assert all_known.known_accuracy == all_known.token_accuracy
    assert all_known.unknown_accuracy is None
    none_known = score_tags(WORDS, GOLD, SYSTEM, set())
    assert none_known.unknown_accuracy == none_known.token_accuracy
    nothing = score_tags([], [], [])
    assert nothing == TagCounts()
    assert (nothing.token_accuracy, nothing.sentence_accuracy) == (0.0, 0.0)


def test_sides_must_agree() -> None:
    with pytest.raises(UsageError, match="sentence 2: the sides differ in length: 2 words, 2 gold tags, 1 sys"):
        score_tags(WORDS, GOLD, [SYSTEM[0], ["N"], ["N"]])
    with pytest.raises(UsageError, match="sentence 3: no system tags"):
        score_tags(WORDS, GOLD, SYSTEM[:2])


def test_accuracy_counts() -> None:
    counts = accuracy_counts(GOLD, SYSTEM)
    assert counts.tolist() == [[2, 3], [2, 2], [0, 1]]
    assert float(accuracy_from_counts(counts.sum(axis=0))) == pytest.approx(400 / 6)


Sentences = list[list[tuple[str, str, str]]]
TAG = st.sampled_from("ABC")
SENTENCES = st.lists(st.lists(st.tuples(st.sampled_from("uvwx"), TAG, TAG), max_size=5), max_size=6)


def columns(sentences: Sentences) -> list[list[list[str]]]:
    return [[[token[side] for token in sentence] for sentence in sentences] for side in range(3)]


def count(sentences: Sentences) -> TagCounts:
    words, gold, system = columns(sentences)
    return score_tags(words, gold, system, {"u", "v"})


@given(SENTENCES, SENTENCES)
def test_counts_add(some: Sentences, others: Sentences) -> None:
    assert count(some) + count(others) == count(some + others)


@given(SENTENCES)
def test_parts_sum_to_the_whole(sentences: Sentences) -> None:
    counts = count(sentences)
    assert counts.tokens == counts.known_tokens + counts.unknown_tokens == counts.gold.total()
    assert counts.correct == counts.known_correct + counts.unknown_correct == counts.matched.total()
    assert counts.tokens == counts.correct + counts.confusions.total()
    assert counts.system.total() == counts.tokens
