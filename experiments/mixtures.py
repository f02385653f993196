"""Gaussian mixture grammars trained many times on the same trees; what experiments with their options share."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from common import parse_setting, trees_of
from runs import add_row, read_rows

from lveg.chart.coarse import Parses
from lveg.evaluation.models import score_parser
from lveg.families.gm.family import Gm
from lveg.families.gm.learning import learn_from, prepare
from lveg.families.gm.options import GmOptions
from lveg.learning.data import TreeData
from lveg.learning.examples import Examples
from lveg.learning.run import Run
from lveg.model import Parser
from lveg.report import Report, silent
from lveg.training import DEFAULTS, coarse_parses, train_parser
from lveg.trees import Cleaning, Tree

__all__ = ["Bench", "Lengths", "Sweep", "Trace", "parse_setting", "some_trees"]


def some_trees(name: str, part: str, longest: int = 0, most: int = 0) -> list[Tree]:
    """The trees of a part of a treebank, without long ones, and only the first if `most` is given; 0: no limit."""
    found = [tree for tree in map(Cleaning(collapse_unaries=part == "train"), trees_of(name, part)) if tree is not None]
    short = [tree for tree in found if not longest or len(tree.words()) <= longest]
    return short[:most] if most else short


@dataclass
class Trace:
    """What a training run was like: F1 on development trees after each epoch, and its CPU seconds without scoring."""

    scores: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    @property
    def f1(self) -> float:
        """The best F1."""
        return max(self.scores)

    @property
    def epoch(self) -> int:
        """The epoch with the best F1, counted from 1."""
        return 1 + self.scores.index(self.f1)

    @property
    def epoch_seconds(self) -> float:
        """The median CPU seconds of an epoch; a mean would include the compilation of kernels in the first one."""
        return median(self.seconds)


@dataclass(frozen=True, eq=False)
class Bench:
    """Cleaned training and development trees. Forests are built once for all options that do not concern them."""

    trees: Sequence[Tree]
    gold: Sequence[Tree]
    _examples: dict[tuple[object, ...], Examples] = field(default_factory=dict)

    @cached_property
    def parser(self) -> Parser:
        """The treebank grammar."""
        return train_parser(self.trees, model="pcfg")

    @cached_property
    def data(self) -> TreeData:
        """The training trees."""
        return TreeData(self.parser.coarse, self.parser.binarisation, self.trees)

    @cached_property
    def prepared(self) -> list[Parses]:
        """What the treebank grammar leaves of the development sentences."""
        return coarse_parses(replace(self.parser.coarse, is_exact=False), self.gold, Gm.p_min, DEFAULTS)

    def options(self, **given: Any) -> GmOptions:
        """The options that `lveg train parser --model gm` would use for these trees."""
        return GmOptions(**given).for_size(len(self.trees), given)

    def examples(self, options: GmOptions) -> Examples:
        """The training forests."""
        key = options.p_min, options.forest_length, options.k_best
        if key not in self._examples:
            self._examples[key] = prepare(self.data, options, Run())
        return self._examples[key]

    def f1(self, family: Gm) -> float:
        """F1 on the development trees, by max-rule."""
        parser = replace(self.parser, family=family)
        return float(score_parser(parser, self.gold, prepared=self.prepared, marginals=False).summary["f1"])

    def scorer(self, trace: Trace) -> Callable[[Gm], tuple[float, dict[str, Any]]]:
        """A score for training, which also notes it in a trace; make it just before training begins."""
        begun = time.process_time()

        def score(family: Gm) -> tuple[float, dict[str, Any]]:
            nonlocal begun
            trace.seconds.append(time.process_time() - begun)
            trace.scores.append(self.f1(family))
            begun = time.process_time()
            return trace.scores[-1], {}

        return score

    def learn(self, options: GmOptions, seed: int = 0, report: Report = silent) -> tuple[Gm, Trace]:
        """The grammar of the best epoch, and how it was found."""
        trace, examples = Trace(), self.examples(options)
        _ = self.prepared  # built before the clock starts
        run = Run(seed=seed, score=self.scorer(trace), report=report)
        return learn_from(self.data, examples, options, run), trace


@dataclass(frozen=True)
class Lengths:
    """The most words of a training and of a development sentence; 0: no limit."""

    train: int = 0
    dev: int = 0


@dataclass(frozen=True)
class Sweep:
    """A figure of the paper: the same trees, one option after the other; `main` is its command line.

    name: of its files in the folder of documents. form: the dataclass of its rows, whose keys begin with the name of
    the treebank and end with the seed. keys: what is between, all of it or a little. run: makes a row, given options
    that change the defaults. show: writes the page and the figure.
    """

    name: str
    about: str
    form: type[Any]
    keys: Callable[[bool], Iterable[tuple[Any, ...]]]
    run: Callable[..., Any]
    show: Callable[[Path], None]
    lengths: Lengths = Lengths()

    def main(self) -> None:
        """Make the rows that are missing."""
        asked = self._arguments()
        treebank, most, given = ("demo", 60, {"epochs": 1}) if asked.quick else (asked.treebank, 0, {})
        path = asked.docs / f"{self.name}.csv"
        done = {row.key for row in read_rows(path, self.form)}
        keys = [(treebank, *key, seed) for seed in range(asked.seeds) for key in self.keys(asked.quick)]
        todo = [] if asked.show else [key for key in keys if key not in done]
        if todo:
            trees = some_trees(treebank, "train", self.lengths.train, most)
            bench = Bench(trees, some_trees(treebank, "dev", self.lengths.dev, most))
        for key in todo:
            row = self.run(bench, *key, **given)
            add_row(path, row)
            self.show(asked.docs)
            print(*key, f"F1 {row.f1:.2f}, {row.epoch_seconds:.2f} s per epoch", file=sys.stderr, flush=True)
        self.show(asked.docs)

    def _arguments(self) -> argparse.Namespace:
        docs = Path(__file__).parent.parent / "docs"
        parser = argparse.ArgumentParser(
            description=self.about, formatter_class=argparse.RawDescriptionHelpFormatter
        )  # fmt: skip
        parser.add_argument("--treebank", default="wsj-sample")
        parser.add_argument("--seeds", type=int, default=1, metavar="N", help="seeds 0 to N - 1")
        parser.add_argument("--docs", type=Path, default=docs, help="folder of the runs, the page and the figure")
        parser.add_argument("--show", action="store_true", help="run nothing: only write the page and the figure")
        parser.add_argument("--quick", action="store_true", help="a smoke test: a few sentences, one epoch")
        return parser.parse_args()
