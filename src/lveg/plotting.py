"""Pictures of training runs, from the logs that `lveg train --log` writes; drawn by Matplotlib."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from lveg.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
_ROUNDS = {"epoch", "cycle"}
_SCORES = ("f1", "token_accuracy")
_SCALE = 20.0
"""If the largest objective is this many times the smallest, their axis is logarithmic."""


_STYLE: Any = {
    "svg.hashsalt": "lveg", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": "#e3e7eb", "axes.edgecolor": "#9fabb8",
}  # fmt: skip


@dataclass
class Round:
    """An epoch or cycle. seconds: since the run began. stage: counts how often numbering began anew."""

    objective: float
    score: float
    seconds: float
    stage: int


@dataclass
class Training:
    """A training run: its rounds, and its score on development data at the end; NaN for what is unknown."""

    name: str
    rounds: list[Round] = field(default_factory=list)
    score: float = math.nan


def read_log(path: str) -> list[Training]:
    """The runs in a log; one that was interrupted and resumed is one run, without the time between."""
    name, runs, sessions = Path(path).stem, [Training(Path(path).stem)], _sessions(path)
    clock = 0.0
    for events in sessions:
        if not any(event["event"] == "resumed" for event in events) and (runs[-1].rounds or clock):
            runs.append(Training(f"{name} ({len(runs) + 1})"))
            clock = 0.0
        _add(runs[-1], events, clock - events[0]["time"])
        clock += events[-1]["time"] - events[0]["time"]
    found = [run for run in runs if run.rounds or not math.isnan(run.score)]
    if not found:
        raise UsageError(f"{path}: has no epochs and no scores; expected a file that `lveg train --log` wrote")
    return found


def _sessions(path: str) -> Iterator[list[dict[str, Any]]]:
    """The events of each call of `lveg train`, which begins by reading its treebank."""
    events: list[dict[str, Any]] = []
    for event in _events(path):
        if event["event"] == "read" and events:
            yield events
            events = []
        events.append(event)
    if events:
        yield events


def _events(path: str) -> Iterator[dict[str, Any]]:
    try:
        with open(path, "rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    event = msgspec.json.decode(line)
                except msgspec.DecodeError:
                    event = None
                if not (isinstance(event, dict) and "event" in event and isinstance(event.get("time"), float | int)):
                    raise UsageError(f"{path}:{number}: is not a training event; expected a log of `lveg train --log`")
                yield event
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened: {error.strerror or error}") from None


def _add(run: Training, events: Sequence[dict[str, Any]], shift: float) -> None:
    """Add the rounds and the score of events to a run; shift: from their time to that of the run."""
    sentences, last = 1, 0
    stage = run.rounds[-1].stage if run.rounds else 0
    for event in events:
        match event["event"]:
            case "read":
                sentences = max(event.get("sentences", 1), 1)
            case "resumed":
                last = event.get("epoch", event.get("cycle", 0))
            case "dev":
                run.score = _score(event, "")
            case kind if kind in _ROUNDS:
                stage, last = stage + (event[kind] <= last), event[kind]
                log_likelihood = event.get("log_likelihood", math.nan)
                objective = event.get("objective", -log_likelihood / sentences)
                run.rounds.append(Round(objective, _score(event, "dev_"), event["time"] + shift, stage))


def _score(event: dict[str, Any], prefix: str) -> float:
    """The main score of an event."""
    return next((float(event[prefix + name]) for name in _SCORES if prefix + name in event), math.nan)


def plot(runs: Sequence[Training], stream: BinaryIO, format: str) -> None:
    """Draw the objective, the score and the time of runs over their rounds."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError("plots need Matplotlib, which is not installed: pip install 'lveg[plots]'") from None
    with rc_context(_STYLE):
        figure = Figure(figsize=(7.5, 8), layout="constrained")
        _fill(figure, runs)
        figure.savefig(stream, format=format, dpi=150, metadata={"Date": None} if format == "svg" else None)


def _fill(figure: Figure, runs: Sequence[Training]) -> None:
    top, middle, bottom = figure.subplots(3, 1, sharex=True)
    slow = max((one.seconds for run in runs for one in run.rounds), default=0.0) > 300
    unit, seconds = ("minutes", 60.0) if slow else ("seconds", 1.0)
    for number, run in enumerate(runs):
        colour, label = f"C{number % 10}", run.name + ("" if math.isnan(run.score) else f", {run.score:.2f}")
        _curve(top, run, [one.objective for one in run.rounds], colour)
        _curve(middle, run, [one.score for one in run.rounds], colour)
        _curve(bottom, run, [one.seconds / seconds for one in run.rounds], colour)
        middle.plot([], [], color=colour, label=label, linestyle="-" if run.rounds else ":")
        if not run.rounds:
            middle.axhline(run.score, color=colour, linestyle=":")
    objectives = [one.objective for run in runs for one in run.rounds if not math.isnan(one.objective)]
    if objectives and min(objectives) > 0 and max(objectives) > _SCALE * min(objectives):
        top.set_yscale("log")
    top.set_ylabel("objective per sentence")
    middle.set_ylabel("development score")
    bottom.set_ylabel(f"{unit} since the start")
    bottom.set_xlabel("epoch or cycle")
    bottom.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(loc="outside upper center", ncols=min(len(runs), 3), frameon=False)


def _curve(axes: Axes, run: Training, values: Sequence[float], colour: str) -> None:
    """A line for each stage of a run, and a faint one through all of them."""
    axes.plot(range(1, len(values) + 1), values, ":", color=colour, lw=1, alpha=0.5)
    for stage in dict.fromkeys(one.stage for one in run.rounds):
        places = [index for index, one in enumerate(run.rounds) if one.stage == stage]
        axes.plot(
            [index + 1 for index in places], [values[index] for index in places], "o-", color=colour, ms=3, lw=1.4
        )


def format_of(path: str) -> str:
    """The format of a picture, by the suffix of its file."""
    suffix = os.path.splitext(path)[1].lower().removeprefix(".")
    if suffix not in FORMATS:
        raise UsageError(f"{path}: a picture's name ends in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}")
    return suffix
