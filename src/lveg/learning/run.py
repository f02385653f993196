"""How a piece of work is carried out: seed, workers, progress, checkpoints, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from lveg.learning.checkpoint import Checkpoint
from lveg.parallel import Threads
from lveg.report import Report, silent

Item = TypeVar("Item")
Result = TypeVar("Result")

Score = Callable[[Any], tuple[float, dict[str, Any]]]
"""Of a family: the number to make large, and facts to report with it."""

Keep = Callable[[str, Any], None]
"""Receives a name and a family that is worth keeping beside the one that is learned."""


class Workers(Protocol):
    """What applies a function to many items at once; results come in the order of the items."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for each item, in order."""


@dataclass(frozen=True)
class Run:
    """What learning needs beside data and options.

    score: scores a family on held-out data; None if there is none. checkpoint: where the state of a long run is kept.
    workers: threads if not given; sums over items are taken in a fixed order, so workers change no bit of the result.
    place: the stage of the run that this is, such as run.0. A round is an epoch or a cycle. fixed: how many rounds a
    stage has, by its place, where that is known before. best: gets the number of the best round of each stage.
    """

    seed: int = 0
    threads: int = 1
    report: Report = silent
    checkpoint: Checkpoint | None = None
    score: Score | None = None
    keep: Keep | None = None
    workers: Workers | None = None
    place: str = "run"
    fixed: Mapping[str, int] = field(default_factory=dict)
    best: dict[str, int] = field(default_factory=dict)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) for each item, in order, by the workers."""
        return self._workers.map(function, items)

    @cached_property
    def _workers(self) -> Workers:
        return self.workers or Threads(self.threads)

    def stage(self, number: int, **facts: Any) -> Run:
        """The same for one of several stages of a run, with a checkpoint of its own."""
        checkpoint = self.checkpoint and self.checkpoint.stage(number, **facts)
        return replace(self, checkpoint=checkpoint, workers=self._workers, place=f"{self.place}.{number}")

    def rounds(self, most: int) -> int:
        """How many rounds this stage has: as many as are known to be best, or `most`."""
        return self.fixed.get(self.place, most)

    def note(self, best: int) -> None:
        """Remember the best round of this stage."""
        self.best[self.place] = best
