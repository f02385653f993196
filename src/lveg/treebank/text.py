"""Sentences to tag or parse, from any input format: plain text, brackets, CoNLL-U or JSON lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from lveg.errors import UsageError
from lveg.treebank.conllu import Sentence, read_conllu
from lveg.treebank.penn import read_trees
from lveg.treebank.source import Faults, display_name, expand, read_lines
from lveg.trees import Cleaning

InputFormat = Literal["text", "brackets", "conllu", "jsonl"]

_BY_EXTENSION: dict[str, InputFormat] = {
    ".txt": "text",
    ".mrg": "brackets",
    ".ptb": "brackets",
    ".bracket": "brackets",
    ".brackets": "brackets",
    ".tree": "brackets",
    ".trees": "brackets",
    ".parse": "brackets",
    ".conllu": "conllu",
    ".conll": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}

# Only ASCII white space separates: real words hold U+2009 and U+200A.
_WORD = re.compile(r"[^ \t\r\n\v\f]+")


@dataclass(frozen=True, slots=True)
class Input:
    """A sentence as it was given: its words, and what else its format knows of it.

    tags: gold tags, one for each word, or None. id: the sentence's own name, or None.
    sentence: the CoNLL-U lines that the words come from, to be written back; None for other formats.
    """

    words: list[str]
    tags: list[str] | None = None
    id: str | int | None = None
    sentence: Sentence | None = None


def guess_format(path: str | os.PathLike[str]) -> InputFormat:
    """The input format that the file name's extension tells, also before `.gz`; text where it tells none."""
    name = os.fspath(path).lower().removesuffix(".gz")
    return _BY_EXTENSION.get(os.path.splitext(name)[1], "text")


def read_sentences(
    path: str | os.PathLike[str],
    input_format: InputFormat | None = None,
    *,
    cleaning: Cleaning | None = None,
    column: str | None = "upos",
    faults: Faults | None = None,
) -> Iterator[Input]:
    """The sentences of a file, of a directory's files or, for `-`, of standard input, one at a time.

    input_format: None goes by each file's name.
    cleaning: what trees go through before their words and tags are taken.
    column: where CoNLL-U has its tags, None for no tags; a sentence with `_` for all of them has none.
    """
    if input_format is not None and input_format not in get_args(InputFormat):
        raise UsageError(f"no input format {input_format!r}; there are {', '.join(get_args(InputFormat))}")
    faults = faults or Faults()
    for file in expand([path]):
        match input_format or guess_format(file):
            case "text":
                yield from read_text(file)
            case "brackets":
                yield from _read_brackets(file, cleaning or Cleaning(), faults)
            case "conllu":
                yield from _read_conllu(file, column, faults)
            case "jsonl":
                yield from read_jsonl(file, faults)


def read_text(path: str) -> Iterator[Input]:
    """A sentence for each line, words separated by ASCII white space; an empty line is an empty sentence."""
    for _, line in read_lines(path):
        yield Input(_WORD.findall(line))


def _read_brackets(path: str, cleaning: Cleaning, faults: Faults) -> Iterator[Input]:
    for tree in read_trees(path, faults, allow_empty=True):
        cleaned = cleaning(tree)
        yield Input([], []) if cleaned is None else Input(cleaned.words(), cleaned.tags())


def _read_conllu(path: str, column: str | None, faults: Faults) -> Iterator[Input]:
    for sentence in read_conllu(path, faults):
        tags = sentence.column(column) if column else []
        has_tags = any(tag != "_" for tag in tags)
        yield Input(sentence.words(), tags if has_tags else None, sentence.id, sentence)


class _Object(msgspec.Struct):
    """A line of JSON that is an object; other members are passed over."""

    words: list[str]
    tags: list[str] | None = None
    id: str | int | None = None


_DECODER = msgspec.json.Decoder(list[str] | _Object)


def read_jsonl(path: str, faults: Faults | None = None) -> Iterator[Input]:
    """A sentence for each line: an array of words, or an object with "words" and perhaps "tags" and "id"."""
    faults = faults or Faults()
    for number, line in read_lines(path):
        what = None
        try:
            decoded = _DECODER.decode(line)
            found = Input(decoded) if isinstance(decoded, list) else Input(decoded.words, decoded.tags, decoded.id)
            what = _fault_of(found)
        except msgspec.ValidationError as error:
            what = f'expected an array of words or an object with "words": {error}'
        except msgspec.DecodeError as error:
            empty = not line.strip(" \t\r\n")
            what = "an empty line; an empty sentence is []" if empty else f"not JSON: {error}"
        if what is None:
            yield found
        else:
            faults.report(f"{display_name(path)}:{number}: {what}")


def _fault_of(found: Input) -> str | None:
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
