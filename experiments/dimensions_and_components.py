"""Figure 1 of the paper: F1 and time per epoch over the dimension of subtype vectors and the number of Gaussians.

    python experiments/dimensions_and_components.py --seeds 2

Dimensions 2 to 9 with 4 Gaussians per rule, then 2 to 9 Gaussians with 3 dimensions, on wsj-sample, which is about as
large as the paper's small dataset; other options of `lveg train parser --model gm` are the defaults. F1 is that of the
best epoch on the development trees, the time the median CPU seconds of an epoch on one core, without scoring.

Every run is added to DOCS/dimensions-and-components.csv at once; runs that are there are not repeated. The figure is
DOCS/dimensions-and-components.svg, the table a block of DOCS/figures.md. --quick is for tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from mixtures import Bench, Sweep
from runs import figure, fill, markdown, read_rows, spread_text

from lveg._version import __version__

NAME = "dimensions-and-components"
COMPONENTS, DIM = 4, 3
SIZES = tuple(range(2, 10))


@dataclass(frozen=True)
class Sized:
    """A grammar of some size. f1: of the best epoch. epoch_seconds: median CPU seconds of an epoch."""

    treebank: str
    components: int
    dim: int
    seed: int
    f1: float
    epoch: int
    epoch_seconds: float
    version: str

    @property
    def key(self) -> tuple[str, int, int, int]:
        """The values that identify a run."""
        return self.treebank, self.components, self.dim, self.seed


def sizes(is_quick: bool) -> list[tuple[int, int]]:
    """(components, dimensions) of all grammars, small ones first."""
    shown = SIZES[:2] if is_quick else SIZES
    pairs = {(COMPONENTS, dim) for dim in shown} | {(components, DIM) for components in shown}
    return sorted(pairs, key=lambda pair: (pair[0] ** 2 * pair[1], pair))


def run(bench: Bench, treebank: str, components: int, dim: int, seed: int, **given: Any) -> Sized:
    """Train and score one size."""
    _, trace = bench.learn(bench.options(components=components, dim=dim, **given), seed)
    seconds = round(trace.epoch_seconds, 2)
    return Sized(treebank, components, dim, seed, trace.f1, trace.epoch, seconds, __version__)


Runs = dict[int, list[Sized]]
"""The runs of each size."""


def halves(rows: Sequence[Sized]) -> dict[str, Runs]:
    """Both halves of the figure, by the name of the axis."""
    by_dim, by_components = defaultdict(list), defaultdict(list)
    for row in sorted(rows, key=lambda row: row.key):
        if row.components == COMPONENTS:
            by_dim[row.dim].append(row)
        if row.dim == DIM:
            by_components[row.components].append(row)
    return {f"dimensions, K = {COMPONENTS}": by_dim, f"Gaussians per rule, d = {DIM}": by_components}


def table(rows: Sequence[Sized]) -> str:
    """Both halves as tables."""
    parts = []
    for axis, runs in halves(rows).items():
        best = max((fmean(row.f1 for row in found) for found in runs.values()), default=0.0)
        lines = [
            [
                str(size),
                (spread_text([row.f1 for row in found]), fmean(row.f1 for row in found) == best),
                f"{fmean(row.epoch_seconds for row in found):.1f}",
                f"{fmean(row.epoch for row in found):.0f}",
                str(len(found)),
            ]
            for size, found in runs.items()
        ]
        parts.append(markdown([axis, "F1", "CPU s per epoch", "best epoch", "seeds"], lines))
    return "\n\n".join(parts)


def draw(rows: Sequence[Sized], path: Path) -> None:
    """The figure: F1 above, time per epoch below; dimensions on the left, components on the right."""
    measures = {"f1": "development F1", "epoch_seconds": "CPU s per epoch"}
    with figure(path, 8, 5.5) as drawn:
        panels = drawn.subplots(2, 2, sharex="col", sharey="row")
        for column, (axis, found) in enumerate(halves(rows).items()):
            for panel, (measure, label) in zip(panels[:, column], measures.items(), strict=True):
                for size, runs in found.items():
                    panel.plot([size] * len(runs), [getattr(row, measure) for row in runs], ".", color="#9fabb8")
                means = [fmean(getattr(row, measure) for row in runs) for runs in found.values()]
                panel.plot(list(found), means, "o-", color="#1f5fbf", markersize=4)
                panel.set_ylabel(label if column == 0 else "")
            panels[1, column].set_xlabel(axis)
            panels[1, column].set_xticks(list(found))
        panels[1, 0].set_ylim(bottom=0)


def show(docs: Path) -> None:
    """Bring the page and the figure in line with the runs."""
    rows = read_rows(docs / f"{NAME}.csv", Sized)
    if rows:
        fill(docs / "figures.md", "dimensions and components", table(rows))
        draw(rows, docs / f"{NAME}.svg")


SWEEP = Sweep(NAME, __doc__ or "", Sized, sizes, run, show)

if __name__ == "__main__":
    SWEEP.main()
