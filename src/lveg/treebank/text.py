"""Sentences to tag or parse, from any input format: plain text, brackets, CoNLL-U or JSON lines."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

import msgspec

from lveg.errors import UsageError
from lveg.text.tokens import Tokeniser, paragraphs
from lveg.treebank.conllu import Sentence, numbered_sentences
from lveg.treebank.penn import numbered_trees
from lveg.treebank.raw import to_conllu
from lveg.treebank.source import Faults, InputFormat, Paths, as_list, display_name, guess_format, open_bytes, read_lines
from lveg.trees import Cleaning, Tree

# Only ASCII white space separates words: U+2009 and U+200A occur inside words.
_WORD = re.compile(r"[^ \t\r\n\v\f]+")
_BRACKET = re.compile(rb"[()]")


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
    count = 0
    for file in files:
        if os.path.isdir(file):
            raise UsageError(f"{file}: is a directory; name the files in it, such as {os.path.join(file, '*.txt')}")
    for number, file in enumerate(files, start=1):
        match reading.format_of(file):
            case "text" if reading.tokeniser is not None:
                for sentence in _read_raw(file, reading.tokeniser, count):
                    count += 1
                    yield sentence
            case "text":
                yield from _read_text(file)
            case other if reading.tokeniser is not None:
                raise UsageError(f"{file}: raw text cannot be read from {other}; --input-format text reads it as text")
            case "brackets":
                yield from _read_brackets(file, reading.cleaning, faults)
            case "conllu":
                yield from _read_conllu(file, reading, faults, is_last=number == len(files))
            case "jsonl":
                yield from _read_jsonl(file, faults)


def count_sentences(paths: Paths, reading: Reading | None = None) -> int | None:
    """The number of sentences in files, malformed ones included; None if it is unknown before they are read."""
    reading = reading or Reading()
    files = as_list(paths)
    if reading.tokeniser is not None or not all(map(os.path.isfile, files)):
        return None
    try:
        return sum(_count(file, reading.format_of(file)) for file in files)
    except (OSError, EOFError, zlib.error):
        return None


def _count(file: str, input_format: InputFormat) -> int:
    count = depth = 0
    with open_bytes(file) as lines:
        match input_format:
            case "conllu":
                return sum(line.startswith(b"1\t") for line in lines)
            case "brackets":
                for line in lines:
                    for mark in _BRACKET.findall(line):
                        depth += 1 if mark == b"(" else -1
                        count += depth == 0
                return count
            case _:
                return sum(1 for _ in lines)


def _read_text(path: str) -> Iterator[Input]:
    """A sentence for each line, words separated by ASCII white space; an empty line is an empty sentence."""
    for number, line in read_lines(path):
        yield Input(_WORD.findall(line), file=path, line=number)


def _read_raw(path: str, tokeniser: Tokeniser, count: int) -> Iterator[Input]:
    """The sentences that a tokeniser finds, numbered after the first `count`; one paragraph is read at a time."""
    for paragraph in paragraphs(line for _, line in read_lines(path)):
        for sentence in tokeniser.sentences(paragraph):
            count += 1
            yield Input(sentence.words, id=count, sentence=to_conllu(sentence, count), file=path)


def _read_brackets(path: str, cleaning: Cleaning, faults: Faults) -> Iterator[Input]:
    for number, tree in numbered_trees(path, faults, allow_empty=True):
        cleaned = cleaning(tree)
        words, tags = ([], []) if cleaned is None else (cleaned.words(), cleaned.tags())
        yield Input(words, tags, file=path, line=number)


def _read_conllu(path: str, reading: Reading, faults: Faults, is_last: bool) -> Iterator[Input]:
    for number, sentence in numbered_sentences(path, faults):
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


def _read_jsonl(path: str, faults: Faults) -> Iterator[Input]:
    """A sentence for each line: an array of words, or an object with "words" and optionally "tags" and "id"."""
    for number, line in read_lines(path):
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
