"""Accuracy and speed of the treebank PCFG and the HMM on development data, default options, one thread.

    python benchmarks/bench_accuracy.py [TREEBANK or LANGUAGE ...]

Parsing is scored as EVALB does with COLLINS.prm; times are CPU seconds and include the coarse pass.
"""

from __future__ import annotations

import sys
import time

from common import TREEBANKS, data_dir, print_table, treebank

from lveg.decoding.derivations import DECODERS
from lveg.evaluation.models import score_parser, score_tagger
from lveg.training import train_parser, train_tagger
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_gold_trees
from lveg.trees import Cleaning

LANGUAGES = ("en", "id", "nl", "gl", "tr")


def main() -> None:
    """Measure what the command line names, or everything."""
    names = sys.argv[1:] or [*TREEBANKS, *LANGUAGES]
    parsing = [row for name in names if name in TREEBANKS for row in parse_rows(name)]
    if parsing:
        header = ["treebank", "decoder", "F1", "exact", "tags", "errors", "sentences/s", "training s"]
        print_table(header, parsing)
    tagging = [row for name in names if name in LANGUAGES for row in tag_rows(name)]
    if tagging:
        header = ["language", "unknown words", "token", "sentence", "known", "unknown", "tokens/s", "training s"]
        print_table(header, tagging)


def parse_rows(name: str) -> list[list[object]]:
    """One row per decoder."""
    begun = time.process_time()
    parser = train_parser(treebank(name, "train"), model="pcfg")
    training = time.process_time() - begun
    gold = read_gold_trees([treebank(name, "dev")], Cleaning(collapse_unaries=False))
    rows: list[list[object]] = []
    for decoder in DECODERS:
        parser.parse(gold[0].words(), decoder)  # compile
        begun = time.process_time()
        scores = score_parser(parser, gold, decoder).summary
        speed = len(gold) / (time.process_time() - begun)
        keys = ("f1", "exact_match", "tag_accuracy", "errors")
        rows.append([name, decoder, *(scores[key] for key in keys), f"{speed:.0f}", f"{training:.0f}"])
    return rows


def tag_rows(language: str) -> list[list[object]]:
    """One row per scheme of unknown-word classes."""
    folder = data_dir() / "ud-1.4" / language
    gold = read_tagged([str(folder / "dev.conllu.gz")], "upos")
    rows: list[list[object]] = []
    for scheme in ("auto", "english", "single") if language == "en" else ("auto", "single"):
        begun = time.process_time()
        tagger = train_tagger(folder / "train.conllu.gz", model="hmm", unknown=scheme)
        training = time.process_time() - begun
        tagger.tag(["compile"])
        begun = time.process_time()
        scores = score_tagger(tagger, gold).summary
        speed = scores["tokens"] / (time.process_time() - begun)
        keys = ("token_accuracy", "sentence_accuracy", "known_accuracy", "unknown_accuracy")
        rows.append([language, scheme, *(scores[key] for key in keys), f"{speed:,.0f}", f"{training:.0f}"])
    return rows


if __name__ == "__main__":
    main()
