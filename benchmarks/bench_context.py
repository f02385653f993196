"""The default parser, a Gaussian grammar with features, on each treebank; and its product with a partner.

    python benchmarks/bench_context.py [--ensemble] [TREEBANK ...]

Aims: 89.5 F1 on wsj-sample, 85.5 on gum, 85.2 on craft and 82.3 on cess-es; with --ensemble 90.3 and 86.8 on the first
two. Training takes at most 6 CPU minutes on wsj-sample and 20 on gum, and the model file of wsj-sample at most 10 MB.
Parsing runs at 80 sentences per CPU second on wsj-sample and 20 on cess-es.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from common import TREEBANKS, print_table, treebank
from runs import lveg


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
        model = Path(folder) / "model"
        _, trained = lveg("train", "parser", train, "--dev", dev, "--out", model, "--threads", 1, "--quiet", *options)
        check = ["evaluate", dev, "--model", model, "--json", "--threads", 1, "--quiet"]
        _, spent = lveg(*check)
        _, start = lveg("info", model)
        scores, size = json.loads(lveg(*check, "--calibration")[0]), model.stat().st_size / 1e6
        decoder = json.loads(lveg("info", model, "--json")[0]).get("decoder", "max-rule")
    return [
        name, f"{scores['f1']:.2f} / {scores['exact_match']:.2f} / {scores['tag_accuracy']:.2f}", decoder,
        f"{scores['constituent_calibration_error']:.1f} %", f"{trained.cpu_seconds:.0f}",
        f"{scores['sentences'] / (spent.cpu_seconds - start.cpu_seconds):.0f}", f"{size:.1f}", f"{trained.gib:.1f}",
    ]  # fmt: skip


if __name__ == "__main__":
    main()
