"""Learning a Gaussian mixture grammar: conditional likelihood of gold trees, by Adam, with weights averaged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lveg.chart.coarse import CoarseParser
from lveg.families.gm import Gm, Gradient, start
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats
from lveg.kernels.gm import Plan
from lveg.parallel import ordered_map
from lveg.report import Report, silent
from lveg.trees import Tree

_CHUNKS = 4  # parts of a batch, summed in order: the result does not depend on the number of threads


@dataclass(frozen=True)
class GmOptions:
    """How a Gaussian mixture grammar is learned; docs/decisions/0006 tells where the defaults come from.

    max_length: longer sentences are in the treebank grammar, but not learned from.
    """

    components: int = 4
    dim: int = 3
    covariance: str = "spherical"
    epochs: int = 15
    learning_rate: float = 0.02
    decay: float = 0.95
    l2: float = 1.0
    batch: int = 64
    p_min: float = 1e-5
    alpha: float | None = None
    spread: float = 0.05
    max_length: int = 50


class Example(NamedTuple):
    """A training sentence: all analyses left after pruning, the gold one, and their plans."""

    forest: Forest
    plan: Plan
    gold: Forest
    gold_plan: Plan


def prepare(
    coarse: CoarseParser, scheme: Binarisation, trees: Sequence[Tree], model: Gm, options: GmOptions, threads: int,
    report: Report = silent,
) -> list[Example]:  # fmt: skip
    """The examples of the trees; forests do not depend on the parameters, so each is built once."""

    def example(tree: Tree) -> Example:
        forest, gold = coarse.training_forest(tree, scheme, options.p_min)
        return Example(forest, model.plan(forest), gold, model.plan(gold))

    examples = []
    for item in ordered_map(example, trees, threads):
        examples.append(item)
        report("progress", {"what": "building forests", "done": len(examples), "total": len(trees)})
    return examples


def learn(
    coarse: CoarseParser,
    scheme: Binarisation,
    trees: Sequence[Tree],
    options: GmOptions,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[Gm], dict[str, Any]] | None = None,
    report: Report = silent,
) -> Gm:
    """The grammar with the best development F1 of all epochs, or the last one where there is no score."""
    first = start(
        coarse.grammar, coarse.weight, options.components, options.dim, options.covariance, options.alpha,
        options.spread, seed,
    )  # fmt: skip
    short = [tree for tree in trees if len(tree.words()) <= options.max_length]
    examples = prepare(coarse, scheme, short, first, options, threads, report)
    generator = np.random.default_rng(seed)
    batches = max(1, round(len(examples) / options.batch))
    state = _Adam(first, options, average=1.0 - 1.0 / batches)
    best, best_f1 = first, -1.0
    with ThreadPoolExecutor(threads) as pool:
        for epoch in range(1, options.epochs + 1):
            begun, objective, done = time.perf_counter(), 0.0, 0
            for batch in np.array_split(generator.permutation(len(examples)), batches):
                loss, gradient = batch_gradient(state.model, [examples[i] for i in batch], pool)
                objective += loss
                state.step(gradient, len(batch), len(examples), options.learning_rate * options.decay ** (epoch - 1))
                done += len(batch)
                report("progress", {"what": f"epoch {epoch}", "done": done, "total": len(examples)})
            model = state.averaged()
            facts = {
                "epoch": epoch,
                "objective": round(objective / len(examples), 4),
                "sentences_per_second": round(len(examples) / (time.perf_counter() - begun), 1),
            }
            if score is not None:
                facts |= {f"dev_{name}": value for name, value in score(model).items() if not isinstance(value, dict)}
            report("epoch", facts)
            f1 = facts.get("dev_f1", float(epoch))
            if f1 > best_f1:
                best, best_f1 = model, f1
    return best


def batch_gradient(model: Gm, examples: Sequence[Example], pool: ThreadPoolExecutor) -> tuple[float, Gradient]:
    """(minus log likelihood, its gradient) summed over examples, in an order that threads do not change."""

    def work(part: Sequence[Example]) -> tuple[float, Gradient]:
        gradient, loss = model.zero_gradient(), 0.0
        for example in part:
            loss += model.add_gradient(example.forest, 1.0, gradient, example.plan)
            loss -= model.add_gradient(example.gold, -1.0, gradient, example.gold_plan)
        return loss, gradient

    _ = model.components  # made once, before threads ask for it
    parts = [examples[index::_CHUNKS] for index in range(_CHUNKS)]
    loss, total = 0.0, None
    for part_loss, gradient in pool.map(work, parts):
        loss += part_loss
        if total is None:
            total = gradient
        else:
            for into, add in zip(_arrays(total), _arrays(gradient), strict=True):
                into += add
    assert total is not None
    return loss, total


def _arrays(parameters: Gm | Gradient) -> tuple[Floats, Floats, Floats]:
    return parameters.log_weight, parameters.mean, parameters.log_std


class _Adam:
    """Adam with L2 towards the start and an exponential average of the parameters."""

    def __init__(self, first: Gm, options: GmOptions, average: float) -> None:
        self.model = first
        self.origin = _arrays(first)
        self.l2 = options.l2
        self.average = average
        self.steps = 0
        self.first_moment = [np.zeros_like(array) for array in self.origin]
        self.second_moment = [np.zeros_like(array) for array in self.origin]
        self.mean_of = [array.copy() for array in self.origin]

    def step(self, gradient: Gradient, batch: int, total: int, rate: float) -> None:
        """One update with the gradient of a batch; the penalty has its share of the whole."""
        self.steps += 1
        updated = []
        correct_first, correct_second = 1 - 0.9**self.steps, 1 - 0.999**self.steps
        keep = min(self.average, self.steps / (self.steps + 1.0))
        for index, (array, slope) in enumerate(zip(_arrays(self.model), _arrays(gradient), strict=True)):
            slope = slope / batch + self.l2 / total * (array - self.origin[index])
            first, second = self.first_moment[index], self.second_moment[index]
            first *= 0.9
            first += 0.1 * slope
            second *= 0.999
            second += 0.001 * slope * slope
            new = array - rate * (first / correct_first) / (np.sqrt(second / correct_second) + 1e-8)
            self.mean_of[index] *= keep
            self.mean_of[index] += (1.0 - keep) * new
            updated.append(new)
        self.model = Gm(self.model.ptr, *updated)

    def averaged(self) -> Gm:
        """The grammar with averaged parameters."""
        return Gm(self.model.ptr, *(array.copy() for array in self.mean_of))
