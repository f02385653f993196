"""Learning that was interrupted can go on: the state after an epoch, in one file."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from glob import escape, glob
from typing import Any

import msgspec
import numpy as np

from lveg.container import FORMAT, pack, read_whole, unpack, write_whole
from lveg.errors import ModelError, UsageError
from lveg.grammar.grammar import Floats
from lveg.report import Report


@dataclass(frozen=True)
class Checkpoint:
    """Where the states of a run are kept: a file beside the model, gone when the run has ended.

    key: everything that must be the same for a run to go on. With `resume` an earlier run's file is read first.
    """

    path: str
    resume: bool = False
    key: dict[str, Any] = field(default_factory=dict)

    def keyed(self, **facts: Any) -> Checkpoint:
        """The same for a run that is told apart by these facts too."""
        return Checkpoint(self.path, self.resume, self.key | facts)

    def stage(self, number: int, **facts: Any) -> Checkpoint:
        """The same for one of several stages of a run, in a file of its own."""
        return Checkpoint(f"{self.path}.{number}", self.resume, self.key | facts | {"stage": number})

    @property
    def is_stage(self) -> bool:
        """Whether it is of one of several stages of a run."""
        return "stage" in self.key

    def save(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Keep a state: JSON facts, and arrays."""
        header = {"format": FORMAT, "kind": "checkpoint", "key": self._name(), "facts": facts}
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write_whole(self.path, pack(msgspec.json.encode(header, order="deterministic").decode(), tensors))

    def load(self) -> tuple[dict[str, Any], dict[str, Floats]] | None:
        """The state that was kept, or None where there is none or it is not asked for."""
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
                f"{self.path}: is of a run with other data or options; give the same, or begin anew without --resume"
            )
        return header["facts"], {name: array.copy() for name, array in tensors.items()}

    def announce(self, report: Report) -> None:
        """Tell if there is nothing to go on from, or if an earlier run's state is about to be discarded."""
        found = [path for path in (self.path, *self._stages()) if os.path.exists(path)]
        if self.resume and not found:
            report("checkpoint", {"note": f"{self.path} is not there: starting from the beginning"})
        elif found and not self.resume:
            report("checkpoint", {"note": f"discarding {found[0]} of an earlier run; --resume would go on from it"})
            self.remove()

    def remove(self) -> None:
        """The run has ended: nothing is left to go on with."""
        for path in (self.path, *self._stages()):
            if os.path.exists(path):
                os.unlink(path)

    def _stages(self) -> list[str]:
        return sorted(glob(f"{escape(self.path)}.[0-9]*"))

    def _name(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self.key, order="deterministic")).hexdigest()[:16]
