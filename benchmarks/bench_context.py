"""The default parser, a Gaussian grammar with features, on each treebank; and its product with a partner.

    python benchmarks/bench_context.py [--ensemble] [TREEBANK ...]

Aims: 89.5 F1 on wsj-sample, 85.5 on gum, 85.2 on craft and 82.3 on cess-es; with --ensemble 90.3 and 86.8 on the first
two. Training takes at most 6 CPU minutes on wsj-sample and 20 on gum, and the model file of wsj-sample at most 10 MB.
Parsing runs at 80 sentences per CPU second on wsj-sample and 20 on cess-es.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from common import TREEBANKS, print_table, treebank


def main() -> None:
    """Measure the treebanks named on the command line, or all."""
    options = [argument for argument in sys.argv[1:] if argument.startswith("--")]
    names = [argument for argument in sys.argv[1:] if argument not in options] or TREEBANKS
    rows = [measure(name, options) for name in names]
    head = [
        "",
        "F1 / exact / tags",
        "decoder",
        "calibration error",
        "training CPU s",
        "parsed per CPU s",
        "MB",
        "GiB",
    ]
    print_table(head, rows)


def measure(name: str, options: list[str]) -> list[object]:
    """The scores and costs of a treebank."""
    train, dev = (treebank(name, part) for part in ("train", "dev"))
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder) / "model")
        cost, _ = run("train", "parser", train, "--dev", dev, "--out", model, "--threads", "1", "--quiet", *options)
        check = ["evaluate", dev, "--model", model, "--json", "--threads", "1", "--quiet"]
        spent, _ = run(*check)
        start, _ = run("info", model)
        scores, size = json.loads(run(*check, "--calibration")[1]), Path(model).stat().st_size / 1e6
        decoder = json.loads(run("info", model, "--json")[1]).get("decoder", "max-rule")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    return [
        name, f"{scores['f1']:.2f} / {scores['exact_match']:.2f} / {scores['tag_accuracy']:.2f}", decoder,
        f"{scores['constituent_calibration_error']:.1f} %", f"{cost:.0f}",
        f"{scores['sentences'] / (spent - start):.0f}", f"{size:.1f}", f"{peak:.1f}",
    ]  # fmt: skip


def run(*command: str) -> tuple[float, str]:
    """(CPU seconds, output) of an lveg command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "lveg", *command], text=True, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


if __name__ == "__main__":
    main()
