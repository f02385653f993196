"""Pages that are made from the code are up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_the_reference_of_options_is_made_from_the_code() -> None:
    made = runpy.run_path(str(DOCS / "make_options.py"))["page"]()
    assert (DOCS / "options.md").read_text(encoding="utf-8") == made, "run `python docs/make_options.py`"
