"""The health of tagged sentences, of trees or of CoNLL-U: sizes, duplicates, tags and words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lveg.chart.coarse import MAX_WORDS
from lveg.checking.findings import Finding, counted, share, some

FEW = 50
"""With fewer sentences, training holds none out to choose the number of epochs."""

LONG = 5
"""Sentences with more words are rarely the same by chance."""

RARE = 5
"""Labels that occur less often can hardly be learned."""

OFTEN = 50
"""A word that occurs so often with one tag, and only once with another, may have a wrong tag there."""


@dataclass(frozen=True)
class Item:
    """A sentence. place: file and line. analysis: what makes two analyses of the same words equal."""

    place: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    analysis: Hashable


@dataclass(frozen=True)
class Sentences:
    """All sentences of a treebank."""

    items: Sequence[Item]

    @cached_property
    def tags_of(self) -> dict[str, Counter[str]]:
        """How often each word has each tag."""
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for item in self.items:
            for word, tag in zip(item.words, item.tags, strict=True):
                found[word][tag] += 1
        return dict(found)

    @cached_property
    def places(self) -> dict[str, str]:
        """Where each word occurs first."""
        return {word: item.place for item in reversed(self.items) for word in item.words}

    @cached_property
    def tags(self) -> Counter[str]:
        """How often each tag occurs."""
        return Counter(tag for item in self.items for tag in item.tags)

    def facts(self) -> dict[str, Any]:
        """Sizes."""
        n_words = self.tags.total()
        once = sum(tags.total() == 1 for tags in self.tags_of.values())
        tokens = sum(tags.total() * len(tags) for tags in self.tags_of.values())
        lengths = sorted(len(item.words) for item in self.items) or [0]
        return {
            "sentences": len(self.items),
            "words": n_words,
            "different_words": len(self.tags_of),
            "words_seen_once": f"{once:,} ({share(once, len(self.tags_of))})",
            "words_per_sentence": f"median {lengths[len(lengths) // 2]}, longest {lengths[-1]:,}",
            "tags": len(self.tags),
            "tags_per_word": f"{tokens / max(n_words, 1):.2f} (mean over running words)",
        }

    def find(self) -> Iterator[Finding]:
        """What is worth knowing about the sentences, their words and their tags."""
        yield from self._sizes()
        yield from self._duplicates()
        yield from self._contradictions()
        yield from rare("tag", self.tags, self._tag_places())
        yield from self._ambiguous()
        yield from self._unusual()

    def _sizes(self) -> Iterator[Finding]:
        count = len(self.items)
        if not count:
            yield Finding("error", "There are no sentences", "There is nothing to learn from.", "Check the file.")
        elif count < FEW:
            yield Finding(
                "warning",
                f"Only {counted(count, 'sentence')}",
                "Without --dev, training holds a tenth of the sentences out; with so few it does not.",
                f"Annotate more, or expect low accuracy: {FEW} sentences are a start, 1,000 are useful.",
            )
        found = [f"{item.place}: {len(item.words):,} words" for item in self.items if len(item.words) > MAX_WORDS]
        if found:
            yield Finding(
                "warning",
                f"{counted(len(found), 'sentence')} longer than {MAX_WORDS} words",
                "Parsers give longer sentences a flat tree; training takes time and memory for them.",
                "Look whether they are whole paragraphs, and divide them; or train with --max-length.",
                some(found),
            )
        single = sum(len(item.words) == 1 for item in self.items)
        if single:
            yield Finding(
                "note",
                f"{counted(single, 'sentence')} of one word ({share(single, count)})",
                "They teach little about structure.",
                "No action is needed.",
            )

    @cached_property
    def by_words(self) -> dict[tuple[str, ...], list[Item]]:
        """The sentences with the same words."""
        found: dict[tuple[str, ...], list[Item]] = defaultdict(list)
        for item in self.items:
            found[item.words].append(item)
        return dict(found)

    def _duplicates(self) -> Iterator[Finding]:
        groups = [group for group in self.by_words.values() if len(group) > 1]
        again = sum(len(group) - 1 for group in groups)
        long = [group for group in groups if len(group[0].words) > LONG]
        if again:
            many = sum(len(group) - 1 for group in long)
            is_much = many > 0.01 * len(self.items)
            yield Finding(
                "warning" if is_much else "note",
                f"{counted(again, 'sentence')} repeated ({share(again, len(self.items))}), {many:,} of them with more "
                f"than {LONG} words",
                "Repeated sentences count several times; if a development set is cut from the same data, its scores "
                "are too high.",
                "Remove repeated documents; short sentences that repeat are normal.",
                some([f"{group[0].place} and {group[1].place}: {_quoted(group[0].words)}" for group in long]),
            )

    def _contradictions(self) -> Iterator[Finding]:
        found = []
        for words, group in self.by_words.items():
            other = next((item for item in group if item.analysis != group[0].analysis), None)
            if other is not None and len(words) > 1:
                found.append(f"{group[0].place} and {other.place}: {_quoted(words)}")
        if found:
            yield Finding(
                "note",
                f"{counted(len(found), 'sentence')} with two different analyses",
                "Either the words are ambiguous, or the annotation is inconsistent.",
                "Compare them: inconsistent annotation limits what any model can reach.",
                some(found),
            )

    def _tag_places(self) -> dict[str, str]:
        return {tag: item.place for item in reversed(self.items) for tag in item.tags}

    def _ambiguous(self) -> Iterator[Finding]:
        found = sorted(self.tags_of.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        many = [(word, tags) for word, tags in found if len(tags) > max(4, len(self.tags) // 3)]
        if many:
            listed = (", ".join(f"{tag} {n:,}" for tag, n in tags.most_common(8)) for _, tags in many)
            yield Finding(
                "note",
                f"{counted(len(many), 'word')} with many tags",
                "Function words may well have several tags; a third of all tags is unusual.",
                "Look whether the rare ones are errors.",
                some([f"{word}: {tags}" for (word, _), tags in zip(many, listed, strict=True)]),
            )

    def _unusual(self) -> Iterator[Finding]:
        """Words that nearly always have one tag, and once another."""
        odd = {
            (word, tag): f"usually {tags.most_common(1)[0][0]} ({tags.most_common(1)[0][1]:,} times)"
            for word, tags in self.tags_of.items()
            if tags.most_common(1)[0][1] >= OFTEN
            for tag, count in tags.items()
            if count == 1
        }
        found = [
            f"{item.place}: {word}/{tag}, {odd[word, tag]}"
            for item in self.items
            for word, tag in zip(item.words, item.tags, strict=True)
            if (word, tag) in odd
        ]
        if found:
            yield Finding(
                "note",
                f"{counted(len(found), 'word')} with a tag that the same word has only once, and another {OFTEN} times "
                "or more",
                "Many of these are annotation errors.",
                "Look at them; they are quick to correct.",
                some(found),
            )

    def against(self, other: Sentences) -> Iterator[Finding]:
        """What is worth knowing about development data, if these sentences are the training data."""
        count = len(other.items)
        pairs = [(item, self.by_words[item.words][0]) for item in other.items if item.words in self.by_words]
        long = [pair for pair in pairs if len(pair[0].words) > LONG]
        if pairs:
            is_much = len(long) > 0.01 * count
            yield Finding(
                "warning" if is_much else "note",
                f"{counted(len(pairs), 'development sentence')} also in the training data "
                f"({share(len(pairs), count)}), {len(long):,} of them with more than {LONG} words",
                "Scores on them say nothing about new text.",
                "Remove the long ones from one of the two; short sentences that repeat are normal.",
                some([f"{item.place} and {seen.place}: {_quoted(item.words)}" for item, seen in long]),
            )
        unknown = sum(tags.total() for word, tags in other.tags_of.items() if word not in self.tags_of)
        rate = unknown / max(other.tags.total(), 1)
        yield Finding(
            "warning" if rate > 0.3 else "note",
            f"{share(unknown, other.tags.total())} of the development words are not in the training data",
            "They are analysed by their form and their neighbours." + (" More than usual." if rate > 0.3 else ""),
            "Check that both are of one language and are tokenised alike." if rate > 0.3 else "No action is needed.",
        )
        yield from missing("tag", self.tags, other.tags, other._tag_places())


def _quoted(words: Sequence[str]) -> str:
    return " ".join(words[:12]) + (" ..." if len(words) > 12 else "")


def rare(noun: str, counts: Counter[str], places: dict[str, str]) -> Iterator[Finding]:
    """Labels that occur only a few times."""
    found = sorted((count, label) for label, count in counts.items() if count < RARE)
    if found:
        yield Finding(
            "note",
            f"{counted(len(found), noun)} of {len(counts):,} with fewer than {RARE} occurrences",
            "They can hardly be learned, and some may be misspelt.",
            "Correct misspelt ones, and consider joining rare ones with others.",
            some([f"{places[label]}: {label} ({count})" for count, label in found]),
        )


def missing(noun: str, known: Counter[str], used: Counter[str], places: dict[str, str]) -> Iterator[Finding]:
    """Labels of development data that training data lack."""
    found = sorted(((count, label) for label, count in used.items() if label not in known), reverse=True)
    if found:
        uses = sum(count for count, _ in found)
        yield Finding(
            "warning" if uses > 0.005 * used.total() else "note",
            f"{counted(len(found), noun)} of the development data that the training data lack, used "
            f"{counted(uses, 'time')} there ({share(uses, used.total())})",
            "A model never assigns them: these places always count as errors.",
            "Check that both follow the same scheme of annotation.",
            some([f"{places[label]}: {label} ({count})" for count, label in found]),
        )
