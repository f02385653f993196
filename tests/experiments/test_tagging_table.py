"""The script of the tagging table, on small data: rows, resuming, plots."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

from lveg.treebank.synthetic import ENGLISH

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(load_script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script, with data of one language whose parts are small ones."""
    folder = tmp_path / "ud-1.4" / "xx"
    folder.mkdir(parents=True)
    for name, count in (("train", 80), ("dev", 20)):
        blocks = (ENGLISH.parent / f"demo-{name}.conllu").read_text(encoding="utf-8").split("\n\n")[:count]
        with gzip.open(folder / f"{name}-small.conllu.gz", "wt", encoding="utf-8") as file:
            file.write("".join(f"{block}\n\n" for block in blocks))
    monkeypatch.setenv("LVEG_DATA", str(tmp_path))
    return load_script("experiments/tagging_table.py")


def call(script: ModuleType, monkeypatch: pytest.MonkeyPatch, out: Path, systems: str, seeds: str, *more: str) -> None:
    line = ["--languages", "xx,yy", "--systems", systems, "--seeds", seeds, "--out", str(out), *more]
    monkeypatch.setattr(sys, "argv", ["tagging_table.py", *line])
    script.main()


def test_runs_are_kept_and_drawn(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "table"
    call(script, monkeypatch, out, "HMM,LVG-G-2 epochs=2", "0,1")
    first = (tmp_path / "table.csv").read_text(encoding="utf-8")
    runs = script.read_rows(tmp_path / "table.csv", script.Run)
    assert [(run.language, run.system, run.seed) for run in runs] == [
        ("xx-small", system, seed) for system in ("HMM", "LVG-G-2 epochs=2") for seed in (0, 1)
    ]
    assert all(0 < run.token <= 100 for run in runs)
    shown = capsys.readouterr()
    assert "yy: there is no training file" in shown.err
    assert shown.out.splitlines()[0] == "|  | xx-small T | xx-small S |"
    assert "±" in shown.out
    assert len(list(ElementTree.parse(tmp_path / "table.svg").getroot().iter())) > 9

    monkeypatch.setattr(script, "train_tagger", None)  # nothing is trained again
    call(script, monkeypatch, out, "HMM,LVG-G-2 epochs=2", "0,1")
    assert capsys.readouterr().out == shown.out
    call(script, monkeypatch, out, "HMM,LVG-G-2 epochs=2,LVG-D-2", "0,1", "--show")
    assert capsys.readouterr().out == shown.out
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == first


def test_systems_are_those_of_the_paper(script: ModuleType) -> None:
    assert len(script.SYSTEMS) == 13
    kinds = {system: script.options_of("en", system, 3) for system in script.SYSTEMS}
    assert kinds["LVG-D-8"]["objective"] == "discriminative"
    assert kinds["LVG-G-8"]["subtypes"] == 8
    assert kinds["GM-LVeG-D"]["covariance"] == "diagonal"
    assert {(options["unknown"], options["smooth"], options["seed"]) for options in kinds.values()} == {
        ("english", 0, 3)
    }
    assert script.options_of("id", "GM-LVeG-S l2=2 spread=0.05", 0)["l2"] == 2
    assert script.options_of("id", "GM-LVeG-S", 0)["unknown"] == "single"
    with pytest.raises(SystemExit, match="not known"):
        script.options_of("en", "CRF", 0)


def test_settings_distinguish_all_options_except_the_seed(script: ModuleType) -> None:
    systems = (*script.SYSTEMS, "GM-LVeG-S l2=2", "GM-LVeG-S spread=0.05", "LVG-G-16 smoothing=3")
    assert len({script.settings_of(script.options_of("en", system, 0)) for system in systems}) == len(systems)
    for system in systems:
        names = {script.settings_of(script.options_of("en", system, seed)) for seed in (0, 1)}
        assert len(names | {script.settings_of(script.options_of("id", system, 0))}) == 2
    default = script.settings_of(script.options_of("en", "GM-LVeG-S", 0))
    assert script.settings_of(script.options_of("en", "GM-LVeG-S components=4 epochs=20", 0)) == default
    with pytest.raises(SystemExit, match="a tagger of model hmm has no option l2"):
        script.settings_of(script.options_of("en", "HMM l2=2", 0))


def test_the_table_of_the_docs_is_not_run_again(script: ModuleType) -> None:
    runs = script.read_rows(DOCS / "tagging-table.csv", script.Run)
    settings = {(run.language, run.system): run.settings for run in runs}
    for language in ("en", "id", "tr"):
        for system in script.SYSTEMS:
            assert settings[language, system] == script.settings_of(script.options_of(language, system, 0))
