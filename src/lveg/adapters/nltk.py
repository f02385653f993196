"""Parsers and taggers for NLTK: `nltk.parse.api.ParserI` and `nltk.tag.api.TaggerI`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nltk.parse.api import ParserI
from nltk.tag.api import TaggerI

from lveg.model import Candidate, Parser, Tagger


class NltkParser(ParserI):
    """An NLTK parser; `parse` and `parse_sents` give the `count` best trees of a sentence, best first."""

    def __init__(self, parser: Parser, count: int = 1) -> None:
        self.parser = parser
        self.count = count

    def parse(self, sent: Sequence[str], *args: Any, **kwargs: Any) -> Iterator[Any]:
        """The best trees of a sentence, as `nltk.Tree`."""
        return _nltk_trees(self.parser.kbest(sent, self.count))

    def parse_sents(self, sents: Iterable[Sequence[str]], *args: Any, **kwargs: Any) -> Iterator[Iterator[Any]]:
        """The best trees of each sentence, as soon as they are known."""
        return (_nltk_trees(parse.trees) for parse in self.parser.parse_all(sents, count=self.count))


class NltkTagger(TaggerI):
    """An NLTK tagger."""

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger

    def tag(self, tokens: Sequence[str]) -> list[tuple[str, str]]:
        """The words with their tags."""
        return list(zip(tokens, self.tagger.tag(tokens).tags, strict=True))

    def tag_sents(self, sentences: Iterable[Sequence[str]]) -> list[list[tuple[str, str]]]:
        """The words of several sentences with their tags."""
        given = [list(sentence) for sentence in sentences]
        tags = (tagging.tags for tagging in self.tagger.tag_all(given))
        return [list(zip(*pair, strict=True)) for pair in zip(given, tags, strict=True)]


def _nltk_trees(candidates: Sequence[Candidate]) -> Iterator[Any]:
    return (candidate.tree.to_nltk() for candidate in candidates)
