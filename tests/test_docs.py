"""Generated pages are up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("name", ["options.md", "commands.md", "api.md"])
def test_the_reference_is_up_to_date(name: str) -> None:
    made = runpy.run_path(str(DOCS / "make_reference.py"))["PAGES"][name]()
    assert (DOCS / name).read_text(encoding="utf-8") == made, "run `python docs/make_reference.py`"
