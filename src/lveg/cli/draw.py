"""`lveg draw`: draw trees as text, SVG, HTML or LaTeX."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lveg.cli.options import (
    STANDARD,
    InputFormatOption,
    OutFile,
    Quiet,
    Threads,
    check_outputs,
    is_typed,
    load_parser,
    thread_count,
)

if TYPE_CHECKING:
    from lveg.drawing.figure import Figure
    from lveg.model import Parse
    from lveg.treebank.source import InputFormat


Picture = Literal["text", "svg", "html", "latex"]

_BY_SUFFIX: dict[str, Picture] = {
    ".svg": "svg", ".html": "html", ".htm": "html", ".tex": "latex", ".txt": "text", "": "text",
}  # fmt: skip

Files = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MODEL] [INPUT]...",
        help="A parser, if sentences are to be parsed, and files; `-` or nothing for standard input.",
        show_default=False,
    ),
]
Format = Annotated[
    Picture | None,
    typer.Option(
        help="text: lines for a terminal. svg: one picture. html: a page that needs no other file. latex: a document "
        "for the package forest. If not given, the suffix of --out decides: .svg, .html, .tex, .txt, or none for text."
    ),
]
Count = Annotated[
    int, typer.Option(min=1, help="With MODEL: how many trees per sentence, best first, next to each other.")
]


def draw(
    files: Files = None,
    format: Format = None,
    out: OutFile = None,
    count: Count = 1,
    input_format: InputFormatOption = None,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Draw trees from a bracket file, or parse sentences and draw the result.

    With a MODEL, every phrase is shaded by its probability given the sentence,
    which is also written below its label. With --count, the best trees of a
    sentence are drawn next to each other; what the first one does not have is
    framed (in text, it has a star). Without a MODEL, trees are drawn as they are
    in the file; lists that `lveg parse --kbest` wrote are compared in the same way.

        echo "The dog saw a cat ." | lveg draw my.model

        lveg draw my.model sentences.txt --count 3 --out trees.html

        lveg draw treebank.mrg --out treebank.svg
    """
    from lveg.cli.console import TYPED
    from lveg.errors import UsageError
    from lveg.progress import say
    from lveg.treebank.source import open_output

    given = files or []
    model = given[0] if given and _is_model(given[0]) else None
    inputs = given[model is not None :] or [STANDARD]
    if model is None and count > 1:
        raise UsageError("--count needs a model that parses: lveg draw MODEL INPUT --count N")
    check_outputs([out or STANDARD], [model, *inputs])
    kind = format or _kind_of(out)
    if not quiet and is_typed(inputs):
        say(TYPED)
    rows = _read(inputs) if model is None else _parse(model, inputs, input_format, count, threads, quiet)
    with open_output(None if out is None else str(out)) as stream:
        if kind == "text":
            for row in rows:
                stream.write(_text(row, limited=out is None) + "\n\n")
                stream.flush()
        else:
            stream.write(_document(kind, list(rows), inputs))


def _kind_of(out: Path | None) -> Picture:
    """How trees are drawn in a file of this name."""
    from lveg.errors import UsageError
    from lveg.treebank.source import COMPRESSED

    name = Path(str(out or ""))
    suffix = Path(name.stem).suffix if name.suffix in COMPRESSED else name.suffix
    if suffix.lower() not in _BY_SUFFIX:
        known = ", ".join(filter(None, _BY_SUFFIX))
        raise UsageError(
            f"--out {out}: no pictures are written as {suffix}; there are {known}, and --format says how to draw in a "
            "file of any name"
        )
    return _BY_SUFFIX[suffix.lower()]


def _is_model(path: Path) -> bool:
    """Whether a file looks like a model rather than like text."""
    if path == STANDARD or not path.is_file():
        return False
    with path.open("rb") as stream:
        return b"\0" in stream.read(8)  # the length of the header


def _read(inputs: list[Path]) -> Iterator[list[Figure]]:
    """The trees of files; consecutive trees of one list and with the same words are one row."""
    from itertools import groupby

    from lveg.drawing.figure import row_of
    from lveg.treebank.penn import read_tree_lists
    from lveg.trees import Tree

    for path in inputs:
        for listed in read_tree_lists(path):
            for _, same in groupby(listed, key=Tree.words):
                yield row_of(list(same))


def _parse(
    model: Path, inputs: list[Path], input_format: InputFormat | None, count: int, threads: int | None, quiet: bool
) -> Iterator[list[Figure]]:
    """The best trees of sentences, with the probabilities of their constituents."""
    from lveg.annotate import ParseSettings, parse_all
    from lveg.cli.console import compilation_notice
    from lveg.drawing.figure import row_of
    from lveg.treebank.text import Reading, read_sentences

    parser = load_parser(model)
    reading = Reading(input_format, parser.cleaning)
    sentences = read_sentences([str(path) for path in inputs], reading)
    settings = ParseSettings(count=count, marginals=True)
    with compilation_notice(quiet):
        for _, parse in parse_all(parser, sentences, settings, thread_count(threads, inputs)):
            yield row_of([found.tree for found in parse.trees], parse.constituents, _captions(parse))


def _captions(parse: Parse) -> list[str]:
    """The rank and probability of each tree."""
    known = (("" if found.log_prob is None else f"probability {math.exp(found.log_prob):.3g}") for found in parse.trees)
    if len(parse.trees) == 1:
        return list(known)
    return [f"{rank}: {text}" if text else str(rank) for rank, text in enumerate(known, start=1)]


def _text(row: list[Figure], limited: bool) -> str:
    """The trees of a sentence for a terminal; limited: to its width, otherwise as wide as they are."""
    import shutil

    from lveg.drawing.figure import labels_with
    from lveg.drawing.text import beside, draw_text

    width = shutil.get_terminal_size().columns if limited else 10_000
    drawings = [draw_text(figure.tree, width, labels_with(figure.marks())) for figure in row]
    captioned = [
        f"{drawing}\n{figure.caption}" if figure.caption else drawing
        for drawing, figure in zip(drawings, row, strict=True)
    ]
    return beside(captioned, width)


def _document(kind: Picture, rows: list[list[Figure]], inputs: list[Path]) -> str:
    from lveg.drawing.html import trees_page
    from lveg.drawing.latex import trees_document
    from lveg.drawing.svg import sheet_svg

    match kind:
        case "svg":
            return sheet_svg(rows)
        case "latex":
            return trees_document(rows)
        case _:
            names = ", ".join(path.name for path in inputs if path != STANDARD)
            return trees_page(rows, f"Trees of {names}" if names else "Trees")
