"""What measuring scripts share: results in CSV files, `lveg` commands with their costs, and the blocks of pages.

Results are rows of a frozen dataclass with a `key`. A row is added as soon as it is measured, so that a script can be
interrupted at any time and continues with what is missing; several processes may add rows to the same file.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeVar

from lveg.files import replacing

Row = TypeVar("Row")
KINDS: dict[str, Callable[[str], Any]] = {
    "str": str, "int": int, "float": float, "bool": lambda text: text == "True", "float | None": float,
}  # fmt: skip


def read_rows(path: Path, form: type[Row]) -> list[Row]:
    """The rows of a CSV file, none if it does not exist. form: a dataclass; an empty cell has its default."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            form(**{field.name: KINDS[str(field.type)](row[field.name]) for field in fields(form) if row[field.name]})  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


def write_rows(path: Path, form: type[Row], rows: Iterable[Row]) -> None:
    """Write a CSV file; it is left unchanged if that fails."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [field.name for field in fields(form)], lineterminator="\n")  # type: ignore[arg-type]
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)  # type: ignore[call-overload]
    write(path, text.getvalue())


def names(text: str) -> list[str]:
    """Split at commas."""
    return [part.strip() for part in text.split(",")]


def add_row(path: Path, row: Any) -> None:
    """Add a row to a CSV file, in place of one with the same key."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with alone(path.parent):
        others = [other for other in read_rows(path, type(row)) if other.key != row.key]
        write_rows(path, type(row), [*others, row])


def write(path: Path, text: str) -> None:
    """Write a file completely or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(str(path)) as stream:
        stream.write(text.encode())


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is in such a block for the same file or folder."""
    number = os.open(path, os.O_RDONLY | (0 if path.is_dir() else os.O_CREAT))
    try:
        fcntl.flock(number, fcntl.LOCK_EX)
        yield
    finally:
        os.close(number)


class CommandError(Exception):
    """A command that failed, with what it wrote last."""


@dataclass(frozen=True)
class Cost:
    """CPU seconds and peak memory of commands. is_whole: False if the time before an interruption is not counted."""

    cpu_seconds: float = 0.0
    gib: float = 0.0
    is_whole: bool = True

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            round(self.cpu_seconds + other.cpu_seconds, 1), max(self.gib, other.gib), self.is_whole and other.is_whole
        )  # fmt: skip


def lveg(*arguments: object, given: str = "", spent: Callable[[Cost], None] = lambda cost: None) -> tuple[str, Cost]:
    """(output, cost) of an `lveg` command. given: its standard input. spent: receives the cost even if it fails."""
    command = [sys.executable, "-m", "lveg", *map(str, arguments)]
    source, out, err = (tempfile.TemporaryFile("w+") for _ in range(3))  # noqa: SIM115 (closed below)
    with source, out, err:
        source.write(given)
        source.seek(0)
        process = subprocess.Popen(command, stdin=source, stdout=out, stderr=err)
        try:
            status, usage = os.wait4(process.pid, 0)[1:]
        except BaseException:
            process.terminate()
            status, usage = os.wait4(process.pid, 0)[1:]
            raise
        finally:
            process.returncode = os.waitstatus_to_exitcode(status)
            cost = Cost(round(usage.ru_utime + usage.ru_stime, 1), round(usage.ru_maxrss / 2**20, 2))
            spent(cost)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            last = err.read().strip().splitlines()[-1:]
            raise CommandError(f"{' '.join(command[2:])}: {''.join(last) or process.returncode}")
        return out.read(), cost


def flags(options: dict[str, Any]) -> list[str]:
    """Options as arguments of a command."""
    found: list[str] = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        found += [f"--{flag}" if value else f"--no-{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return found


def train(model: Path, trees: object, dev: object, options: dict[str, Any]) -> Cost:
    """Train a parser on one thread unless it exists, or continue where an interrupted training stopped.

    Beside the model are the log of the training and its cost, summed over all attempts.
    """
    record, log, lock = (model.with_name(f"{model.name}.{ending}") for ending in ("cost", "log", "lock"))
    model.parent.mkdir(parents=True, exist_ok=True)

    def note(cost: Cost) -> None:
        write(record, json.dumps(asdict(cost)))

    with alone(lock):
        before = Cost(**json.loads(record.read_text())) if record.exists() else Cost()
        if model.exists():
            return before
        note(replace(before, is_whole=False))
        files = [trees, "--dev", dev, "--out", model, "--log", log]
        command = ["train", "parser", *files, "--resume", "--threads", 1, "--quiet", *flags(options)]
        lveg(*command, spent=lambda cost: note(before + cost))
        return Cost(**json.loads(record.read_text()))


Cell = tuple[str, bool]
"""A text, and whether it is the best of its column."""


def spread_text(numbers: Sequence[float]) -> str:
    """The mean, with the standard deviation of several numbers."""
    return f"{fmean(numbers):.2f}" + (f" ±{stdev(numbers):.2f}" if len(numbers) > 1 else "")


def markdown(header: Sequence[str], rows: Sequence[Sequence[Cell | str]]) -> str:
    """A table in Markdown; the first column is aligned left, the others right."""
    lines = [list(header), ["---", *("--:" for _ in header[1:])]]
    for row in rows:
        cells = [(cell, False) if isinstance(cell, str) else cell for cell in row]
        lines.append([f"**{text}**" if is_best else text for text, is_best in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fill(page: Path, name: str, text: str) -> None:
    """Replace the block of this name on a page, which may have text around it; without a page, make one."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    old = page.read_text(encoding="utf-8") if page.exists() else f"{begin}\n{end}\n"
    if begin not in old or end not in old:
        raise ValueError(f"{page}: has no block {begin} ... {end}")
    before, rest = old.split(begin, 1)
    new = f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.split(end, 1)[1]}"
    if new != old:
        write(page, new)


@contextmanager
def figure(path: Path, width: float, height: float) -> Iterator[Any]:
    """A Matplotlib figure, which is then written as SVG; the same content gives the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    style = {"axes.grid": True, "grid.color": "#e3e7eb", "axes.spines.top": False, "axes.spines.right": False}
    with rc_context({"svg.hashsalt": "lveg", "svg.fonttype": "none", **style}):
        drawn = Figure(figsize=(width, height), layout="constrained")
        yield drawn
        drawn.savefig(path, metadata={"Date": None})
