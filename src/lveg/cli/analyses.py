"""The analyses that `lveg evaluate` compares: read from files, or made by models."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from lveg.cli.console import console_report
from lveg.cli.options import load_parser
from lveg.errors import ModelError, UsageError
from lveg.model import Parse, Parser, Tagger, Tagging
from lveg.model_io import Loaded, is_model_file, load_model, model_fingerprint
from lveg.text.learned import LearnedTokeniser
from lveg.text.tokens import TokenSentence, text_of
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_trees
from lveg.treebank.raw import read_tokens
from lveg.treebank.source import Faults
from lveg.trees import EMPTY_TREE, Cleaning, Tree

Item = TypeVar("Item")

Tagged = list[list[tuple[str, str]]]


@dataclass(frozen=True)
class FoundTrees:
    """Gold trees, the system's and the other system's. parses: the model's, if there is one."""

    gold: list[Tree]
    system: list[Tree]
    other: list[Tree] | None
    settings: dict[str, str]
    parses: list[Parse] = field(default_factory=list)


@dataclass(frozen=True)
class FoundTags:
    """Gold sentences, the system's tags and the other system's. taggings: the model's, if there is one."""

    gold: Tagged
    system: list[list[str]]
    other: list[list[str]] | None
    settings: dict[str, str]
    column: str
    known: set[str] | None
    taggings: list[Tagging] = field(default_factory=list)


class Analyses:
    """What is compared, as the user named it. against: a model or a file."""

    def __init__(
        self,
        gold: Path,
        system: Path | None,
        model: Path | None,
        others: list[Path] | None,
        against: Path | None,
        decoder: str | None,
        threads: int,
        quiet: bool,
    ) -> None:
        self.gold, self.system, self.model, self.against = gold, system, model, against
        self.decoder, self.threads, self.quiet = decoder, threads, quiet
        self.faults = Faults()
        self._model: Loaded | None = None
        if model is not None:
            self._model = load_parser(model, others) if others else load_model(str(model))
        self._rival = load_model(str(against)) if against is not None and is_model_file(against) else None

    @property
    def is_tokeniser(self) -> bool:
        """Whether the model is a tokeniser."""
        return isinstance(self._model, LearnedTokeniser)

    def tokens(self) -> tuple[list[TokenSentence], list[TokenSentence], dict[str, str]]:
        """Gold sentences, and the system's of the same text; settings."""
        gold = self._counted(read_tokens(str(self.gold), self.faults), self.gold, "sentences")
        if self._model is None:
            return gold, read_tokens(str(self.system), self.faults), {}
        tokeniser = self._model.tokeniser if isinstance(self._model, Tagger) else self._model
        if not isinstance(tokeniser, LearnedTokeniser):
            raise UsageError("the model has no tokeniser; --tokens scores a tokeniser, or a tagger with one")
        return gold, list(tokeniser.sentences(text_of(gold))), {"model": model_fingerprint(self._model)}

    def trees(self, cleaning: Cleaning, marginals: bool) -> FoundTrees:
        """The trees, cleaned as the model cleans them, or as given. marginals: with probabilities of constituents."""
        parser = None if self._model is None else _parser(self._model)
        if parser is not None:
            cleaning = replace(parser.cleaning, collapse_unaries=False)
        gold = self._read_trees(self.gold, cleaning, allow_empty=not (parser or self._rival))
        if (parser or self._rival) and any(not tree.children for tree in gold):
            raise UsageError(f"{self.gold}: a gold tree has no words")
        other = None
        if parser is None:
            settings, parses = {}, []
            system = self._read_trees(self.system, cleaning, gold=gold)
        else:
            decoder = self.decoder or parser.decoder
            settings = {"model": model_fingerprint(parser), "decoder": decoder}
            parses = self._parse(parser, gold, decoder, marginals)
            system = [parse.tree for parse in parses]
        if self._rival is not None:
            other = [parse.tree for parse in self._parse(_parser(self._rival), gold, None, False)]
        elif self.against is not None:
            other = self._read_trees(self.against, cleaning, gold=gold)
        return FoundTrees(gold, system, other, settings, parses)

    def tags(self, column: str, train: list[Path]) -> FoundTags:
        """The tags of a column, or of the model's. train: files whose words count as known."""
        tagger = None if self._model is None else _tagger(self._model)
        column = column if tagger is None else tagger.column
        known = {word for one in read_tagged(train, column, self.faults) for word, _ in one} if train else None
        gold = self._read_tags(self.gold, column)
        other = None
        if tagger is None:
            settings, taggings = {}, []
            system = _tags(self._read_tags(self.system, column, gold))
        else:
            decoder = self.decoder or "posterior"
            settings = {"model": model_fingerprint(tagger), "decoder": decoder}
            taggings = self._tag(tagger, gold, decoder)
            system = [tagging.tags for tagging in taggings]
            known = set(tagger.grammar.lexicon.words) if known is None else known
        if self._rival is not None:
            rival = _tagger(self._rival)
            if rival.column != column:
                raise UsageError(f"{self.against}: its tags are those of column {rival.column}, not {column}")
            other = [tagging.tags for tagging in self._tag(rival, gold, "posterior")]
        elif self.against is not None:
            other = _tags(self._read_tags(self.against, column, gold))
        return FoundTags(gold, system, other, settings, column, known, taggings)

    def _parse(self, parser: Parser, gold: list[Tree], decoder: str | None, marginals: bool) -> list[Parse]:
        words = [tree.words() for tree in gold]
        with console_report(quiet=self.quiet) as report:
            return list(parser.parse_all(words, decoder, marginals=marginals, threads=self.threads, progress=report))

    def _tag(self, tagger: Tagger, gold: Tagged, decoder: str) -> list[Tagging]:
        words = [[word for word, _ in sentence] for sentence in gold]
        with console_report(quiet=self.quiet) as report:
            return list(tagger.tag_all(words, decoder, threads=self.threads, progress=report))

    def _read_trees(
        self, path: Path | None, cleaning: Cleaning, allow_empty: bool = True, gold: list[Tree] | None = None
    ) -> list[Tree]:
        """The trees of a file; of a system, there must be one for each gold tree."""
        trees = [cleaning(tree) or EMPTY_TREE for tree in read_trees(str(path), self.faults, allow_empty)]
        return self._counted(trees, path, "trees", gold)

    def _read_tags(self, path: Path | None, column: str, gold: Tagged | None = None) -> Tagged:
        """The sentences of a file; those of a system must have the gold words."""
        tagged = self._counted(read_tagged(str(path), column, self.faults), path, "sentences", gold)
        for number, (right, found) in enumerate(zip(gold or [], tagged, strict=False), start=1):
            if [word for word, _ in right] != [word for word, _ in found]:
                raise UsageError(f"{path}: sentence {number} has other words than in {self.gold}")
        return tagged

    def _counted(self, found: list[Item], path: Path | None, what: str, gold: list[Item] | None = None) -> list[Item]:
        """What was read from a file: something, and as much as there is gold."""
        if not found:
            raise UsageError(f"{path}: holds no {what}")
        if gold is not None and len(found) != len(gold):
            raise UsageError(f"{path}: has {len(found):,} {what}, {self.gold} has {len(gold):,}")
        return found


def _tags(tagged: Tagged) -> list[list[str]]:
    return [[tag for _, tag in sentence] for sentence in tagged]


def _parser(model: Loaded) -> Parser:
    if not isinstance(model, Parser):
        raise ModelError(f"the model is a {model.task}; evaluate it on CoNLL-U")
    return model


def _tagger(model: Loaded) -> Tagger:
    if not isinstance(model, Tagger):
        raise ModelError(f"the model is a {model.task}; evaluate it on bracketed trees")
    return model
