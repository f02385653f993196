"""`lveg parse`: trees for sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lveg.cli.options import (
    Column,
    InputFile,
    InputFormatOption,
    ModelFile,
    OutFile,
    Quiet,
    SkipBad,
    Threads,
    WithModels,
    check_output,
    load_parser,
    thread_count,
)

if TYPE_CHECKING:
    from lveg.model import Parse
    from lveg.treebank.text import Input
    from lveg.trees import Tree


class ParseFormat(StrEnum):
    """How trees are written."""

    brackets = "brackets"
    jsonl = "jsonl"


class Decoder(StrEnum):
    """How the best tree is chosen."""

    max_rule = "max-rule"
    viterbi = "viterbi"
    mbr = "mbr"


def parse(
    model: ModelFile,
    input: InputFile = None,
    out: OutFile = None,
    others: WithModels = None,
    kbest: Annotated[int, typer.Option(min=1, help="How many trees a sentence, best first.")] = 1,
    format: Annotated[
        ParseFormat,
        typer.Option(help="brackets: a tree a line. jsonl: with probabilities, an object a sentence."),
    ] = ParseFormat.brackets,
    decoder: Annotated[
        Decoder,
        typer.Option(
            help="max-rule: best product of rule posteriors. viterbi: most probable tree. mbr: best expected F1."
        ),
    ] = Decoder.max_rule,
    input_format: InputFormatOption = None,
    gold_tags: Annotated[bool, typer.Option(help="Keep the tags of INPUT (brackets, CoNLL-U, JSON lines).")] = False,
    column: Annotated[Column, typer.Option(help="CoNLL-U with --gold-tags: the column of the tags.")] = Column.upos,
    p_min: Annotated[
        float | None,
        typer.Option(
            min=0.0, max=1.0, help="Constituents and rules below this posterior are pruned; pcfg: 1e-5, others: 3e-5."
        ),
    ] = None,
    prune_with: Annotated[
        Path | None,
        typer.Option("--prune-with", metavar="MODEL", help="Keep to what the best trees of this parser are made of."),
    ] = None,
    prune_kbest: Annotated[int, typer.Option(min=1, help="With --prune-with: how many trees.")] = 200,
    constraints: Annotated[
        Path | None,
        typer.Option(
            metavar="TREES", help="Keep to what these trees are made of: lists as --kbest writes them, by any parser."
        ),
    ] = None,
    max_words: Annotated[
        int,
        typer.Option(min=1, help="Longer sentences get a flat tree; memory grows with the square of the length."),
    ] = 400,
    skip_bad: SkipBad = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Parse sentences: a sentence a line in, a tree a line out.

    Every sentence gets a tree, in the order of the input; an empty line gets
    the empty tree `(())`. With --kbest N there are N lines a sentence and an
    empty line after them. JSON lines carry log P(tree | sentence), log
    P(sentence), the probability of each constituent, and `fallback`, which is
    null unless something had to be resorted to. With --with, several parsers
    decide together: max-rule takes the product of what they say of each rule, and
    probabilities are the mean of theirs.

        echo "The dog saw a cat ." | lveg parse my.model
    """
    from lveg.cli.console import announce_faults, console_report
    from lveg.errors import GrammarError, UsageError
    from lveg.forest.builders import NO_CONSTRAINTS, Constraints
    from lveg.parallel import ordered_map
    from lveg.treebank.source import Faults, open_output
    from lveg.treebank.text import read_sentences

    if prune_with is not None and constraints is not None:
        raise UsageError("--prune-with and --constraints exclude each other")
    parser = load_parser(model, others)
    pruner = None if prune_with is None else load_parser(prune_with)
    input = input or Path("-")
    check_output(out, input, constraints)
    faults = Faults(skip_bad)
    sentences = read_sentences(
        str(input),
        input_format.value if input_format else None,
        cleaning=parser.cleaning,
        column=column.value,
        faults=faults,
    )

    def work(item: tuple[int, Input, list[Tree]]) -> tuple[Input, Parse]:
        number, sentence, within = item
        given = Constraints(tags=tuple(sentence.tags)) if gold_tags and sentence.tags else NO_CONSTRAINTS
        try:
            if pruner is not None:
                found = pruner.parse(sentence.words, count=prune_kbest, constraints=given, max_words=max_words)
                within = [candidate.tree for candidate in found.trees]
            return sentence, parser.parse(
                sentence.words, decoder.value, kbest, given, p_min, format is ParseFormat.jsonl, max_words, within
            )
        except GrammarError as error:
            hint = "; leave out --gold-tags, or choose another --column" if gold_tags else ""
            raise UsageError(f"{input}: sentence {number}: {error}{hint}") from None

    items = numbered(sentences, constraints)
    fallbacks: Counter[str] = Counter()
    with (
        open_output(str(out) if out else None) as stream,
        console_report(quiet=quiet or out is None) as report,
    ):
        for done, (sentence, result) in enumerate(ordered_map(work, items, thread_count(threads, input)), start=1):
            if format is ParseFormat.jsonl:
                stream.write(json_line(sentence, result, kbest) + "\n")
            else:
                stream.write("".join(f"{candidate.tree}\n" for candidate in result.trees))
                if kbest > 1:
                    stream.write("\n")
            if out is None:
                stream.flush()
            fallbacks.update([result.fallback] if result.fallback else [])
            report("progress", {"what": "parsing", "done": done, "total": None})
    if fallbacks and not quiet:
        told = ", ".join(f"{count} {name}" for name, count in sorted(fallbacks.items()))
        typer.echo(f"lveg: sentences that needed a fallback: {told}; --format jsonl says which", err=True)
    announce_faults(faults.messages)


def numbered(sentences: Iterable[Input], constraints: Path | None) -> Iterator[tuple[int, Input, list[Tree]]]:
    """Number, sentence, and the trees of each that a file holds; none without a file."""
    from lveg.errors import UsageError
    from lveg.treebank.penn import read_tree_lists

    if constraints is None:
        yield from ((number, sentence, []) for number, sentence in enumerate(sentences, start=1))
        return
    lists = read_tree_lists(constraints)
    number = 0
    for number, sentence in enumerate(sentences, start=1):
        trees = next(lists, None)
        if trees is None:
            raise UsageError(f"{constraints}: has trees for {number - 1} sentences, and there are more")
        yield number, sentence, trees
    if next(lists, None) is not None:
        raise UsageError(f"{constraints}: has trees for more than the {number} sentences that there are")


def json_line(sentence: Any, result: Parse, kbest: int) -> str:
    """The JSON object of one sentence; with k-best, `trees` lists all of them."""
    import msgspec

    def constituents(tree: Tree) -> list[dict[str, Any]]:
        return [
            {
                "label": node.label,
                "start": start,
                "end": end,
                "probability": result.constituents.get((node.label, start, end)),
            }
            for node, start, end in tree.spans()[1:]
            if node.word is None
        ]

    trees = [
        {
            "tree": str(candidate.tree),
            "score": candidate.score if candidate.log_prob is not None else None,
            "log_prob": candidate.log_prob,
            "constituents": constituents(candidate.tree),
        }
        for candidate in result.trees
    ]
    line: dict[str, Any] = {} if sentence.id is None else {"id": sentence.id}
    line |= {"words": sentence.words, "log_sentence": result.log_sentence, "fallback": result.fallback}
    line |= {"trees": trees} if kbest > 1 else trees[0]
    return msgspec.json.encode(line).decode()
