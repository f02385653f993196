"""Vectors of words from files: GloVe's and word2vec's text formats, fastText's .vec, each also with gzip."""

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
"""Bound on the numbers of a vector."""

MOST_DIMENSIONS = 2000


@dataclass(frozen=True, eq=False)
class Vectors:
    """Words, and a row for each of them as float16."""

    words: tuple[str, ...]
    rows: npt.NDArray[np.float16]


NO_VECTORS = Vectors((), np.zeros((0, 0), np.float16))


def read_vectors(path: str, limit: int) -> Vectors:
    """The vectors of the first `limit` words of a file, which has the most frequent words first.

    A line is a word and its numbers, separated by spaces. A first line of two whole numbers, as word2vec and fastText
    write it, is skipped. A word that comes again is left out.
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
        raise UsageError(f"{path}: there are no vectors in it")
    return Vectors(tuple(found), np.array(list(found.values())).astype(np.float16))


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, which may be compressed."""
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
