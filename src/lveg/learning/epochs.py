"""The training loop: epochs, scores, early stopping, checkpoints; gradient training and EM."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from lveg.errors import GrammarError, UsageError
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.adam import Adam
from lveg.learning.examples import Examples
from lveg.learning.gradient import Gradient, SparseGradients
from lveg.learning.optimiser import Optimiser
from lveg.learning.options import EpochOptions, GradientOptions
from lveg.learning.run import Run

PART = 32
"""Approximate number of examples summed by one worker; parts are added in order: workers do not change the result."""


class Learnable(Protocol):
    """A family whose parameters are one vector."""

    @property
    def value(self) -> Floats:
        """All parameters."""

    def with_value(self, value: Floats) -> Any:
        """The family with other parameters."""

    def add(self, examples: Ints, slope: Floats) -> float:
        """The negative log conditional likelihood of examples; adds its derivative to `slope`."""


class Progress(Protocol):
    """Something that is trained epoch by epoch."""

    @property
    def size(self) -> int:
        """The number of examples."""

    @property
    def value(self) -> Floats:
        """The parameters that are scored, and kept if they are the best."""

    def advance(self, epoch: int, run: Run) -> float:
        """Go through the examples once; returns the objective, a sum over examples to minimise."""

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Facts and arrays from which training can continue."""

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""


Learned = TypeVar("Learned")
Gradual = TypeVar("Gradual", bound=Learnable)


def run_epochs(make: Callable[[Floats], Learned], progress: Progress, options: EpochOptions, run: Run) -> Learned:
    """The family with the parameters of the epoch with the highest score, or of the last epoch if there is no score.

    make: returns the family with given parameters. Each epoch depends only on the seed, its number and the state before
    it, so a run that continues from a checkpoint gives the same result as an uninterrupted one.
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
        objective, value, family = _advance(make, progress, epoch, run)
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
            best, best_score, since = value, number, 0
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
) -> tuple[float, Floats, Learned]:  # fmt: skip
    """The objective per example of an epoch, and the parameters and family after it; all must be finite."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            objective = progress.advance(epoch, run) / progress.size
            value = progress.value
            family = make(value)
    except GrammarError as error:
        raise UsageError(f"training failed in epoch {epoch}: {error}; {_advice(epoch, run)}") from None
    if not np.isfinite(objective):
        raise UsageError(f"training failed in epoch {epoch}: the objective is {objective}; {_advice(epoch, run)}")
    return objective, value, family


def _advice(epoch: int, run: Run) -> str:
    """What to do if training failed; a run of one stage can end with the last successful epoch."""
    advice = "try a smaller --learning-rate"
    if run.checkpoint is None or epoch == 1:
        return advice
    if run.checkpoint.is_stage:
        return f"{advice}; {run.checkpoint.path} has the state before"
    return f"{advice}, or get the model before with --resume --epochs {epoch - 1}"


def gradient_copies(options: GradientOptions) -> int:
    """Number of parameter-sized vectors in gradient training: the family's, Adam's, the best, the gradients."""
    return 8 + max(1, round(options.batch / PART))


@dataclass
class Descent:
    """Gradient training: batches, workers, optimisers for parts of the parameters.

    gradient_at: the gradient, given the parameters of each optimiser. size: the number of examples. part: approximate
    number of examples summed by one worker. decay: factor for the learning rates after each epoch.
    """

    gradient_at: Callable[[Sequence[Floats]], Gradient]
    optimisers: Sequence[Optimiser]
    size: int
    batch: int
    decay: float = 1.0
    part: int = PART
    what: str = "epoch"

    @property
    def value(self) -> Floats:
        """The averaged parameters."""
        return np.concatenate([optimiser.average for optimiser in self.optimisers])

    def advance(self, epoch: int, run: Run) -> float:
        """One pass over the examples, in an order that depends on the seed and the epoch's number."""
        n_batches = batches(self.size, self.batch)
        n_parts = max(1, round(self.size / n_batches / self.part))
        slopes = [np.zeros((n_parts, optimiser.value.size)) for optimiser in self.optimisers]
        random = np.random.default_rng([run.seed, epoch])
        order = random.permutation(self.size).astype(np.int32)
        noises = random.integers(1, 2**62, n_batches).tolist()
        total, done = 0.0, 0
        for batch, noise in zip(np.array_split(order, n_batches), noises, strict=True):
            total += self._step(batch, noise, slopes, self.decay ** (epoch - 1), run)
            done += len(batch)
            run.report("progress", {"what": f"{self.what} {epoch}", "done": done, "total": self.size})
        return total

    def _step(self, batch: Ints, noise: int, slopes: Sequence[Floats], slow: float, run: Run) -> float:
        """The objective of a batch, and one step of every optimiser."""
        found = self._gradients(batch, noise, slopes, run)
        for index, (optimiser, slope) in enumerate(zip(self.optimisers, slopes, strict=True)):
            optimiser.step(slope, [touched[index] for _, touched in found], 1.0 / len(batch), slow)
        return sum(value for value, _ in found)

    def _gradients(
        self, batch: Ints, noise: int, slopes: Sequence[Floats], run: Run
    ) -> list[tuple[float, Sequence[Ints]]]:
        """What `Gradient` returns for each part of a batch, whose derivatives are added to the rows of `slopes`."""
        values, parts = [optimiser.value for optimiser in self.optimisers], parts_of(batch, len(slopes[0]))
        rows = [[slope[row] for slope in slopes] for row in range(len(parts))]
        if not run.shares_memory:
            work = run.map(self._sparse, [(part, noise) for part in parts], values)
            return [found.add_to(row) for found, row in zip(work, rows, strict=True)]

        def local(values: Sequence[Floats]) -> Callable[[int], tuple[float, Sequence[Ints]]]:
            gradient = self.gradient_at(values)
            return lambda row: gradient(parts[row], rows[row], noise)

        return list(run.map(local, range(len(parts)), values))

    @cached_property
    def _sparse(self) -> SparseGradients:
        return SparseGradients(self.gradient_at)

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """The optimisers' states."""
        arrays = {
            f"{index}.{name}": array
            for index, optimiser in enumerate(self.optimisers)
            for name, array in optimiser.arrays().items()
        }
        return {"steps": [optimiser.steps for optimiser in self.optimisers]}, arrays

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        for index, (optimiser, steps) in enumerate(zip(self.optimisers, facts["steps"], strict=True)):
            optimiser.steps = steps
            for name in optimiser.arrays():
                setattr(optimiser, name, arrays[f"{index}.{name}"])


_NONE = np.empty(0, np.int32)


def parts_of(batch: Ints, count: int) -> list[Ints]:
    """A batch in equal parts. An example is usually in the same part, so that a worker needs few others."""
    return np.array_split(batch[np.argsort(batch % count, kind="stable")], count)


def batches(size: int, batch: int) -> int:
    """Number of batches in an epoch."""
    return max(1, round(size / batch))


Penalty = Callable[[Any, float, Floats], float]
"""A term of the objective that depends only on the parameters: given the family, the share of the examples and a
gradient, it adds its derivative to the gradient and returns its value. It can be pickled."""


@dataclass(frozen=True, eq=False)
class FamilyGradient:
    """The gradient of the conditional likelihood of examples, with respect to all parameters of a family."""

    family: Learnable
    examples: Examples
    penalty: Penalty | None = None

    def __call__(self, values: Sequence[Floats]) -> Gradient:
        """The gradient at some parameters."""
        present = self.family.with_value(values[0])

        def gradient(numbers: Ints, slopes: Sequence[Floats], noise: int) -> tuple[float, Sequence[Ints]]:
            value = present.add(self.examples.gather(numbers), slopes[0])
            if self.penalty is not None:
                value += self.penalty(present, len(numbers) / len(self.examples), slopes[0])
            return float(value), [_NONE]

        return gradient


def descend(
    family: Gradual,
    examples: Examples,
    options: GradientOptions,
    run: Run,
    start: Floats | None = None,
    origin: Floats | None = None,
    penalty: Penalty | None = None,
) -> Gradual:
    """The family trained by gradients from its parameters, or from `start`, with L2 towards `origin` or the start."""
    first, size = family.value if start is None else start, len(examples)
    adam = Adam.at(
        first, first if origin is None else origin, options.learning_rate, options.l2 / size,
        batches(size, options.batch),
    )  # fmt: skip
    gradient_at = FamilyGradient(family, examples, penalty)
    progress = Descent(gradient_at, [adam], size, options.batch, options.decay)
    learned: Gradual = run_epochs(family.with_value, progress, options, run)
    return learned


@dataclass
class Em:
    """Expectation-maximisation: `step` returns the next parameters and the log likelihood of the current ones.

    size: the number of examples.
    """

    step: Callable[[Floats], tuple[Floats, float]]
    value: Floats
    size: int

    def advance(self, epoch: int, run: Run) -> float:
        """One iteration; returns the negative log likelihood before it."""
        self.value, log_likelihood = self.step(self.value)
        return -log_likelihood

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """The parameters."""
        return {}, {"value": self.value}

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        self.value = arrays["value"]
