"""The words of multiword tokens: a lexicon, and for other tokens the rule of the longest ending that they share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lveg.text.tokens import TokenSentence

Rule = tuple[int, tuple[str, ...]]
"""How many characters are cut from the end of a token, and what replaces them: the first word's end, then words."""

_LONGEST = 64  # characters of an ending; a longer token is known only as a whole
_START = "\n"  # stands before the first character, so that a whole token is an ending too


@dataclass(frozen=True)
class Expansions:
    """Words of multiword tokens, by the lower-cased token. either: those that also occur as one word."""

    lexicon: Mapping[str, tuple[str, ...]]
    either: frozenset[str] = frozenset()

    @cached_property
    def rules(self) -> dict[str, Rule]:
        """The most frequent rule of each ending of the tokens of the lexicon; that of a whole token is its own."""
        votes: defaultdict[str, Counter[Rule]] = defaultdict(Counter)
        for token, words in self.lexicon.items():
            rule = _rule(token, words)
            marked = _START + token
            for length in {*range(max(rule[0], 1), min(len(marked), _LONGEST) + 1), len(marked)}:
                votes[marked[-length:]][rule] += 1
        return {ending: min(found, key=lambda rule: (-found[rule], rule)) for ending, found in votes.items()}

    def is_certain(self, token: str) -> bool:
        """Whether the token is known, and always stands for several words."""
        lowered = _lowered(token)
        return lowered in self.lexicon and lowered not in self.either

    def words(self, token: str) -> tuple[str, ...]:
        """The words of a multiword token; the token itself if no ending is known."""
        marked = _START + _lowered(token)
        for start in (0, *range(max(1, len(marked) - _LONGEST), len(marked))):
            if (rule := self.rules.get(marked[start:])) is not None:
                return _applied(token, rule)
        return (token,)


def learn_expansions(sentences: Iterable[TokenSentence]) -> Expansions:
    """The most frequent words of each multiword token."""
    seen: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    single = set[str]()
    for sentence in sentences:
        for token in sentence.tokens:
            if len(token.words) > 1:
                seen[_lowered(token.surface)][tuple(map(_lowered, token.words))] += 1
            else:
                single.add(_lowered(token.surface))
    best = {token: min(found, key=lambda words: (-found[words], words)) for token, found in sorted(seen.items())}
    return Expansions(best, frozenset(single & best.keys()))


def _rule(token: str, words: tuple[str, ...]) -> Rule:
    same = 0
    while same < min(len(token), len(words[0])) and token[same] == words[0][same]:
        same += 1
    return len(token) - same, (words[0][same:], *words[1:])


def _applied(token: str, rule: Rule) -> tuple[str, ...]:
    """The words by a rule, with the capitals of the token."""
    cut, (ending, *others) = rule
    stem = token[: len(token) - cut]
    first = stem + ending
    if not first:
        return (token,)
    if not stem and token[0].isupper():
        first = first[0].upper() + first[1:]
    words = (first, *others)
    return tuple(map(str.upper, words)) if len(token) > 1 and token.isupper() else words


def _lowered(text: str) -> str:
    """The text in lower case, character by character, so that its length stays the same."""
    return "".join(low if len(low := character.lower()) == 1 else character for character in text)
