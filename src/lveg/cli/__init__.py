"""The command line: one verb, one file; each reads arguments, calls one function and prints.

Nothing heavy is imported here or at the top of a verb's file, so that `lveg --help` is immediate.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

import typer

from lveg._version import __version__
from lveg.cli import combine, demo, evaluate, info, parse, sample, tag, train, warm
from lveg.cli.console import survive_stderr
from lveg.cli.options import EXIT_STATUS
from lveg.errors import LvegError

_HELP = "Train taggers and parsers on your own treebank, use them, and score them."


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"lveg {__version__}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Print the version."),
) -> None:
    """Options of `lveg` itself."""


def make_app(arguments: Sequence[str], is_complete: bool = True) -> typer.Typer:
    """The command line; the options of training are those of the models that the arguments name.

    is_complete: False where a shell asks what may come next.
    """
    app = typer.Typer(
        name="lveg",
        help=_HELP,
        epilog=EXIT_STATUS,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(help=_HELP)(_root)
    own = arguments[1:] if arguments[:1] == ["train"] else []
    app.add_typer(train.make_app(own, is_complete), name="train")
    for verb in (
        parse.parse,
        tag.tag,
        evaluate.evaluate,
        info.info,
        combine.combine,
        sample.sample,
        warm.warm,
        demo.demo,
    ):
        app.command()(verb)
    return app


def _typed() -> list[str] | None:
    """What was typed so far, where a shell asks for completions of it; None where the command is to be run."""
    shell = os.environ.get("_LVEG_COMPLETE", "").removeprefix("complete_")
    if not shell:
        return None
    if shell == "bash":  # one word per line; `=` is a word of its own
        return os.environ.get("COMP_WORDS", "").replace("\n=\n", "=").split()[1:]
    return os.environ.get("_TYPER_COMPLETE_ARGS", "").split()[1:]


def main() -> None:
    """Run the command line; our own errors become one line on stderr and exit status 2."""
    survive_stderr()
    try:
        typed = _typed()
        make_app(sys.argv[1:] if typed is None else typed, is_complete=typed is None)(prog_name="lveg")
    except LvegError as error:
        print(f"lveg: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as ending:
        if ending.code == 130:  # what Typer makes of Ctrl-C
            print("lveg: stopped", file=sys.stderr)
        raise
    except MemoryError as error:
        print(f"lveg: there is not enough memory: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        # What is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"lveg: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
