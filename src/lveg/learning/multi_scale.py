"""Learning multi-scale grammars: productions are split in two at each of their symbols, and tied again where it does
not matter, under the conditional likelihood of trees (Petrov and Klein 2008)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lveg.chart.coarse import CoarseParser
from lveg.errors import UsageError
from lveg.families.lvg import Lvg, Shape, from_pcfg
from lveg.families.multi_scale import MultiScale
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.lvg_blocks import trace_halves
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent, descend
from lveg.learning.examples import Examples
from lveg.learning.lvg import forest_examples
from lveg.learning.tree_em import tree_em
from lveg.report import Report, dev_facts, silent
from lveg.trees import Tree

Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class MultiScaleOptions:
    """How productions are split and tied.

    cycles: the depth of the trees of subtypes. merged: the share of splits, of a production at one of its symbols, that
    is taken back after each cycle. noise: how far the log weights of the halves differ at first. p_min, max_length,
    memory: of training forests, as for `LvgOptions`. descent: its epochs are those of all cycles together.
    """

    cycles: int = 3
    merged: float = 0.7
    noise: float = 1.0
    p_min: float = 1e-4
    max_length: int = 50
    memory: int = 4 * 2**30
    descent: Descent = field(default_factory=lambda: Descent(epochs=20, learning_rate=0.04, l2=1.0))

    def __post_init__(self) -> None:
        if self.cycles < 1 or not (0.0 <= self.merged < 1.0 and self.noise >= 0.0):
            raise UsageError("cycles start at 1, merged is a share below 1, and noise not negative")


@dataclass(frozen=True)
class Scales:
    """A grammar on the way, and of each production where it may be split further and where it came from.

    is_open: 4 for the left-hand side, 2 for the left and 1 for the right child, added. whole, half: of productions that
    were split, the number of the production before the split and which half of it this is, as bits of the same kind.
    """

    model: MultiScale
    is_open: Bits
    whole: Ints
    half: Bits


def first_scales(coarse: CoarseParser) -> Scales:
    """The treebank grammar: a production a rule, which may be split at all of its symbols."""
    plain = from_pcfg(coarse.grammar, coarse.weight)
    shape, n_rules = plain.shape, len(coarse.weight)
    numbers = np.arange(n_rules, dtype=np.int32)
    is_open = 4 * (shape.lhs >= 0) + 2 * (shape.left >= 0) + (shape.right >= 0)
    model = MultiScale(shape, numbers, np.log(np.maximum(coarse.weight, 1e-30)))
    return Scales(model, is_open.astype(np.uint8), numbers, np.zeros(n_rules, np.uint8))


def split(scales: Scales, noise: float, seed: int) -> Scales:
    """Every subtype in two, and every production at each symbol where it is open; the rest stay one."""
    model, old = scales.model, scales.model.shape
    new = old.with_subtypes(2 * old.subtypes)
    origin, half = np.empty(new.size, np.int64), np.empty(new.size, np.uint8)
    trace_halves(old.blocks, new.blocks, origin, half)
    before = model.production[origin]
    keys, production = np.unique(before.astype(np.int64) * 8 + (half & scales.is_open[before]), return_inverse=True)
    whole, half = (keys // 8).astype(np.int32), (keys % 8).astype(np.uint8)
    # As many times more choices of children share a weight: each has so much less of it.
    slots = np.zeros(len(model.log_weight))
    slots[model.production] = np.repeat((old.left >= 0) * 1 + (old.right >= 0), np.diff(old.blocks.ptr))
    dice = np.random.default_rng(seed).uniform(-noise, noise, len(keys)) * (scales.is_open[whole] > 0)
    log_weight = (model.log_weight - np.log(2.0) * slots)[whole] + dice
    return Scales(MultiScale(new, production.astype(np.int32), log_weight), scales.is_open[whole], whole, half)


def tie(scales: Scales, uses: Floats, share: float) -> Scales:
    """That share of the splits, of a production at one of its symbols, taken back: where halves differ least.

    uses: of each production, by which differences count: halves that are used u and v times and whose log weights
    differ by d matter u v / (u + v) · d².
    """
    value, whole, half = scales.model.log_weight, scales.whole, scales.half
    mirror = np.full((int(whole.max()) + 1, 8), -1, np.int64)
    mirror[whole, half] = np.arange(len(whole))
    candidates, losses = [], []
    for bit in (4, 2, 1):
        first = np.flatnonzero((half & bit == 0) & (scales.is_open & bit > 0))
        second = mirror[whole[first], half[first] | bit]
        weight = uses[first] * uses[second] / np.maximum(uses[first] + uses[second], 1e-300)
        loss = np.bincount(whole[first], weight * (value[first] - value[second]) ** 2, minlength=len(mirror))
        found = np.unique(whole[first])
        candidates.append(np.stack([found, np.full_like(found, bit)]))
        losses.append(loss[found])
    pairs, loss = np.concatenate(candidates, axis=1), np.concatenate(losses)
    closed = np.zeros(len(mirror), np.uint8)
    chosen = pairs[:, np.argsort(loss, kind="stable")[: int(share * len(loss))]]
    np.bitwise_or.at(closed, chosen[0], chosen[1].astype(np.uint8))
    keys, group = np.unique(whole.astype(np.int64) * 8 + (half & ~closed[whole]), return_inverse=True)
    heft = np.maximum(uses, 1e-9)
    log_weight = np.bincount(group, heft * value) / np.bincount(group, heft)
    is_open = np.zeros(len(keys), np.uint8)
    is_open[group] = scales.is_open & ~closed[whole]
    production = group[scales.model.production].astype(np.int32)
    numbers = np.arange(len(keys), dtype=np.int32)
    return Scales(
        MultiScale(scales.model.shape, production, log_weight), is_open, numbers, np.zeros(len(keys), np.uint8)
    )


@dataclass(frozen=True)
class MultiScaleObjective:
    """Minus the log conditional likelihood in the log weights of productions; see `LvgObjective`."""

    shape: Shape
    production: Ints
    examples: Examples

    @property
    def size(self) -> int:
        """The number of sentences."""
        return len(self.examples)

    def model(self, value: Floats) -> Lvg:
        """The grammar with these log weights."""
        return Lvg(self.shape, np.exp(value)[self.production])

    def add(self, model: Lvg, numbers: Ints, slope: Floats) -> float:
        """The value for some sentences; adds its derivative to `slope`."""
        signs, slopes = [1.0, -1.0] * len(numbers), np.zeros(self.shape.size)
        log_z = model.add_uses(self.examples.gather(numbers), signs, slopes)
        slope += np.bincount(self.production, slopes * model.weight, minlength=len(slope))
        return float(np.dot(log_z, signs))


def learn_multi_scale(
    coarse: CoarseParser,
    scheme: Binarisation,
    trees: Sequence[Tree],
    options: MultiScaleOptions,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[MultiScale], dict[str, Any]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> MultiScale:
    """The grammar after all cycles, with the best development F1 of the last one's epochs where there is a score."""
    if checkpoint is not None:
        settings = asdict(options)
        del settings["memory"]
        checkpoint = checkpoint.keyed(seed=seed, options=settings, grammar=coarse.grammar.fingerprint)
    short = [tree for tree in trees if len(tree.words()) <= options.max_length]
    em = tree_em(coarse.grammar, scheme, trees, threads)
    scales = first_scales(coarse)
    n_stages = 2 * options.cycles + 1
    few = max(1, options.descent.epochs // n_stages)
    with closing(forest_examples(coarse, scheme, short, options.p_min, options.memory, threads, report)) as examples:
        for stage in range(n_stages):
            if stage % 2:
                scales = split(scales, options.noise, int(np.random.default_rng([seed, stage]).integers(2**31)))
            elif stage:
                counts = em.expect(scales.model.finest).rules
                uses: Floats = np.bincount(scales.model.production, counts).astype(np.float64)
                scales = tie(scales, uses, options.merged)
            report("productions", {"stage": stage, "productions": len(scales.model.log_weight)})
            epochs = few if stage + 1 < n_stages else max(1, options.descent.epochs - few * (n_stages - 1))
            model = scales.model

            def scored(value: Floats, model: MultiScale = model) -> tuple[float, dict[str, Any]]:
                assert score is not None
                return dev_facts(score(replace(model, log_weight=value)))

            value = descend(
                MultiScaleObjective(model.shape, model.production, examples), model.log_weight,
                replace(options.descent, epochs=epochs), seed, threads, scored if score else None, report,
                None if checkpoint is None else checkpoint.stage(stage),
            )  # fmt: skip
            scales = replace(scales, model=replace(model, log_weight=value))
    return scales.model
