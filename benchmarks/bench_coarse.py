"""The coarse pass, pruning and forest building: CPU time by sentence length, oracle F1, and peak memory.

    python benchmarks/bench_coarse.py [TREEBANK ...]

Of the exact chart, and of the chart of likely symbols, which finer grammars parse with.

Claims: 7 ms per sentence or less on wsj-sample dev at 1e-5; oracle F1 of at least 99; 300 words within 2 GiB. The chart
of likely symbols is nowhere slower, on cess-es twice as fast at 3e-5, and loses at most 0.05 of the oracle F1.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import replace

from common import TREEBANKS, print_table, treebank

from lveg.chart.coarse import CoarseParser
from lveg.decoding.derivations import oracle_tree
from lveg.evaluation.brackets import score_pairs, summarise
from lveg.families.forest import P_MIN
from lveg.families.pcfg.family import Pcfg
from lveg.training import train_parser
from lveg.treebank.penn import read_gold_trees
from lveg.trees import Cleaning, Tree


def main() -> None:
    """Measure the treebanks named on the command line, or all."""
    for name in sys.argv[1:] or TREEBANKS:
        if name.startswith("memory:"):
            print(f"{memory_of_300_words(name.partition(':')[2]):.2f}")
        else:
            measure(name)


def measure(name: str) -> None:
    """Print the tables of one treebank."""
    exact = train_parser(treebank(name, "train"), model="pcfg").coarse
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    command = [sys.executable, __file__, f"memory:{name}"]
    memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    print(f"{name}: {len(gold)} dev sentences; a 300-word sentence peaks at {memory} GiB")
    for p_min in (Pcfg.p_min, P_MIN):
        compare(gold, {"exact": exact, "likely": replace(exact, is_exact=False)}, p_min)


def compare(gold: list[Tree], parsers: dict[str, CoarseParser], p_min: float) -> None:
    """Measure parsers in turn on each sentence."""
    times: dict[str, dict[int, list[float]]] = {name: defaultdict(list) for name in parsers}
    edges = dict.fromkeys(parsers, 0)
    trees: dict[str, list[tuple[Tree, Tree]]] = {name: [] for name in parsers}
    for parser in parsers.values():
        parser.parses(gold[0].words(), p_min)  # compile
    for tree in gold:
        words = tree.words()
        for name, parser in parsers.items():
            begun = time.process_time()
            parses = parser.parses(words, p_min)
            times[name][(len(words) - 1) // 10].append(time.process_time() - begun)
            if parses.forest is not None:
                edges[name] += parses.forest.n_edges
                trees[name].append((tree, oracle_tree(parses.grammar, parses.forest, tree)))
    for name in parsers:
        total = [seconds for group in times[name].values() for seconds in group]
        parsed, oracle = zip(*trees[name], strict=True)
        print(
            f"{name} at {p_min:g}: mean {1e3 * sum(total) / len(total):.2f} ms CPU per sentence, "
            f"{edges[name] / len(parsed):.0f} edges; oracle F1 {summarise(score_pairs(parsed, oracle)).all.f1:.2f}"
        )
    groups = sorted(next(iter(times.values())))
    rows: list[list[object]] = [
        [
            f"{10 * group + 1}-{10 * group + 10}",
            max(len(times[name][group]) for name in parsers),
            *(f"{1e3 * sum(times[name][group]) / len(times[name][group]):.2f}" for name in parsers),
        ]
        for group in groups
    ]
    print_table(["words", "sentences", *(f"{name}, ms" for name in parsers)], rows)


def memory_of_300_words(name: str) -> float:
    """Peak GiB of a process that builds the forest of 300 words of running text."""
    parser = train_parser(treebank(name, "train"), model="pcfg")
    words = [word for tree in read_gold_trees([treebank(name, "dev")], Cleaning()) for word in tree.words()][:300]
    parses = parser.coarse.parses(words, Pcfg.p_min)
    assert parses.forest is not None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
