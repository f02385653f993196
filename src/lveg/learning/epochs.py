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
from lveg.learning.checkpoint import State
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
    def remedy(self) -> str:
        """What a user can do if training fails."""

    @property
    def share(self) -> float:
        """The share of the current epoch that is done, if it was interrupted and restored; otherwise 0."""

    @property
    def value(self) -> Floats:
        """The parameters that are scored, and kept if they are the best."""

    def advance(self, epoch: int, run: Run, pause: Callable[[], None]) -> float:
        """Go through the examples once, or through the rest of them after `restore`.

        Returns the objective of the epoch, a sum over examples to minimise. pause: called whenever the state can be
        saved.
        """

    def state(self) -> State:
        """Facts and arrays from which training can continue."""

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""


Learned = TypeVar("Learned")
Gradual = TypeVar("Gradual", bound=Learnable)


@dataclass
class Standing:
    """The number of completed epochs, and the best of them: its parameters, its score, and epochs since then."""

    best: Floats
    score: float = -np.inf
    done: int = 0
    since: int = 0

    def add(self, value: Floats, score: float) -> None:
        """Count an epoch with these parameters and this score."""
        self.done, self.since = self.done + 1, self.since + 1
        if score > self.score:
            self.best, self.score, self.since = value, score, 0

    def state(self, progress: Progress) -> State:
        """The state for a checkpoint."""
        facts, arrays = progress.state()
        own = {"epoch": self.done, "best_score": self.score, "since": self.since}
        return {**own, **facts}, {**arrays, "best": self.best}

    @classmethod
    def restored(cls, state: State, progress: Progress) -> Standing:
        """What was saved, with the progress restored."""
        facts, arrays = state
        progress.restore(facts, arrays)
        score = -np.inf if facts["best_score"] is None else facts["best_score"]
        return cls(arrays["best"], score, facts["epoch"], facts["since"])


def run_epochs(make: Callable[[Floats], Learned], progress: Progress, options: EpochOptions, run: Run) -> Learned:
    """The family with the parameters of the epoch with the highest score, or of the last epoch if there is no score.

    make: returns the family with given parameters. Each epoch depends only on the seed, its number and the state before
    it, so a run that continues from a checkpoint gives the same result as an uninterrupted one. The state is saved
    after every epoch, and within an epoch whenever a checkpoint is due.
    """
    standing, last = Standing(progress.value.copy()), run.rounds(options.epochs)
    kept = run.load()
    if kept is not None:
        standing = Standing.restored(kept, progress)
        part = {"part_of_next": round(progress.share, 3)} if progress.share else {}
        run.report("resumed", {"epoch": standing.done, **part, "best": kept[0]["best_score"]})

    def state() -> State:
        return standing.state(progress)

    while standing.done < last and not (options.patience and standing.since >= options.patience):
        epoch, share, begun = standing.done + 1, 1.0 - progress.share, time.perf_counter()
        objective, value, family = _advance(make, progress, epoch, run, state)
        facts = {
            "epoch": epoch,
            "objective": round(objective, 4),
            "sentences_per_second": round(share * progress.size / (time.perf_counter() - begun), 1),
        }
        number = float(epoch)
        if run.score is not None:
            number, more = run.score(family)
            facts |= more
        standing.add(value, number)
        facts["seconds_left"] = round((time.perf_counter() - begun) / share * (last - epoch))
        run.report("epoch", facts)
        run.save(state)
    run.note(standing.done - standing.since)
    return make(standing.best)


def _advance(
    make: Callable[[Floats], Learned], progress: Progress, epoch: int, run: Run, state: Callable[[], State]
) -> tuple[float, Floats, Learned]:  # fmt: skip
    """The objective per example of an epoch, and the parameters and family after it; all must be finite.

    state: returns the state to save if a checkpoint is due within the epoch.
    """

    def checked() -> State:
        make(progress.value)  # raises an error if they are not finite; then the last good state stays
        return state()

    def pause() -> None:
        run.save(checked, is_due=False)

    try:
        with np.errstate(over="ignore", invalid="ignore"):
            objective = progress.advance(epoch, run, pause) / progress.size
            value = progress.value
            family = make(value)
    except GrammarError as error:
        raise failure(error, progress.remedy, run, "epoch", epoch) from None
    if not np.isfinite(objective):
        raise failure(f"the objective is {objective}", progress.remedy, run, "epoch", epoch)
    return objective, value, family


def failure(what: object, remedy: str, run: Run, unit: str, number: int) -> UsageError:
    """The error that ends a run, with the last good state; a run of one stage can end with the last good round.

    what: what went wrong. unit: epoch or cycle. number: in which one it went wrong.
    """
    message = f"training failed in {unit} {number}: {what}; {remedy}"
    if run.checkpoint is not None and number > 1:
        if run.checkpoint.is_stage:
            message += f"; {run.checkpoint.path} has the state before"
        else:
            message += f", or get the model before with --resume --{unit}s {number - 1}"
    return UsageError(message)


def gradient_copies(options: GradientOptions) -> int:
    """Number of parameter-sized vectors in gradient training: the family's, Adam's, the best, the gradients."""
    return 8 + max(1, round(options.batch / PART))


@dataclass
class Descent:
    """Gradient training: batches, workers, optimisers for parts of the parameters.

    gradient_at: the gradient, given the parameters of each optimiser. size: the number of examples. part: approximate
    number of examples summed by one worker. decay: factor for the learning rates after each epoch. remedy: what a user
    can do if training fails. done, total: the number of batches of the current epoch that are done, and the sum of
    their objectives.
    """

    gradient_at: Callable[[Sequence[Floats]], Gradient]
    optimisers: Sequence[Optimiser]
    size: int
    batch: int
    decay: float = 1.0
    part: int = PART
    what: str = "epoch"
    remedy: str = "try a smaller --learning-rate"
    done: int = 0
    total: float = 0.0

    @property
    def share(self) -> float:
        """The share of the current epoch that is done."""
        return self.done / batches(self.size, self.batch)

    @property
    def value(self) -> Floats:
        """The averaged parameters."""
        return np.concatenate([optimiser.average for optimiser in self.optimisers])

    def advance(self, epoch: int, run: Run, pause: Callable[[], None]) -> float:
        """One pass over the examples, in an order that depends only on the seed and the epoch's number."""
        n_batches = batches(self.size, self.batch)
        n_parts = max(1, round(self.size / n_batches / self.part))
        slopes = [np.zeros((n_parts, optimiser.value.size)) for optimiser in self.optimisers]
        random = np.random.default_rng([run.seed, epoch])
        parts = np.array_split(random.permutation(self.size).astype(np.int32), n_batches)
        noises = random.integers(1, 2**62, n_batches).tolist()
        ends = np.cumsum([len(part) for part in parts]).tolist()
        for number in range(self.done, n_batches):
            self.total += self._step(parts[number], noises[number], slopes, self.decay ** (epoch - 1), run)
            self.done = number + 1
            run.report("progress", {"what": f"{self.what} {epoch}", "done": ends[number], "total": self.size})
            if not np.isfinite(self.total):
                break
            if self.done < n_batches:
                pause()
        total, self.done, self.total = self.total, 0, 0.0
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

    def state(self) -> State:
        """The optimisers' states, and the progress in the current epoch."""
        arrays = {
            f"{index}.{name}": array
            for index, optimiser in enumerate(self.optimisers)
            for name, array in optimiser.arrays().items()
        }
        steps = [optimiser.steps for optimiser in self.optimisers]
        return {"steps": steps, "batches": self.done, "total": self.total}, arrays

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        self.done, self.total = facts["batches"], facts["total"]
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


MOST_FALL = 0.05
"""The largest share of the log likelihood that an iteration of EM may lose. It would lose nothing but for smoothing,
pseudo-counts, and initial weights that are not quite probabilities, which cost far less than this."""

EM_REMEDY = "try other options for smoothing, or another --seed"


def check_rise(before: float, now: float) -> None:
    """Raise an error unless the log likelihood of an iteration of EM is finite and did not fall."""
    if not np.isfinite(now):
        raise GrammarError(f"the log likelihood is {now}")
    if now < before - MOST_FALL * abs(before):
        raise GrammarError(f"the log likelihood fell from {before:.1f} to {now:.1f}")


@dataclass
class Em:
    """Expectation-maximisation: `step` returns the next parameters and the log likelihood of the current ones.

    size: the number of examples. reached: the log likelihood of the last iteration.
    """

    step: Callable[[Floats], tuple[Floats, float]]
    value: Floats
    size: int
    reached: float = -np.inf
    remedy = EM_REMEDY
    share = 0.0

    def advance(self, epoch: int, run: Run, pause: Callable[[], None]) -> float:
        """One iteration; returns the negative log likelihood before it."""
        self.value, log_likelihood = self.step(self.value)
        check_rise(self.reached, log_likelihood)
        self.reached = log_likelihood
        return -log_likelihood

    def state(self) -> State:
        """The parameters."""
        return {}, {"value": self.value}

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        self.value = arrays["value"]
