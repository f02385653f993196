"""Learning multi-scale grammars: productions are split in two at each of their symbols, and tied again where it does
not matter, under the conditional likelihood of trees (Petrov and Klein 2008)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lveg.families.family import Facts
from lveg.families.forest import pack
from lveg.families.lvg.em import EM_COPIES, tree_em
from lveg.families.lvg.family import from_pcfg, shape_of
from lveg.families.multi_scale.family import MultiScale
from lveg.families.multi_scale.options import MultiScaleOptions
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.lvg_blocks import trace_halves
from lveg.learning.data import TreeData
from lveg.learning.epochs import descend
from lveg.learning.memory import check_memory
from lveg.learning.run import Run

Bits = npt.NDArray[np.uint8]


def learn(data: TreeData, options: MultiScaleOptions, run: Run) -> tuple[MultiScale, Facts]:
    """The grammar after all cycles, from the best epoch of the last cycle if there is a score."""
    finest = shape_of(data.grammar, np.full(len(data.grammar.symbols), 2**options.cycles))
    check_memory(f"--cycles {options.cycles}", finest.size, EM_COPIES)
    em = tree_em(data, run)
    scales = first_scales(data)
    n_stages = 2 * options.cycles + 1
    few = max(1, options.epochs // n_stages)
    with closing(data.examples(pack, options, run)) as examples:
        for stage in range(n_stages):
            if stage % 2:
                scales = split(scales, options.noise, int(np.random.default_rng([run.seed, stage]).integers(2**31)))
            elif stage:
                counts = em.expect(scales.model.finest).rules
                uses: Floats = np.bincount(scales.model.production, counts).astype(np.float64)
                scales = tie(scales, uses, options.merged)
            run.report("productions", {"stage": stage, "productions": len(scales.model.log_weight)})
            epochs = few if stage + 1 < n_stages else max(1, options.epochs - few * (n_stages - 1))
            model = descend(
                scales.model, examples, replace(options, epochs=epochs), run.stage(stage, epochs=options.epochs)
            )
            scales = replace(scales, model=model)
    return scales.model, {}


@dataclass(frozen=True)
class Scales:
    """An intermediate grammar, and for each production where it may be split further and where it came from.

    is_open: a bit mask, 4 for the left-hand side, 2 for the left and 1 for the right child. whole, half: for
    productions that were split, the number of the production before the split, and which half this is, as the same kind
    of bit mask.
    """

    model: MultiScale
    is_open: Bits
    whole: Ints
    half: Bits


def first_scales(data: TreeData) -> Scales:
    """The treebank grammar: one production per rule, open at all of its symbols."""
    plain = from_pcfg(data.grammar, data.weight)
    shape, n_rules = plain.shape, len(data.weight)
    numbers = np.arange(n_rules, dtype=np.int32)
    is_open = 4 * (shape.lhs >= 0) + 2 * (shape.left >= 0) + (shape.right >= 0)
    model = MultiScale(shape, numbers, np.log(np.maximum(data.weight, 1e-30)))
    return Scales(model, is_open.astype(np.uint8), numbers, np.zeros(n_rules, np.uint8))


def split(scales: Scales, noise: float, seed: int) -> Scales:
    """Split every subtype in two, and every production at each symbol where it is open."""
    model, old = scales.model, scales.model.shape
    new = old.with_subtypes(2 * old.subtypes)
    origin, half = np.empty(new.size, np.int64), np.empty(new.size, np.uint8)
    trace_halves(old.blocks, new.blocks, origin, half)
    before = model.production[origin]
    keys, production = np.unique(before.astype(np.int64) * 8 + (half & scales.is_open[before]), return_inverse=True)
    whole, half = (keys // 8).astype(np.int32), (keys % 8).astype(np.uint8)
    # The subtypes of each child double: halve the weight for each child.
    slots = np.zeros(len(model.log_weight))
    slots[model.production] = np.repeat((old.left >= 0) * 1 + (old.right >= 0), np.diff(old.blocks.ptr))
    dice = np.random.default_rng(seed).uniform(-noise, noise, len(keys)) * (scales.is_open[whole] > 0)
    log_weight = (model.log_weight - np.log(2.0) * slots)[whole] + dice
    return Scales(MultiScale(new, production.astype(np.int32), log_weight), scales.is_open[whole], whole, half)


def tie(scales: Scales, uses: Floats, share: float) -> Scales:
    """Undo this share of the splits of productions at single symbols: those that matter least.

    uses: expected uses of each production. If halves are used u and v times and their log weights differ by d, the
    importance of the split is u v / (u + v) · d².
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
    floored = np.maximum(uses, 1e-9)
    log_weight = np.bincount(group, floored * value) / np.bincount(group, floored)
    is_open = np.zeros(len(keys), np.uint8)
    is_open[group] = scales.is_open & ~closed[whole]
    production = group[scales.model.production].astype(np.int32)
    numbers = np.arange(len(keys), dtype=np.int32)
    return Scales(
        MultiScale(scales.model.shape, production, log_weight), is_open, numbers, np.zeros(len(keys), np.uint8)
    )
