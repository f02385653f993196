"""Progress of long work on stderr: bars on a terminal, plain lines otherwise."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from lveg.report import Report, counted, describe, silent

Item = TypeVar("Item")

_EVERY = 10.0  # seconds between plain progress lines
_REFRESH = 0.1  # seconds between updates of a bar


@contextmanager
def shown() -> Iterator[Report]:
    """A report that shows events on stderr."""
    if not sys.stderr.isatty():
        yield _Lines().event
        return
    bars = _Bars()
    try:
        yield bars.event
    finally:
        bars.close()


def watched(items: Iterable[Item], progress: bool | Report, what: str, total: int | None = None) -> Iterator[Item]:
    """The items, with progress on stderr (True), reported to a function, or not at all (False)."""
    if progress is True:
        with shown() as report:
            yield from counted(items, report, what, total)
    else:
        yield from counted(items, progress or silent, what, total)


def say(line: str) -> None:
    """Write a line to stderr."""
    print(line, file=sys.stderr, flush=True)


class _Lines:
    """Progress as plain lines, for files and pipes."""

    def __init__(self) -> None:
        self.last = time.monotonic()

    def event(self, event: str, facts: dict[str, Any]) -> None:
        if event != "progress":
            say(describe(event, facts))
        elif time.monotonic() - self.last > _EVERY:
            self.last = time.monotonic()
            total = f" of {facts['total']:,}" if facts.get("total") else ""
            say(f"{facts['what']}: {facts['done']:,}{total}")


class _Bars:
    """Progress bars on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.tasks: dict[str, Any] = {}
        self.last = 0.0
        self.progress.start()

    def event(self, event: str, facts: dict[str, Any]) -> None:
        if event != "progress":
            self.progress.console.print(describe(event, facts), highlight=False, markup=False)
            return
        what, done, total = facts["what"], facts["done"], facts.get("total")
        if what not in self.tasks:
            self.tasks[what] = self.progress.add_task(what, total=total)
        now = time.monotonic()
        if done == total or now - self.last > _REFRESH:
            self.last = now
            self.progress.update(self.tasks[what], completed=done)

    def close(self) -> None:
        self.progress.stop()
