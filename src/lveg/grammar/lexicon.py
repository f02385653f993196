"""The lexicon: words and unknown-word classes as terminals, and their counts with each tag."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lveg.errors import GrammarError
from lveg.grammar.unknown import SCHEMES, UNKNOWN, candidates, learn_classes

MANY_TAGS, SMOOTH_MANY = 80, 20
"""With more tags than MANY_TAGS, a word may have only the tags that the lexicon has for it. By default, words seen at
most SMOOTH_MANY times may then also have those of their class."""


@dataclass(frozen=True)
class LexiconOptions:
    """How words become terminals.

    scheme: `auto`, `english` or `single` unknown-word classes. threshold: words seen fewer times are replaced by
    classes; if there are none, classes are learned from words seen once. smooth: words seen at most this often are
    smoothed with the tags of their class (0 for none).
    """

    scheme: str = "auto"
    threshold: int = 2
    smooth: int = 10

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise GrammarError(f"unknown-word scheme {self.scheme!r} is not one of {', '.join(SCHEMES)}")
        if self.threshold < 1 or self.smooth < 0:
            raise GrammarError("the unknown-word threshold starts at 1 and smoothing at 0")


@dataclass(frozen=True)
class Lexicon:
    """Terminals: known words, then classes. An unknown word is mapped to the first kept class it belongs to."""

    scheme: str
    words: tuple[str, ...]
    classes: tuple[str, ...]
    _cache: dict[tuple[str, bool], int] = field(default_factory=dict, repr=False, compare=False)

    @property
    def n_terminals(self) -> int:
        """Number of known words and classes."""
        return len(self.words) + len(self.classes)

    @cached_property
    def word_ids(self) -> dict[str, int]:
        """Terminal of each known word."""
        return {word: index for index, word in enumerate(self.words)}

    @cached_property
    def class_ids(self) -> dict[str, int]:
        """Terminal of each class."""
        return {name: len(self.words) + index for index, name in enumerate(self.classes)}

    def terminal(self, word: str, is_first: bool = False) -> int:
        """The terminal of a word; never fails for a word of at least one character."""
        found = self.word_ids.get(word)
        return self.class_of(word, is_first) if found is None else found

    def class_of(self, word: str, is_first: bool = False) -> int:
        """The class terminal of the word, as if it were unknown."""
        key = (word, is_first)
        found = self._cache.get(key)
        if found is None:
            names = candidates(self.scheme)(word, is_first, self.word_ids)
            found = next(self.class_ids[name] for name in names if name in self.class_ids)
            if len(self._cache) < 200_000:
                self._cache[key] = found
        return found

    def terminals(self, words: Sequence[str]) -> list[int]:
        """The terminals of a sentence."""
        found = list(map(self.word_ids.get, words))
        return [
            self.class_of(words[index], index == 0) if terminal is None else terminal
            for index, terminal in enumerate(found)
        ]


TagCounts = dict[tuple[str, int], float]
"""(tag, terminal) -> count, after smoothing."""

Tagged = Sequence[tuple[str, str]]
"""A sentence as (word, tag) pairs."""

WordCounts = Counter[tuple[str, str, bool]]
"""(word, tag, whether it is the first word of its sentence) -> tokens, in the order in which they first occur."""


def count_words(counts: WordCounts, sentence: Tagged) -> None:
    """Add the words of a sentence to the counts."""
    counts.update((word, tag, index == 0) for index, (word, tag) in enumerate(sentence))


_CLASS_PRIOR = 4.0  # pseudo-counts from the class above, for a class
_WORD_PRIOR = 0.5  # pseudo-counts from its class, for a known word
_LEAST_SHARE = 0.003  # minimum share in a class for a tag from the class above
_LEAST_SHARED = 0.01  # minimum share in its class for a tag added to a known word


def build_lexicon(words: WordCounts, options: LexiconOptions) -> tuple[Lexicon, TagCounts]:
    """The lexicon of tagged words, and the counts of terminals with tags."""
    frequency: Counter[str] = Counter()
    for (word, _, _), count in words.items():
        frequency[word] += count
    known = {word for word, count in frequency.items() if count >= options.threshold}
    often = {word for word, count in frequency.items() if count > 1}
    rare = _rare_words(words, known, often, options.scheme)
    above = learn_classes(rare) if options.scheme == "auto" else _all_classes(rare)
    lexicon = Lexicon(options.scheme, tuple(sorted(known)), tuple(sorted(above)))

    counts: TagCounts = defaultdict(float)
    for (word, tag, is_first), count in words.items():
        counts[tag, lexicon.terminal(word, is_first)] += count
    shares = _class_shares(rare, above, _CLASS_PRIOR if options.smooth else 0.0)
    _fill_classes(counts, shares, lexicon, smoothed=options.smooth > 0)
    if options.smooth:
        _lend_to_words(counts, shares, lexicon, frequency, options.smooth)
    return lexicon, dict(sorted(counts.items()))


RareCounts = Counter[tuple[tuple[str, ...], str]]
"""(classes that a rare word could have, most specific first; its tag) -> tokens."""


def _rare_words(words: WordCounts, known: set[str], often: set[str], scheme: str) -> RareCounts:
    """Counts of rare words: those that are not known or, if there are none, known words that were seen once.

    If there are none of these either, all words are used, so that unknown words still get a class.
    """
    list_classes = candidates(scheme)
    vocabularies: tuple[set[str], ...] = (known, often, set())
    for vocabulary in vocabularies:
        rare: RareCounts = Counter()
        for (word, tag, is_first), count in words.items():
            if word not in vocabulary:
                rare[tuple(list_classes(word, is_first, known)), tag] += count
        if rare:
            break
    return rare


def _all_classes(rare: RareCounts) -> dict[str, str]:
    """Every class that a rare word has, each with the class above it."""
    own = {chain[0]: chain for chain, _ in rare} | {UNKNOWN: (UNKNOWN,)}
    return {name: next((above for above in chain[1:] if above in own), "") for name, chain in own.items()}


def _class_shares(rare: RareCounts, above: dict[str, str], prior: float) -> dict[str, dict[str, float]]:
    """P(tag | class), smoothed towards the class above by `prior` tokens."""
    tokens: dict[str, Counter[str]] = {name: Counter() for name in above}
    for (chain, tag), count in rare.items():
        for name in chain:
            if name in above:
                tokens[name][tag] += count
    shares: dict[str, dict[str, float]] = {"": {}}
    waiting = sorted(above)
    while waiting:
        ready = [name for name in waiting if above[name] in shares]
        for name in ready:
            parent = shares[above[name]]
            weight = prior if parent else 0.0
            total = sum(tokens[name].values()) + weight
            share = {
                tag: (tokens[name][tag] + weight * parent.get(tag, 0.0)) / total
                for tag in sorted(tokens[name].keys() | (parent.keys() if weight else ()))
            }
            shares[name] = {tag: part for tag, part in share.items() if tokens[name][tag] or part >= _LEAST_SHARE}
        waiting = [name for name in waiting if name not in shares]
    return shares


def _fill_classes(counts: TagCounts, shares: dict[str, dict[str, float]], lexicon: Lexicon, smoothed: bool) -> None:
    """Give every class its tags; a class whose words all belong to finer classes keeps half a token."""
    tokens: Counter[int] = Counter()
    for (_, terminal), count in counts.items():
        tokens[terminal] += count  # type: ignore[assignment]
    for name, terminal in lexicon.class_ids.items():
        if smoothed or not tokens[terminal]:
            for tag, share in shares[name].items():
                counts[tag, terminal] = max(tokens[terminal], 0.5) * share


def _lend_to_words(
    counts: TagCounts,
    shares: dict[str, dict[str, float]],
    lexicon: Lexicon,
    frequency: Counter[str],
    limit: int,
) -> None:
    """Smooth known words seen at most `limit` times with the tags of their class."""
    seen: dict[int, dict[str, float]] = defaultdict(dict)
    for (tag, terminal), count in counts.items():
        seen[terminal][tag] = count
    for word, terminal in lexicon.word_ids.items():
        if frequency[word] > limit:
            continue
        share = shares[lexicon.classes[lexicon.class_of(word) - len(lexicon.words)]]
        shared = {tag: part for tag, part in share.items() if part >= _LEAST_SHARED}
        keep = frequency[word] / (frequency[word] + _WORD_PRIOR * sum(shared.values()))
        for tag in seen[terminal].keys() | shared.keys():
            counts[tag, terminal] = keep * (seen[terminal].get(tag, 0.0) + _WORD_PRIOR * shared.get(tag, 0.0))
