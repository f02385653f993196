"""Progress events, sent without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

Report = Callable[[str, dict[str, Any]], None]
"""Receives the name of an event and its facts.

`progress` events have `what`, `done` and `total`; others are milestones such as `read`, `grammar`, `dev`.
"""


def silent(event: str, facts: dict[str, Any]) -> None:
    """The report that says nothing."""


def counted(items: Iterable[Item], report: Report, what: str, total: int | None = None) -> Iterator[Item]:
    """The items, with a `progress` event after each; total: how many there are, if that is known."""
    if report is silent:
        yield from items
        return
    for done, item in enumerate(items, start=1):
        yield item
        report("progress", {"what": what, "done": done, "total": total})


def dev_facts(summary: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """F1, by which the best parser is chosen, and the facts to report, from scores on development trees."""
    reported = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
    return summary["f1"], {f"dev_{name}": summary[name] for name in reported}
