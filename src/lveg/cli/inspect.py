"""`lveg inspect`: show what a model learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lveg.cli.options import ModelFile, check_outputs

Symbols = Annotated[
    list[str] | None,
    typer.Option("--symbol", metavar="NAME", help="Show this symbol, such as NP; may be repeated."),
]


def inspect(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", metavar="FILE.html", help="The page to write.")],
    symbols: Symbols = None,
) -> None:
    """Write a page about what a model learned, symbol by symbol.

    For a symbol with vectors as subtypes: its Gaussians in the plane, with the
    rules and words that they belong to, and which of them are near each other.
    For a symbol with discrete subtypes: the subtypes, or the tree of their
    splits, with typical words and rules. For all symbols: their rules and words
    in the treebank. The page needs no other file. Without --symbol it has the 100
    most frequent symbols.

        lveg inspect my.model --out my.html
    """
    from lveg.inspection import inspection_page
    from lveg.model_io import load_analyser
    from lveg.treebank.source import open_output

    check_outputs([out], [model])
    page = inspection_page(load_analyser(str(model)), f"What {model.name} learned", symbols or ())
    with open_output(str(out)) as stream:
        stream.write(page)
