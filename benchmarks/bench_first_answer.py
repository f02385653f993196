"""The first answer after an install, and the next one: with an empty cache of kernels, then with a full one.

    python benchmarks/bench_first_answer.py [CASE ...]

Claims: the first parse with a Gaussian model takes at most 20 CPU seconds, the first tagging 7 and `lveg demo` 45. With
compiled kernels `lveg parse` answers one sentence within 0.9 seconds.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import print_table

import lveg
from lveg.treebank.synthetic import ENGLISH

CASES = ("parse gm", "parse pcfg", "tag forms", "demo")
SENTENCE = "The dogs near the river saw a cat with a telescope .\n"
REPEATS = 3


def main() -> None:
    """Measure the cases named on the command line, or all."""
    rows: list[list[object]] = []
    for case in sys.argv[1:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            command = command_of(case, Path(folder))
            cache = Path(folder) / "cache"
            first, _ = seconds_of(command, cache)
            functions, signatures = (len(list(cache.rglob(f"*.{kind}"))) for kind in ("nbi", "nbc"))
            repeated = [seconds_of(command, cache) for _ in range(REPEATS)]
        cpu, wall = (min(times) for times in zip(*repeated, strict=True))
        rows.append([case, f"{first:.1f}", functions, signatures, f"{cpu:.2f}", f"{wall:.2f}"])
    print_table(["", "first, CPU s", "functions", "signatures", "next, CPU s", "next, wall s"], rows)


def command_of(case: str, folder: Path) -> list[str]:
    """The command of a case, with a small model of its own where it needs one."""
    verb, _, model = case.partition(" ")
    if not model:
        return [verb]
    file = str(folder / "model")
    train = lveg.train_parser if verb == "parse" else lveg.train_tagger
    data = ENGLISH.parent / f"demo-dev.{'mrg' if verb == 'parse' else 'conllu'}"
    options = {} if model == "pcfg" else {"epochs": 1}
    lveg.save(train(data, model=model, **options), file)
    return [verb, file]


def seconds_of(command: list[str], cache: Path) -> tuple[float, float]:
    """(CPU, wall) seconds of an lveg command with this cache."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    subprocess.run(
        [sys.executable, "-m", "lveg", *command],
        input=SENTENCE, text=True, env=environment, check=True, capture_output=True,
    )  # fmt: skip
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


if __name__ == "__main__":
    main()
