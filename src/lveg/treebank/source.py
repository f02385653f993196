"""Files, directories, gzip and standard input as numbered lines of text, and writing back."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, TextIO

from lveg.errors import TreebankError, UsageError

STDIN = "-"


@dataclass
class Faults:
    """What happens at a malformed sentence: an error, or, with `skip`, a note in `messages` and onwards."""

    skip: bool = False
    messages: list[str] = field(default_factory=list)

    def report(self, message: str) -> None:
        """Raise the fault, or note it."""
        if not self.skip:
            raise TreebankError(message)
        self.messages.append(message)


def as_list(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """The paths as a list, also where a single one is given."""
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


def expand(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files that the paths name; for a directory its files, sorted, without the hidden ones."""
    files: list[str] = []
    for given in paths:
        path = os.fspath(given)
        if path == STDIN or not os.path.isdir(path):
            files.append(path)
            continue
        inside = sorted(
            str(file)
            for file in Path(path).rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
        if not inside:
            raise UsageError(f"{path}: the directory holds no files")
        files.extend(inside)
    return files


def display_name(path: str) -> str:
    """What messages call a file."""
    return "<stdin>" if path == STDIN else path


def open_bytes(path: str) -> BinaryIO:
    """The file's bytes, unpacked where its name ends in .gz; standard input for `-`."""
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
    """(number, text) of each line, counted from 1, with its line end; a byte-order mark is cut."""
    number = 0
    stream = open_bytes(path)
    try:
        for number, raw in enumerate(stream, start=1):
            if number == 1 and raw.startswith(b"\xef\xbb\xbf"):
                raw = raw[3:]
            yield number, raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TreebankError(
            f"{display_name(path)}:{number}: byte {error.object[error.start]:#04x} at column {error.start + 1} "
            "is not UTF-8"
        ) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TreebankError(f"{display_name(path)}:{number + 1}: the gzip file is damaged: {error}") from None
    except IsADirectoryError:
        raise UsageError(f"{path}: is a directory") from None
    finally:
        if path != STDIN:
            stream.close()


@contextmanager
def open_output(path: str | None) -> Iterator[TextIO]:
    """A UTF-8 stream with LF line ends, to a file (gzip by its name); standard output for None or `-`."""
    if path is None or path == STDIN:
        if sys.stdout is None:
            raise UsageError("standard output is closed; use --out")
        stream = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="\n", write_through=False)
        try:
            yield stream
            stream.flush()
        finally:
            stream.detach()
        return
    try:
        raw = gzip.open(path, "wb") if path.endswith(".gz") else open(path, "wb")  # noqa: SIM115
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from None
    with raw, io.TextIOWrapper(raw, encoding="utf-8", newline="\n") as stream:
        yield stream
