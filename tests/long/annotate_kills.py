"""Kills `lveg annotate` at random moments; what it writes in the end must be what a run without a kill writes.

    python tests/long/annotate_kills.py --kills 200

Every run is a process of its own that is ended by SIGKILL, unless it finishes first; then its output is compared and a
new folder is begun. Processes are forked from one that has everything imported and compiled: kills hit the work.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import msgspec

import lveg
import lveg.cli.annotate
import lveg.cli.annotation
import lveg.corpus.run
from lveg.cli import main
from lveg.model_io import save_model
from lveg.treebank.conllu import read_conllu
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH

DATA = ENGLISH.parent
COUNT = 16
"""Sentences in each file of the corpus."""


def make_corpus(folder: Path) -> None:
    """Files of several formats, in two directories, compressed and not."""
    (folder / "inner").mkdir(parents=True)
    trees = list(islice(read_trees(DATA / "demo-train.mrg"), 4 * COUNT))
    texts = ["".join(" ".join(tree.words()) + "\n" for tree in trees[i * COUNT : (i + 1) * COUNT]) for i in range(2)]
    (folder / "a.txt").write_text(texts[0])
    (folder / "empty.txt").write_text("")
    (folder / "inner" / "b.txt.gz").write_bytes(gzip.compress(texts[1].encode()))
    (folder / "inner" / "c.mrg").write_text("".join(f"{tree}\n" for tree in trees[2 * COUNT : 3 * COUNT]))
    words = (tree.words() for tree in trees[3 * COUNT : 4 * COUNT])
    (folder / "d.jsonl").write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in words))
    sentences = islice(read_conllu(DATA / "demo-train.conllu"), COUNT)
    (folder / "inner" / "e.conllu").write_text("".join(map(str, sentences)))


def contents(folder: Path) -> dict[str, bytes]:
    """All files under a folder, hidden ones too, with their bytes."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def start(*arguments: object) -> int:
    """Start `lveg ARGUMENTS` in a process of its own; its number."""
    sys.stdout.flush()
    number = os.fork()
    if number:
        return number
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        sys.argv = ["lveg", *map(str, arguments)]
        main()
        status = 0
    except SystemExit as ending:
        status = int(ending.code or 0)
    finally:
        os._exit(status)


def killed(number: int, delay: float) -> bool:
    """Kill a process after some seconds; False if it has finished by then, as it must with success."""
    end = time.monotonic() + delay
    while time.monotonic() < end:
        found, status = os.waitpid(number, os.WNOHANG)
        if found:
            assert status == 0, "a run failed"
            return False
        time.sleep(0.001)
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
    return True


def state(folder: Path) -> str:
    """How far a killed run came."""
    if not (folder / "manifest.json").exists():
        return "before the first part"
    outputs = sum(not name.startswith((".lveg", "manifest")) for name in contents(folder))
    return f"with {outputs} of 6 outputs" if outputs else "before the first output"


def kill_often(kills: int, seed: int, folder: Path) -> None:
    """Kill and repeat until there were so many kills, comparing each time that the work is done."""
    chance = random.Random(seed)
    corpus, out, model = folder / "corpus", folder / "out", folder / "model"
    make_corpus(corpus)
    parser = lveg.train_parser([str(DATA / "demo-train.mrg")], model="pcfg")
    save_model(parser, model)
    parser.parse("The dog saw a cat .")  # compiles kernels
    command = ("annotate", model, corpus, "--part", 4, "--quiet", "--out")
    begun = time.monotonic()
    _, status = os.waitpid(start(*command, folder / "whole", "--threads", 1), 0)
    assert status == 0
    seconds = time.monotonic() - begun
    expected = contents(folder / "whole")
    assert len(expected) == 7
    states: Counter[str] = Counter()
    finished = 0
    while states.total() < kills or out.exists():
        number = start(*command, out, "--threads", chance.choice((1, 2, 3)))
        delay = chance.uniform(0.0, 0.5 * seconds) if states.total() < kills else 60.0
        if killed(number, delay):
            states[state(out)] += 1
            continue
        assert contents(out) == expected, "the output is not that of a run without kills"
        finished += 1
        shutil.rmtree(out)
    print(f"{kills} kills, {finished} corpora finished, all with the same bytes ({seconds:.2f} s without kills)")
    for name, count in sorted(states.items()):
        print(f"  killed {name}: {count}")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        kill_often(given.kills, given.seed, Path(name))
