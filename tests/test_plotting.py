"""Logs of training runs, and their pictures."""

from __future__ import annotations

import io
import json
import math
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lveg.errors import UsageError
from lveg.plotting import Training, format_of, plot, read_log


def write(path: Path, *events: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(path)


def event(name: str, time: float, **facts: Any) -> dict[str, Any]:
    return {"event": name, "time": time, **facts}


def epoch(number: int, time: float, f1: float = 80.0) -> dict[str, Any]:
    return event("epoch", time, epoch=number, objective=5.0 / number, dev_f1=f1)


def test_rounds_stages_and_the_final_score(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.log", event("read", 10.0, sentences=50), epoch(1, 12.0), epoch(2, 13.0, 85.0),
        event("context", 13.0), epoch(1, 15.0), event("dev", 16.0, f1=86.5), event("done", 16.0),
    )  # fmt: skip
    (run,) = read_log(path)
    assert (run.name, run.score) == ("a", 86.5)
    assert [(one.seconds, one.stage) for one in run.rounds] == [(2.0, 0), (3.0, 0), (5.0, 1)]
    assert [one.score for one in run.rounds] == [80.0, 85.0, 80.0]


def test_cycles_have_a_likelihood_as_objective(tmp_path: Path) -> None:
    cycle = event("cycle", 2.0, cycle=1, log_likelihood=-500.0)
    (run,) = read_log(write(tmp_path / "a.log", event("read", 1.0, sentences=50), cycle))
    assert run.rounds[0].objective == 10.0
    assert math.isnan(run.rounds[0].score)


def test_a_resumed_run_is_one_run_and_an_appended_one_is_another(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.log",
        event("read", 10.0), epoch(1, 12.0),
        event("read", 100.0), event("resumed", 101.0, epoch=1), epoch(2, 103.0), event("dev", 104.0, f1=90.0),
        event("read", 200.0), epoch(1, 201.0),
    )  # fmt: skip
    first, second = read_log(path)
    assert [(one.seconds, one.stage) for one in first.rounds] == [(2.0, 0), (5.0, 0)]
    assert (second.name, len(second.rounds)) == ("a (2)", 1)


@pytest.mark.parametrize(("text", "message"), [
    ("", "has no epochs and no scores"),
    ("(TOP (S (NN a)))\n", "a.log:1: is not a training event"),
    ('{"event": "read", "time": 1}\n[]\n', "a.log:2: is not a training event"),
])  # fmt: skip
def test_files_that_are_not_logs(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.log").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_log(str(tmp_path / "a.log"))
    with pytest.raises(UsageError, match="cannot be opened"):
        read_log(str(tmp_path / "b.log"))


def test_the_suffix_names_the_format() -> None:
    assert format_of("a/b.PNG") == "png"
    with pytest.raises(UsageError, match=r"ends in .svg, .png or .pdf"):
        format_of("a.jpeg")


def test_pictures_name_all_runs_and_are_reproducible(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="`lveg plot` needs it")
    first = read_log(write(tmp_path / "first.log", event("read", 1.0), epoch(1, 2.0), epoch(2, 900.0)))
    runs = [*first, Training("baseline", [], 77.0)]
    made = []
    for _ in range(2):
        stream = io.BytesIO()
        plot(runs, stream, "svg")
        made.append(stream.getvalue())
    assert made[0] == made[1]
    texts = {one.text for one in ElementTree.fromstring(made[0]).iter("{http://www.w3.org/2000/svg}text")}
    assert {"first", "baseline, 77.00", "minutes since the start", "development score"} <= texts
    stream = io.BytesIO()
    plot(runs, stream, "png")
    assert stream.getvalue().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match=r"pip install 'lveg\[plots\]'"):
        plot([], io.BytesIO(), "svg")
