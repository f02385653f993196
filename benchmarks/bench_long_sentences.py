"""Sentences of up to 1,000 words: CPU time and memory of a parse.

    python benchmarks/bench_long_sentences.py MODEL [TREEBANK]

The words are those of a treebank's development part, one sentence after the other. Memory is the peak resident size of
the process so far.
"""

from __future__ import annotations

import resource
import sys
import time

from common import print_table, trees_of

import lveg

LENGTHS = (20, 100, 200, 400, 600, 1000)


def main() -> None:
    """Parse longer and longer sentences."""
    parser = lveg.load(sys.argv[1])
    assert isinstance(parser, lveg.Parser)
    name = sys.argv[2] if len(sys.argv) > 2 else "wsj-sample"
    words = [word for tree in trees_of(name, "dev") for word in tree.words()]
    parser.parse(words[: LENGTHS[0]])  # compiles
    rows: list[list[object]] = []
    for length in LENGTHS:
        begun = time.process_time()
        parse = parser.parse(words[:length], max_words=length)
        spent = time.process_time() - begun
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows.append([length, f"{spent:.1f}", f"{memory:.2f}", parse.fallback or "-"])
    print_table(["words", "CPU s", "GiB", "fallback"], rows)


if __name__ == "__main__":
    main()
