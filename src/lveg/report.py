"""Progress events, independent of how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

Report = Callable[[str, dict[str, Any]], None]
"""Receives the name of an event and its facts.

`progress` events have `what`, `done` and `total`; others are milestones such as `read`, `grammar`, `dev`.
"""


def silent(event: str, facts: dict[str, Any]) -> None:
    """A report that ignores all events."""


def counted(items: Iterable[Item], report: Report, what: str, total: int | None = None) -> Iterator[Item]:
    """The items, with a `progress` event after each; total: their number, if known."""
    if report is silent:
        yield from items
        return
    for done, item in enumerate(items, start=1):
        yield item
        report("progress", {"what": what, "done": done, "total": total})
