"""Small models, trained once, and the command line run inside the test's process."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from lveg.cli import main
from lveg.treebank.synthetic import ENGLISH

DATA = ENGLISH.parent
REPOSITORY = Path(__file__).resolve().parent.parent.parent
DOG = "The dog saw a cat ."


class Outcome(NamedTuple):
    """The result of a command: its status and what it printed."""

    status: int
    out: str
    err: str

    def refusal(self) -> str:
        """The one-line error message, after checking that nothing else was printed."""
        assert (self.status, self.out) == (2, "")
        assert self.err.count("\n") == 1
        assert self.err.startswith("lveg: ")
        return self.err


Run = Callable[..., Outcome]


def run_main(*arguments: object, stdin: bytes = b"") -> Outcome:
    """`lveg ARGUMENTS` in this process."""
    streams = [io.TextIOWrapper(io.BytesIO(data), encoding="utf-8") for data in (stdin, b"", b"")]
    old = (sys.argv, sys.stdin, sys.stdout, sys.stderr)
    sys.argv = ["lveg", *map(str, arguments)]
    sys.stdin, sys.stdout, sys.stderr = streams
    status = 0
    try:
        main()
    except SystemExit as ending:
        status = int(ending.code or 0)
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = old
    texts = []
    for stream in streams[1:]:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))
    return Outcome(status, *texts)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("parse", ...)` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return run_main


def head(name: str, count: int) -> str:
    """The first sentences of a demo file."""
    with open(DATA / name, encoding="utf-8") as stream:
        if name.endswith(".mrg"):
            return "".join(islice(stream, count))
        return "".join(block + "\n\n" for block in stream.read().split("\n\n")[:count])


class Samples(NamedTuple):
    """Files that tests read and never change."""

    folder: Path
    train_trees: Path
    dev_trees: Path
    train_tags: Path
    dev_tags: Path
    parser: Path
    tagger: Path


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Samples:
    """A part of the demo treebank, and a parser and a tagger of it."""
    folder = tmp_path_factory.mktemp("samples")
    names = ("train.mrg", "dev.mrg", "train.conllu", "dev.conllu", "parser.lveg", "tagger.lveg")
    made = Samples(folder, *(folder / name for name in names))
    for path, count in zip(made[1:5], (400, 40, 400, 40), strict=True):
        path.write_text(head(f"demo-{path.name}", count), encoding="utf-8")
    for what, train, dev, out, *more in (
        ("parser", made.train_trees, made.dev_trees, made.parser, "--model", "pcfg"),
        ("tagger", made.train_tags, made.dev_tags, made.tagger, "--epochs", 6, "--network-epochs", 2),
    ):
        outcome = run_main("train", what, train, "--dev", dev, "--out", out, *more)
        assert outcome.status == 0, outcome.err
    return made
