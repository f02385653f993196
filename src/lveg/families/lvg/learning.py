"""Parsers with a fixed number of subtypes per symbol: EM (Matsuzaki 2005), conditional likelihood (Petrov 2008)."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from lveg.families.family import Facts
from lveg.families.forest import pack
from lveg.families.lvg.em import EM_COPIES, tree_em
from lveg.families.lvg.family import Lvg, from_pcfg, shape_of
from lveg.families.lvg.options import LvgOptions
from lveg.grammar.grammar import Floats
from lveg.learning.data import TreeData
from lveg.learning.epochs import Em, descend, gradient_copies, run_epochs
from lveg.learning.memory import check_memory
from lveg.learning.run import Run

_LEAST_START = 1e-10  # minimum weight at the start of gradient training


def learn(data: TreeData, options: LvgOptions, run: Run) -> tuple[Lvg, Facts]:
    """The grammar with the best score of all epochs, or the last one if there is no score."""
    copies = EM_COPIES if options.objective == "generative" else max(EM_COPIES, gradient_copies(options))
    n_weights = shape_of(data.grammar, np.full(len(data.grammar.symbols), options.subtypes)).size
    check_memory(f"--subtypes {options.subtypes}", n_weights, copies)
    first = first_grammar(data, options.subtypes, options.noise, run.seed)
    em = tree_em(data, run)

    def step(weight: Floats) -> tuple[Floats, float]:
        uses = em.expect(Lvg(first.shape, weight))
        return em.maximise(first.shape, uses, options).weight, uses.log_likelihood

    if options.objective == "generative":
        progress = Em(step, first.weight, len(data.trees))
        return run_epochs(lambda weight: Lvg(first.shape, weight), progress, options, run), {}
    weight = first.weight
    for number in range(1, options.warm + 1):
        weight, _ = step(weight)
        run.report("progress", {"what": "EM before gradients", "done": number, "total": options.warm})
    start = np.log(np.maximum(weight, _LEAST_START))
    with closing(data.examples(pack, options, run)) as examples:
        return descend(first, examples, options, run, start), {}


def first_grammar(data: TreeData, subtypes: int, noise: float, seed: int) -> Lvg:
    """Subtypes that are equal up to noise and sum to the treebank grammar."""
    plain = from_pcfg(data.grammar, data.weight)
    shape = plain.shape.with_subtypes(subtypes * plain.shape.subtypes)
    blocks = shape.blocks
    share = np.repeat(plain.weight / (blocks.n_left * blocks.n_right), np.diff(blocks.ptr))
    return Lvg(shape, share * np.random.default_rng(seed).uniform(1.0 - noise, 1.0 + noise, shape.size))
