"""`lveg parse`: parse sentences."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lveg.cli.options import (
    STANDARD,
    InputFiles,
    InputFormatOption,
    ModelFile,
    OutFile,
    Quiet,
    Raw,
    SkipBad,
    Threads,
    TokeniserName,
    WithModels,
    check_outputs,
    find_tokeniser,
    load_parser,
    thread_count,
)
from lveg.task_options import Column

if TYPE_CHECKING:
    from lveg.model import Parse
    from lveg.treebank.text import Input


ParseFormat = Literal["brackets", "jsonl", "drawing"]
Kbest = Annotated[int, typer.Option(min=1, help="How many trees per sentence, best first.")]
Format = Annotated[
    ParseFormat,
    typer.Option(
        help="brackets: one tree per line. jsonl: one object per sentence, with probabilities. drawing: text art."
    ),
]
DecoderOption = Annotated[
    Literal["max-rule", "viterbi", "mbr"] | None,
    typer.Option(
        help="max-rule: best product of rule posteriors. viterbi: most probable tree. mbr: best expected F1. If not "
        "given: the decoder recorded in the model, or max-rule."
    ),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Also show what supports each constituent, compared with the best tree without it."),
]
GoldTags = Annotated[bool, typer.Option(help="Keep the tags of INPUT (brackets, CoNLL-U, JSON lines).")]
TagColumn = Annotated[Column, typer.Option(help="CoNLL-U with --gold-tags: the column of the tags.")]


def is_number(value: float | None) -> float | None:
    """The value; refuses NaN, which bounds do not catch."""
    if value is not None and value != value:
        raise typer.BadParameter("nan is not a number")
    return value


PMin = Annotated[
    float | None,
    typer.Option(
        min=0.0,
        max=1.0,
        callback=is_number,
        help="Constituents and rules below this posterior are pruned; if not given, the model's own.",
    ),
]
PruneWith = Annotated[
    Path | None,
    typer.Option("--prune-with", metavar="MODEL", help="Restrict to the rules of this parser's k-best trees."),
]
PruneKbest = Annotated[int, typer.Option(min=1, help="With --prune-with: how many trees.")]
TreeLists = Annotated[
    Path | None,
    typer.Option(
        metavar="TREES",
        help="Restrict to the rules of these trees, from any parser: lists in the format that --kbest writes.",
    ),
]
MaxWords = Annotated[
    int, typer.Option(min=1, help="Longer sentences get a flat tree; time grows with the cube of the length.")
]


def parse(
    model: ModelFile,
    inputs: InputFiles = None,
    out: OutFile = None,
    others: WithModels = None,
    kbest: Kbest = 1,
    format: Format = "brackets",
    decoder: DecoderOption = None,
    raw: Raw = False,
    tokeniser: TokeniserName = None,
    input_format: InputFormatOption = None,
    explain: Explain = False,
    gold_tags: GoldTags = False,
    column: TagColumn = "upos",
    p_min: PMin = None,
    prune_with: PruneWith = None,
    prune_kbest: PruneKbest = 200,
    constraints: TreeLists = None,
    max_words: MaxWords = 1000,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Parse sentences: one sentence per line in, one tree per line out.

    Every sentence gets a tree, in the order of the input; an empty line gets
    the empty tree `(())`. With --kbest N there are N lines per sentence and an
    empty line after them. JSON lines have log P(tree | sentence), log
    P(sentence), the probability of each constituent, and `fallback`, which is
    null unless the parser had to fall back to something simpler. Several INPUT
    files are read one after the other, and JSON lines then name the `file`; a
    directory is refused. With --with, several parsers are combined: max-rule uses
    the product of their posteriors, and probabilities are means over the parsers.
    With --explain, each constituent of the tree is compared with the best tree
    without it: rules, the latent part and features add up to the difference of
    their log probabilities.

        echo "The dog saw a cat ." | lveg parse my.model

        echo "The dog didn't see Mr. Smith. He slept." | lveg parse my.model --raw
    """
    from lveg.annotate import ParseSettings, parse_all
    from lveg.cli.annotation import Annotation
    from lveg.treebank.text import Reading

    _check_options(prune_with, constraints, explain, kbest)
    files = inputs or [STANDARD]
    check_outputs([out or STANDARD], [model, *files, *(others or []), prune_with, constraints])
    parser = load_parser(model, others)
    pruner = load_parser(prune_with) if prune_with else None
    is_json = format == "jsonl"
    settings = ParseSettings(decoder, kbest, p_min, is_json, max_words, gold_tags, pruner, prune_kbest, explain)
    found = find_tokeniser(raw, tokeniser, parser, model)
    reading = Reading(input_format, parser.cleaning, column, tokeniser=found)
    job = Annotation("parsing", files, reading, out, skip_bad, quiet, parser.grammar.lexicon.word_ids)
    results = parse_all(parser, with_trees(job.sentences(), constraints), settings, thread_count(threads, files))
    job.write(results, _writer(format, kbest > 1, len(files) > 1, explain))


def _check_options(prune_with: Path | None, constraints: Path | None, explain: bool, kbest: int) -> None:
    """Refuse options that cannot be used together."""
    from lveg.errors import UsageError

    if prune_with is not None and constraints is not None:
        raise UsageError("--prune-with and --constraints cannot be used together")
    if explain and kbest > 1:
        raise UsageError("--explain describes the best tree only: leave out --kbest")


def _writer(format: ParseFormat, several: bool, name_file: bool, explain: bool) -> Callable[[Input, Parse], str]:
    """Returns a function for the text of a sentence's analysis. several: whether each has a list of trees."""
    from lveg.output import parse_drawing, parse_explanation, parse_text

    width = shutil.get_terminal_size().columns

    def text(sentence: Input, found: Parse) -> str:
        if format == "drawing":
            tree = parse_drawing(found, width)
        else:
            tree = parse_text(sentence, found, format, several, name_file)
        return tree + parse_explanation(found) if explain and format != "jsonl" else tree

    return text


def with_trees(sentences: Iterable[Input], path: Path | None) -> Iterator[Input]:
    """The sentences, each with its list of trees from the file."""
    from dataclasses import replace

    from lveg.errors import UsageError
    from lveg.treebank.penn import read_tree_lists

    if path is None:
        yield from sentences
        return
    lists = read_tree_lists(path)
    number = 0
    for number, sentence in enumerate(sentences, start=1):
        trees = next(lists, None)
        if trees is None:
            raise UsageError(f"{path}: has trees for {number - 1} sentences, and there are more")
        yield replace(sentence, within=trees)
    if next(lists, None) is not None:
        raise UsageError(f"{path}: has trees for more than the {number} sentences that there are")
