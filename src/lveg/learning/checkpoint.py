"""Checkpoints: the state of a run, in one file, from which it can continue after an interruption."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from glob import escape, glob
from typing import Any

import msgspec
import numpy as np

from lveg.container import FORMAT, read_whole, unpack, write
from lveg.errors import ModelError, UsageError
from lveg.files import remove_partial
from lveg.grammar.grammar import Floats
from lveg.learning.options import MINUTES
from lveg.report import Report, silent

LAYOUT = 2
"""Increased whenever the facts and arrays of a state change their meaning."""

State = tuple[dict[str, Any], dict[str, Floats]]
"""What a checkpoint contains: JSON facts, and arrays."""


@dataclass
class Timer:
    """When the next checkpoint is due: some minutes after the last one."""

    minutes: float = MINUTES
    last: float = field(default_factory=time.monotonic)

    @property
    def is_due(self) -> bool:
        """Whether the minutes have passed."""
        return time.monotonic() - self.last >= 60.0 * self.minutes

    def restart(self) -> None:
        """Count from now."""
        self.last = time.monotonic()


@dataclass(frozen=True)
class Checkpoint:
    """The file that stores the state of a run, next to the model; it is removed when the run ends.

    The state before is kept in a second file, in case the newest one is damaged. key: everything that must be the same
    for a run to continue. With `resume`, an earlier run's file is read first. timer: shared by all stages of a run.
    """

    path: str
    resume: bool = False
    key: dict[str, Any] = field(default_factory=dict)
    timer: Timer = field(default_factory=Timer)

    def keyed(self, **facts: Any) -> Checkpoint:
        """A copy whose key also contains these facts."""
        return replace(self, key=self.key | facts)

    def stage(self, number: int, **facts: Any) -> Checkpoint:
        """A copy for one of several stages of a run, with its own file."""
        return replace(self, path=f"{self.path}.{number}", key=self.key | facts | {"stage": number})

    @property
    def is_stage(self) -> bool:
        """Whether it belongs to one of several stages of a run."""
        return "stage" in self.key

    @property
    def previous(self) -> str:
        """The file that stores the state before."""
        return f"{self.path}.previous"

    def save(self, facts: dict[str, Any], arrays: dict[str, Floats], report: Report = silent) -> None:
        """Save a state: JSON facts, and arrays. If it cannot be written, that is only reported."""
        header = {"format": FORMAT, "kind": "checkpoint", "key": self._name(), "facts": facts}
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        try:
            write(self.path, msgspec.json.encode(header, order="deterministic").decode(), tensors, self.previous)
        except UsageError as error:
            report("warning", {"note": f"{error}; training goes on, with the checkpoint before if there is one"})
        self.timer.restart()

    def load(self, report: Report = silent) -> State | None:
        """The newest saved state that can be read, or None if there is none or `resume` is false."""
        trouble: ModelError | None = None
        for path in (self.path, self.previous):
            if not self.resume or not os.path.exists(path):
                continue
            try:
                kept = self._read(path)
            except ModelError as error:
                trouble = error
                continue
            if trouble is not None:
                report("warning", {"note": f"{trouble}; continuing from the checkpoint before"})
                with suppress(OSError):
                    os.unlink(self.path)  # otherwise the next save would keep the damaged file, not the good one
            return kept
        if trouble is not None:
            raise ModelError(f"{trouble}; start without --resume")
        return None

    def _read(self, path: str) -> State:
        data = read_whole(path)
        try:
            text, tensors = unpack(data)
        except ModelError as error:
            raise ModelError(f"{path}: {error}") from None
        header = msgspec.json.decode(text)
        if header.get("kind") != "checkpoint":
            raise ModelError(f"{path}: is not a checkpoint")
        if header["key"] != self._name():
            raise UsageError(
                f"{path}: belongs to a run with other data or options; use the same, or start without --resume"
            )
        return header["facts"], {name: array.copy() for name, array in tensors.items()}

    def announce(self, report: Report) -> None:
        """Report if there is no state to continue from; report and discard the state of an earlier run, if not resumed.

        To be called once the data were read: a run that cannot begin leaves the earlier state alone.
        """
        found = self._files()
        if self.resume and not found:
            report("checkpoint", {"note": f"{self.path} does not exist: starting from the beginning"})
        elif found and not self.resume:
            report("checkpoint", {"note": f"discarding {found[0]} of an earlier run; --resume would continue from it"})
            self.remove()

    def remove(self) -> None:
        """Remove the files at the end of a run, and those of saves that were killed."""
        for path in self._files():
            os.unlink(path)
        remove_partial(self.path, r"(\.\d+)*")

    @property
    def paths(self) -> list[str]:
        """Its two files, and the existing files of stages."""
        return [self.path, self.previous, *sorted(glob(f"{escape(self.path)}.[0-9]*"))]

    def _files(self) -> list[str]:
        """The existing files of all stages."""
        return [path for path in self.paths if os.path.exists(path)]

    def _name(self) -> str:
        key = {"layout": LAYOUT, **self.key}
        return hashlib.sha256(msgspec.json.encode(key, order="deterministic")).hexdigest()[:16]
