"""Options that several verbs have, with one spelling and one help text."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lveg.model import Parser
    from lveg.trees import Cleaning


class InputFormats(StrEnum):
    """What sentences may be read from."""

    text = "text"
    brackets = "brackets"
    conllu = "conllu"
    jsonl = "jsonl"


class Column(StrEnum):
    """Columns of CoNLL-U that hold tags."""

    upos = "upos"
    xpos = "xpos"


class Unknown(StrEnum):
    """Schemes of unknown-word classes."""

    auto = "auto"
    english = "english"
    single = "single"


ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `lveg train` wrote.")]
WithModels = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="MODEL", help="A parser of the same treebank that decides too, by product; may be repeated."
    ),
]
InputFile = Annotated[
    Path | None, typer.Argument(metavar="INPUT", help="A file, or `-` or nothing for standard input.")
]
OutFile = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write here instead of printing.")]
InputFormatOption = Annotated[
    InputFormats | None,
    typer.Option("--input-format", help="What INPUT is; otherwise its extension tells, and text if it does not."),
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Sentences worked on at once; all cores if not given.")
]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", help="Go on past malformed trees or sentences; say how many were left out."),
]
Seed = Annotated[int, typer.Option("--seed", help="The same seed, data and options give the same model file.")]
MaxLength = Annotated[
    int | None,
    typer.Option("--max-length", min=1, help="Train only on sentences of at most this many words."),
]
LogFile = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE.jsonl", help="Append what happens to this file, an event a line."),
]
UnknownOption = Annotated[
    Unknown,
    typer.Option(
        "--unknown",
        help="Classes for unknown words. auto: by shape and learned endings, any script. "
        "english: the Berkeley parser's signatures. single: one class for all.",
    ),
]
Threshold = Annotated[
    int,
    typer.Option("--unknown-threshold", min=1, help="Words seen fewer times than this become unknown words."),
]
EmptyElements = Annotated[
    str | None,
    typer.Option(
        "--empty",
        metavar="PATTERN",
        help="Regular expression for `label word` of traces to remove, beside Penn's -NONE- and CESS's *0*.",
    ),
]
KeepFunctions = Annotated[
    bool,
    typer.Option("--keep-functions", help="Keep function tags and indices in labels: NP-SBJ-1 stays so."),
]
KeepTraces = Annotated[bool, typer.Option("--keep-traces", help="Keep traces and other empty elements.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def thread_count(threads: int | None, input: Path | None = None) -> int:
    """The number asked for, or all cores; one for sentences that are typed in, to answer each at once."""
    import sys

    from lveg.parallel import default_threads

    is_typed = input is not None and str(input) == "-" and sys.stdin is not None and sys.stdin.isatty()
    return threads or (1 if is_typed else default_threads())


def load_parser(path: Path, others: list[Path] | None = None) -> Parser:
    """The parser in a file, or those in several files as one."""
    from lveg.errors import ModelError
    from lveg.model import Parser, combine
    from lveg.model_io import load_model

    parsers = []
    for file in (path, *(others or [])):
        model = load_model(str(file))
        if not isinstance(model, Parser):
            raise ModelError(f"{file}: is a tagger; use `lveg tag`")
        parsers.append(model)
    return combine(parsers)


def check_output(out: Path | None, *inputs: Path | None) -> None:
    """Refuse, before any work, an output that cannot be written or that is one of the inputs."""
    import os

    from lveg.errors import UsageError

    if out is None or str(out) == "-":
        return
    if out.is_dir():
        raise UsageError(f"{out}: cannot be written: it is a directory")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"{out}: cannot be written: there is no directory {out.parent}")
    if not os.access(out if out.exists() else out.absolute().parent, os.W_OK):
        raise UsageError(f"{out}: cannot be written: permission denied")
    for path in inputs:
        if path is not None and out.exists() and path.exists() and out.samefile(path):
            raise UsageError(f"{out}: is read and cannot be written at the same time; choose another --out")


def cleaning_of(keep_functions: bool, keep_traces: bool, empty: str | None, keep_unaries: bool) -> Cleaning:
    """The cleaning that the options describe."""
    import re

    from lveg.errors import UsageError
    from lveg.trees import EMPTY_ELEMENTS, Cleaning

    pattern = "" if keep_traces else EMPTY_ELEMENTS
    if empty:
        try:
            re.compile(empty)
        except re.error as error:
            raise UsageError(f"--empty {empty!r} is not a regular expression: {error}") from None
        pattern = f"{pattern}|{empty}" if pattern else empty
    return Cleaning(not keep_functions, pattern, not keep_unaries)
