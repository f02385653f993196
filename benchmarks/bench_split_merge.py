"""Split-merge grammars: F1 and CPU time of each cycle beside the Berkeley parser's, and the speed of parsing.

    python benchmarks/bench_split_merge.py [TREEBANK [CYCLES [SEEDS]]]

Claims: F1 on development trees of each cycle at least that of the Berkeley parser 1.7 less 0.5, the best not below its
best; CPU time of a cycle at most a quarter of its; 80 sentences per CPU second on wsj-sample and 55 on gum. With
several seeds, their product gains at least 1.0 F1 over their mean on wsj-sample. The Berkeley parser was trained on the
same trees on one core (Java 17); its times are cumulative, and of the first cycles of wsj-sample wall clock.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from functools import partial
from typing import Any

from common import print_table, treebank

from lveg.evaluation.models import score_parser
from lveg.families.pcfg.family import Pcfg
from lveg.families.split_merge.family import SplitMerge
from lveg.model import Parser, combine
from lveg.training import Setting, train_parser
from lveg.treebank.penn import read_gold_trees
from lveg.trees import Cleaning, Tree

BERKELEY_F1 = {
    "wsj-sample": {1: 72.9, 2: 81.4, 3: 83.8, 4: 85.3, 5: 85.3},
    "gum": {3: 81.4, 4: 82.5, 5: 82.8},
    "cess-es": {3: 77.9, 4: 77.6},
    "craft": {3: 79.4},
}
BERKELEY_CPU = {
    "wsj-sample": {1: 28.0, 2: 57.0, 3: 113.0, 4: 177.0, 5: 503.0},
    "gum": {1: 48.0, 2: 93.0, 3: 178.0, 4: 389.0, 5: 988.0},
    "craft": {3: 374.0},
}
BERKELEY_SPEED = {"wsj-sample": 16.0, "gum": 11.0, "cess-es": 1.0, "craft": 10.7}


def main() -> None:
    """Train on one treebank, with one or more seeds, and parse its development part."""
    name = sys.argv[1] if len(sys.argv) > 1 else "wsj-sample"
    cycles = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    seeds = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    warm_up(name)
    parsers = []
    for seed in range(seeds):
        told: list[dict[str, Any]] = []
        setting = Setting(report=partial(note_cycle, told))
        parser = train_parser(
            treebank(name, "train"), treebank(name, "dev"), "split-merge", setting, seed=seed, cycles=cycles
        )
        print(f"{name}, seed {seed}")
        cycle_table(name, told)
        parsers.append(parser)
    parsing(name, parsers[0], gold)
    if seeds > 1:
        products(parsers, gold)


def warm_up(name: str) -> None:
    """Compile the kernels."""
    parser = train_parser(
        treebank(name, "train"), model="split-merge", max_length=4, cycles=2,
        split_iterations=1, merge_iterations=1, smooth_iterations=1,
    )  # fmt: skip
    parser.parse(["a", "b"])


def note_cycle(told: list[dict[str, Any]], event: str, facts: dict[str, Any]) -> None:
    """Keep what is reported of cycles."""
    if event == "cycle":
        told.append(facts)


def cycle_table(name: str, told: list[dict[str, Any]]) -> None:
    """Each cycle beside the Berkeley parser's."""
    rows: list[list[object]] = []
    spent = 0.0
    for item in told:
        cycle = item["cycle"]
        spent += item["cpu_seconds"]
        theirs = BERKELEY_CPU.get(name, {}).get(cycle)
        rows.append(
            [
                cycle, f"{item['subtypes']:,}", f"{item['weights']:,}", item["dev_f1"],
                BERKELEY_F1.get(name, {}).get(cycle, "-"), item["dev_exact_match"], item["dev_tag_accuracy"],
                item["cpu_seconds"], f"{spent:.1f}", theirs or "-", f"{theirs / spent:.1f}" if theirs else "-",
            ]
        )  # fmt: skip
    header = ["cycle", "subtypes", "weights", "F1", "Berkeley", "exact", "tags", "CPU s", "in all", "Berkeley", "ratio"]
    print_table(header, rows)


def parsing(name: str, parser: Parser, gold: list[Tree]) -> None:
    """Coarse to fine against the finest grammar alone."""
    assert isinstance(parser.family, SplitMerge)
    sentences = [tree.words() for tree in gold]
    rows: list[list[object]] = []
    for label, model in (
        ("coarse to fine", parser),
        ("the finest grammar alone", replace(parser, family=parser.family.finest)),
        ("the treebank grammar", replace(parser, family=Pcfg(parser.weight))),
    ):
        model.parse(sentences[0])
        begun = time.process_time()
        for words in sentences:
            model.parse(words)
        spent = time.process_time() - begun
        f1 = score_parser(model, gold).summary["f1"]
        rows.append([label, f"{f1:.2f}", f"{1e3 * spent / len(gold):.2f}", f"{len(gold) / spent:.0f}"])
    print(f"parsing {name} dev; the Berkeley parser: {BERKELEY_SPEED[name]:g} sentences per CPU second")
    print_table(["", "F1", "ms per sentence", "sentences per CPU second"], rows)


def products(parsers: list[Parser], gold: list[Tree]) -> None:
    """What several seeds gain together."""
    alone = [parser.info["dev"]["f1"] for parser in parsers]
    mean = sum(alone) / len(alone)
    together = score_parser(combine(parsers), gold).summary["f1"]
    print_table(
        ["parsers", "mean F1", "best F1", "product", "gain over the mean"],
        [[len(parsers), f"{mean:.2f}", f"{max(alone):.2f}", f"{together:.2f}", f"{together - mean:+.2f}"]],
    )


if __name__ == "__main__":
    main()
