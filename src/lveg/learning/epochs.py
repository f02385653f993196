"""The loop of epochs that all learning shares: scores, early stopping, checkpoints; and learning by gradients."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from lveg.errors import GrammarError, UsageError
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.adam import Adam
from lveg.learning.examples import Examples
from lveg.learning.options import EpochOptions, GradientOptions
from lveg.learning.run import Run

PART = 32
"""Approximate number of examples summed by one worker; parts are added in order, so workers change no bit."""


class Learnable(Protocol):
    """A family whose parameters are one vector."""

    @property
    def value(self) -> Floats:
        """All parameters."""

    def with_value(self, value: Floats) -> Any:
        """The family with other parameters."""

    def add(self, examples: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of examples; adds its derivative to `slope`."""


class Progress(Protocol):
    """Something that gets better epoch by epoch."""

    @property
    def size(self) -> int:
        """The number of examples."""

    @property
    def value(self) -> Floats:
        """The parameters that are scored, and kept if they are the best."""

    def advance(self, epoch: int, run: Run) -> float:
        """Go through the examples once; the objective, a sum over examples that should fall."""

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Facts and arrays from which the next epoch can go on."""

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""


Learned = TypeVar("Learned")
Gradual = TypeVar("Gradual", bound=Learnable)


def run_epochs(make: Callable[[Floats], Learned], progress: Progress, options: EpochOptions, run: Run) -> Learned:
    """The family with the parameters of the epoch with the highest score, or of the last if there is no score.

    make: the family with given parameters. Each epoch depends on the seed, its number and the state before
    it, so a run that goes on from a checkpoint ends as one that was never interrupted.
    """
    best, best_score, done, since = progress.value.copy(), -np.inf, 0, 0
    last = run.rounds(options.epochs)
    kept = run.checkpoint.load() if run.checkpoint is not None else None
    if kept is not None:
        facts, arrays = kept
        best, done, since = arrays.pop("best"), facts["epoch"], facts["since"]
        best_score = -np.inf if facts["best_score"] is None else facts["best_score"]
        progress.restore(facts, arrays)
        run.report("resumed", {"epoch": facts["epoch"], "best": facts["best_score"]})
    for epoch in range(done + 1, last + 1):
        if options.patience and since >= options.patience:
            break
        begun = time.perf_counter()
        objective, family = _advance(make, progress, epoch, run)
        facts = {
            "epoch": epoch,
            "objective": round(objective, 4),
            "sentences_per_second": round(progress.size / (time.perf_counter() - begun), 1),
        }
        number, done, since = float(epoch), epoch, since + 1
        if run.score is not None:
            number, more = run.score(family)
            facts |= more
        if number > best_score:
            best, best_score, since = progress.value.copy(), number, 0
        facts["seconds_left"] = round((time.perf_counter() - begun) * (last - epoch))
        run.report("epoch", facts)
        if run.checkpoint is not None:
            own, arrays = progress.state()
            run.checkpoint.save(
                {"epoch": epoch, "best_score": best_score, "since": since, **own}, {**arrays, "best": best}
            )
    run.note(done - since)
    return make(best)


def _advance(
    make: Callable[[Floats], Learned], progress: Progress, epoch: int, run: Run
) -> tuple[float, Learned]:  # fmt: skip
    """The objective per example of an epoch, and the family after it; neither is kept unless it is sound."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            objective = progress.advance(epoch, run) / progress.size
            family = make(progress.value)
    except GrammarError as error:
        raise UsageError(f"learning failed in epoch {epoch}: {error}; {_advice(epoch, run)}") from None
    if not np.isfinite(objective):
        raise UsageError(f"learning failed in epoch {epoch}: the objective is {objective}; {_advice(epoch, run)}")
    return objective, family


def _advice(epoch: int, run: Run) -> str:
    """What to do when learning failed; a run of one stage can end with the last epoch that was sound."""
    advice = "try a smaller --learning-rate"
    if run.checkpoint is None or epoch == 1:
        return advice
    if run.checkpoint.is_stage:
        return f"{advice}; {run.checkpoint.path} keeps the state before"
    return f"{advice}, or take the model before with --resume --epochs {epoch - 1}"


def gradient_copies(options: GradientOptions) -> int:
    """How many vectors of all parameters learning by gradients holds: a family's, Adam's, the best, the slopes."""
    return 8 + max(1, round(options.batch / PART))


@dataclass
class Descent:
    """Learning by gradients: batches, workers, Adam, an average of the parameters over about an epoch.

    penalty: adds something that depends on parameters alone to the objective of some examples, given what share of all
    they are, and its derivative to a slope; its value.
    """

    family: Any
    examples: Examples
    options: GradientOptions
    adam: Adam
    penalty: Callable[[Any, float, Floats], float] | None = None

    @property
    def size(self) -> int:
        """The number of examples."""
        return len(self.examples)

    @property
    def value(self) -> Floats:
        """The averaged parameters."""
        return self.adam.average

    def advance(self, epoch: int, run: Run) -> float:
        """One pass over the examples, in an order drawn from the seed and the epoch's number."""
        options, size = self.options, self.size
        n_batches = max(1, round(size / options.batch))
        slopes = np.zeros((max(1, round(size / n_batches / PART)), len(self.adam.value)))
        order = np.random.default_rng([run.seed, epoch]).permutation(size).astype(np.int32)
        rate = options.learning_rate * options.decay ** (epoch - 1)
        total, done = 0.0, 0
        for batch in np.array_split(order, n_batches):
            total += self._gradient(batch, slopes, run)
            self.adam.step(slopes, 1.0 / len(batch), rate, options.l2 / size, n_batches)
            done += len(batch)
            run.report("progress", {"what": f"epoch {epoch}", "done": done, "total": size})
        return total

    def _gradient(self, batch: Ints, slopes: Floats, run: Run) -> float:
        """The objective of a batch; fills the rows of `slopes`, one for each part of the batch."""
        family = self.family.with_value(self.adam.value)

        def work(part: int) -> float:
            slopes[part] = 0.0
            numbers = batch[part :: len(slopes)]
            if not len(numbers):
                return 0.0
            value = family.add(self.examples.gather(numbers), slopes[part])
            if self.penalty is not None:
                value += self.penalty(family, len(numbers) / self.size, slopes[part])
            return float(value)

        return sum(run.map(work, range(len(slopes))))

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """The optimiser's state."""
        return {"steps": self.adam.steps}, self.adam.arrays()

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        self.adam = Adam(**arrays, steps=facts["steps"])


def descend(
    family: Gradual,
    examples: Examples,
    options: GradientOptions,
    run: Run,
    start: Floats | None = None,
    origin: Floats | None = None,
    penalty: Callable[[Any, float, Floats], float] | None = None,
) -> Gradual:
    """The family learned by gradients from its parameters, or from `start`, with L2 towards `origin` or the start."""
    first = family.value if start is None else start
    adam = Adam.at(first, first if origin is None else origin)
    learned: Gradual = run_epochs(
        family.with_value, Descent(family, examples, options, adam, penalty), options, run
    )  # fmt: skip
    return learned


@dataclass
class Em:
    """Learning by expectation-maximisation: `step` makes the next parameters, and gives the present ones' likelihood.

    size: the number of examples.
    """

    step: Callable[[Floats], tuple[Floats, float]]
    value: Floats
    size: int

    def advance(self, epoch: int, run: Run) -> float:
        """One iteration; minus the log likelihood before it."""
        self.value, log_likelihood = self.step(self.value)
        return -log_likelihood

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """The parameters."""
        return {}, {"value": self.value}

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        self.value = arrays["value"]
