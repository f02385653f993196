"""Gaussian mixture grammars: the cost of an epoch and a parse, by sentences, length, K and d; what the machine allows.

    python benchmarks/bench_gm.py [TREEBANK]

Claims: 15 epochs on wsj-sample within 4 CPU minutes; parsing wsj-sample at 100 sentences per CPU second or better, and
cess-es at 20. The original (Java, 2018; K = 4, d = 3, sentences of up to 20 words) needs 2.2 s per sentence and epoch
with its published pruning, and 0.21 s at its strongest.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from common import print_table, treebank

from lveg.families.gm.family import Gm, plan, start
from lveg.families.gm.options import GmOptions
from lveg.kernels.gm_overlaps import fill_overlaps
from lveg.kernels.gm_plan import number_blocks
from lveg.kernels.jit import kernel
from lveg.learning.epochs import PART
from lveg.model import Parser
from lveg.training import train_parser
from lveg.treebank.penn import read_gold_trees
from lveg.trees import Cleaning, Tree

PUBLISHED, STRONGEST = 2200.0, 210.0  # ms per sentence of up to 20 words and epoch, measured for the original


def main() -> None:
    """Measure one treebank."""
    name = sys.argv[1] if len(sys.argv) > 1 else "wsj-sample"
    parser = train_parser(treebank(name, "train"), model="pcfg")
    options, trees = GmOptions(), read_gold_trees([treebank(name, "train")], Cleaning())
    trees = [tree for tree in trees if len(tree.words()) <= options.forest_length]
    order = np.random.default_rng(0).permutation(len(trees))
    some = [trees[index] for index in order[:640]]
    packs = pack(parser, some, options.p_min)
    base = model_of(parser)
    print(f"{name}: gradients at K = 4, d = 3, spherical, forests at {options.p_min:g}; CPU ms per sentence\n")
    by_number(base, packs)
    by_length(base, some, packs)
    by_shape(parser, packs)
    limit(base, packs)
    original(parser, trees)
    parsing(parser, name)


def model_of(parser: Parser, components: int = 4, dim: int = 3, covariance: str = "spherical") -> Gm:
    """A grammar to measure; what it has learned does not matter."""
    return start(parser.grammar, parser.weight, components, dim, covariance, spread=0.5)


def pack(parser: Parser, trees: list[Tree], p_min: float) -> list[np.ndarray]:
    """The example of each tree."""
    forests = (parser.coarse.training_forest(tree, parser.binarisation, p_min) for tree in trees)
    return [np.concatenate([plan(forest), plan(gold)]) for forest, gold in forests]


def epoch(model: Gm, packs: list[np.ndarray]) -> float:
    """CPU ms per sentence for the gradient, in parts as learning takes them."""
    slope = np.zeros_like(model.value)
    parts = [np.concatenate(packs[index : index + PART]) for index in range(0, len(packs), PART)]
    model.add(parts[0], slope)  # compile

    def once() -> None:
        for part in parts:
            model.add(part, slope)

    return 1e3 * best_of(once, 2) / len(packs)


def best_of(work: Callable[[], object], turns: int) -> float:
    """The least CPU time of some turns."""
    times = []
    for _ in range(turns):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def by_number(model: Gm, packs: list[np.ndarray]) -> None:
    """An epoch grows with the number of sentences, and no faster."""
    rows: list[list[object]] = [[n, f"{epoch(model, packs[:n]):.2f}"] for n in (80, 160, 320, 640) if n <= len(packs)]
    print_table(["sentences", "ms"], rows)


def by_length(model: Gm, trees: list[Tree], packs: list[np.ndarray]) -> None:
    """Longer sentences have larger forests."""
    rows: list[list[object]] = []
    for low in range(1, 51, 10):
        chosen = [p for t, p in zip(trees, packs, strict=True) if low <= len(t.words()) < low + 10]
        if chosen:
            edges = np.mean([p[3] for p in chosen])
            rows.append([f"{low}-{low + 9}", len(chosen), f"{edges:.0f}", f"{epoch(model, chosen):.2f}"])
    print_table(["words", "sentences", "edges", "ms"], rows)


def by_shape(parser: Parser, packs: list[np.ndarray]) -> None:
    """K counts twice, d hardly."""
    rows: list[list[object]] = []
    for covariance, components, dim in (
        *(("spherical", k, 3) for k in (1, 2, 4, 8)),
        *(("spherical", 4, d) for d in (1, 2, 6, 12)),
        ("diagonal", 4, 3),
    ):
        model = model_of(parser, components, dim, covariance)
        rows.append([covariance, components, dim, f"{epoch(model, packs[:160]):.2f}"])
    print_table(["covariance", "K", "d", "ms"], rows)


@kernel
def bare(mean: np.ndarray, var: np.ndarray, out: np.ndarray, power: np.ndarray, bits: np.ndarray) -> None:
    """Overlaps of one Gaussian with many that lie side by side: nothing to look up, nothing to share."""
    count = out.shape[0]
    for l in range(count):  # noqa: E741
        out[l] = 0.0
    for d in range(mean.shape[0]):
        for l in range(count):  # noqa: E741
            out[l] += (mean[d, l] - 0.1) * (mean[d, l] - 0.1)
    for l in range(count):  # noqa: E741
        x = max(-0.5 * out[l] / (var[l] + 1.0), -700.0)
        bits[l] = (np.int64(np.int32(x * 1.4426950408889634 - 0.5)) + 1023) << 52
    for l in range(count):  # noqa: E741
        v = var[l] + 1.0
        x = max(-0.5 * out[l] / v, -700.0)
        r = x - np.int32(x * 1.4426950408889634 - 0.5) * 0.6931471805599453
        e = 1.0 + r * (1.0 + r * (0.5 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 + r / 5040))))))
        out[l] = power[l] * e / math.sqrt(v * v * v)


def limit(model: Gm, packs: list[np.ndarray]) -> None:
    """How close the overlaps of a part come to a loop that does nothing but overlaps."""
    part = np.concatenate(packs[:PART])
    _, slots, rules, begins = number_blocks(part, model.ptr)
    table = np.empty(begins[-1])
    count = 4096
    mean, var, out, power = np.random.rand(3, count), np.random.rand(count), np.empty(count), np.empty(count)  # noqa: NPY002
    bare(mean, var, out, power, power.view(np.int64))
    blocks = best_of(lambda: fill_overlaps(model.components, model.most, slots, rules, begins, table), 5) / len(table)
    alone = best_of(lambda: [bare(mean, var, out, power, power.view(np.int64)) for _ in range(50)], 5) / 50 / count
    uses = len(number_blocks(part, model.ptr)[0])
    whole = 1e-3 * epoch(model, packs[:PART]) * PART / (16 * uses)
    rows: list[list[object]] = [
        ["a bare vectorised loop", f"{1e9 * alone:.2f}", f"{1e-6 / alone:.0f}"],
        ["overlaps of a part's blocks", f"{1e9 * blocks:.2f}", f"{1e-6 / blocks:.0f}"],
        ["inside, outside and gradient, per overlap used", f"{1e9 * whole:.2f}", f"{1e-6 / whole:.0f}"],
    ]
    print(f"{len(table):,} overlaps serve {16 * uses:,} uses in a part of {PART} sentences")
    print_table(["", "ns", "million per second"], rows)


def original(parser: Parser, trees: list[Tree]) -> None:
    """Sentences of up to 20 words, against the original's times on them."""
    short = [tree for tree in trees if len(tree.words()) <= 20][:320]
    rows: list[list[object]] = []
    for p_min in (1e-4, 1e-5):
        ms = epoch(model_of(parser), pack(parser, short, p_min))
        rows.append([f"{p_min:g}", f"{ms:.3f}", f"{PUBLISHED / ms:,.0f}", f"{STRONGEST / ms:,.0f}"])
    print("sentences of up to 20 words, K = 4, d = 3")
    print_table(["p_min", "ms per sentence and epoch", "times faster than published", "than at its strongest"], rows)


def parsing(parser: Parser, name: str) -> None:
    """Where the time of a parse goes."""
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))[:400]
    model = replace(parser, family=model_of(parser))
    model.parse(gold[0].words())
    coarse = best_of(lambda: [model.coarse.parses(tree.words(), model.p_min) for tree in gold], 1)
    whole = best_of(lambda: [model.parse(tree.words()) for tree in gold], 1)
    rows: list[list[object]] = [
        ["coarse pass, pruning, forest", f"{1e3 * coarse / len(gold):.2f}"],
        ["fine pass, decoding, tree, probability", f"{1e3 * (whole - coarse) / len(gold):.2f}"],
    ]
    print(f"parsing {name} dev: {len(gold) / whole:.0f} sentences per CPU second")
    print_table(["", "ms"], rows)


if __name__ == "__main__":
    main()
