"""Scores of tokens, words and sentences, by the rules of the CoNLL 2018 shared task."""

from __future__ import annotations

import pytest

from lveg.errors import UsageError
from lveg.evaluation.tokens import SpanCounts, score_tokens
from lveg.text.tokens import Token, TokenSentence

Counts = tuple[int, int, int]


def analysis(text: str) -> list[TokenSentence]:
    """Sentences separated by `|`; a token `del=de+el` stands for several words."""
    found = []
    for part in text.split("|"):
        tokens = []
        for piece in part.split():
            surface, _, words = piece.partition("=")
            tokens.append(Token(surface, tuple(words.split("+")) if words else (surface,)))
        found.append(TokenSentence(tuple(tokens)))
    return found


@pytest.mark.parametrize(
    ("gold", "system", "tokens", "words", "sentences"),
    [
        ("a b c | d", "a b c | d", (4, 4, 4), (4, 4, 4), (2, 2, 2)),
        ("a b c | d", "ab c d", (4, 3, 2), (4, 3, 2), (2, 1, 0)),
        ("a b | c", "a | b c", (3, 3, 3), (3, 3, 3), (2, 2, 0)),
        ("abc de", "ab cde", (2, 2, 0), (2, 2, 0), (1, 1, 1)),
        # one side or both have a multiword token
        ("va al=a+el mar", "va al=a+el mar", (3, 3, 3), (4, 4, 4), (1, 1, 1)),
        ("va al=a+el mar", "va al mar", (3, 3, 3), (4, 3, 2), (1, 1, 1)),
        ("va al mar", "va al=a+el mar", (3, 3, 3), (3, 4, 2), (1, 1, 1)),
        ("al=a+el", "al=A+l", (1, 1, 1), (2, 2, 1), (1, 1, 1)),
        ("al=a+el", "a l", (1, 2, 0), (2, 2, 1), (1, 1, 1)),
        ("dámelo=da+me+lo", "dáme=dá+me lo", (1, 2, 0), (3, 3, 2), (1, 1, 1)),
        # tokens that only partly overlap a multiword token never count
        ("xal=x+al y", "x aly", (2, 2, 0), (3, 2, 1), (1, 1, 1)),
        # overlapping multiword tokens are one region
        ("ab=p+q c d", "a bc=q+r d", (3, 3, 1), (4, 4, 2), (1, 1, 1)),
    ],
)
def test_counts(gold: str, system: str, tokens: Counts, words: Counts, sentences: Counts) -> None:
    scores = score_tokens(analysis(gold), analysis(system))
    assert scores.tokens == SpanCounts(*tokens)
    assert scores.words == SpanCounts(*words)
    assert scores.sentences == SpanCounts(*sentences)


def test_scores_are_percentages() -> None:
    scores = score_tokens(analysis("a b c | d"), analysis("ab c d"))
    assert scores.tokens.precision == pytest.approx(200 / 3)
    assert scores.tokens.recall == 50
    assert scores.summary() == {
        "sentences": 2, "tokens": 4, "token_f1": 57.14, "word_f1": 57.14, "sentence_f1": 0.0,
    }  # fmt: skip
    assert score_tokens([], []).words.f1 == 0.0


@pytest.mark.parametrize("system", ["a b x", "a b", "a b c d"])
def test_other_text_is_refused(system: str) -> None:
    with pytest.raises(UsageError, match=r"texts differ after (2|3) characters"):
        score_tokens(analysis("a b c"), analysis(system))


def test_white_space_does_not_count() -> None:
    gold = [TokenSentence((Token("10 000", ("10 000",)),))]
    assert score_tokens(gold, [TokenSentence((Token("10000", ("10000",)),))]).tokens.correct == 1
