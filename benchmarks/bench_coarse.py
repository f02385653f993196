"""The coarse pass, pruning and forest building: CPU time by sentence length, oracle F1, and peak memory.

    python benchmarks/bench_coarse.py [TREEBANK ...]

Claims: 7 ms a sentence or less on wsj-sample dev at 1e-5; oracle F1 of at least 99; 300 words within 2 GiB.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import defaultdict

from common import TREEBANKS, print_table, treebank

from lveg.decoding.derivations import oracle_tree
from lveg.evaluation.brackets import score_pairs, summarise
from lveg.learning.train import read_gold_trees, train_parser
from lveg.trees import Cleaning

P_MIN = 1e-5


def main() -> None:
    """Measure the treebanks named on the command line, or all."""
    for name in sys.argv[1:] or TREEBANKS:
        if name.startswith("memory:"):
            print(f"{memory_of_300_words(name.partition(':')[2]):.2f}")
        else:
            measure(name)


def measure(name: str) -> None:
    """Print the tables of one treebank."""
    parser = train_parser([treebank(name, "train")])
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    parser.coarse.parses(gold[0].words(), P_MIN)  # compile
    times: dict[int, list[float]] = defaultdict(list)
    oracle, parsed, edges = [], [], 0
    for tree in gold:
        words = tree.words()
        begun = time.process_time()
        parses = parser.coarse.parses(words, P_MIN)
        times[(len(words) - 1) // 10].append(time.process_time() - begun)
        if parses.forest is not None:
            edges += parses.forest.n_edges
            oracle.append(oracle_tree(parses.grammar, parses.forest, tree))
            parsed.append(tree)
    total = [seconds for group in times.values() for seconds in group]
    f1 = summarise(score_pairs(parsed, oracle)).all.f1
    command = [sys.executable, __file__, f"memory:{name}"]
    memory = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    print(
        f"{name}: {len(gold)} dev sentences at {P_MIN:g}, mean {1e3 * sum(total) / len(total):.2f} ms CPU a sentence, "
        f"{edges / len(parsed):.0f} edges; oracle F1 {f1:.2f}; a 300-word sentence peaks at {memory} GiB"
    )
    rows = [
        [f"{10 * group + 1}-{10 * group + 10}", len(seconds), f"{1e3 * sum(seconds) / len(seconds):.2f}"]
        for group, seconds in sorted(times.items())
    ]
    print_table(["words", "sentences", "ms"], rows)


def memory_of_300_words(name: str) -> float:
    """Peak GiB of a process that builds the forest of 300 words of running text."""
    parser = train_parser([treebank(name, "train")])
    words = [word for tree in read_gold_trees([treebank(name, "dev")], Cleaning()) for word in tree.words()][:300]
    parses = parser.coarse.parses(words, P_MIN)
    assert parses.forest is not None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
