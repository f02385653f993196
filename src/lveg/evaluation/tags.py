"""Tag scores: counts over parallel tag sequences, and scores from the counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, fields
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from lveg.errors import UsageError


@dataclass(frozen=True)
class TagCounts:
    """Sums over sentences; counts are added, and scores are computed from them.

    known_*, unknown_*: counts for known and unknown words; all 0 if known words were not given.
    gold, system, matched: occurrences of each tag in the gold, in the system's output, and in both at once.
    confusions: (gold tag, system tag) of the words with a wrong tag.
    """

    sentences: int = 0
    sentences_correct: int = 0
    tokens: int = 0
    correct: int = 0
    known_tokens: int = 0
    known_correct: int = 0
    unknown_tokens: int = 0
    unknown_correct: int = 0
    gold: Counter[str] = field(default_factory=Counter)
    system: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __add__(self, other: TagCounts) -> TagCounts:
        return TagCounts(*(getattr(self, part.name) + getattr(other, part.name) for part in fields(self)))

    @property
    def token_accuracy(self) -> float:
        """Percentage of words with the gold tag; 0 if there are no words."""
        return _percent(self.correct, self.tokens) or 0.0

    @property
    def sentence_accuracy(self) -> float:
        """Percentage of sentences with every tag correct; 0 if there are no sentences."""
        return _percent(self.sentences_correct, self.sentences) or 0.0

    @property
    def known_accuracy(self) -> float | None:
        """Percentage of known words with the gold tag; None if there are none."""
        return _percent(self.known_correct, self.known_tokens)

    @property
    def unknown_accuracy(self) -> float | None:
        """Percentage of unknown words with the gold tag; None if there are none."""
        return _percent(self.unknown_correct, self.unknown_tokens)


class Rates:
    """Percentages of what occurs in the gold, in the system's output, and in both at once."""

    __slots__ = ()
    gold: int
    system: int
    correct: int

    @property
    def precision(self) -> float:
        """Percentage of what the system has that is correct; 0 if it has nothing."""
        return _percent(self.correct, self.system) or 0.0

    @property
    def recall(self) -> float:
        """Percentage of what the gold has that the system found; 0 if it has nothing."""
        return _percent(self.correct, self.gold) or 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall in percent; 0 if both are 0."""
        return _percent(2 * self.correct, self.gold + self.system) or 0.0


@dataclass(frozen=True, slots=True)
class LabelScore(Rates):
    """The counts of one tag or label: its occurrences in the gold, in the system's output, and in both at once."""

    label: str
    gold: int
    system: int
    correct: int


def _percent(part: int, whole: int) -> float | None:
    return 100.0 * part / whole if whole else None


def score_tags(
    words: Iterable[Sequence[str]],
    gold: Iterable[Sequence[str]],
    system: Iterable[Sequence[str]],
    known_words: Collection[str] | None = None,
) -> TagCounts:
    """The counts over parallel sentences: words, their gold tags, the system's tags.

    known_words: the words seen in training (a set, as each word is looked up); None for no counts of known words.
    """
    known = None if known_words is None else frozenset(known_words)
    pairs: Counter[tuple[str, str]] = Counter()
    by_knowledge: Counter[tuple[bool, bool]] = Counter()
    sentences = sentences_correct = 0
    for sentence, gold_tags, system_tags in _sentences(words, gold, system):
        sentences += 1
        right = list(map(str.__eq__, gold_tags, system_tags))
        sentences_correct += all(right)
        pairs.update(zip(gold_tags, system_tags, strict=True))
        if known is not None:
            by_knowledge.update(zip((word in known for word in sentence), right, strict=True))
    counts = TagCounts(
        sentences=sentences,
        sentences_correct=sentences_correct,
        tokens=pairs.total(),
        correct=sum(count for (one, other), count in pairs.items() if one == other),
        known_tokens=by_knowledge[True, True] + by_knowledge[True, False],
        known_correct=by_knowledge[True, True],
        unknown_tokens=by_knowledge[False, True] + by_knowledge[False, False],
        unknown_correct=by_knowledge[False, True],
    )
    _count_tags(counts, pairs)
    return counts


def _count_tags(counts: TagCounts, pairs: Counter[tuple[str, str]]) -> None:
    """Add the (gold, system) pairs to the counts of each tag."""
    for (gold_tag, system_tag), count in pairs.items():
        counts.gold[gold_tag] += count
        counts.system[system_tag] += count
        if gold_tag == system_tag:
            counts.matched[gold_tag] += count
        else:
            counts.confusions[gold_tag, system_tag] += count


def _sentences(
    words: Iterable[Sequence[str]], gold: Iterable[Sequence[str]], system: Iterable[Sequence[str]]
) -> Iterable[tuple[Sequence[str], Sequence[str], Sequence[str]]]:
    """The sentences in parallel; raises an error if their numbers or lengths differ."""
    for number, (sentence, gold_tags, system_tags) in enumerate(zip_longest(words, gold, system), start=1):
        sides = {"words": sentence, "gold tags": gold_tags, "system tags": system_tags}
        missing = [name for name, side in sides.items() if side is None]
        if missing:
            raise UsageError(f"sentence {number}: no {' and no '.join(missing)}; the sides differ in number")
        if not len(sentence) == len(gold_tags) == len(system_tags):
            lengths = ", ".join(f"{len(side)} {name}" for name, side in sides.items())
            raise UsageError(f"sentence {number}: the sides differ in length: {lengths}")
        yield sentence, gold_tags, system_tags


def per_tag(counts: TagCounts) -> list[LabelScore]:
    """The scores of every tag that either side uses, the most frequent in the gold first."""
    return label_scores(counts.gold, counts.system, counts.matched)


def label_scores(gold: Counter[str], system: Counter[str], matched: Counter[str]) -> list[LabelScore]:
    """The scores of every label that either side uses, the most frequent in the gold first."""
    labels = sorted({*gold, *system}, key=lambda label: (-gold[label], label))
    return [LabelScore(label, gold[label], system[label], matched[label]) for label in labels]


def top_confusions(confusions: Counter[tuple[str, str]], limit: int = 10) -> list[tuple[str, str, int]]:
    """(gold label, system label, number) of the most frequent confusions, then by name."""
    ranked = sorted(confusions.items(), key=lambda item: (-item[1], item[0]))
    return [(gold, system, count) for (gold, system), count in ranked[:limit]]


def accuracy_counts(gold: Iterable[Sequence[str]], system: Iterable[Sequence[str]]) -> NDArray[np.float64]:
    """(correct, tokens) of each sentence, of shape (n_sentences, 2), for `significance`."""
    rows = [
        (sum(map(str.__eq__, gold_tags, system_tags)), len(gold_tags))
        for gold_tags, system_tags in zip(gold, system, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 2)


def accuracy_from_counts(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Accuracy in percent of sums (correct, tokens) along the last axis; 0 if there are no tokens."""
    return np.asarray(100.0 * counts[..., 0] / np.where(counts[..., 1] > 0, counts[..., 1], 1.0))


def summary_json(counts: TagCounts) -> dict[str, int | float | None]:
    """The scores as a plain dict, rounded to two decimals."""
    known, unknown = counts.known_accuracy, counts.unknown_accuracy
    return {
        "sentences": counts.sentences,
        "tokens": counts.tokens,
        "token_accuracy": round(counts.token_accuracy, 2),
        "sentence_accuracy": round(counts.sentence_accuracy, 2),
        "known_accuracy": None if known is None else round(known, 2),
        "unknown_accuracy": None if unknown is None else round(unknown, 2),
    }
