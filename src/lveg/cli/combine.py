"""`lveg combine`: combine several parsers of one treebank into one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lveg.cli.options import check_outputs, load_parser


def combine(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Parsers trained on the same trees.")],
    out: Annotated[Path, typer.Option("--out", metavar="MODEL", help="The model file to write.")],
) -> None:
    """Combine several parsers into one.

    max-rule uses the product of their rule posteriors, and probabilities are means
    over the parsers. The first parser prunes. The result is used like any other
    model file; what the parsers share is stored once.

        lveg combine one.model two.model --out both.model
    """
    from lveg.model_io import save_model

    check_outputs([out], models)
    save_model(load_parser(models[0], models[1:]), str(out))
    typer.echo(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB)", err=True)
