"""Where the errors are: scores by label, tag, word and length, confusions, and classes of errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lveg.evaluation.brackets import Alignment, BracketCounts, align, score_pairs, total
from lveg.evaluation.errors import ErrorCount, WrongBracket, classify, count_errors, label_confusions
from lveg.evaluation.params import COLLINS, EvalbParams, classes
from lveg.evaluation.tags import LabelScore, TagCounts, label_scores, score_tags
from lveg.trees import Tree

LENGTHS = (10, 20, 30, 40)
"""The last lengths of the groups of sentences; one more group has all longer sentences."""

Tags = Sequence[Sequence[str]]


@dataclass(frozen=True)
class BracketDetails:
    """One parser's errors.

    alignments, wrong: the compared brackets of each sentence, and those of them that are wrong; empty for a sentence
    that could not be scored. label_confusions: (gold label, system label) of brackets with the right span.
    """

    alignments: list[Alignment]
    wrong: list[list[WrongBracket]]
    all: BracketCounts
    labels: list[LabelScore]
    lengths: dict[str, BracketCounts]
    label_confusions: Counter[tuple[str, str]]
    tag_confusions: Counter[tuple[str, str]]
    errors: list[ErrorCount]

    @property
    def lost(self) -> list[int]:
        """The number of missing and extra brackets of each sentence; 0 for one that could not be scored."""
        return [len(found.missing) + len(found.extra) for found in self.alignments]


@dataclass(frozen=True)
class WordErrors:
    """A word that gets wrong tags: its occurrences, how many are wrong, and the most frequent confusion."""

    word: str
    tokens: int
    wrong: int
    gold_tag: str
    system_tag: str


@dataclass(frozen=True)
class TagDetails:
    """One tagger's errors. words: the words with the most wrong tags first."""

    counts: TagCounts
    lengths: dict[str, TagCounts]
    words: list[WordErrors]


def bracket_details(gold: Sequence[Tree], system: Sequence[Tree], params: EvalbParams = COLLINS) -> BracketDetails:
    """The errors in the system's trees, counted as EVALB counts brackets."""
    scores = score_pairs(gold, system, params)
    alignments = [align(one, other, params) for one, other in zip(gold, system, strict=True)]
    wrong = [classify(found) for found in alignments]
    name = classes(params.eq_labels)

    def renamed(pairs: Iterable[tuple[str, str]]) -> Counter[tuple[str, str]]:
        found = Counter((name.get(one, one), name.get(other, other)) for one, other in pairs)
        return Counter({pair: count for pair, count in found.items() if pair[0] != pair[1]})

    return BracketDetails(
        alignments=alignments,
        wrong=wrong,
        all=total(score.counts for score in scores),
        labels=_labels(alignments, name),
        lengths={
            lengths: total(scores[number].counts for number in numbers)
            for lengths, numbers in by_length([score.length for score in scores]).items()
        },
        label_confusions=renamed(pair for found in alignments for pair in label_confusions(found)),
        tag_confusions=renamed(
            pair for found in alignments for pair in zip(found.gold_tags, found.system_tags, strict=True)
        ),
        errors=count_errors(wrong),
    )


def _labels(alignments: Iterable[Alignment], name: dict[str, str]) -> list[LabelScore]:
    gold: Counter[str] = Counter()
    system: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for found in alignments:
        labels = [name.get(label, label) for label, _, _ in found.gold]
        gold.update(labels)
        system.update(name.get(label, label) for label, _, _ in found.system)
        matched.update(label for label, match in zip(labels, found.matches, strict=True) if match is not None)
    return label_scores(gold, system, matched)


def tag_details(words: Tags, gold: Tags, system: Tags, known_words: Collection[str] | None = None) -> TagDetails:
    """The errors in the system's tags."""

    def scores(numbers: Sequence[int]) -> TagCounts:
        one, right, found = ([side[number] for number in numbers] for side in (words, gold, system))
        return score_tags(one, right, found, known_words)

    return TagDetails(
        counts=score_tags(words, gold, system, known_words),
        lengths={lengths: scores(numbers) for lengths, numbers in by_length([len(one) for one in words]).items()},
        words=_hard_words(words, gold, system),
    )


def _hard_words(words: Tags, gold: Tags, system: Tags) -> list[WordErrors]:
    tokens = Counter(word for sentence in words for word in sentence)
    confusions: dict[str, Counter[tuple[str, str]]] = {}
    for sentence in zip(words, gold, system, strict=True):
        for word, gold_tag, system_tag in zip(*sentence, strict=True):
            if gold_tag != system_tag:
                confusions.setdefault(word, Counter())[gold_tag, system_tag] += 1
    ranked = sorted(confusions, key=lambda word: (-confusions[word].total(), word))
    return [
        WordErrors(word, tokens[word], confusions[word].total(), *confusions[word].most_common(1)[0][0])
        for word in ranked
    ]


def by_length(lengths: Sequence[int]) -> dict[str, list[int]]:
    """The sentences of each group of lengths, by the group's name; groups without sentences are left out."""
    ends = [0, *LENGTHS]
    names = [f"{low + 1}-{high}" for low, high in pairwise(ends)]
    groups: dict[str, list[int]] = {name: [] for name in (*names, f"over {ends[-1]}")}
    for number, length in enumerate(lengths):
        place = sum(length > end for end in LENGTHS)
        groups[[*groups][place]].append(number)
    return {name: numbers for name, numbers in groups.items() if numbers}
