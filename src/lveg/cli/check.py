"""`lveg check`: check a model or a treebank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lveg.cli.options import (
    STANDARD,
    CutTags,
    EmptyElements,
    InputFormatOption,
    KeepFunctions,
    KeepTraces,
    check_outputs,
)
from lveg.task_options import Column

if TYPE_CHECKING:
    from lveg.checking.findings import Checked
    from lveg.treebank.source import InputFormat, Treebank

Things = Annotated[
    list[Path],
    typer.Argument(metavar="MODEL|TREEBANK", help="A model file, or files and directories of a treebank."),
]
Against = Annotated[
    Path | None,
    typer.Option(metavar="DEV", help="Development data: also report what it shares with TREEBANK, and what it lacks."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
TagColumn = Annotated[Column, typer.Option(help="CoNLL-U: the column that holds the tags.")]


def check(
    things: Things,
    against: Against = None,
    column: TagColumn = "upos",
    input_format: InputFormatOption = None,
    keep_functions: KeepFunctions = False,
    cut_tags: CutTags = False,
    keep_traces: KeepTraces = False,
    empty: EmptyElements = None,
    as_json: AsJson = False,
) -> None:
    """Check a model or a treebank, and say what is wrong, what it means and what to do.

    MODEL: whether the file is whole, probabilities sum to one, every symbol can
    occur, and simple sentences are analysed soundly; the size of each part.
    TREEBANK (brackets or CoNLL-U): what cannot be read, repeated sentences,
    contradictions, odd trees, what cleaning removes, rare labels, words with many
    or unusual tags, and characters that are probably not meant. Exit status 1 if
    something stops training, or makes the model useless; 0 otherwise, whatever
    else was found.

        lveg check train.mrg --against dev.mrg

        lveg check my.model
    """
    from lveg.model_io import is_model_file

    check_outputs([STANDARD], [*things, against])
    if is_model_file(things[0]):
        found = _check_model(things, against)
    else:
        from lveg.checking.treebank import Settings, check_treebank
        from lveg.task_options import ParserOptions

        options = ParserOptions(keep_functions=keep_functions, cut_tags=cut_tags, keep_traces=keep_traces, empty=empty)
        settings = Settings(_format_of(things[0], input_format), options.cleaning, column)
        found = check_treebank(list(map(str, things)), settings, [str(against)] if against else [])
    if as_json:
        import msgspec

        typer.echo(msgspec.json.encode(found.as_json()).decode())
    else:
        typer.echo(found.as_text())
    if found.has_errors:
        raise typer.Exit(1)


def _check_model(things: list[Path], against: Path | None) -> Checked:
    from lveg.checking.models import check_model
    from lveg.errors import UsageError

    if len(things) > 1 or against is not None:
        raise UsageError(f"{things[0]}: is a model, which is checked by itself")
    return check_model(str(things[0]))


def _format_of(thing: Path, input_format: InputFormat | None) -> Treebank:
    """CoNLL-U or brackets; that of a directory is the format of its first file that has a usual extension."""
    from lveg.errors import UsageError
    from lveg.treebank.source import files_in, known_format

    names = files_in(str(thing)) if thing.is_dir() else [str(thing)]
    known = [form for form in map(known_format, names) if form in ("brackets", "conllu")]
    found = input_format or next(iter(known), "brackets")
    if found in ("brackets", "conllu"):
        return "conllu" if found == "conllu" else "brackets"
    raise UsageError(f"{thing}: a treebank is in brackets or CoNLL-U, not {found}")
