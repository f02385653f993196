"""The page about the paper's claims shows the figures of the result files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    """The script as a module."""
    return load_script("docs/make_paper.py")


def test_the_page_is_up_to_date(script: ModuleType) -> None:
    made = script.filled((DOCS / "paper.template.md").read_text(encoding="utf-8"))
    assert (DOCS / "paper.md").read_text(encoding="utf-8") == made, "run `python docs/make_paper.py`"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a result file."""
    lines = ["bank,system,seed,f1", "a,x,0,80", "a,x,1,82", "a,y,0,80.5", "a,y l2=0,0,99", "b,x,0,70", "b,y,0,1234.5"]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


@pytest.mark.parametrize(
    ("field", "wanted"),
    [
        ("table; b; x; f1", "70.00"),
        ("table; a; x; f1", "81.00 ±1.41"),
        ("table; a; x - y; f1", "+0.50"),
        ("table; a; y l2=0; f1", "99.00"),
        ("best table; a; *; f1", "x"),
        ("each table; *; x - y; f1", "a +0.50, b -1164.50"),
        ("wins table; *; x - y; f1", "1 of 2"),
        ("sum table; a; *; f1", "242"),
        ("table; c; x; f1", "not run yet"),
        ("each table; *; z; f1", "not run yet"),
        ("absent; a; x; f1", "not run yet"),
    ],
)
def test_fields(script: ModuleType, folder: Path, field: str, wanted: str) -> None:
    assert script.filled(f"({{{{{field}}}}})", folder) == f"({wanted})"


def test_what_has_no_rows_can_be_left_out(script: ModuleType, folder: Path) -> None:
    assert script.filled("a [[b {{table; b; x; f1}}||c]] d", folder) == "a b 70.00 d"
    assert script.filled("a [[b {{table; c; x; f1}}||c]] d[[ {{absent; f1}}]]", folder) == "a c d"


@pytest.mark.parametrize("field", ["table; a; x; recall", "worst table; a; *; f1"])
def test_unknown_fields_are_refused(script: ModuleType, folder: Path, field: str) -> None:
    with pytest.raises(script.FieldError):
        script.filled(f"{{{{{field}}}}}", folder)
