"""Files of vectors: supported formats, and errors with file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from lveg.contexts.vectors import read_vectors
from lveg.errors import LvegError

GLOVE = "the 0.5 -1 2e-1\ndog 1 2 3\n. 0 0 1\n"


def write(folder: Path, text: str, name: str = "vectors.txt") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


@pytest.mark.parametrize("text", [GLOVE, "3 3\n" + GLOVE, GLOVE.replace("\n", " \n"), GLOVE.replace("\n", "\r\n")])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.vec.gz"])
def test_formats(tmp_path: Path, text: str, name: str) -> None:
    found = read_vectors(write(tmp_path, text, name), 10)
    assert found.words == ("the", "dog", ".")
    assert found.rows.dtype == np.float16
    assert found.rows[:2] == pytest.approx(np.array([[0.5, -1.0, 0.2], [1.0, 2.0, 3.0]]), abs=1e-3)


def test_the_first_words_up_to_a_limit_each_once(tmp_path: Path) -> None:
    path = write(tmp_path, "a 1 2\nb 3 4\na 5 6\nc 7 8\n")
    assert read_vectors(path, 2).words == ("a", "b")
    assert read_vectors(path, 9).words == ("a", "b", "c")
    assert read_vectors(path, 9).rows[0].tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 1 2\nb 1\n", ":2: expected 2 numbers, found 1"),
        ("a 1 x\n", ":1: expected a word and its numbers"),
        ("a\n", ":1: expected a word and its numbers"),
        ("a 1 nan\n", ":1: expected numbers from"),
        ("a 1 1e9\n", ":1: expected numbers from"),
        ("", "the file contains no vectors"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(LvegError) as caught:
        read_vectors(write(tmp_path, text), 10)
    assert expected in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(GLOVE.encode() * 100)[:60])
    (tmp_path / "latin").write_bytes("é 1 2\n".encode("latin-1"))
    for name, expected in (("none", "No such file"), ("cut.gz", "cannot be read"), ("latin", ":1: is not UTF-8")):
        with pytest.raises(LvegError, match=expected):
            read_vectors(str(tmp_path / name), 10)
