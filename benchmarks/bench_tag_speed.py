"""Speed and memory of `lveg tag` on one core, reading and writing CoNLL-U included, start-up excluded.

    python benchmarks/bench_tag_speed.py [SYSTEM ...]

Systems: forms, the default, with and without its network, hmm, lvg-16 and gm (K = 4, d = 3), each trained for one epoch
on English, with the default lexicon. Every command runs in a process of its own, on the development file and on the
same ten times over; the speed is the difference in words over the difference in CPU time. Memory is the peak resident
size.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from pathlib import Path

from common import data_dir, print_table

SYSTEMS = {
    "forms": ("--epochs", "1", "--network-epochs", "1"),
    "forms, no network": ("--context", "forms", "--epochs", "1"),
    "hmm": ("--model", "hmm"),
    "lvg-16": ("--model", "lvg", "--subtypes", "16", "--epochs", "1"),
    "gm": ("--model", "gm", "--epochs", "1"),
}
SIZES = (1, 10)
HEADER = ["system", "decoder", "format", "tokens", "CPU s", "tokens/s", *(f"MB at {size}x" for size in SIZES)]


def cost(*arguments: str) -> tuple[float, float]:
    """(CPU seconds, megabytes) of `lveg ARGUMENTS`; never less megabytes than this process has."""
    command = [sys.executable, "-c", "from lveg.cli import main; main()", *arguments]
    process = os.posix_spawn(sys.executable, command, os.environ)
    _, status, usage = os.wait4(process, 0)
    if status:
        sys.exit(f"failed: {' '.join(arguments)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def rows(system: str, folder: Path) -> list[list[object]]:
    """What one system costs, by decoder and format."""
    train = str(data_dir() / "ud-1.4/en/train.conllu.gz")
    model, out = str(folder / system), str(folder / "out")
    cost("train", "tagger", train, "--out", model, "--quiet", *SYSTEMS[system])
    table: list[list[object]] = []
    for decoder, format in (("posterior", "conllu"), ("viterbi", "conllu"), ("posterior", "jsonl")):
        more = ("--decoder", decoder, "--format", format, "--threads", "1", "--quiet", "--out", out)
        cost("tag", model, str(folder / "1.conllu"), *more)  # compiles
        found = [cost("tag", model, str(folder / f"{size}.conllu"), *more) for size in SIZES]
        seconds = found[-1][0] - found[0][0]
        tokens = WORDS * (SIZES[-1] - SIZES[0])
        memory = [f"{megabytes:.0f}" for _, megabytes in found]
        table.append([system, decoder, format, f"{tokens:,}", f"{seconds:.1f}", f"{tokens / seconds:,.0f}", *memory])
        print(*table[-1], sep="\t", file=sys.stderr, flush=True)
    return table


WORDS = 25_148
"""Of the English development file."""


def main() -> None:
    """Measure what the command line names, or everything."""
    with gzip.open(data_dir() / "ud-1.4/en/dev.conllu.gz") as stream:
        text = stream.read()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in SIZES:
            (folder / f"{size}.conllu").write_bytes(text * size)
        print_table(HEADER, [row for system in sys.argv[1:] or SYSTEMS for row in rows(system, folder)])


if __name__ == "__main__":
    main()
