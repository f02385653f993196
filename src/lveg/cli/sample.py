"""`lveg sample`: sample sentences and their trees from a hand-written grammar."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from lveg.cli.options import STANDARD, OutFile, check_outputs


class SampleFormat(StrEnum):
    """How sampled sentences are written."""

    brackets = "brackets"
    conllu = "conllu"


def sample(
    count: Annotated[int, typer.Argument(metavar="N", min=0, help="Number of sentences.")] = 10,
    seed: Annotated[int, typer.Option(help="The same seed gives the same sentences, on every machine.")] = 1,
    grammar: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Sample from this grammar instead of the English one that comes with lveg."),
    ] = None,
    format: Annotated[
        SampleFormat,
        typer.Option(help="brackets: trees, to train a parser. conllu: words and tags, for a tagger."),
    ] = SampleFormat.brackets,
    max_words: Annotated[int, typer.Option(min=1, help="Longer sentences are drawn again.")] = 40,
    out: OutFile = None,
) -> None:
    """Make a treebank from a grammar, to try lveg without data of your own.

    The grammar has finer categories than the trees show: it distinguishes singular
    from plural noun phrases, and verbs by their complements, while the trees only
    have NP or VBD. lveg's models are meant to recover such subtypes.

    Sample with two seeds for a training and a development set:

        lveg sample 2000 --seed 1 --out train.mrg

        lveg sample 300 --seed 2 --out dev.mrg

    To write a grammar of your own, start from a copy of lveg's
    data/english.grammar; its comments explain the format.
    """
    from lveg.treebank.source import open_output
    from lveg.treebank.synthetic import ENGLISH, conllu_block, read_grammar, sample_trees

    check_outputs([out or STANDARD], [grammar])
    trees = sample_trees(read_grammar(grammar or ENGLISH), count, seed, max_words)
    with open_output(str(out) if out is not None else None) as stream:
        for number, tree in enumerate(trees, start=1):
            if format is SampleFormat.conllu:
                stream.write(conllu_block(tree, f"s{number}"))
            else:
                stream.write(f"{tree}\n")
