"""The script of the parsing table, on a few sentences: rows, resuming, failures, the page and the picture."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    """The script as a module."""
    return load_script("experiments/parsing_table.py")


def call(script: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, *more: str) -> None:
    line = ["parsing_table.py", "--quick", "--work", str(folder / "work"), "--docs", str(folder), *more]
    monkeypatch.setattr(sys, "argv", line)
    script.main()


def test_rows_are_kept_and_drawn(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parsing.md").write_text("Before.\n<!-- parsing table -->\n<!-- end of parsing table -->\nAfter.\n")
    with pytest.raises(SystemExit, match="1 rows failed"):
        call(script, monkeypatch, tmp_path, "--only", "demo/pcfg", "demo/pcfg cycles=2", "demo/split-merge")
    assert "failed: lveg train parser" in capsys.readouterr().err
    pcfg, subtypes = script.read_rows(tmp_path / "parsing-table.csv", script.Parsed)
    assert pcfg.key == ("demo", "pcfg", 0)
    assert 0 < pcfg.f1 < subtypes.f1 <= 100
    assert pcfg.sentences == 30
    assert pcfg.training_cpu > 0
    assert pcfg.is_whole
    assert 0 < pcfg.parsing_gib < 2
    page = (tmp_path / "parsing.md").read_text(encoding="utf-8")
    assert page.startswith("Before.\n")
    assert page.endswith("After.\n")
    assert f"| split-merge | 1 | **{subtypes.f1:.2f}** |" in page
    picture = ElementTree.parse(tmp_path / "parsing-table.svg").getroot()
    assert "split-merge" in {text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")}

    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError(arguments)

    monkeypatch.setattr(script, "lveg", refuse)
    call(script, monkeypatch, tmp_path, "--only", "demo/pcfg", "demo/split-merge")  # nothing is run again


def test_systems_are_those_of_the_paper_and_two_more(script: ModuleType) -> None:
    bench = script.Bench(Path("work"))
    kinds = {system: bench.options(system, 3) for system in script.SYSTEMS}
    assert kinds["LVG-D-16"] == {"model": "lvg", "subtypes": 16, "objective": "discriminative", "seed": 3}
    assert kinds["GM-LVeG-D"]["covariance"] == "diagonal"
    assert kinds["contextual-GM"] == {"seed": 3}
    assert bench.options("GM-LVeG-S l2=0", 0)["l2"] == 0
    assert set(script.everything()) == {f"{name}/{one}" for name in script.TREEBANKS for one in script.NAMES}
    assert len(list(script.wanted(["gum"], 3))) == 3 * len(script.NAMES) - 2  # the treebank grammar has no seed
    with pytest.raises(SystemExit, match="no system CRF"):
        list(script.wanted(["gum/CRF"], 1))


def test_the_page_of_the_docs_shows_its_rows(script: ModuleType, tmp_path: Path) -> None:
    docs = Path(__file__).parents[2] / "docs"
    for name in ("parsing.md", "parsing-table.csv"):
        if (docs / name).exists():
            (tmp_path / name).write_bytes((docs / name).read_bytes())
    script.show(tmp_path)
    assert (tmp_path / "parsing.md").read_bytes() == (docs / "parsing.md").read_bytes()
