"""The scripts of the paper's figures, on a few sentences: runs, resuming, the page and the pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

PAGE = """<!-- dimensions and components -->
<!-- end of dimensions and components -->
<!-- component pruning -->
<!-- end of component pruning -->
"""
DOCS = Path(__file__).parents[2] / "docs"

Load = Callable[[str], ModuleType]


def call(script: ModuleType, monkeypatch: pytest.MonkeyPatch, docs: Path) -> None:
    monkeypatch.setattr(sys, "argv", ["script", "--quick", "--docs", str(docs)])
    script.SWEEP.main()


def refuse(*arguments: object) -> None:
    raise AssertionError(arguments)


def test_dimensions_and_components(load_script: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load_script("experiments/dimensions_and_components.py")
    (tmp_path / "figures.md").write_text(PAGE)
    call(script, monkeypatch, tmp_path)
    rows = script.read_rows(tmp_path / "dimensions-and-components.csv", script.Sized)
    assert [(row.components, row.dim) for row in rows] == [(2, 3), (3, 3), (4, 2), (4, 3)]
    assert all(row.f1 > 0 and row.epoch_seconds > 0 for row in rows)
    page = (tmp_path / "figures.md").read_text(encoding="utf-8")
    assert page.count("| 2 | ") == page.count("| 3 | ") == 2  # both halves
    drawing = ElementTree.parse(tmp_path / "dimensions-and-components.svg").getroot()
    assert "dimensions, K = 4" in {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}

    monkeypatch.setattr(script.Bench, "learn", refuse)
    call(script, monkeypatch, tmp_path)  # nothing is run again


def test_the_sweep_is_that_of_the_paper(load_script: Load) -> None:
    script = load_script("experiments/dimensions_and_components.py")
    found = script.sizes(False)
    assert len(found) == 15
    assert {dim for components, dim in found if components == 4} == set(range(2, 10))
    assert {components for components, dim in found if dim == 3} == set(range(2, 10))


def test_component_pruning(load_script: Load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = load_script("experiments/component_pruning.py")
    (tmp_path / "figures.md").write_text(PAGE)
    call(script, monkeypatch, tmp_path)
    exact, pruned = script.read_rows(tmp_path / "component-pruning.csv", script.Pruned)
    assert (exact.k_hard, pruned.k_hard) == (0, 5)
    assert exact.f1 == exact.f1_exact
    assert exact.cut == exact.lost == 0
    assert pruned.cut > 0
    assert pruned.lost > 0
    page = (tmp_path / "figures.md").read_text(encoding="utf-8")
    assert page.index("| 5 | ") < page.index("| none (exact) | ")
    assert ElementTree.parse(tmp_path / "component-pruning.svg") is not None

    monkeypatch.setattr(script.Bench, "learn", refuse)
    call(script, monkeypatch, tmp_path)  # nothing is run again


def test_the_page_of_the_docs_shows_its_runs(load_script: Load, tmp_path: Path) -> None:
    scripts = [load_script(f"experiments/{name}.py") for name in ("dimensions_and_components", "component_pruning")]
    for name in ("figures.md", *(f"{script.NAME}.csv" for script in scripts)):
        if (DOCS / name).exists():
            (tmp_path / name).write_bytes((DOCS / name).read_bytes())
    for script in scripts:
        script.show(tmp_path)
    assert (tmp_path / "figures.md").read_bytes() == (DOCS / "figures.md").read_bytes()
