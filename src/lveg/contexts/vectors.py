"""Word vectors from files: the text formats of GloVe and word2vec, and fastText's .vec, optionally with gzip."""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lveg.errors import TreebankError, UsageError

LARGEST = 1000.0
"""Bound on abs(element) of a vector."""

MOST_DIMENSIONS = 2000


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words, and a float16 row for each of them."""

    words: tuple[str, ...]
    rows: npt.NDArray[np.float16]


NO_VECTORS = Vectors((), np.zeros((0, 0), np.float16))


def read_vectors(path: str, limit: int) -> Vectors:
    """The vectors of the first `limit` words of a file, in which the most frequent words should come first.

    Each line is a word and its numbers, separated by spaces. A first line of two integers, as in word2vec and fastText
    files, is skipped. Of words that occur again, the first vector is used.
    """
    found: dict[str, npt.NDArray[np.float32]] = {}
    size = 0
    for number, line in _lines(path):
        word, _, rest = line.rstrip().partition(" ")
        if number == 1 and rest.isdigit() and word.isdigit():
            continue
        try:
            row = np.array(rest.split(" "), np.float32)
        except ValueError:
            raise TreebankError(f"{path}:{number}: expected a word and its numbers, separated by spaces") from None
        size = size or row.size
        if row.size != size or not size <= MOST_DIMENSIONS:
            raise TreebankError(f"{path}:{number}: expected {min(size, MOST_DIMENSIONS)} numbers, found {row.size}")
        if not (np.abs(row) <= LARGEST).all():
            raise TreebankError(f"{path}:{number}: expected numbers from {-LARGEST:g} to {LARGEST:g}")
        if word:
            found.setdefault(word, row)
        if len(found) == limit:
            break
    if not found:
        raise UsageError(f"{path}: the file contains no vectors")
    return Vectors(tuple(found), np.array(list(found.values())).astype(np.float16))


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, which may be compressed with gzip."""
    try:
        with open(path, "rb") as raw:
            is_gzip = raw.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rb") if is_gzip else open(path, "rb") as stream:
            for number, line in zip(itertools.count(1), stream, strict=False):
                try:
                    yield number, line.decode()
                except UnicodeDecodeError:
                    raise TreebankError(f"{path}:{number}: is not UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UsageError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
