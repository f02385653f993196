"""Which settings of a Gaussian mixture grammar are better: development F1 and CPU time, over treebanks and seeds.

    python experiments/gm_settings.py wsj-sample,gum 0,1 base spread=0.05 l2=1 "components=8 epochs=12" ...

Each setting is `base`, the defaults, or what differs from them: names of GmOptions or Descent. Training and development
forests are built once a treebank and threshold and kept in memory. One line a run, as it ends: best F1 of all epochs,
mean of the last three, CPU seconds of learning without the forests. docs/decisions/0006 was written from such runs.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from common import changed, treebank

from lveg.evaluation.models import score_parser
from lveg.families.gm import Gm
from lveg.learning.examples import Examples
from lveg.learning.gm import GmOptions, learn_from, prepare
from lveg.learning.train import coarse_parses, read_gold_trees, train_parser
from lveg.model import P_MIN, Parser
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
    return train_parser([treebank(name, "train")])


@cache
def development(name: str) -> tuple[Any, Any]:
    """(gold trees, what the treebank grammar leaves of their sentences)."""
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    return gold, coarse_parses(replace(parser_of(name).coarse, is_exact=False), gold, P_MIN["gm"])


@cache
def examples_of(name: str, p_min: float, max_length: int, k_best: int) -> Examples:
    """The training forests."""
    trees = [t for t in read_gold_trees([treebank(name, "train")], Cleaning()) if len(t.words()) <= max_length]
    parser, options = parser_of(name), GmOptions(p_min=p_min, k_best=k_best)
    return prepare(parser.coarse, parser.binarisation, trees, options, threads=1)


def run(name: str, setting: str, seed: int) -> None:
    """Learn with one setting and print what came out."""
    options, parser = changed(GmOptions(), "" if setting == "base" else setting), parser_of(name)
    gold, prepared = development(name)
    examples = examples_of(name, options.p_min, options.max_length, options.k_best)
    scores: list[float] = []

    def score(gm: Gm) -> dict[str, Any]:
        summary = score_parser(replace(parser, gm=gm), gold, prepared=prepared).summary
        scores.append(summary["f1"])
        return summary

    begun = time.process_time()
    learn_from(parser.coarse, examples, options, seed, 1, score)
    seconds = time.process_time() - begun
    last = sum(scores[-3:]) / len(scores[-3:])
    print(
        f"{name} seed {seed} {setting}: best F1 {max(scores):.2f} (epoch {scores.index(max(scores)) + 1} of "
        f"{len(scores)}), last three {last:.2f}, {seconds:.0f} CPU s",
        flush=True,
    )


if __name__ == "__main__":
    main()
