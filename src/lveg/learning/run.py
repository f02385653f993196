"""How training is carried out: seed, workers, progress, checkpoints, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar

from lveg.grammar.grammar import Floats
from lveg.learning.checkpoint import Checkpoint, State
from lveg.parallel import Threads
from lveg.report import Report, silent

Item = TypeVar("Item")
Result = TypeVar("Result")

Score = Callable[[Any], tuple[float, dict[str, Any]]]
"""Returns, for a family, the number to maximise, and facts to report with it."""

Keep = Callable[[str, Any], None]
"""Receives a name and a family to save in addition to the final one."""


Work = Callable[[Sequence[Floats]], Callable[[Item], Result]]
"""Work on items, given parameters: prepared once for parameters, then applied to many items. It can be pickled, so that
it can be carried out in other processes."""


class Workers(Protocol):
    """Carries out work on many items in parallel; results are in the order of the items.

    shares_memory: whether the workers are in this process, so that they see its objects and may change them.
    """

    shares_memory: bool

    def map(self, work: Work[Item, Result], items: Iterable[Item], values: Sequence[Floats] = ()) -> Iterator[Result]:
        """work(values)(item) for each item, in order."""


class LocalWorkers:
    """Threads of this process."""

    shares_memory = True

    def __init__(self, threads: int) -> None:
        self._threads = Threads(threads)

    def map(self, work: Work[Item, Result], items: Iterable[Item], values: Sequence[Floats] = ()) -> Iterator[Result]:
        """work(values)(item) for each item, in order."""
        return self._threads.map(work(values), items)


@dataclass(frozen=True)
class Run:
    """What training needs besides data and options.

    score: scores a family on held-out data; None if there is none. checkpoint: where the state of a long run is saved.
    workers: threads if not given; sums over items are taken in a fixed order, so the result is bit-identical for any
    workers. place: the current stage of the run, such as run.0. A round is an epoch or a cycle. fixed: the number of
    rounds of a stage, by its place, if known in advance. best: receives the number of the best round of each stage.
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

    def map(self, work: Work[Item, Result], items: Iterable[Item], values: Sequence[Floats] = ()) -> Iterator[Result]:
        """work(values)(item) for each item, in order, computed by the workers."""
        return self._workers.map(work, items, values)

    @property
    def shares_memory(self) -> bool:
        """Whether the workers are in this process."""
        return self._workers.shares_memory

    @cached_property
    def _workers(self) -> Workers:
        return self.workers or LocalWorkers(self.threads)

    def stage(self, number: int, **facts: Any) -> Run:
        """A copy for one of several stages of a run, with its own checkpoint."""
        checkpoint = self.checkpoint and self.checkpoint.stage(number, **facts)
        return replace(self, checkpoint=checkpoint, workers=self._workers, place=f"{self.place}.{number}")

    def load(self) -> State | None:
        """The state to continue from, if there is one."""
        return None if self.checkpoint is None else self.checkpoint.load(self.report)

    def save(self, state: Callable[[], State], is_due: bool = True) -> None:
        """Save a state, if there is a checkpoint. Without `is_due`, only if the last one was saved long enough ago."""
        if self.checkpoint is not None and (is_due or self.checkpoint.timer.is_due):
            self.checkpoint.save(*state(), self.report)

    def rounds(self, most: int) -> int:
        """The number of rounds of this stage: the known best number, or `most`."""
        return self.fixed.get(self.place, most)

    def note(self, best: int) -> None:
        """Record the best round of this stage."""
        self.best[self.place] = best
