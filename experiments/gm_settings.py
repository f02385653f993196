"""Which settings of a Gaussian mixture grammar are better: development F1 and CPU time, over treebanks and seeds.

    python experiments/gm_settings.py wsj-sample,gum 0,1 base spread=0.05 l2=1 "components=8 epochs=12" ...

Each setting is `base`, the defaults, or what differs from them: options of `lveg train parser --model gm`. Training and
development forests are built once per treebank and threshold and kept in memory. One line per run, as it ends: best F1
of all epochs, mean of the last three, CPU seconds of learning without the forests. docs/decisions/0006 was written from
such runs.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from common import parse_setting, treebank

from lveg.evaluation.models import score_parser
from lveg.families.gm.family import Gm
from lveg.families.gm.learning import learn_from, prepare
from lveg.families.gm.options import GmOptions
from lveg.learning.data import TreeData
from lveg.learning.examples import Examples
from lveg.learning.run import Run
from lveg.model import Parser
from lveg.training import DEFAULTS, coarse_parses, train_parser
from lveg.treebank.penn import read_gold_trees
from lveg.trees import Cleaning


def main() -> None:
    """Run every setting on every treebank with every seed."""
    names, seeds, *settings = sys.argv[1:]
    for name in names.split(","):
        for setting in settings:
            for seed in seeds.split(","):
                run(name, setting, int(seed))


@cache
def parser_of(name: str) -> Parser:
    """The treebank grammar."""
    return train_parser(treebank(name, "train"), model="pcfg")


@cache
def data_of(name: str) -> TreeData:
    """The training trees."""
    parser = parser_of(name)
    return TreeData(parser.coarse, parser.binarisation, read_gold_trees([treebank(name, "train")], Cleaning()))


@cache
def development(name: str) -> tuple[Any, Any]:
    """(gold trees, what the treebank grammar leaves of their sentences)."""
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    return gold, coarse_parses(replace(parser_of(name).coarse, is_exact=False), gold, Gm.p_min, DEFAULTS)


@cache
def examples_of(name: str, p_min: float, forest_length: int, k_best: int) -> Examples:
    """The training forests."""
    return prepare(data_of(name), GmOptions(p_min=p_min, forest_length=forest_length, k_best=k_best), Run())


def run(name: str, setting: str, seed: int) -> None:
    """Learn with one setting and print what came out."""
    options = GmOptions(**parse_setting(setting))
    gold, prepared = development(name)
    examples = examples_of(name, options.p_min, options.forest_length, options.k_best)
    scores: list[float] = []

    def score(gm: Gm) -> tuple[float, dict[str, Any]]:
        parser = replace(parser_of(name), family=gm)
        scores.append(score_parser(parser, gold, prepared=prepared).summary["f1"])
        return scores[-1], {}

    begun = time.process_time()
    learn_from(data_of(name), examples, options, Run(seed=seed, score=score))
    seconds = time.process_time() - begun
    last = sum(scores[-3:]) / len(scores[-3:])
    print(
        f"{name} seed {seed} {setting}: best F1 {max(scores):.2f} (epoch {scores.index(max(scores)) + 1} of "
        f"{len(scores)}), last three {last:.2f}, {seconds:.0f} CPU s",
        flush=True,
    )


if __name__ == "__main__":
    main()
