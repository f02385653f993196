"""Accuracy and cost of taggers on development data, the paper's unknown-word classes, one thread.

    python benchmarks/bench_taggers.py [LANGUAGE or SYSTEM ...]

Systems: hmm, lvg-g-N and lvg-d-N for N subtypes by EM or gradients, gm-s and gm-d for spherical and diagonal Gaussians.
The epoch with the best development tokens is kept, so the figures flatter the learned ones a little. Times are CPU
seconds; those of training have reading and scoring of all epochs in them.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

from common import data_dir, print_table

from lveg.evaluation.models import score_tagger
from lveg.grammar.lexicon import LexiconOptions
from lveg.learning.tags import BY_GRADIENT, TagGmOptions, TagLvgOptions
from lveg.learning.train import TaggerOptions, read_tagged, train_tagger

SCHEMES = {"en": "english", "id": "single"}
SYSTEMS = (
    "hmm", "lvg-g-1", "lvg-g-2", "lvg-g-4", "lvg-g-8", "lvg-g-16", "lvg-d-4", "lvg-d-16", "gm-s", "gm-d",
)  # fmt: skip
HEADER = ["language", "system", "epoch", "token", "sentence", "best sequence", "unknown", "training s", "tokens/s"]


def options_of(system: str, scheme: str) -> TaggerOptions:
    """The options of a system by its name."""
    plain = TaggerOptions(lexicon=LexiconOptions(scheme, smooth=0))
    family, _, rest = system.partition("-")
    if family == "gm":
        covariance = {"s": "spherical", "d": "diagonal"}[rest]
        return replace(plain, model="gm", gm=TagGmOptions(covariance=covariance))
    if family == "lvg":
        objective, _, subtypes = rest.partition("-")
        lvg = TagLvgOptions(int(subtypes))
        if objective == "d":
            lvg = replace(lvg, objective="discriminative", descent=BY_GRADIENT)
        return replace(plain, model="lvg", lvg=lvg)
    return plain


def row(language: str, system: str) -> list[object]:
    """Train and score one system."""
    folder = data_dir() / "ud-1.4" / language
    train, dev = (str(folder / f"{part}.conllu.gz") for part in ("train", "dev"))
    best: dict[str, Any] = {"dev_token_accuracy": -1.0, "epoch": ""}

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and facts["dev_token_accuracy"] > best["dev_token_accuracy"]:
            best.update(facts)

    begun = time.process_time()
    tagger = train_tagger([train], [dev], options_of(system, SCHEMES[language]), report=report)
    training = time.process_time() - begun
    gold = read_tagged([dev], "upos")
    sequence = score_tagger(tagger, gold, "viterbi").summary
    begun = time.process_time()
    scores = score_tagger(tagger, gold).summary
    speed = scores["tokens"] / (time.process_time() - begun)
    shown = (scores["token_accuracy"], scores["sentence_accuracy"])
    other = f"{sequence['token_accuracy']} / {sequence['sentence_accuracy']}"
    return [
        language,
        system,
        best["epoch"],
        *shown,
        other,
        scores["unknown_accuracy"],
        f"{training:.0f}",
        f"{speed:,.0f}",
    ]


def main() -> None:
    """Measure what the command line names, or everything; a row is shown as soon as it is there."""
    named = sys.argv[1:]
    languages = [name for name in named if name in SCHEMES] or list(SCHEMES)
    rows = []
    for language in languages:
        for system in [name for name in named if name not in SCHEMES] or SYSTEMS:
            rows.append(row(language, system))
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
    print_table(HEADER, rows)


if __name__ == "__main__":
    main()
