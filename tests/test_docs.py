"""Generated pages are up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def test_the_options_page_is_up_to_date() -> None:
    made = runpy.run_path(str(DOCS / "make_options.py"))["page"]()
    assert (DOCS / "options.md").read_text(encoding="utf-8") == made, "run `python docs/make_options.py`"
