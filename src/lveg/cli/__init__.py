"""The command line, one file per command; each reads arguments, calls one function and prints.

To keep `lveg --help` fast, nothing slow is imported here or at the top of a command's file, and only the file of the
requested command is imported.
"""

from __future__ import annotations

import errno
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import typer

from lveg._version import __version__
from lveg.cli.console import survive_stderr
from lveg.cli.options import EXIT_STATUS
from lveg.errors import LvegError

VERBS = (
    "train", "parse", "tag", "annotate", "evaluate", "check", "serve", "draw", "plot", "inspect", "info", "combine",
    "sample", "warm", "demo",
)  # fmt: skip
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
    """The app with the command that the arguments begin with, or with all commands.

    The training options are those of the models that the arguments name. is_complete: False if a shell asks for
    completions.
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
    is_verb = bool(arguments) and arguments[0] in VERBS
    for verb in arguments[:1] if is_verb else VERBS:
        module = import_module(f"lveg.cli.{verb}")
        if verb == "train":
            app.add_typer(module.make_app(arguments[1:] if is_verb else [], is_complete), name=verb)
        else:
            app.command()(getattr(module, verb))
    return app


def _typed() -> list[str] | None:
    """The arguments typed so far, if a shell asks for completions; None if the command is to be run."""
    shell = os.environ.get("_LVEG_COMPLETE", "").removeprefix("complete_")
    if not shell:
        return None
    if shell == "bash":  # one word per line; `=` is a separate word
        return os.environ.get("COMP_WORDS", "").replace("\n=\n", "=").split()[1:]
    return os.environ.get("_TYPER_COMPLETE_ARGS", "").split()[1:]


def main() -> None:
    """Run the command line; our own errors become one line on stderr and exit status 2."""
    survive_stderr()
    gc.set_threshold(50_000)  # start-up creates many permanent objects; scanning them often takes a tenth of its time
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
        # Discard what is still buffered: it cannot be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"lveg: the output cannot be written: {error.strerror}", file=sys.stderr)
        sys.exit(2)
    finally:
        gc.freeze()  # otherwise the interpreter searches for cycles once more at exit, which takes 0.3 seconds
