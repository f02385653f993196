"""What measuring scripts share: rows in files, the cost of commands, an interrupted training."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from lveg.treebank.synthetic import ENGLISH

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def runs(load_script: Callable[[str], ModuleType]) -> ModuleType:
    """The module."""
    return load_script("benchmarks/runs.py")


@dataclass(frozen=True)
class Line:
    """A row."""

    name: str
    score: float
    is_good: bool
    extra: float | None = None

    @property
    def key(self) -> str:
        """What identifies it."""
        return self.name


def test_rows_come_back_and_replace_their_like(runs: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    assert runs.read_rows(path, Line) == []
    lines = [Line('a, "b"', 0.25, True), Line("c", 1e-9, False, 2.0)]
    for line in lines:
        runs.add_row(path, line)
    assert runs.read_rows(path, Line) == lines
    runs.add_row(path, Line("c", 3.0, True))
    assert runs.read_rows(path, Line) == [lines[0], Line("c", 3.0, True)]


def test_a_command_that_fails_says_why(runs: ModuleType, tmp_path: Path) -> None:
    costs: list[object] = []
    with pytest.raises(runs.CommandError, match=r"lveg info .*absent.model: .*cannot be opened"):
        runs.lveg("info", tmp_path / "absent.model", spent=costs.append)
    assert len(costs) == 1


def test_an_interrupted_training_continues(runs: ModuleType, tmp_path: Path) -> None:
    trees, model = tmp_path / "trees.mrg", tmp_path / "lvg.model"
    lines = (ENGLISH.parent / "demo-train.mrg").read_text(encoding="utf-8").splitlines()
    trees.write_text("\n".join(lines[:60]), encoding="utf-8")
    options = {"model": "lvg", "subtypes": 2, "epochs": 40, "patience": 0}
    code = f"""
import signal, sys
from pathlib import Path
from runs import train
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
train(Path({str(model)!r}), {str(trees)!r}, {str(trees)!r}, {options!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": path_with(BENCHMARKS)})
    while process.poll() is None and not list(tmp_path.glob("*.checkpoint")):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    process.wait()
    assert not model.exists()
    before = json.loads((tmp_path / "lvg.model.cost").read_text())
    assert before["is_whole"]
    cost = runs.train(model, trees, trees, options)
    assert cost.is_whole
    assert cost.cpu_seconds > before["cpu_seconds"] > 0
    events = [json.loads(line) for line in (tmp_path / "lvg.model.log").read_text().splitlines()]
    assert "resumed" in {event["event"] for event in events}
    assert runs.train(model, trees, trees, options) == cost


def path_with(folder: Path) -> str:
    """PYTHONPATH with another folder."""
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_blocks_of_a_page(runs: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n")
    runs.fill(page, "x", "new")
    assert page.read_text() == "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"
    with pytest.raises(ValueError, match="has no block"):
        runs.fill(page, "y", "new")
