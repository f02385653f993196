"""Tokens and sentences of a text, and what every tokeniser does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of text, the words that it stands for, and whether white space follows it.

    Most tokens are one word, written as the token; a multiword token such as `del` is several: `de`, `el`.
    """

    surface: str
    words: tuple[str, ...]
    space_after: bool = True


@dataclass(frozen=True, slots=True)
class TokenSentence:
    """The tokens of a sentence, in order. starts_paragraph: whether it is the first of a paragraph."""

    tokens: tuple[Token, ...]
    starts_paragraph: bool = False

    @property
    def words(self) -> list[str]:
        """The words of all tokens."""
        return [word for token in self.tokens for word in token.words]

    @property
    def text(self) -> str:
        """The text of the sentence, with one space wherever there was white space."""
        return joined(self.tokens).rstrip(" ")


class Tokeniser(Protocol):
    """Finds sentences and tokens in text."""

    def sentences(self, text: str) -> Iterator[TokenSentence]:
        """The sentences of a text; blank lines separate paragraphs, and always end a sentence."""


def joined(tokens: Iterable[Token]) -> str:
    """The text of tokens, with a space after each that has white space after it."""
    return "".join(f"{token.surface} " if token.space_after else token.surface for token in tokens)


def paragraphs(lines: Iterable[str]) -> Iterator[str]:
    """The paragraphs of lines of text, which are separated by blank lines; each run of white space becomes a space."""
    return (paragraph for _, paragraph in numbered_paragraphs(enumerate(lines)))


def numbered_paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """(number of its first line, paragraph) of each paragraph of numbered lines."""
    first = 0
    found: list[str] = []
    for number, line in lines:
        words = _SPACE.sub(" ", line).strip(" ")
        if words:
            first = first if found else number
            found.append(words)
        elif found:
            yield first, " ".join(found)
            found = []
    if found:
        yield first, " ".join(found)


def by_paragraph(sentences: Iterable[TokenSentence]) -> Iterator[list[TokenSentence]]:
    """The sentences of each paragraph."""
    found: list[TokenSentence] = []
    for sentence in sentences:
        if sentence.starts_paragraph and found:
            yield found
            found = []
        found.append(sentence)
    if found:
        yield found


def paragraph_text(sentences: Iterable[TokenSentence]) -> str:
    """The text of the sentences of a paragraph."""
    return "".join(joined(sentence.tokens) for sentence in sentences).rstrip(" ")


def text_of(sentences: Iterable[TokenSentence]) -> str:
    """The text of sentences, with a blank line between paragraphs."""
    return "\n\n".join(map(paragraph_text, by_paragraph(sentences)))
