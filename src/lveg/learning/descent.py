"""Learning by gradients, whatever the family: batches, threads, averaging, early stopping, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lveg.grammar.grammar import Floats, Ints
from lveg.learning.adam import Adam
from lveg.learning.checkpoint import Checkpoint
from lveg.report import Report, silent

PART = 32
"""Examples, about, that are summed by one thread; parts are added in order, so the number of threads changes no bit."""


@dataclass(frozen=True)
class Descent:
    """How parameters are learned; docs/decisions/0006 tells where the defaults come from.

    decay: what is kept of the learning rate after an epoch. l2: strength of the pull towards the start, against the
    sum over all examples. batch: examples an update. patience: epochs without a better score before it ends; 0 for no
    such end.
    """

    epochs: int = 15
    learning_rate: float = 0.02
    decay: float = 0.95
    l2: float = 2.0
    batch: int = 64
    patience: int = 5


class Objective(Protocol):
    """A sum over examples of a function of the parameters, to be made small."""

    @property
    def size(self) -> int:
        """The number of examples."""

    def model(self, value: Floats) -> Any:
        """The parameters in the form that `add` wants; made once an update."""

    def add(self, model: Any, numbers: Ints, slope: Floats) -> float:
        """The value for the examples with these numbers; adds its derivative to `slope`."""


def descend(
    objective: Objective,
    start: Floats,
    options: Descent,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[Floats], tuple[float, dict[str, Any]]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
    origin: Floats | None = None,
) -> Floats:
    """The averaged parameters of the epoch with the highest score, or of the last one where there is no score.

    score: a number and facts to report with it. origin: what L2 pulls towards, where that is not the start. Each epoch
    draws its order from the seed and its own number, so that a run that goes on from a checkpoint is the same as one
    that was never interrupted.
    """
    adam, best, best_score, first, since = (
        Adam.at(start, start if origin is None else origin),
        start.copy(),
        -np.inf,
        1,
        0,
    )
    kept = checkpoint.load() if checkpoint is not None else None
    if kept is not None:
        facts, arrays = kept
        best, first = arrays.pop("best"), facts["epoch"] + 1
        best_score = -np.inf if facts["best_score"] is None else facts["best_score"]
        since = facts["since"]
        adam = Adam(**arrays, steps=facts["steps"])
        report("resumed", {"epoch": facts["epoch"], "best": facts["best_score"]})
    n_batches = max(1, round(objective.size / options.batch))
    n_parts = max(1, round(objective.size / n_batches / PART))
    slopes = np.zeros((n_parts, start.shape[0]))
    with ThreadPoolExecutor(threads) as pool:
        for epoch in range(first, options.epochs + 1):
            if options.patience and since >= options.patience:
                break
            begun, total, done = time.perf_counter(), 0.0, 0
            order = np.random.default_rng([seed, epoch]).permutation(objective.size).astype(np.int32)
            rate = options.learning_rate * options.decay ** (epoch - 1)
            for batch in np.array_split(order, n_batches):
                total += _gradient(objective, adam.value, batch, slopes, pool)
                adam.step(slopes, 1.0 / len(batch), rate, options.l2 / objective.size, n_batches)
                done += len(batch)
                report("progress", {"what": f"epoch {epoch}", "done": done, "total": objective.size})
            seconds = time.perf_counter() - begun
            facts = {
                "epoch": epoch,
                "objective": round(total / objective.size, 4),
                "sentences_per_second": round(objective.size / seconds, 1),
            }
            number = float(epoch)
            if score is not None:
                number, more = score(adam.average)
                facts |= more
            since += 1
            if number > best_score:
                best, best_score, since = adam.average.copy(), number, 0
            facts["seconds_left"] = round((time.perf_counter() - begun) * (options.epochs - epoch))
            report("epoch", facts)
            if checkpoint is not None:
                state = {"epoch": epoch, "steps": adam.steps, "best_score": best_score, "since": since}
                checkpoint.save(state, {**adam.arrays(), "best": best})
    return best


def _gradient(objective: Objective, value: Floats, batch: Ints, slopes: Floats, pool: ThreadPoolExecutor) -> float:
    """The objective of a batch; fills the rows of `slopes`, a part of the batch each."""
    model = objective.model(value)

    def work(part: int) -> float:
        slopes[part] = 0.0
        numbers = batch[part :: len(slopes)]
        return objective.add(model, numbers, slopes[part]) if len(numbers) else 0.0

    return sum(pool.map(work, range(len(slopes))))
