"""Sentences to tag or parse, from any input format: plain text, brackets, CoNLL-U or JSON lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import get_args

import msgspec

from lveg.errors import UsageError
from lveg.text.tokens import Tokeniser, numbered_paragraphs
from lveg.treebank.conllu import Sentence, numbered_sentences
from lveg.treebank.parts import Trees
from lveg.treebank.penn import numbered_trees
from lveg.treebank.raw import to_conllu
from lveg.treebank.source import (
    Faults,
    InputFormat,
    Part,
    Paths,
    as_list,
    display_name,
    guess_format,
    open_bytes,
    read_lines,
    unreadable,
)
from lveg.trees import Cleaning, Tree

# Only ASCII white space separates words: U+2009 and U+200A occur inside words.
_WORD = re.compile(r"[^ \t\r\n\v\f]+")


@dataclass(slots=True)  # not frozen: that would take three times as long to create
class Input:
    """An input sentence: its words, and what else is known about it.

    tags: gold tags, one for each word, or None. id: the sentence's identifier, or None.
    sentence: the CoNLL-U lines that the words come from, to be written back; None for other formats.
    within: trees of these words; the analysis is restricted to their rules.
    file, line: where the sentence begins.
    """

    words: list[str]
    tags: list[str] | None = None
    id: str | int | None = None
    sentence: Sentence | None = None
    within: Sequence[Tree] = ()
    file: str = field(default="", compare=False)
    line: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Reading:
    """How sentences are read.

    input_format: None to guess it from each file's name.
    cleaning: applied to trees before their words and tags are taken.
    column: the CoNLL-U column of the tags, None for no tags; a sentence in which all are `_` has no tags.
    keep_blanks: whether CoNLL-U blocks without words are returned as sentences too, to be written back.
    tokeniser: finds the sentences and words of plain text; None if there is one sentence per line, with spaces between
    words.
    """

    input_format: InputFormat | None = None
    cleaning: Cleaning = field(default_factory=Cleaning)
    column: str | None = "upos"
    keep_blanks: bool = False
    tokeniser: Tokeniser | None = None

    def __post_init__(self) -> None:
        known = get_args(InputFormat)
        if self.input_format not in (None, *known):
            raise UsageError(f"no input format {self.input_format!r}; there are {', '.join(known)}")

    def format_of(self, file: str) -> InputFormat:
        """The format that a file is read in."""
        return self.input_format or guess_format(file)


def read_sentences(paths: Paths, reading: Reading | None = None, faults: Faults | None = None) -> Iterator[Input]:
    """The sentences of files or, for `-`, of standard input, one at a time.

    A directory is refused, since the output could not be split by file again.
    """
    reading, faults = reading or Reading(), faults or Faults()
    files = as_list(paths)
    for file in files:
        if os.path.isdir(file):
            raise UsageError(f"{file}: is a directory; name the files in it, such as {os.path.join(file, '*.txt')}")
    names = count(1)
    for number, file in enumerate(files, start=1):
        yield from _read(file, reading, faults, is_last=number == len(files), names=names)


def read_part(file: str, part: Part, reading: Reading, faults: Faults) -> Iterator[Input]:
    """The sentences of a part of a file.

    The identifier of a sentence of raw text is the line where its paragraph begins and its number there, such as 12.3.
    """
    return _read(file, reading, faults, is_last=True, part=part)


def _read(
    file: str,
    reading: Reading,
    faults: Faults,
    is_last: bool,
    part: Part | None = None,
    names: Iterator[int] | None = None,
) -> Iterator[Input]:
    """The sentences of a file or a part of it. names: identifiers of the sentences of raw text."""
    match reading.format_of(file):
        case "text" if reading.tokeniser is not None:
            return _read_raw(file, reading.tokeniser, part, names)
        case "text":
            return _read_text(file, part)
        case other if reading.tokeniser is not None:
            raise UsageError(f"{file}: raw text cannot be read from {other}; --input-format text reads it as text")
        case "brackets":
            return _read_brackets(file, reading.cleaning, faults, part)
        case "conllu":
            return _read_conllu(file, reading, faults, is_last, part)
        case "jsonl":
            return _read_jsonl(file, faults, part)


def count_sentences(paths: Paths, reading: Reading | None = None) -> int | None:
    """The number of sentences in files, malformed ones included; None if it is unknown before they are read."""
    reading = reading or Reading()
    files = as_list(paths)
    if reading.tokeniser is not None or not all(map(os.path.isfile, files)):
        return None
    try:
        return sum(_count(file, reading.format_of(file)) for file in files)
    except unreadable():
        return None


def _count(file: str, input_format: InputFormat) -> int:
    with open_bytes(file) as lines:
        match input_format:
            case "conllu":
                return sum(line.startswith(b"1\t") for line in lines)
            case "brackets":
                return sum(map(Trees().ends, lines))
            case _:
                return sum(1 for _ in lines)


def _read_text(path: str, part: Part | None) -> Iterator[Input]:
    """A sentence for each line, words separated by ASCII white space; an empty line is an empty sentence."""
    for number, line in read_lines(path, part):
        yield Input(_WORD.findall(line), file=path, line=number)


def _read_raw(path: str, tokeniser: Tokeniser, part: Part | None, names: Iterator[int] | None) -> Iterator[Input]:
    """The sentences that a tokeniser finds; one paragraph is read at a time."""
    for line, paragraph in numbered_paragraphs(read_lines(path, part)):
        for number, sentence in enumerate(tokeniser.sentences(paragraph), start=1):
            name = f"{line}.{number}" if names is None else next(names)
            yield Input(sentence.words, id=name, sentence=to_conllu(sentence, name), file=path, line=line)


def _read_brackets(path: str, cleaning: Cleaning, faults: Faults, part: Part | None) -> Iterator[Input]:
    for number, tree in numbered_trees(path, faults, allow_empty=True, part=part):
        cleaned = cleaning(tree)
        words, tags = ([], []) if cleaned is None else (cleaned.words(), cleaned.tags())
        yield Input(words, tags, file=path, line=number)


def _read_conllu(path: str, reading: Reading, faults: Faults, is_last: bool, part: Part | None) -> Iterator[Input]:
    for number, sentence in numbered_sentences(path, faults, part):
        if not sentence and not reading.keep_blanks:
            continue
        tags = sentence.column(reading.column) if reading.column else []
        has_tags = any(tag != "_" for tag in tags)
        lines = sentence if is_last else sentence.closed()
        yield Input(sentence.words(), tags if has_tags else None, sentence.id, lines, file=path, line=number)


class _Object(msgspec.Struct):
    """A line of JSON that is an object; other members are ignored."""

    words: list[str]
    tags: list[str] | None = None
    id: str | int | None = None


_DECODER = msgspec.json.Decoder(list[str] | _Object)


def _read_jsonl(path: str, faults: Faults, part: Part | None) -> Iterator[Input]:
    """A sentence for each line: an array of words, or an object with "words" and optionally "tags" and "id"."""
    for number, line in read_lines(path, part):
        try:
            decoded = _DECODER.decode(line)
            found = _Object(decoded) if isinstance(decoded, list) else decoded
            what = _fault_of(found)
        except msgspec.ValidationError as error:
            what = f'expected an array of words or an object with "words": {error}'
        except (msgspec.DecodeError, RecursionError) as error:
            empty = not line.strip(" \t\r\n")
            what = "an empty line; an empty sentence is []" if empty else f"not JSON: {error}"
        if what is None:
            yield Input(found.words, found.tags, found.id, file=path, line=number)
        else:
            faults.report(f"{display_name(path)}:{number}: {what}")


def _fault_of(found: _Object) -> str | None:
    """What is wrong with a sentence from JSON, beyond its types."""
    if "" in found.words:
        return f"word {found.words.index('') + 1} is an empty string; a word needs at least one character"
    if found.tags is None:
        return None
    if len(found.tags) != len(found.words):
        return f"{len(found.tags)} tags for {len(found.words)} words"
    if "" in found.tags:
        return f"tag {found.tags.index('') + 1} is an empty string; a tag needs at least one character"
    return None
