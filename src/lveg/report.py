"""How long work tells what it is doing, without knowing who listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Report = Callable[[str, dict[str, Any]], None]
"""Receives the name of an event and what is known of it.

`progress` events have `what`, `done` and `total`; others are milestones such as `read`, `grammar`, `dev`.
"""


def silent(event: str, facts: dict[str, Any]) -> None:
    """The report that says nothing."""


def dev_facts(summary: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    """Of a parser's scores on development trees: F1, by which the best is chosen, and what is told of them."""
    told = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
    return summary["f1"], {f"dev_{name}": summary[name] for name in told}
