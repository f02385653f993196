"""Learning contexts on top of a family: with it if it was learned by gradients, beside it if it is generative."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from lveg.contexts.context import ForestContext
from lveg.families.contextual.family import Contextual
from lveg.families.contextual.options import ContextOptions
from lveg.families.contextual.packed import separate
from lveg.families.forest import Ask, ForestFamily
from lveg.forest.builders import union
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.factors import N_EDGES, sum_of
from lveg.learning.adagrad import AdaGrad
from lveg.learning.adam import Adam
from lveg.learning.data import TreeData
from lveg.learning.epochs import run_epochs
from lveg.learning.examples import Examples
from lveg.learning.options import EpochOptions, ForestOptions
from lveg.learning.run import Run


def learn(
    data: TreeData, base: ForestFamily, contexts: Sequence[ForestContext], options: ContextOptions,
    forests: ForestOptions, run: Run,
) -> Contextual:  # fmt: skip
    """The family with contexts, of the epoch with the best score or of the last one if there is no score."""

    def narrow(forest: Forest, gold: Forest) -> Forest:
        return likely_part(data, base, forest, gold, options.narrow)

    started = Contextual(base, tuple(contexts))
    with closing(data.examples(started.pack, forests, run, narrow)) as examples:
        grown = [
            context.grown(shares(base, examples, number, len(contexts))) for number, context in enumerate(contexts)
        ]
        started = Contextual(base, tuple(grown), options.narrow)
        weights = {context.name: context.value.size for context in grown}
        run.report("context", weights)
        epochs = EpochOptions(epochs=options.context_epochs, patience=options.context_patience)
        progress = Joint.at(started, examples, options)
        learned = run_epochs(started.with_value, progress, epochs, run)
    family = base if base.is_probability else learned.family  # logs and back would change the last bit
    return Contextual(family, tuple(context.rounded() for context in learned.contexts), options.narrow)


def likely_part(data: TreeData, base: ForestFamily, forest: Forest, gold: Forest, least: float) -> Forest:
    """The gold tree, and what the family finds likely of a forest."""
    posterior = base.posterior(forest)
    if not posterior.is_sound:
        return forest
    edges = np.flatnonzero(posterior.edge >= least).astype(np.int32)
    return union(data.grammar, [build_forest(data.grammar, forest.words, anchored_rules(forest, edges)), gold])


def shares(base: ForestFamily, examples: Examples, number: int, count: int) -> Iterator[tuple[Ints, Floats]]:
    """What one of `count` contexts reads of each example, and the posterior of each edge without contexts."""
    unused = np.zeros_like(base.value)
    for index in range(len(examples)):
        plain, *rows = separate(examples.gather([index]), 1 + count)
        share = np.zeros(sum_of(plain, N_EDGES))
        base.run(plain, np.zeros_like(share), Ask([1.0, 1.0], unused, share))
        yield rows[number], share


@dataclass
class Joint:
    """Learning by gradients of a family, by Adam, and of contexts, by AdaGrad.

    A family of probabilities is left as it is.
    """

    family: Contextual
    examples: Examples
    options: ContextOptions
    own: Adam
    rest: list[AdaGrad]

    @classmethod
    def at(cls, family: Contextual, examples: Examples, options: ContextOptions) -> Joint:
        """Before the first epoch."""
        value = family.family.value
        rest = [AdaGrad.zeros(context.value.size) for context in family.contexts]
        return cls(family, examples, options, Adam.at(value, value), rest)

    @property
    def size(self) -> int:
        """The number of examples."""
        return len(self.examples)

    @property
    def value(self) -> Floats:
        """The averages of all parameters."""
        return np.concatenate([self.own.average, *(part.average for part in self.rest)])

    def advance(self, epoch: int, run: Run) -> float:
        """One epoch of batches; the objective, as it was met with on the way."""
        random = np.random.default_rng((run.seed, epoch))
        order = random.permutation(self.size).astype(np.int32)
        n_batches = max(1, round(self.size / self.options.context_batch))
        noises = random.integers(1, 2**62, n_batches).tolist()
        n_parts = max(1, round(self.options.context_batch / PART))
        sizes = (self.own.value.size, *(part.value.size for part in self.rest))
        slopes = [np.zeros((n_parts, size)) for size in sizes]
        total, done = 0.0, 0
        for batch, noise in zip(np.array_split(order, n_batches), noises, strict=True):
            total += self._step(batch, noise, slopes, n_batches, run)
            done += len(batch)
            run.report("progress", {"what": f"context epoch {epoch}", "done": done, "total": self.size})
        return total

    def _step(self, batch: Ints, noise: int, slopes: list[Floats], n_batches: int, run: Run) -> float:
        """The objective of a batch, and one step of every optimiser."""
        options, n_parts = self.options, len(slopes[0])
        family = self.family.family.with_value(self.own.value)
        contexts = [
            context.with_value(part.value) for context, part in zip(self.family.contexts, self.rest, strict=True)
        ]

        def work(part: int) -> tuple[float, list[Ints]]:
            numbers = batch[part::n_parts]
            if not len(numbers):
                return 0.0, [np.empty(0, np.int32)] * len(contexts)
            plain, *rows = separate(self.examples.gather(numbers), 1 + len(contexts))
            scores = [context.score(row, noise) for context, row in zip(contexts, rows, strict=True)]
            log_factor = np.sum(scores, axis=0)
            edge_slope, signs = np.empty_like(log_factor), [1.0, -1.0] * len(numbers)
            log_z = family.run(plain, log_factor, Ask(signs, slopes[0][part], edge_slope))
            touched = [
                context.add(row, edge_slope, slope[part], noise)
                for context, row, slope in zip(contexts, rows, slopes[1:], strict=True)
            ]
            return float(np.dot(log_z, signs)), touched

        found = list(run.map(work, range(n_parts)))
        if not self.family.family.is_probability and options.base_rate:
            self.own.step(slopes[0], 1.0 / len(batch), options.base_rate, BASE_L2 / self.size, n_batches)
        slopes[0][:] = 0.0
        for index, optimiser in enumerate(self.rest):
            touched = [numbers[index] for _, numbers in found]
            optimiser.step(slopes[1 + index], touched, 1.0 / len(batch), options.context_rate)
        return sum(value for value, _ in found)

    def state(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """The optimisers' states."""
        arrays = {f"own.{name}": array for name, array in self.own.arrays().items()}
        for index, part in enumerate(self.rest):
            arrays |= {f"{index}.{name}": array for name, array in part.arrays().items()}
        return {"steps": self.own.steps, "context_steps": [part.steps for part in self.rest]}, arrays

    def restore(self, facts: dict[str, Any], arrays: dict[str, Floats]) -> None:
        """Go back to a state."""
        own = {name.removeprefix("own."): array for name, array in arrays.items() if name.startswith("own.")}
        self.own = Adam(**own, steps=facts["steps"])
        self.rest = [
            AdaGrad(arrays[f"{index}.value"], arrays[f"{index}.square"], arrays[f"{index}.lag"], steps)
            for index, steps in enumerate(facts["context_steps"])
        ]


PART = 16
"""Approximate number of examples summed by one worker; parts are added in order, so workers change no bit."""

BASE_L2 = 2.0
"""How strongly the parameters of the family are pulled towards where they were without contexts."""
