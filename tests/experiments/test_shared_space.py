"""The script that compares one space with mixtures of each rule's own, on a little data."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import numpy as np
import pytest


@pytest.fixture
def script(load_script: Callable[[str], ModuleType]) -> ModuleType:
    """The script as a module."""
    return load_script("experiments/shared_space.py")


def test_runs_are_kept_and_drawn(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["shared_space.py", "--quick", "--out", str(tmp_path / "space")])
    script.main()
    gm, shared = script.read_rows(tmp_path / "space.csv", script.Run)
    assert (gm.treebank, gm.sentences, shared.seed) == ("demo", 60, 0)
    assert 0 < shared.parameters < gm.parameters
    assert 0 < shared.f1 <= 100
    assert gm.unseen is None
    assert shared.together > 0
    drawing = ElementTree.parse(tmp_path / "space-demo-60-0.svg").getroot()
    assert "NP" in {text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")}
    first = capsys.readouterr().out.splitlines()

    monkeypatch.setattr(script, "train_parser", None)  # nothing is trained again
    script.main()
    again = capsys.readouterr().out.splitlines()
    assert again == first[-len(again) :]


def test_the_chance_to_weigh_more(script: ModuleType) -> None:
    weight = np.arange(8.0).reshape(2, 2, 2)
    wanted, is_seen = np.zeros((2, 2, 2), bool), np.zeros((2, 2, 2), bool)
    wanted[1, 0, 1] = is_seen[1, 0, 1] = is_seen[0, 0, 0] = True
    assert script.chance_above(weight, wanted, is_seen) == pytest.approx(4 / 6)
