"""EVALB's parameter files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lveg.errors import LvegError, UsageError
from lveg.evaluation.params import COLLINS, EvalbParams, classes, read_params

DATA = Path(__file__).parents[2] / os.environ.get("LVEG_DATA", "../shared/data")
EVALB = DATA.resolve().parent / "evalb"


def write(folder: Path, text: str) -> Path:
    path = folder / "test.prm"
    path.write_text(text, encoding="utf-8", newline="")
    return path


def test_every_keyword_is_read(tmp_path: Path) -> None:
    text = (
        "## a comment\nDEBUG 0\n\nMAX_ERROR 7\r\nCUTOFF_LEN 25   \nLABELED 0\n"
        "DELETE_LABEL TOP\nDELETE_LABEL ,\nDELETE_LABEL_FOR_LENGTH -NONE-\n"
        "QUOTE_LABEL ``\nQUOTE_LABEL POS\nEQ_LABEL ADVP\tPRT\nEQ_LABEL A B\nEQ_WORD  Example example\n"
        "# EQ_WORD not this\n"
    )
    assert read_params(write(tmp_path, text)) == EvalbParams(
        labeled=False,
        delete_labels=frozenset({"TOP", ","}),
        delete_labels_for_length=frozenset({"-NONE-"}),
        eq_labels=(("ADVP", "PRT"), ("A", "B")),
        eq_words=(("Example", "example"),),
        quote_labels=frozenset({"``", "POS"}),
        cutoff_len=25,
        max_error=7,
    )


def test_empty_file_gives_evalb_defaults(tmp_path: Path) -> None:
    assert read_params(write(tmp_path, "")) == EvalbParams()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LABELED 1\nDELETE_LABLE TOP\n", r"test\.prm:2: unknown keyword 'DELETE_LABLE'"),
        ("EQ_LABEL ADVP\n", r"test\.prm:1: EQ_LABEL needs 2 values, got 1: 'ADVP'"),
        ("\n\nDELETE_LABEL\n", r"test\.prm:3: DELETE_LABEL needs 1 value, got 0"),
        ("DELETE_LABEL A B\n", r"test\.prm:1: DELETE_LABEL needs 1 value, got 2: 'A B'"),
        ("CUTOFF_LEN forty\n", r"test\.prm:1: CUTOFF_LEN needs a whole number, got 'forty'"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_params(write(tmp_path, text))


def test_missing_file_is_our_error(tmp_path: Path) -> None:
    with pytest.raises(LvegError, match="nowhere"):
        read_params(tmp_path / "nowhere.prm")


def test_classes_follow_chains() -> None:
    assert classes([("A", "B"), ("C", "D"), ("D", "B")]) == {"A": "C", "B": "C", "C": "C", "D": "C"}
    assert classes([]) == {}


@pytest.mark.skipif(not EVALB.is_dir(), reason=f"no EVALB files in {EVALB}")
def test_built_in_settings_are_those_of_the_file() -> None:
    assert read_params(EVALB / "COLLINS.prm") == COLLINS
