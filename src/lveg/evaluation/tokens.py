"""Scores of tokens, words and sentences found in raw text, by the rules of the CoNLL 2018 shared task.

Both sides must be analyses of the same characters, white space aside. A token or a sentence is correct if the other
side has one with the same characters. So is a word, outside multiword tokens. Where either side has a multiword token,
the words of both sides are aligned by their forms, in any case, so that as many as possible agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lveg.errors import UsageError
from lveg.evaluation.tags import Rates
from lveg.text.tokens import TokenSentence

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SpanCounts(Rates):
    """Numbers of units in the gold, in the system's output, and in both."""

    gold: int
    system: int
    correct: int


@dataclass(frozen=True)
class TokenScores:
    """The counts of each kind of unit."""

    tokens: SpanCounts
    words: SpanCounts
    sentences: SpanCounts

    def rows(self) -> dict[str, SpanCounts]:
        """The counts by the name of the unit."""
        return {"tokens": self.tokens, "words": self.words, "sentences": self.sentences}

    def summary(self) -> dict[str, int | float]:
        """The F1 scores, rounded to two decimals, and the size of the gold."""
        return {
            "sentences": self.sentences.gold,
            "tokens": self.tokens.gold,
            "token_f1": round(self.tokens.f1, 2),
            "word_f1": round(self.words.f1, 2),
            "sentence_f1": round(self.sentences.f1, 2),
        }


class _Spans:
    """The spans of an analysis: of sentences, tokens, single words, and words of multiword tokens with their forms."""

    def __init__(self, sentences: Iterable[TokenSentence]) -> None:
        self.sentences: set[Span] = set()
        self.tokens: set[Span] = set()
        self.words: list[tuple[Span, str]] = []
        self.several: list[Span] = []  # spans of the multiword tokens
        pieces = []
        end = 0
        for sentence in sentences:
            first = end
            for token in sentence.tokens:
                piece = "".join(token.surface.split())
                pieces.append(piece)
                start, end = end, end + len(piece)
                self.tokens.add((start, end))
                self.words += (((start, end), word.lower()) for word in token.words)
                if len(token.words) > 1:
                    self.several.append((start, end))
            self.sentences.add((first, end))
        self.characters = "".join(pieces)


def score_tokens(gold: Iterable[TokenSentence], system: Iterable[TokenSentence]) -> TokenScores:
    """The counts of tokens, words and sentences."""
    right, found = _Spans(gold), _Spans(system)
    _check_same_text(right.characters, found.characters)
    return TokenScores(
        SpanCounts(len(right.tokens), len(found.tokens), len(right.tokens & found.tokens)),
        SpanCounts(len(right.words), len(found.words), _words_in_common(right, found)),
        SpanCounts(len(right.sentences), len(found.sentences), len(right.sentences & found.sentences)),
    )


def tokens_fingerprint(sentences: Iterable[TokenSentence]) -> str:
    """A short hash of sentences and their tokens."""
    digest = hashlib.sha256()
    for sentence in sentences:
        digest.update(repr(sentence).encode(errors="surrogatepass"))
    return digest.hexdigest()[:16]


def _check_same_text(gold: str, system: str) -> None:
    if gold == system:
        return
    pairs = enumerate(zip(gold, system, strict=False))
    at = next((index for index, (one, other) in pairs if one != other), min(len(gold), len(system)))
    shown = (repr(text[at : at + 20]) if at < len(text) else "nothing" for text in (gold, system))
    raise UsageError("the texts differ after {:,} characters: {} in the gold, {} in the system".format(at, *shown))


def _words_in_common(gold: _Spans, system: _Spans) -> int:
    """Words with the same span, and those of multiword tokens that are aligned."""
    regions = _merged([*gold.several, *system.several])
    right, found = (_by_region(side.words, regions) for side in (gold, system))
    single = {span for span, _ in right[-1]} & {span for span, _ in found[-1]}
    return len(single) + sum(
        _longest_common([form for _, form in one], [form for _, form in other])
        for one, other in zip(right[:-1], found[:-1], strict=True)
    )


def _merged(spans: list[Span]) -> list[Span]:
    """Regions covered by overlapping spans, in order."""
    regions: list[Span] = []
    for start, end in sorted(spans):
        if regions and start < regions[-1][1]:
            regions[-1] = regions[-1][0], max(end, regions[-1][1])
        else:
            regions.append((start, end))
    return regions


def _by_region(words: Iterable[tuple[Span, str]], regions: Sequence[Span]) -> list[list[tuple[Span, str]]]:
    """The words that lie in each region; last, all others."""
    found: list[list[tuple[Span, str]]] = [[] for _ in range(len(regions) + 1)]
    at = 0
    for (start, end), form in words:
        while at < len(regions) and regions[at][1] <= start:
            at += 1
        inside = at < len(regions) and regions[at][0] <= start and end <= regions[at][1]
        found[at if inside else -1].append(((start, end), form))
    return found


def _longest_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for left in one:
        before = row
        row = [0]
        for j, right in enumerate(other):
            row.append(before[j] + 1 if left == right else max(row[j], before[j + 1]))
    return row[-1]
