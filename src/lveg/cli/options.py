"""Options that several commands share, with one name and one help text each."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lveg.treebank.source import InputFormat

if TYPE_CHECKING:
    from lveg.learning.run import Workers
    from lveg.model import Model, Parser, Tagger
    from lveg.report import Report
    from lveg.text.tokens import Tokeniser


EXIT_STATUS = (
    "Exit status: 0 for success; 2 for an error that you can act on, with a one-line message; 130 after Ctrl-C; "
    "1 for a bug in lveg, with a traceback, if the program reading the output closed it early, or if `lveg check` "
    "found an error."
)

STANDARD = Path("-")
"""Standard input as an input, standard output as an output."""


ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by `lveg train`.")]
WithModels = Annotated[
    list[Path] | None,
    typer.Option(
        "--with", metavar="MODEL", help="Another parser of the same treebank to combine with; may be repeated."
    ),
]
InputFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[INPUT]...",
        help="Files, read one after the other; `-` or nothing for standard input.",
        show_default=False,
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write to this file, compressed if it ends in .gz or .zst. It is created or replaced only on success.",
    ),
]
InputFormatOption = Annotated[
    InputFormat | None,
    typer.Option(
        "--input-format",
        help="The format of INPUT. If not given, it is guessed from each file's extension; text if unknown.",
    ),
]
Threads = Annotated[int | None, typer.Option("--threads", min=1, help="Number of threads; all cores if not given.")]
SkipBad = Annotated[
    bool,
    typer.Option("--skip-bad", help="Skip malformed trees and sentences, and report how many."),
]
EmptyElements = Annotated[
    str | None,
    typer.Option(
        "--empty",
        metavar="PATTERN",
        help="Regular expression for `label word` of more traces to remove, besides Penn's -NONE- and CESS's *0*.",
    ),
]
KeepFunctions = Annotated[
    bool,
    typer.Option("--keep-functions", help="Keep function labels and indices of phrases, as in NP-SBJ-1."),
]
CutTags = Annotated[bool, typer.Option("--cut-tags", help="Cut tags at - = and | as well: N-D becomes N.")]
KeepTraces = Annotated[bool, typer.Option("--keep-traces", help="Keep traces and other empty elements.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="INPUT is running text: find its sentences and tokens first. Blank lines end sentences."
    ),
]
TokeniserName = Annotated[
    str | None,
    typer.Option(
        "--tokeniser",
        metavar="ptb|FILE",
        help="With --raw: how to find tokens. ptb: Penn conventions for English, by rule. FILE: a tokeniser trained by "
        "`lveg train tokeniser`. If not given: that in the model, or ptb for parsers.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def thread_count(threads: int | None, inputs: Iterable[Path] = ()) -> int:
    """The given number, or all cores; one for interactive input, so that each sentence is answered at once."""
    from lveg.parallel import default_threads

    return threads or (1 if is_typed(inputs) else default_threads())


def is_typed(inputs: Iterable[Path]) -> bool:
    """Whether the input is typed in a terminal."""
    import sys

    return STANDARD in inputs and sys.stdin is not None and sys.stdin.isatty()


def load_parser(path: Path, others: list[Path] | None = None) -> Parser:
    """The parser in a file, or the combination of those in several files."""
    from lveg.errors import ModelError
    from lveg.model import Parser, combine
    from lveg.model_io import load_model

    parsers = []
    for file in (path, *(others or [])):
        model = load_model(str(file))
        if not isinstance(model, Parser):
            raise ModelError(f"{file}: is a {model.task}{_USES[model.task]}")
        parsers.append(model)
    return combine(parsers)


def load_tagger(path: Path) -> Tagger:
    """The tagger in a file."""
    from lveg.errors import ModelError
    from lveg.model import Tagger
    from lveg.model_io import load_model

    model = load_model(str(path))
    if not isinstance(model, Tagger):
        raise ModelError(f"{path}: is a {model.task}{_USES[model.task]}")
    return model


_USES = {
    "parser": "; use `lveg parse`",
    "tagger": "; use `lveg tag`",
    "tokeniser": "; `lveg tag` and `lveg parse` use it with --raw --tokeniser FILE",
}
RULES = "ptb"
"""The name of the tokeniser by rule."""


def find_tokeniser(raw: bool, name: str | None, model: Model, path: Path) -> Tokeniser | None:
    """The tokeniser for raw text: the named one, or the model's; None if the input is tokenised already."""
    from lveg.errors import ModelError, UsageError
    from lveg.model import Tagger
    from lveg.model_io import load_model
    from lveg.text.learned import LearnedTokeniser
    from lveg.text.ptb import PtbTokeniser

    if not raw:
        if name is not None:
            raise UsageError("--tokeniser needs --raw")
        return None
    if isinstance(model, Tagger) and name is None:
        if model.tokeniser is None:
            raise UsageError(
                f"{path}: has no tokeniser; train it with --with-tokeniser, or give --tokeniser FILE (see `lveg train "
                f"tokeniser`) or, for English, --tokeniser {RULES}"
            )
        return model.tokeniser
    if name in (None, RULES):
        return PtbTokeniser(frozenset(model.grammar.lexicon.words))
    found = load_model(str(name))
    if isinstance(found, Tagger) and found.tokeniser is not None:
        return found.tokeniser
    if not isinstance(found, LearnedTokeniser):
        raise ModelError(f"{name}: is a {found.task} without a tokeniser; --tokeniser takes {RULES} or a tokeniser")
    return found


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse, before any work, an output that cannot be written, or that is an input or another output.

    Files are compared by identity, not by name: links, other spellings, standard streams that are files, and files in a
    directory that is an input are recognised too.
    """
    from lveg.errors import UsageError
    from lveg.treebank.source import files_in

    taken = set()
    for path in filter(None, inputs):
        files = map(Path, files_in(str(path))) if path.is_dir() else (path,)
        taken |= {(_identity(file, 0), "an input") for file in files}
    for path in filter(None, outputs):
        name = "standard output" if path == STANDARD else str(path)
        identity = _identity(path, 1)
        for role in ("an input", "another output"):
            if identity is not None and (identity, role) in taken:
                raise UsageError(f"{name}: cannot be written: it is {role}; choose another file")
        taken.add((identity, "another output"))
        if path != STANDARD:
            _check_writable(path)


def _identity(path: Path, standard: int) -> object:
    """A value that identifies a file; None for a device or pipe. standard: the descriptor of the stream called `-`."""
    import os
    import stat

    try:
        found = os.stat(standard if path == STANDARD else path)
    except OSError:
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _check_writable(path: Path) -> None:
    import os

    from lveg.errors import UsageError

    folder = path.absolute().parent
    if path.is_dir():
        raise UsageError(f"{path}: cannot be written: it is a directory")
    if not folder.is_dir():
        raise UsageError(f"{path}: cannot be written: there is no directory {path.parent}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise UsageError(f"{path}: cannot be written: permission denied")


def cluster_workers(cluster: str | None, report: Report) -> AbstractContextManager[Workers | None]:
    """The workers of a cluster, if there is one."""
    if cluster is None:
        return nullcontext()
    from lveg.cluster import connected

    return connected(cluster, report)
