"""Checkpoints: the state after an epoch, in one file, from which an interrupted run can continue."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from glob import escape, glob
from typing import Any

import msgspec
import numpy as np

from lveg.container import FORMAT, read_whole, unpack, write
from lveg.errors import ModelError, UsageError
from lveg.grammar.grammar import Floats
from lveg.report import Report


@dataclass(frozen=True)
class Checkpoint:
    """The file that stores the state of a run, next to the model; it is removed when the run ends.

    key: everything that must be the same for a run to continue. With `resume`, an earlier run's file is read first.
    """

    path: str
    resume: bool = False
    key: dict[str, Any] = field(default_factory=dict)

    def keyed(self, **facts: Any) -> Checkpoint:
        """A copy whose key also contains these facts."""
        return Checkpoint(self.path, self.resume, self.key | facts)

    def stage(self, number: int, **facts: Any) -> Checkpoint:
        """A copy for one of several stages of a run, with its own file."""
        return Checkpoint(f"{self.path}.{number}", self.resume, self.key | facts | {"stage": number})

    @property
    def is_stage(self) -> bool:
        """Whether it belongs to one of several stages of a run."""
        return "stage" in self.key

    def save(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Save a state: JSON facts, and arrays."""
        header = {"format": FORMAT, "kind": "checkpoint", "key": self._name(), "facts": facts}
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write(self.path, msgspec.json.encode(header, order="deterministic").decode(), tensors)

    def load(self) -> tuple[dict[str, Any], dict[str, Floats]] | None:
        """The saved state, or None if there is none or `resume` is false."""
        if not self.resume or not os.path.exists(self.path):
            return None
        try:
            text, tensors = unpack(read_whole(self.path))
        except ModelError as error:
            raise ModelError(f"{self.path}: {error}") from None
        header = msgspec.json.decode(text)
        if header.get("kind") != "checkpoint":
            raise ModelError(f"{self.path}: is not a checkpoint")
        if header["key"] != self._name():
            raise UsageError(
                f"{self.path}: belongs to a run with other data or options; use the same, or start without --resume"
            )
        return header["facts"], {name: array.copy() for name, array in tensors.items()}

    def announce(self, report: Report) -> None:
        """Report if there is no state to continue from, or if an earlier run's state is about to be discarded."""
        found = [path for path in (self.path, *self._stages()) if os.path.exists(path)]
        if self.resume and not found:
            report("checkpoint", {"note": f"{self.path} does not exist: starting from the beginning"})
        elif found and not self.resume:
            report("checkpoint", {"note": f"discarding {found[0]} of an earlier run; --resume would continue from it"})
            self.remove()

    def remove(self) -> None:
        """Remove the files at the end of a run."""
        for path in (self.path, *self._stages()):
            if os.path.exists(path):
                os.unlink(path)

    def _stages(self) -> list[str]:
        return sorted(glob(f"{escape(self.path)}.[0-9]*"))

    def _name(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self.key, order="deterministic")).hexdigest()[:16]
