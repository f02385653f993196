"""`lveg plot`: draw how training runs went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lveg.cli.options import check_outputs


def plot(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Files that `lveg train --log` wrote.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The picture to write; its name ends in .svg, .png or .pdf.")
    ],
) -> None:
    """Draw objective, development score and time of training runs, in one picture.

    The horizontal axis counts epochs or cycles. A run of several stages, such as
    a grammar and then its contexts, has a line for each stage. A log with several
    runs, one after the other, gives a curve for each; an interrupted and resumed
    run is one curve. The legend has the final score on development data.

        lveg train parser train.mrg --dev dev.mrg --out a.model --log a.log

        lveg plot a.log b.log --out runs.svg
    """
    from lveg import plotting
    from lveg.files import replacing

    check_outputs([out], logs)
    format = plotting.format_of(str(out))
    runs = [run for log in logs for run in plotting.read_log(str(log))]
    with replacing(str(out)) as stream:
        plotting.plot(runs, stream, format)
