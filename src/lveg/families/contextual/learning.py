"""Training contexts on top of a family. A generative family stays fixed; any other is trained further with them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from lveg.contexts.context import Alone, ForestContext, Start
from lveg.families.contextual.combined import separate
from lveg.families.contextual.family import Contextual
from lveg.families.contextual.options import ContextOptions
from lveg.families.forest import Ask, ForestFamily
from lveg.families.registry import treebank_kind
from lveg.forest.builders import union
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.factors import N_EDGES, sum_of
from lveg.learning.adam import Adam
from lveg.learning.data import TreeData
from lveg.learning.epochs import Descent, batches, run_epochs
from lveg.learning.examples import Examples, blocks
from lveg.learning.gradient import Gradient
from lveg.learning.optimiser import Fixed, Optimiser
from lveg.learning.options import EpochOptions, ForestOptions
from lveg.learning.run import Run


def learn(
    data: TreeData, base: ForestFamily, starts: Sequence[Start], options: ContextOptions, forests: ForestOptions,
    run: Run,
) -> Contextual:  # fmt: skip
    """Train a family with contexts; returns the epoch with the best score, or the last epoch if there is no score."""
    begun = [
        start if start.alone is None else learned_alone(data, start, start.alone, options, forests, run.stage(number))
        for number, start in enumerate(starts)
    ]
    epochs = EpochOptions(epochs=options.context_epochs, patience=options.context_patience)
    learned = learn_together(data, base, begun, options, epochs, forests, run)
    family = base if base.is_probability else learned.family  # taking logs and back would change the last bit
    return Contextual(family, tuple(context.rounded() for context in learned.contexts), options.narrow)


def learned_alone(
    data: TreeData, start: Start, alone: Alone, options: ContextOptions, forests: ForestOptions, run: Run
) -> Start:  # fmt: skip
    """Train a context on top of the treebank grammar for some epochs."""
    kind = treebank_kind("parser")
    base = cast(ForestFamily, kind.load_family().restore(data.grammar, data.weight, {}, {}))
    run.report("alone", {"context": start.context.name})
    chosen, epochs = replace(options, context_batch=alone.batch), EpochOptions(epochs=alone.epochs, patience=0)
    begun = replace(start, optimiser=alone.optimiser)
    learned = learn_together(data, base, [begun], chosen, epochs, forests, replace(run, score=None))
    return replace(start, context=learned.contexts[0].scaled(alone.share))


def learn_together(
    data: TreeData, base: ForestFamily, starts: Sequence[Start], options: ContextOptions, epochs: EpochOptions,
    forests: ForestOptions, run: Run,
) -> Contextual:  # fmt: skip
    """Train the family and contexts on forests that are pruned by the family's posteriors."""
    narrow = partial(likely_part, data.grammar, base, options.narrow)
    started = Contextual(base, tuple(start.context for start in starts))
    with closing(data.examples(started.pack, forests, run, narrow)) as examples:
        grown = grown_contexts(started, examples, run)
        started = Contextual(base, tuple(grown), options.narrow)
        run.report("context", {context.name: context.value.size for context in grown})
        size, n_batches = len(examples), batches(len(examples), options.context_batch)
        own: Optimiser = Fixed(base.value)
        if not base.is_probability and options.base_rate:
            own = Adam.at(base.value, base.value, options.base_rate, BASE_L2 / size, n_batches)
        rest = [start.optimiser(context.value, n_batches) for start, context in zip(starts, grown, strict=True)]
        progress = Descent(
            partial(gradient_at, started, examples), [own, *rest], size, options.context_batch, part=PART,
            what="context epoch", remedy="try smaller steps: the options whose names end in -rate",
        )  # fmt: skip
        return run_epochs(started.with_value, progress, epochs, run)


def gradient_at(model: Contextual, examples: Examples, values: Sequence[Floats]) -> Gradient:
    """The gradient with respect to the parameters of the family and of each context."""
    present = model.with_parts(values)
    family, contexts = present.family, present.contexts

    def gradient(numbers: Ints, slopes: Sequence[Floats], noise: int) -> tuple[float, Sequence[Ints]]:
        plain, *rows = separate(examples.gather(numbers), 1 + len(contexts))
        scores = [context.score(row, noise) for context, row in zip(contexts, rows, strict=True)]
        log_factor = np.sum(scores, axis=0)
        edge_slope, signs = np.empty_like(log_factor), [1.0, -1.0] * len(numbers)
        log_z = family.run(plain, log_factor, Ask(signs, slopes[0], edge_slope))
        touched = [
            context.add(row, edge_slope, slope, noise)
            for context, row, slope in zip(contexts, rows, slopes[1:], strict=True)
        ]
        return float(np.dot(log_z, signs)), [np.empty(0, np.int32), *touched]

    return gradient


def likely_part(grammar: Grammar, base: ForestFamily, least: float, forest: Forest, gold: Forest) -> Forest:
    """The gold tree, and the edges of a forest to which the family gives at least the posterior `least`."""
    posterior = base.posterior(forest)
    if not posterior.is_sound:
        return forest
    edges = np.flatnonzero(posterior.edge >= least).astype(np.int32)
    return union(grammar, [build_forest(grammar, forest.words, anchored_rules(forest, edges)), gold])


def grown_contexts(started: Contextual, examples: Examples, run: Run) -> list[ForestContext]:
    """The contexts with parameters for what occurs in the examples."""
    found = run.map(partial(occurring_at, started, examples), blocks(len(examples), PART))
    by_context = columns(found, len(started.contexts))
    return [context.grown(keys) for context, keys in zip(started.contexts, by_context, strict=True)]


def columns(rows: Iterable[Sequence[Ints]], count: int) -> list[Iterator[Ints]]:
    """The columns of rows, which are read as needed; only what a column is behind another is kept in memory."""
    source, waiting = iter(rows), [deque[Ints]() for _ in range(count)]

    def column(own: deque[Ints]) -> Iterator[Ints]:
        while True:
            if not own:
                for queue, value in zip(waiting, next(source, ()), strict=False):
                    queue.append(value)
            if not own:
                return
            yield own.popleft()

    return [column(own) for own in waiting]


def occurring_at(
    model: Contextual, examples: Examples, values: Sequence[Floats]
) -> Callable[[Sequence[int]], list[Ints]]:
    """Computes, for the examples with some numbers, what occurs in them for each context."""
    base = model.family

    def work(numbers: Sequence[int]) -> list[Ints]:
        plain, *rows = separate(examples.gather(numbers), 1 + len(model.contexts))
        share = np.zeros(sum_of(plain, N_EDGES))
        base.run(plain, np.zeros_like(share), Ask([1.0, 1.0] * len(numbers), np.zeros_like(base.value), share))
        return [context.occurring(row, share) for context, row in zip(model.contexts, rows, strict=True)]

    return work


PART = 16
"""Approximate number of examples per task; partial sums are added in order, so results do not depend on workers."""

BASE_L2 = 2.0
"""Strength of the L2 penalty that pulls the parameters of the family towards their values without contexts."""
