"""Parsers with a fixed number of subtypes a symbol: by EM (Matsuzaki 2005) or conditional likelihood (Petrov 2008)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lveg.chart.coarse import CoarseParser
from lveg.errors import UsageError
from lveg.families.lvg import Lvg, from_pcfg, pack
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent, descend
from lveg.learning.em import expectation_maximisation
from lveg.learning.examples import Examples, collect
from lveg.learning.tags import OBJECTIVES
from lveg.learning.tree_em import Smoothing, tree_em
from lveg.report import Report, dev_facts, silent
from lveg.trees import Tree

_LEAST = 1e-10  # gradients start from no smaller weight
BY_EM = Descent(epochs=50, patience=10)


@dataclass(frozen=True)
class LvgOptions:
    """How a parser with N subtypes a symbol is learned.

    objective: generative for the likelihood of trees by EM, whose iterations are the epochs; discriminative for the
    likelihood of trees given words by gradients over forests pruned at p_min, of sentences of at most max_length words,
    after `warm` iterations of EM. noise: how far subtypes differ at the start. rules, words, lent: see `Smoothing`; of
    EM alone. memory: bytes of training forests that are held; the rest is in a temporary file.
    """

    subtypes: int = 8
    objective: str = "generative"
    noise: float = 0.5
    warm: int = 20
    rules: float = 0.03
    words: float = 0.2
    lent: float = 2.0
    p_min: float = 1e-4
    max_length: int = 50
    memory: int = 4 * 2**30
    descent: Descent = BY_EM

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise UsageError(f"objective {self.objective!r} is not one of {', '.join(OBJECTIVES)}")
        if self.subtypes < 1:
            raise UsageError("a symbol has at least one subtype")


@dataclass(frozen=True)
class LvgObjective:
    """Minus the log conditional likelihood in log weights; an example is two forests, of all analyses and gold."""

    start: Lvg
    examples: Examples

    @property
    def size(self) -> int:
        """The number of sentences."""
        return len(self.examples)

    def model(self, value: Floats) -> Lvg:
        """The grammar with these log weights."""
        return Lvg(self.start.shape, np.exp(value))

    def add(self, model: Lvg, numbers: Ints, slope: Floats) -> float:
        """The value for some sentences; adds its derivative to `slope`."""
        signs, slopes = [1.0, -1.0] * len(numbers), np.zeros_like(slope)
        log_z = model.add_uses(self.examples.gather(numbers), signs, slopes)
        slope += slopes * model.weight
        return float(np.dot(log_z, signs))


def forest_examples(
    coarse: CoarseParser, scheme: Binarisation, trees: Sequence[Tree], p_min: float, memory: int, threads: int,
    report: Report,
) -> Examples:  # fmt: skip
    """The examples of trees for a conditional likelihood: of each the pruned forest, and that of the tree alone."""

    def example(tree: Tree) -> Ints:
        return np.concatenate([pack(forest) for forest in coarse.training_forest(tree, scheme, p_min)])

    return collect(example, trees, memory, threads, report)


def start_lvg(coarse: CoarseParser, subtypes: int, noise: float, seed: int) -> Lvg:
    """Subtypes that are alike but for some noise, and together are the treebank grammar."""
    plain = from_pcfg(coarse.grammar, coarse.weight)
    shape = plain.shape.with_subtypes(subtypes * plain.shape.subtypes)
    blocks = shape.blocks
    share = np.repeat(plain.weight / (blocks.n_left * blocks.n_right), np.diff(blocks.ptr))
    return Lvg(shape, share * np.random.default_rng(seed).uniform(1.0 - noise, 1.0 + noise, shape.size))


def learn_lvg(
    coarse: CoarseParser,
    scheme: Binarisation,
    trees: Sequence[Tree],
    options: LvgOptions,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[Lvg], dict[str, Any]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> Lvg:
    """The grammar with the best score of all epochs, or the last one where there is no score."""
    first = start_lvg(coarse, options.subtypes, options.noise, seed)
    if checkpoint is not None:
        settings = asdict(options)
        del settings["descent"]["epochs"], settings["memory"]
        checkpoint = checkpoint.keyed(seed=seed, options=settings, grammar=coarse.grammar.fingerprint)
    descent = options.descent
    em = tree_em(coarse.grammar, scheme, trees, threads)
    smoothing = Smoothing(options.rules, options.words, options.lent)

    def step(weight: Floats) -> tuple[Floats, float]:
        uses = em.expect(Lvg(first.shape, weight))
        return em.maximise(first.shape, uses, smoothing).weight, uses.log_likelihood

    if options.objective == "generative":

        def scored(weight: Floats) -> tuple[float, dict[str, Any]]:
            assert score is not None
            return dev_facts(score(Lvg(first.shape, weight)))

        weight = expectation_maximisation(
            step, first.weight, len(trees), descent.epochs, descent.patience, scored if score else None, report,
            checkpoint,
        )  # fmt: skip
        return Lvg(first.shape, weight)
    weight = first.weight
    for number in range(1, options.warm + 1):
        weight, _ = step(weight)
        report("progress", {"what": "EM before gradients", "done": number, "total": options.warm})
    start = np.log(np.maximum(weight, _LEAST))
    short = [tree for tree in trees if len(tree.words()) <= options.max_length]
    with closing(forest_examples(coarse, scheme, short, options.p_min, options.memory, threads, report)) as some:
        objective = LvgObjective(first, some)
        value = descend(
            objective, start, descent, seed, threads,
            (lambda value: dev_facts(score(objective.model(value)))) if score else None, report, checkpoint,
        )  # fmt: skip
    return objective.model(value)
