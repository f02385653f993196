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
