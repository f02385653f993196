"""A learned tokeniser: a chain of labels over the characters of a text, tagged like the words of a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lveg.errors import GrammarError
from lveg.model import CHUNK, Tagger
from lveg.parallel import chunks
from lveg.text.characters import INSIDE, LABELS, ends_sentence, is_several, positions, views
from lveg.text.expansions import Expansions
from lveg.text.tokens import Token, TokenSentence, paragraphs

WINDOW, MARGIN = 2000, 50
"""Long paragraphs are labelled in windows of this many characters, with as many more on both sides."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedTokeniser:
    """A tokeniser learned from a treebank.

    tagger: labels characters. expansions: the words of multiword tokens. joins_spaces: whether a token may contain a
    space; otherwise white space always ends a token. seen_as: for some characters that did not occur in training,
    one that did (see `stand_ins`).
    """

    tagger: Tagger
    expansions: Expansions
    joins_spaces: bool = False
    seen_as: Mapping[str, str] = field(default_factory=dict)

    task = "tokeniser"

    def __post_init__(self) -> None:
        unknown = set(self.tagger.grammar.tags) - set(LABELS)
        if unknown:
            raise GrammarError(f"{sorted(unknown)[0]!r} is not a label of characters")

    def __repr__(self) -> str:
        return f"<Tokeniser of model {self.tagger.family.name}, {len(self.expansions.lexicon)} multiword tokens>"

    @property
    def info(self) -> dict[str, Any]:
        """How it was trained: options, scores, version, data fingerprint."""
        return self.tagger.info

    def sentences(self, text: str) -> Iterator[TokenSentence]:
        """The sentences of a text; blank lines separate paragraphs, and always end a sentence."""
        for paragraph in paragraphs(text.splitlines()):
            starts = True
            for tokens in self._split(paragraph):
                yield TokenSentence(tuple(tokens), starts)
                starts = False

    def _split(self, paragraph: str) -> Iterator[list[Token]]:
        """The tokens of each sentence of a paragraph."""
        tokens: list[Token] = []
        start = 0
        seen = views(paragraph, self.seen_as)
        for at, label in zip(positions(paragraph), self._labels(seen), strict=True):
            following = paragraph[at + 1 : at + 2]
            is_last = not following
            if label == INSIDE and not is_last and (self.joins_spaces or following != " "):
                continue
            surface = paragraph[start : at + 1]
            expands = is_several(label) or self.expansions.is_certain(surface)
            words = self.expansions.words(surface) if expands else (surface,)
            tokens.append(Token(surface, words, following == " "))
            start = at + 1 + (following == " ")
            if is_last or ends_sentence(label):
                yield tokens
                tokens = []

    def _labels(self, seen: Sequence[str]) -> Iterator[str]:
        """The label of each character, given what is seen of it."""
        starts = range(0, len(seen), WINDOW)
        windows = [seen[max(0, start - MARGIN) : start + WINDOW + MARGIN] for start in starts]
        for chunk in chunks(zip(starts, windows, strict=True), CHUNK):
            tagged = self.tagger.tag_chunk([window for _, window in chunk])
            for (start, _), tagging in zip(chunk, tagged, strict=True):
                first = min(start, MARGIN)
                yield from tagging.tags[first : first + WINDOW]
