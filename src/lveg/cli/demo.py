"""`lveg demo`: train, use and evaluate models on the treebank that comes with the package."""

from __future__ import annotations

import typer

TRAINED, SCORED = 300, 60
"""Numbers of training and development sentences that are used: enough for a good parser."""

PARSED = (
    "The dogs near the river saw a cat with a telescope .",
    "She thinks that the old teacher and her students sold the books .",
)


def demo() -> None:
    """Train a parser and a tagger on part of the treebank that comes with lveg, use them, and evaluate them.

    Takes a minute or two the first time, because the kernels are compiled.
    """
    import math
    import os
    import shutil
    import sys
    import tempfile
    from itertools import islice

    from lveg.cli.console import console_report
    from lveg.drawing import draw_text
    from lveg.model_io import load_model, save_model
    from lveg.parallel import default_threads
    from lveg.training import Setting, train_parser, train_tagger
    from lveg.treebank.conllu import read_tagged
    from lveg.treebank.penn import read_trees
    from lveg.treebank.synthetic import ENGLISH

    data = ENGLISH.parent
    with tempfile.TemporaryDirectory() as folder, console_report() as report:
        setting = Setting(default_threads(), report)
        train = list(islice(read_trees([data / "demo-train.mrg"]), TRAINED))
        dev_trees = list(islice(read_trees([data / "demo-dev.mrg"]), SCORED))
        typer.echo(f"1. A parser from {TRAINED} trees (lveg train parser TREES --context features --epochs 3 ...)")
        parser = train_parser(train, dev_trees, setting=setting, epochs=3, context="features", context_epochs=2)
        path = os.path.join(folder, "demo-parser.lveg")
        save_model(parser, path)
        parser = load_model(path)  # type: ignore[assignment]
        dev = parser.info["dev"]
        typer.echo(f"   labelled F1 {dev['f1']:.2f}, exact match {dev['exact_match']:.2f}, model {_size(path)}\n")

        typer.echo("2. A tagger from the same sentences (lveg train tagger demo-train.conllu --context forms ...)")
        tagged = [read_tagged([str(data / f"demo-{part}.conllu")], "upos", None) for part in ("train", "dev")]
        tagger = train_tagger(tagged[0][:TRAINED], tagged[1][:SCORED], setting=setting, context="forms", epochs=7)
        path = os.path.join(folder, "demo-tagger.lveg")
        save_model(tagger, path)
        dev = tagger.info["dev"]
        accuracy = f"{dev['token_accuracy']:.2f} of words, {dev['sentence_accuracy']:.2f} of sentences"
        typer.echo(f"   accuracy {accuracy}, model {_size(path)}\n")

    width = shutil.get_terminal_size().columns
    for number, sentence in enumerate(PARSED, start=3):
        words = sentence.split()
        parse = parser.parse(words)
        typer.echo(f"{number}. {sentence}")
        typer.echo("   " + " ".join(f"{word}/{tag}" for word, tag in zip(words, tagger.tag(words).tags, strict=True)))
        typer.echo(draw_text(parse.tree, width))
        log_prob = parse.trees[0].log_prob
        if log_prob is not None:
            typer.echo(f"   probability of this tree: {100 * math.exp(log_prob):.1f} %\n")
    program = "lveg" if shutil.which("lveg") else os.path.relpath(os.path.join(sys.prefix, "bin", "lveg"))
    typer.echo("To use your own data:")
    typer.echo(f"   {program} train parser TREES.mrg --out my.model    (or train tagger FILE.conllu)")
    typer.echo(f"   {program} serve my.model    (a page in the browser)")


def _size(path: str) -> str:
    import os

    return f"{os.path.getsize(path) / 1e6:.1f} MB"
