"""Reads files, directories, gzip and standard input as numbered lines of text, and writes text files."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

from lveg.errors import TreebankError, UsageError
from lveg.files import replacing

STDIN = "-"

PathLike = str | os.PathLike[str]
Paths = PathLike | Iterable[PathLike]

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

Treebank = Literal["brackets", "conllu"]
"""The formats that a directory of files may have."""

_SNIFFED = 1 << 16  # bytes of a file that are read to guess its format
_BEGINNING: dict[Treebank, re.Pattern[bytes]] = {
    "brackets": re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n\v\f]*\("),
    "conllu": re.compile(rb"(?:\xef\xbb\xbf)?(?:#[^\n]*\n|\r?\n)*[0-9]+(?:[-.][0-9]+)?(?:\t[^\t\n]*){9}(?:\n|\Z)"),
}
_NAMES: dict[Treebank, str] = {"brackets": "bracketed trees", "conllu": "CoNLL-U"}


@dataclass
class Faults:
    """How malformed sentences are handled: with an error or, with `skip`, a note in `messages`."""

    skip: bool = False
    messages: list[str] = field(default_factory=list)

    def report(self, message: str) -> None:
        """Raise the fault as an error, or note it."""
        if not self.skip:
            raise TreebankError(message)
        self.messages.append(message)


def guess_format(path: PathLike) -> InputFormat:
    """The input format, from the file name's extension without `.gz`; text for any other extension."""
    name = os.fspath(path).lower().removesuffix(".gz")
    return _BY_EXTENSION.get(os.path.splitext(name)[1], "text")


def as_list(paths: Paths) -> list[str]:
    """The paths as a list; a single path becomes a list of one."""
    return [os.fspath(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]


def expand(paths: Paths, kind: Treebank, faults: Faults) -> list[str]:
    """The files that the paths name; for a directory, those of its files that are treebanks, sorted.

    In a directory, hidden files are ignored. Any other file is skipped with a note, whether or not faults are skipped,
    unless it has an extension of the format or begins like the format.
    """
    files: list[str] = []
    for path in as_list(paths):
        if path == STDIN or not os.path.isdir(path):
            files.append(path)
            continue
        inside = files_in(path)
        kept = [file for file in inside if guess_format(file) == kind or _begins_as(kind, file)]
        if not kept:
            raise UsageError(f"{path}: the directory holds no {_NAMES[kind] if inside else 'files'}")
        faults.messages += [f"{file}: does not look like {_NAMES[kind]}" for file in sorted({*inside} - {*kept})]
        files += kept
    return files


def files_in(directory: str) -> list[str]:
    """The files in a directory and its subdirectories, sorted, without hidden ones."""
    return sorted(
        str(file)
        for file in Path(directory).rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(directory).parts)
    )


def _begins_as(kind: Treebank, file: str) -> bool:
    with open_bytes(file) as stream:
        try:
            return _BEGINNING[kind].match(stream.read(_SNIFFED)) is not None
        except (OSError, EOFError, zlib.error):
            return False


def display_name(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == STDIN else path


def open_bytes(path: str) -> BinaryIO:
    """The file's bytes, decompressed if its name ends in .gz; standard input for `-`."""
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise UsageError("standard input is closed; name a file")
            return sys.stdin.buffer
        if path.endswith(".gz"):
            return io.BufferedReader(gzip.open(path, "rb"))
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror or error}") from None


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """(number, text) of each line, counted from 1, with its line end; a byte-order mark is removed."""
    number = 0
    stream = open_bytes(path)
    try:
        for number, raw in enumerate(stream, start=1):
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            if raw:  # a file may consist of a byte-order mark alone
                yield number, raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TreebankError(
            f"{display_name(path)}:{number}: byte {error.object[error.start]:#04x} at column {error.start + 1} "
            "is not UTF-8"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TreebankError(f"{display_name(path)}:{number + 1}: the gzip file is damaged: {error}") from None
    finally:
        if path != STDIN:
            stream.close()


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A UTF-8 stream with LF line ends: standard output for None or `-`, otherwise a file, gzip by its name.

    The file is created when the block ends without an error; until then an existing file is left unchanged.
    """
    if path is None or path == STDIN:
        if sys.stdout is None:
            raise UsageError("standard output is closed; use --out")
        with _as_text(sys.stdout.buffer) as stream:
            yield stream
    else:
        with replacing(path) as raw:
            if not path.endswith(".gz"):
                with _as_text(raw) as stream:
                    yield stream
            else:
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed, _as_text(packed) as stream:
                    yield stream


@contextmanager
def _as_text(binary: BinaryIO | gzip.GzipFile) -> Iterator[TextIO]:
    stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
    try:
        yield stream
        stream.flush()
    finally:
        stream.detach()
