"""The health of a treebank: whether it can be read and trained on, and what to know before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lveg.checking.encoding import check_bytes, check_words
from lveg.checking.findings import Checked, Finding, counted, share, some
from lveg.checking.sentences import Item, Sentences
from lveg.checking.trees import Read, Trees
from lveg.errors import TreebankError
from lveg.treebank.conllu import Sentence, numbered_sentences
from lveg.treebank.penn import numbered_trees
from lveg.treebank.source import Faults, Treebank, expand
from lveg.trees import Cleaning

UNIVERSAL = frozenset({
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "CONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
})  # fmt: skip
"""The tags of Universal Dependencies; CONJ until version 1."""


@dataclass(frozen=True)
class Settings:
    """How a treebank is read: its format, and what training would do. column: of the tags in CoNLL-U."""

    form: Treebank
    cleaning: Cleaning = field(default_factory=Cleaning)
    column: str = "upos"


def check_treebank(paths: Sequence[str], settings: Settings, against: Sequence[str] = ()) -> Checked:
    """The health of a treebank. against: development data to compare it with."""
    faults = Faults(skip=True)
    files = expand(paths, settings.form, faults)
    findings = list(_skipped(faults.messages))
    facts: dict[str, Any] = {"format": settings.form, "files": len(files)}
    data: Trees | _Blocks
    if settings.form == "brackets":
        trees = _read_trees(files, settings.cleaning, findings)
        other = _read_trees(expand(against, settings.form, faults), settings.cleaning, findings) if against else None
        across = list(trees.against(other)) if other else []
        data = trees
    else:
        blocks = _read_blocks(files, settings.column, findings)
        more = _read_blocks(expand(against, settings.form, faults), settings.column, findings) if against else None
        across = list(blocks.sentences.against(more.sentences)) if more else []
        data = blocks
    findings += data.find()
    findings += check_bytes(files)
    findings += check_words(data.sentences.places)
    return Checked("treebank", facts | data.facts(), findings + across)


def _skipped(messages: list[str]) -> Iterator[Finding]:
    if messages:
        yield Finding(
            "note",
            f"{counted(len(messages), 'file')} in the directory skipped",
            "Neither their names nor their beginnings look like a treebank of this format.",
            "Name them explicitly if they are one.",
            some(messages),
        )


def _read_trees(files: Sequence[str], cleaning: Cleaning, findings: list[Finding]) -> Trees:
    found = []
    for file in files:
        faults = Faults(skip=True)
        try:
            for line, tree in numbered_trees(file, faults):
                found.append(Read(f"{file}:{line}", tree, cleaning(tree)))
        except TreebankError as error:
            findings.append(_unreadable(str(error)))
        findings += _malformed(faults.messages, "tree")
    return Trees(found, cleaning)


def _read_blocks(files: Sequence[str], column: str, findings: list[Finding]) -> _Blocks:
    found = []
    for file in files:
        faults = Faults(skip=True)
        try:
            found += [(f"{file}:{line}", block) for line, block in numbered_sentences(file, faults) if block]
        except TreebankError as error:
            findings.append(_unreadable(str(error)))
        findings += _malformed(faults.messages, "sentence")
    return _Blocks(found, column)


def _unreadable(message: str) -> Finding:
    return Finding(
        "error",
        message,
        "The file cannot be read any further.",
        "Convert it to UTF-8, or copy it again if it is damaged.",
    )


def _malformed(messages: list[str], noun: str) -> Iterator[Finding]:
    if messages:
        yield Finding(
            "error",
            f"{counted(len(messages), f'malformed {noun}')}",
            "Training stops at the first of them.",
            "Correct them, or train with --skip-bad, which leaves them out.",
            some(messages),
        )


@dataclass(frozen=True)
class _Blocks:
    """The sentences of CoNLL-U with their places."""

    blocks: Sequence[tuple[str, Sentence]]
    column: str

    @cached_property
    def sentences(self) -> Sentences:
        """The words and tags."""
        pairs = ((place, block.words(), block.column(self.column)) for place, block in self.blocks)
        return Sentences([Item(place, tuple(words), tuple(tags), tuple(tags)) for place, words, tags in pairs])

    def facts(self) -> dict[str, Any]:
        """Sizes."""
        rows = [line.split("\t", 1)[0] for _, block in self.blocks for line in block.lines if line[0] != "#"]
        return {"column": self.column} | self.sentences.facts() | {
            "multiword_tokens": sum("-" in row for row in rows),
            "empty_nodes": sum("." in row for row in rows),
        }  # fmt: skip

    def find(self) -> Iterator[Finding]:
        """What is worth knowing about the sentences and their columns."""
        sentences = self.sentences
        yield from sentences.find()
        yield from self._untagged(sentences)
        if self.column == "upos":
            yield from self._foreign(sentences)
        yield from self._identifiers()
        yield from self._text()

    def _untagged(self, sentences: Sentences) -> Iterator[Finding]:
        blank = sum(count for tag, count in sentences.tags.items() if set(tag) <= {"_", " "})
        if blank and blank == sentences.tags.total():
            yield Finding(
                "error",
                f"Column {self.column} is `_` for every word",
                "There are no tags to learn from.",
                "Choose another column with --column.",
            )
        elif blank:
            places = [item.place for item in sentences.items if any(set(tag) <= {"_", " "} for tag in item.tags)]
            yield Finding(
                "note" if self.column == "feats" else "warning",
                f"{counted(blank, 'word')} ({share(blank, sentences.tags.total())}) with `_` in column {self.column}",
                "A tagger learns `_` as one of the tags.",
                "Fill the column, or leave these sentences out; in feats, `_` means no features.",
                some(places),
            )

    def _foreign(self, sentences: Sentences) -> Iterator[Finding]:
        found = Counter({tag: count for tag, count in sentences.tags.items() if tag not in UNIVERSAL | {"_"}})
        if found and len(found) < len(sentences.tags):
            yield Finding(
                "note",
                f"{counted(len(found), 'tag')} in column upos not among those of Universal Dependencies",
                "They are learned like others, but may be misspelt.",
                "Correct them, if they are.",
                some([f"{tag} ({count:,})" for tag, count in found.most_common()]),
            )

    def _identifiers(self) -> Iterator[Finding]:
        names = Counter(block.id for _, block in self.blocks if block.id is not None)
        found = [f"{name} ({count})" for name, count in names.most_common() if count > 1]
        if found:
            yield Finding(
                "note",
                f"{counted(len(found), 'sent_id')} used more than once",
                "Probably a file was included twice, or files were joined.",
                "See whether sentences are repeated.",
                some(found),
            )

    def _text(self) -> Iterator[Finding]:
        lines = (line for _, block in self.blocks for line in block.lines)
        if self.blocks and not any(line.startswith("# text") or "SpaceAfter=No" in line for line in lines):
            yield Finding(
                "note",
                "Neither `# text` nor SpaceAfter=No says where tokens are separated by spaces",
                "A tokeniser (`lveg train tokeniser`) would learn nothing but to divide at white space.",
                "For a tagger no action is needed; for raw text take a newer version of the treebank.",
            )
