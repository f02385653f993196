"""Peak memory of training against the number of sentences, on synthetic treebanks (`lveg sample`).

    python benchmarks/bench_memory.py [FOLDER [SETTINGS [SIZES]]]

SETTINGS and SIZES are separated by commas, as in `split-merge,gm 10000,500000`. The treebank is written to FOLDER in
files of 10,000 sentences, and the results to FOLDER/memory.csv. What is there already is not made again, so the script
can be interrupted.

Claim: parsers are trained on 500,000 sentences in less than 4 GiB.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from common import print_table
from runs import add_row, lveg, names, read_rows

IN_FILE = 10_000
SIZES = (10_000, 20_000, 50_000)
ONCE = "--held-out 0 --memory 0.5"
SETTINGS = {
    "pcfg": "parser --model pcfg",
    "split-merge": "parser --model split-merge --held-out 0 --cycles 1 --split-iterations 1 --merge-iterations 1 "
    "--smooth-iterations 1",
    "gm": f"parser --model gm --context none {ONCE} --epochs 1 --components 2 --dim 1",
    "gm-short": "parser --model gm --context none --held-out 0 --memory 0.1 --forest-length 10 --epochs 1 "
    "--components 2 --dim 1",
    "features": f"parser --model gm --context features {ONCE} --epochs 1 --components 1 --dim 1 --context-epochs 1",
    "tag-lvg": "tagger --model lvg --held-out 0 --epochs 1 --subtypes 2",
    "tag-forms": "tagger --model forms --context forms --held-out 0 --epochs 1",
}


@dataclass(frozen=True)
class Row:
    """The cost of training with a setting on a number of sentences."""

    setting: str
    sentences: int
    gib: float
    cpu_seconds: float

    @property
    def key(self) -> tuple[str, int]:
        """What is measured."""
        return self.setting, self.sentences


def main() -> None:
    """Measure what is missing, and print all results."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.gettempdir()) / "lveg-memory"
    settings = names(sys.argv[2]) if len(sys.argv) > 2 else list(SETTINGS)
    sizes = [int(size) for size in names(sys.argv[3])] if len(sys.argv) > 3 else SIZES
    results = folder / "memory.csv"
    for setting in settings:
        for size in sizes:
            if (setting, size) not in {row.key for row in read_rows(results, Row)}:
                add_row(results, measured(folder, setting, size))
        print_rows([row for row in read_rows(results, Row) if row.setting == setting])


def measured(folder: Path, setting: str, sentences: int) -> Row:
    """The cost of training on the first sentences of the treebank."""
    task, *options = SETTINGS[setting].split()
    files = treebank(folder, sentences, "mrg" if task == "parser" else "conllu")
    model = folder / f"{setting}-{sentences}.model"
    log = ["--log", folder / f"{setting}-{sentences}.jsonl"]
    _, cost = lveg("train", task, *files, "--out", model, "--threads", 1, "--quiet", *log, *options)
    return Row(setting, sentences, cost.gib, cost.cpu_seconds)


def treebank(folder: Path, sentences: int, extension: str) -> list[Path]:
    """The files with this many sentences, which are made unless they exist."""
    files = []
    for number in range(1, sentences // IN_FILE + 1):
        path = folder / f"{number:03}.{extension}.gz"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            form = "brackets" if extension == "mrg" else "conllu"
            lveg("sample", IN_FILE, "--seed", number, "--format", form, "--out", path)
        files.append(path)
    return files


def print_rows(rows: list[Row]) -> None:
    """The results of a setting; the slope is in bytes per sentence, from the row before."""
    rows = sorted(rows, key=lambda row: row.sentences)
    cells: list[list[object]] = []
    for before, row in zip([None, *rows], rows, strict=False):
        slope = before and round((row.gib - before.gib) * 2**30 / (row.sentences - before.sentences))
        cells.append([row.setting, f"{row.sentences:,}", row.gib, "" if slope is None else slope, row.cpu_seconds])
    print_table(["setting", "sentences", "GiB", "bytes per sentence", "CPU s"], cells)


if __name__ == "__main__":
    main()
