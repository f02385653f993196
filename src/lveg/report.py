"""Progress events, independent of how they are shown."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

Report = Callable[[str, dict[str, Any]], None]
"""Receives the name of an event and its facts.

`progress` events have `what`, `done` and `total`, `warning` events a `note`; others are milestones such as `read`,
`grammar`, `dev`.
"""


def silent(event: str, facts: dict[str, Any]) -> None:
    """A report that ignores all events."""


def describe(event: str, facts: dict[str, Any]) -> str:
    """An event as a line of text."""
    return f"{event}: " + ", ".join(
        f"{name.replace('_', ' ')} {value:,}" if isinstance(value, int) else f"{name.replace('_', ' ')} {value}"
        for name, value in facts.items()
        if not isinstance(value, dict)
    )


LOGGER = logging.getLogger("lveg")
LOGGER.addHandler(logging.NullHandler())


def logged(event: str, facts: dict[str, Any]) -> None:
    """A report to the logger `lveg`: milestones as INFO, progress as DEBUG, warnings as WARNING."""
    level = {"progress": logging.DEBUG, "warning": logging.WARNING}.get(event, logging.INFO)
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, "%s", describe(event, facts))


def counted(items: Iterable[Item], report: Report, what: str, total: int | None = None) -> Iterator[Item]:
    """The items, with a `progress` event after each; total: their number, if known."""
    if report is silent:
        yield from items
        return
    for done, item in enumerate(items, start=1):
        yield item
        report("progress", {"what": what, "done": done, "total": total})
