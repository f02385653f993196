"""What Gaussian mixture grammars gain if they start from discrete subtypes: development scores and CPU time.

    python benchmarks/bench_start.py [TREEBANKS [SEEDS [MODEL [SETTING ...]]]]

TREEBANKS and SEEDS are separated by commas; MODEL is the family that is trained first (split-merge if not given). Each
SETTING has options of `lveg train parser --model gm`, such as "start=1 dim=5 spread=0.3": start=0 is the usual start,
start=1 is from MODEL of the same seed. F1, exact and tags are max-rule's; best F1 is that of the decoder which is best
on the development part. CPU s: forests, learning and scores; those of MODEL are in a line of its own and come on top.
docs/decisions/0016 was written from such runs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import parse_setting, print_table, treebank

import lveg
from lveg.evaluation.models import score_parser
from lveg.model import Parser
from lveg.training import train_parser
from lveg.treebank.penn import read_gold_trees
from lveg.trees import Cleaning


def main() -> None:
    """Measure every setting on every treebank with every seed."""
    names, seeds, model, *settings = [*sys.argv[1:], *["wsj-sample", "0", "split-merge"][len(sys.argv) - 1 :]]
    with tempfile.TemporaryDirectory() as folder:
        for name in names.split(","):
            rows = [
                row
                for seed in seeds.split(",")
                for row in measure(name, int(seed), model, settings or ["start=0", "start=1"], str(Path(folder) / name))
            ]
            print(name)
            print_table(["setting", "seed", "F1", "exact", "tags", "best F1", "CPU s"], rows)


def measure(name: str, seed: int, model: str, settings: list[str], path: str) -> Iterator[list[object]]:
    """The rows of a table: one for the model that is started from, one for each setting."""
    parser, scores = trained(name, model=model, seed=seed)
    lveg.save(parser, path)
    yield told([model, seed, *scores])
    for setting in settings:
        options = parse_setting(setting)
        if options.pop("start", 0):
            options["start"] = path
        yield told([setting, seed, *trained(name, model="gm", seed=seed, **options)[1]])


def told(row: list[object]) -> list[object]:
    """The row, shown as soon as it is there."""
    print(*row, file=sys.stderr, flush=True)
    return row


def trained(name: str, **options: Any) -> tuple[Parser, list[object]]:
    """A parser, and its development scores by max-rule, then F1 by the decoder it chose and the CPU seconds it took."""
    begun = time.process_time()
    parser = train_parser(treebank(name, "train"), treebank(name, "dev"), **options)
    seconds = round(time.process_time() - begun)
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    found = score_parser(parser, gold, "max-rule").summary
    chosen = parser.info["dev"]["f1"]
    return parser, [found["f1"], found["exact_match"], found["tag_accuracy"], chosen, seconds]


if __name__ == "__main__":
    main()
