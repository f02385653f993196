"""Reads files, directories, compressed files and standard input as numbered lines of text, and writes text files."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

from lveg.errors import TreebankError, UsageError
from lveg.files import replacing
from lveg.treebank import zstd

STDIN = "-"

COMPRESSED = (".gz", ".zst")
"""Endings of the names of compressed files, which are read and written as if they were not compressed."""

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


@dataclass(frozen=True)
class Part:
    """Whole sentences of a file, as bytes, that can be read by themselves: see `lveg.treebank.parts`.

    number: its place in the file, from 0. line: the number of its first line. before: how many trees are before it.
    """

    number: int
    line: int
    before: int
    data: bytes


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
    """The input format, from the file name's extension without `.gz` or `.zst`; text for any other extension."""
    return known_format(path) or "text"


def known_format(path: PathLike) -> InputFormat | None:
    """The format that the file name's extension stands for, None for any other extension."""
    name, _ = split_compression(os.fspath(path).lower())
    return _BY_EXTENSION.get(os.path.splitext(name)[1])


def split_compression(name: str) -> tuple[str, str]:
    """The name of a file without the ending of a compressed file, and that ending, or ""."""
    ending = next((ending for ending in COMPRESSED if name.endswith(ending)), "")
    return name.removesuffix(ending), ending


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
        except unreadable():
            return False


def display_name(path: str) -> str:
    """The name of a file in messages."""
    return "<stdin>" if path == STDIN else path


def open_bytes(path: str) -> BinaryIO:
    """The file's bytes, decompressed if its name ends in .gz or .zst; standard input for `-`."""
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise UsageError("standard input is closed; name a file")
            return sys.stdin.buffer
        if path.endswith(".gz"):
            return io.BufferedReader(gzip.open(path, "rb"))
        if path.endswith(".zst"):
            return zstd.reader(path)
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror or error}") from None


def unreadable() -> tuple[type[Exception], ...]:
    """What reading a file may raise."""
    return (OSError, *_damage())


def _damage() -> tuple[type[Exception], ...]:
    """What reading a damaged compressed file raises."""
    return (EOFError, zlib.error, gzip.BadGzipFile, *zstd.errors())


def read_lines(path: str, part: Part | None = None) -> Iterator[tuple[int, str]]:
    """(number, text) of each line of a file or a part of it, with its line end; a byte-order mark is removed."""
    lines = numbered_bytes(path) if part is None else enumerate(io.BytesIO(part.data), start=part.line)
    return _decoded(path, lines)


def numbered_bytes(path: str) -> Iterator[tuple[int, bytes]]:
    """(number, bytes) of each line, counted from 1, with its line end."""
    number = 0
    stream = open_bytes(path)
    try:
        for number, raw in enumerate(stream, start=1):
            yield number, raw
    except _damage() as error:
        kind = "zstd" if path.endswith(".zst") else "gzip"
        raise TreebankError(f"{display_name(path)}:{number + 1}: the {kind} file is damaged: {error}") from None
    finally:
        if path != STDIN:
            stream.close()


def _decoded(path: str, lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, str]]:
    """The text of numbered lines of a file; a byte-order mark in the first line of the file is removed."""
    for number, raw in lines:
        if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
            raw = raw[3:]
            if not raw:  # a file may consist of a byte-order mark alone
                continue
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TreebankError(
                f"{display_name(path)}:{number}: byte {raw[error.start]:#04x} at column {error.start + 1} is not UTF-8"
            ) from None


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A UTF-8 stream with LF line ends: standard output for None or `-`, otherwise a file, compressed by its name.

    The file is created when the block ends without an error; until then an existing file is left unchanged.
    """
    if path is None or path == STDIN:
        if sys.stdout is None:
            raise UsageError("standard output is closed; use --out")
        with _as_text(sys.stdout.buffer) as stream:
            yield stream
    else:
        with replacing(path) as raw, _packed(raw, path) as packed, _as_text(packed) as stream:
            yield stream


def _packed(raw: BinaryIO, path: str) -> AbstractContextManager[BinaryIO | gzip.GzipFile]:
    """The stream, compressed if the name of its file says so."""
    if path.endswith(".gz"):
        return gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
    return zstd.writer(raw) if path.endswith(".zst") else nullcontext(raw)


@contextmanager
def _as_text(binary: BinaryIO | gzip.GzipFile) -> Iterator[TextIO]:
    stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
    try:
        yield stream
        stream.flush()
    finally:
        stream.detach()
