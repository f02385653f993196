"""Zstandard files: with the standard library of Python 3.14 or later, otherwise with the package `zstandard`."""

from __future__ import annotations

import io
from contextlib import AbstractContextManager
from functools import cache
from typing import Any, BinaryIO, cast

from lveg.errors import UsageError

_PIECE = 1 << 13  # compressed bytes that are read at a time


def reader(path: str) -> BinaryIO:
    """The decompressed bytes of a file, of all its frames; EOFError if the last one is not complete."""
    standard = _standard()
    if standard is not None:
        return cast(BinaryIO, io.BufferedReader(standard.open(path, "rb")))
    package = _package(path)
    return io.BufferedReader(_Frames(open(path, "rb"), package.ZstdDecompressor))


def writer(stream: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """A stream whose bytes are compressed into another one, which stays open."""
    standard = _standard()
    if standard is not None:
        return cast(AbstractContextManager[BinaryIO], standard.open(stream, "wb"))
    made: AbstractContextManager[BinaryIO] = (
        _package("the output").ZstdCompressor().stream_writer(stream, closefd=False)
    )
    return made


def errors() -> tuple[type[Exception], ...]:
    """What reading a damaged file raises besides EOFError."""
    found = _standard() or _installed()
    return () if found is None else (found.ZstdError,)


def check(path: str) -> None:
    """Raise an error if files like this one cannot be read or written here."""
    if path.endswith(".zst") and _standard() is None:
        _package(path)


@cache  # a module that is missing would be looked for again, each time that a file is closed early
def _standard() -> Any:
    """The module of the standard library, None if there is none."""
    try:
        from compression import zstd
    except ImportError:
        return None
    return zstd


@cache
def _installed() -> Any:
    """The package, None if it is not installed."""
    try:
        import zstandard
    except ImportError:
        return None
    return zstandard


def _package(path: str) -> Any:
    found = _installed()
    if found is None:
        raise UsageError(f"{path}: .zst files need Python 3.14 or the package zstandard: pip install 'lveg[zstd]'")
    return found


class _Frames(io.RawIOBase):
    """The decompressed bytes of all frames of a stream; the package's own reader takes a truncated file for a whole."""

    def __init__(self, stream: BinaryIO, decompressor: Any) -> None:
        self.stream, self.decompressor = stream, decompressor
        self.frame: Any = None
        self.ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self.stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self.ready:
            is_between = self.frame is None or self.frame.eof
            piece = (self.frame.unused_data if self.frame is not None and self.frame.eof else b"") or self._read()
            if not piece and is_between:
                return 0
            if not piece:
                raise EOFError("it ends within a frame")
            if is_between:
                self.frame = self.decompressor().decompressobj()
            self.ready = memoryview(self.frame.decompress(piece))
        count = min(len(buffer), len(self.ready))
        buffer[:count] = self.ready[:count]
        self.ready = self.ready[count:]
        return count

    def _read(self) -> bytes:
        return self.stream.read(_PIECE)
