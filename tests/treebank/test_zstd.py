"""Zstandard files are read and written like others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from lveg.errors import TreebankError, UsageError
from lveg.treebank.penn import read_trees
from lveg.treebank.source import guess_format, open_bytes, open_output

if sys.version_info < (3, 14):
    pytest.importorskip("zstandard", reason="lveg[zstd] is not installed")

TEXT = "(TOP (S (A a) (B é)))\n" * 5000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.mrg.zst"
    with open_output(str(path)) as stream:
        stream.write(TEXT)
    return path


def test_round_trip(file: Path) -> None:
    assert file.stat().st_size < 1000
    assert guess_format(file) == "brackets"
    assert len(list(read_trees(file))) == 5000
    again = file.with_name("b.mrg.zst")
    with open_output(str(again)) as stream:
        stream.write(TEXT)
    assert again.read_bytes() == file.read_bytes()


def test_several_frames_are_one_file(file: Path) -> None:
    file.write_bytes(file.read_bytes() * 2)
    with open_bytes(str(file)) as stream:
        assert stream.read().decode() == TEXT * 2


def test_an_empty_file_is_empty(tmp_path: Path) -> None:
    (tmp_path / "a.zst").write_bytes(b"")
    with open_bytes(str(tmp_path / "a.zst")) as stream:
        assert stream.read() == b""


def test_damage_is_one_clear_line(file: Path) -> None:
    data = file.read_bytes()
    for damaged in (data[:-5], b"not zstd at all", data[:6] + b"\xff" * 20):
        file.write_bytes(damaged)
        with pytest.raises(TreebankError, match=r"a\.mrg\.zst:\d+: the zstd file is damaged: "):
            list(read_trees(file))


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be opened: No such file"):
        open_bytes(str(tmp_path / "none.zst"))
