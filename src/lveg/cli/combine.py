"""`lveg combine`: several parsers of one treebank as one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lveg.cli.options import check_outputs, load_parser


def combine(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL...", help="Parsers that were trained on the same trees.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="MODEL", help="The model file to write.")],
) -> None:
    """Make one parser of several, which decides by all of them.

    max-rule takes the product of what they say of each rule, and probabilities are
    the mean of theirs. The first parser prunes. The file parses, evaluates and is
    loaded like any other; what the parsers share is stored once.

        lveg combine one.model two.model --out both.model
    """
    from lveg.model_io import save_model

    check_outputs([out], models)
    save_model(load_parser(models[0], models[1:]), str(out))
    typer.echo(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB)", err=True)
