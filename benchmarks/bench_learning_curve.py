"""How accuracy grows with the number of training sentences: F1 of parsers on wsj-sample, accuracy of taggers on en.

    python benchmarks/bench_learning_curve.py [--sizes 100 all] [--systems lvg hmm] [--seeds 0 1] [--out CURVE]

A smaller treebank is a part of the whole one, evenly spread. Our models have their default options; their best epoch or
cycle, and the decoder, are chosen on the development sentences that they are scored on. `gm+features+network` is the
default parser, `forms+network` the default tagger. They are compared with the Berkeley parser, best of 2-4 cycles,
measured once on the same trees and written down here; and with CRFsuite with the features of bench_tagger_peers.py, if
`pycrfsuite` is installed.

OUT.csv gets a line as soon as it is measured; lines that it has already are not measured again, so remove it after a
change. OUT.svg is the picture, if `matplotlib` is installed: means over seeds.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench_tagger_peers import crf_features, paths_of
from common import print_table, treebank
from runs import read_rows, write_rows

from lveg.training import train_parser, train_tagger
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_trees
from lveg.trees import Tree

SIZES = ("100", "200", "500", "1000", "all")
PARSERS: dict[str, dict[str, Any]] = {
    "pcfg": {"model": "pcfg"},
    "lvg": {"model": "lvg"},
    "split-merge": {"model": "split-merge"},
    "gm": {"model": "gm"},
    "gm+features": {"model": "gm", "context": "features"},
    "gm+features+network": {},
}
TAGGERS: dict[str, dict[str, Any]] = {
    "hmm": {"model": "hmm"},
    "forms": {"context": "forms"},
    "forms+network": {},
}
SYSTEMS = (*PARSERS, "berkeley", *TAGGERS, "crfsuite")

BERKELEY = {200: 73.9, 500: 79.5, 1000: 82.5, 3396: 85.3}
"""F1 of the Berkeley parser 1.7 on the development trees, best of 2-4 cycles, measured once."""

Tagged = list[list[tuple[str, str]]]


@dataclass(frozen=True)
class Point:
    """A score: F1 in percent for trees, accuracy of tokens in percent for tags; with the CPU seconds of training."""

    data: str
    system: str
    sentences: int
    seed: int
    score: float
    cpu_seconds: float

    @property
    def key(self) -> tuple[str, int, int]:
        """What was measured."""
        return self.system, self.sentences, self.seed


@cache
def trees(part: str) -> list[Tree]:
    """A part of wsj-sample."""
    return list(read_trees(treebank("wsj-sample", part)))


@cache
def tagged(part: str) -> Tagged:
    """A part of en."""
    return read_tagged([paths_of("en")[0 if part == "train" else 1]], "upos")


def some_trees(size: int) -> list[Tree]:
    """That many training trees, evenly spread."""
    found = trees("train")
    return [found[number * len(found) // size] for number in range(size)]


def some_tagged(size: int) -> Tagged:
    """That many training sentences, evenly spread."""
    found = tagged("train")
    return found[:: len(found) // size][:size]


def parser_f1(size: int, seed: int, options: dict[str, Any]) -> float:
    """F1 of one of our parsers."""
    return float(train_parser(some_trees(size), trees("dev"), seed=seed, **options).info["dev"]["f1"])


def tagger_accuracy(size: int, seed: int, options: dict[str, Any]) -> float:
    """Token accuracy of one of our taggers."""
    return float(train_tagger(some_tagged(size), tagged("dev"), seed=seed, **options).info["dev"]["token_accuracy"])


def crfsuite_accuracy(size: int) -> float:
    """Token accuracy of CRFsuite, by L-BFGS."""
    import pycrfsuite

    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for sentence in some_tagged(size):
        trainer.append(crf_features([word for word, _ in sentence]), [tag for _, tag in sentence])
    trainer.set_params({"c1": 0.1, "c2": 0.1, "max_iterations": 120, "feature.possible_transitions": True})
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model")
        trainer.train(file)
        tagger = pycrfsuite.Tagger()
        tagger.open(file)
        right = total = 0
        for sentence in tagged("dev"):
            found = tagger.tag(crf_features([word for word, _ in sentence]))
            right += sum(tag == given for (_, tag), given in zip(sentence, found, strict=True))
            total += len(sentence)
        tagger.close()
    return 100 * right / total


def has_module(name: str) -> bool:
    """Whether a package that is not ours is installed."""
    return importlib.util.find_spec(name) is not None


def measure(system: str, size: int, seed: int) -> Point | None:
    """One point, measured; None for a size that was never measured."""
    data, begun = "en" if system in (*TAGGERS, "crfsuite") else "wsj-sample", time.process_time()
    if system == "berkeley":
        return Point(data, system, size, 0, BERKELEY[size], 0.0) if size in BERKELEY else None
    if system in PARSERS:
        score = parser_f1(size, seed, PARSERS[system])
    elif system in TAGGERS:
        score = tagger_accuracy(size, seed, TAGGERS[system])
    else:
        score = crfsuite_accuracy(size)
    return Point(data, system, size, seed, round(score, 2), round(time.process_time() - begun, 1))


def wanted(systems: list[str], sizes: list[str], seeds: list[int]) -> Iterator[tuple[str, int, int]]:
    """System, size and seed of each point, small sizes first; what has no seed comes once."""
    for name in sizes:
        for system in systems:
            whole = len(tagged("train")) if system in (*TAGGERS, "crfsuite") else len(trees("train"))
            size = whole if name == "all" else min(int(name), whole)
            for seed in seeds[:1] if system in ("pcfg", "hmm", "berkeley", "crfsuite") else seeds:
                yield system, size, seed


def means(points: list[Point]) -> dict[str, dict[str, dict[int, float]]]:
    """For each data set and system the mean score of each size."""
    scores: dict[str, dict[str, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for point in points:
        scores[point.data][point.system][point.sentences].append(point.score)
    return {
        data: {
            system: {size: sum(found) / len(found) for size, found in sorted(sizes.items())}
            for system, sizes in sorted(systems.items(), key=lambda item: SYSTEMS.index(item[0]))
        }
        for data, systems in scores.items()
    }


def show(points: list[Point]) -> None:
    """Mean scores as tables, one for each data set."""
    for data, systems in means(points).items():
        sizes = sorted({size for found in systems.values() for size in found})
        rows: list[list[object]] = [
            [system, *(f"{found[size]:.2f}" if size in found else "-" for size in sizes)]
            for system, found in systems.items()
        ]
        print_table([data, *(f"{size:,}" for size in sizes)], rows)


def draw(points: list[Point], path: Path) -> None:
    """The picture: a panel for each data set, a line for each system."""
    if not has_module("matplotlib"):
        print("no picture: matplotlib is not installed")
        return
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "lveg"
    from matplotlib import pyplot

    found = means(points)
    figure, panels = pyplot.subplots(1, len(found), figsize=(6 * len(found), 4.5), squeeze=False)
    for panel, (data, systems) in zip(panels[0], found.items(), strict=True):
        for system, scores in systems.items():
            is_peer = system in ("berkeley", "crfsuite")
            panel.plot(list(scores), list(scores.values()), "o--" if is_peer else "o-", markersize=4, label=system)
        sizes = sorted({size for scores in systems.values() for size in scores})
        panel.set_xscale("log")
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.minorticks_off()
        panel.set_xlabel("training sentences")
        panel.set_ylabel("F1" if data == "wsj-sample" else "token accuracy")
        panel.set_title(data)
        panel.grid(alpha=0.3)
        panel.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure what the command line names, or everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), help="numbers of sentences, or all")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--out", type=Path, default=Path("learning-curve"), help="OUT.csv and OUT.svg are written")
    given = parser.parse_args()
    systems = given.systems
    if "crfsuite" in systems and not has_module("pycrfsuite"):
        print("crfsuite is left out: pycrfsuite is not installed")
        systems = [name for name in systems if name != "crfsuite"]
    table = given.out.with_name(f"{given.out.name}.csv")
    points = read_rows(table, Point)
    for system, size, seed in wanted(systems, given.sizes, given.seeds):
        if (system, size, seed) in {point.key for point in points}:
            continue
        point = measure(system, size, seed)
        if point is not None:
            points.append(point)
            write_rows(table, Point, points)
            print(
                f"{system}, {size:,} sentences, seed {seed}: {point.score:.2f}, {point.cpu_seconds:.0f} s", flush=True
            )
    show(points)
    draw(points, given.out.with_name(f"{given.out.name}.svg"))


if __name__ == "__main__":
    main()
