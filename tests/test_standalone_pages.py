"""The pages that commands write, in a real browser: they can be used without a mouse, by the rules of axe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browsing import chromium, violations
from cli.conftest import run_main
from small import small_file, some_trees, train

from lveg.drawing.plane import Spot, plane_svg
from lveg.model_io import save_model

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each command that writes one."""
    folder = tmp_path_factory.mktemp("pages")
    trees, dev = (small_file(folder, "parser", count, part) for count, part in ((200, "train"), (20, "dev")))
    model, other = folder / "gm.model", folder / "pcfg.model"
    save_model(train("parser", some_trees(trees), model="gm", epochs=1, components=2, dim=2), str(model))
    save_model(train("parser", some_trees(trees)[:20], model="pcfg"), str(other))
    found = {name: folder / f"{name}.html" for name in ("report", "draw", "inspect")}
    for command in (
        ["evaluate", dev, "--model", other, "--against", model, "--calibration", "--report", found["report"], "-q"],
        ["draw", model, dev, "--input-format", "brackets", "--count", 2, "--out", found["draw"]],
        ["inspect", model, "--out", found["inspect"]],
    ):
        outcome = run_main(*command)
        assert outcome.status == 0, outcome.err
    return found


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("name", ["report", "draw", "inspect"])
def test_accessibility(browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, bypass_csp=True)
    page = context.new_page()
    page.goto(pages[name].as_uri())
    found = violations(page)
    context.close()
    assert found == []


def test_ellipses_end_at_the_frame_of_the_plane(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    spots = [Spot("words", "wide", 1.0, 0.0, 0.0, (9.0, 9.0)), Spot("words", "small", 0.1, 1.0, 1.0, (0.1, 0.1))]
    page.set_content(f'<body style="margin: 50px">{plane_svg(spots)}')
    frame = page.locator("svg").first.bounding_box()
    assert frame is not None
    around: Any = {"x": 0.0, "y": 0.0, "width": 1000.0, "height": frame["y"]}
    border: Any = {"x": frame["x"], "y": frame["y"], "width": 1.0, "height": 300.0}
    before = [page.screenshot(clip=clip) for clip in (around, border)]
    inside = page.screenshot()
    page.locator("circle").first.hover()
    assert page.screenshot() != inside, "the ellipse is shown"
    assert [page.screenshot(clip=clip) for clip in (around, border)] == before
    page.close()
