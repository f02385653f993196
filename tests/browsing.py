"""Checks of pages in a real browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@contextmanager
def chromium() -> Iterator[Browser]:
    """Headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="pages are tested with playwright: not installed")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("pages are tested in Chromium: not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def violations(page: Page) -> list[object]:
    """The rules of axe that the page breaks, with the elements.

    `LVEG_AXE=axe.min.js` takes the rules of another version of axe than axe-core-python has.
    """
    axe = pytest.importorskip("axe_core_python.sync_playwright", reason="needs axe-core-python: not installed")
    checker = axe.Axe.from_file(os.environ["LVEG_AXE"]) if "LVEG_AXE" in os.environ else axe.Axe()
    found = checker.run(page)["violations"]
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found]
