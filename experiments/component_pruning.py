"""Figure 2 of the paper's supplement: F1 and time per epoch with at most k_hard Gaussians per inside or outside score.

    python experiments/component_pruning.py --seeds 2

The paper's program must prune: its scores collect a Gaussian for every derivation. Here a score has one Gaussian for
each component of the rules at its node, so that sums are exact without pruning, and `lveg train parser --model gm
--k-hard K` exists only to measure what it changes: of more than K Gaussians of a score, only the K largest are kept.

As in the paper: diagonal Gaussians, K = 4 and d = 3, training on sentences of up to 20 words and scoring on those of up
to 25, k_hard from 10 to 80 and none; 5 is added. On wsj-sample; other options are the defaults. `f1` is of the grammar
that was trained and used with pruning, `f1_exact` of the same grammar without it. Times are CPU seconds on one core:
the median of an epoch, and parsing the development sentences after the coarse pass.

Every run is added to DOCS/component-pruning.csv at once; runs that are there are not repeated. The figure is
DOCS/component-pruning.svg, the table a block of DOCS/figures.md. --quick is for tests.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from mixtures import Bench, Lengths, Sweep
from runs import figure, fill, markdown, read_rows, spread_text

from lveg._version import __version__
from lveg.families.gm.family import ComponentPruning, Gm

NAME = "component-pruning"
LENGTHS = Lengths(20, 25)
LIMITS = (0, 5, *range(10, 90, 10))
"""0: no pruning."""


@dataclass(frozen=True)
class Pruned:
    """A grammar trained with a limit, or without one (k_hard = 0).

    cut: percentage of the components of scores that pruning removes on training sentences. lost: the mean by which it
    lowers the log of the sum over all derivations of a sentence. A gold tree has K components per score and loses
    nothing, so the objective looks better than it is by as much.
    """

    treebank: str
    k_hard: int
    seed: int
    f1: float
    f1_exact: float
    epoch: int
    epoch_seconds: float
    parsing_seconds: float
    cut: float
    lost: float
    version: str

    @property
    def key(self) -> tuple[str, int, int]:
        """The values that identify a run."""
        return self.treebank, self.k_hard, self.seed


def run(bench: Bench, treebank: str, k_hard: int, seed: int, **given: Any) -> Pruned:
    """Train and score with a limit."""
    facts: dict[str, Any] = {"sentences": 1, "components": 1, "cut": 0, "log_weight_lost": 0.0}

    def report(event: str, told: dict[str, Any]) -> None:
        if event == "component pruning":
            facts.update(told)

    options = bench.options(covariance="diagonal", k_hard=k_hard, **given)
    exact, trace = bench.learn(options, seed, report)
    pruned = replace(exact, pruning=ComponentPruning(k_hard, k_hard)) if k_hard else exact
    f1, seconds = timed_f1(bench, pruned)
    return Pruned(
        treebank, k_hard, seed, f1, timed_f1(bench, exact)[0], trace.epoch, round(trace.epoch_seconds, 2),
        round(seconds, 2), round(100 * facts["cut"] / facts["components"], 1),
        round(facts["log_weight_lost"] / facts["sentences"], 4), __version__,
    )  # fmt: skip


def timed_f1(bench: Bench, family: Gm) -> tuple[float, float]:
    """(F1, CPU seconds) of a grammar."""
    begun = time.process_time()
    return bench.f1(family), time.process_time() - begun


def by_limit(rows: Sequence[Pruned]) -> dict[int, list[Pruned]]:
    """The runs of each limit; those without one come last."""
    limits = sorted({row.k_hard for row in rows}, key=lambda limit: limit or sys.maxsize)
    return {limit: [row for row in rows if row.k_hard == limit] for limit in limits}


def table(rows: Sequence[Pruned]) -> str:
    """The sweep as a table."""
    lines = [
        [
            str(limit) if limit else "none (exact)",
            spread_text([row.f1 for row in found]),
            spread_text([row.f1_exact for row in found]),
            f"{fmean(row.epoch_seconds for row in found):.2f}",
            f"{fmean(row.parsing_seconds for row in found):.2f}",
            f"{fmean(row.cut for row in found):.1f}",
            f"{fmean(row.lost for row in found):.3f}",
            str(len(found)),
        ]
        for limit, found in by_limit(rows).items()
    ]
    header = ["k_hard", "F1, pruned", "F1, exact", "CPU s per epoch", "CPU s, parsing", "% cut", "log Z lost", "seeds"]
    return markdown(header, lines)


def draw(rows: Sequence[Pruned], path: Path) -> None:
    """The figure: F1 above, time per epoch below; the rightmost point is exact."""
    found = by_limit(rows)
    places = list(range(len(found)))
    with figure(path, 6, 5.5) as drawn:
        upper, lower = drawn.subplots(2, 1, sharex=True)
        lines = (
            (upper, "f1", "trained and parsed with k_hard", "o-"),
            (upper, "f1_exact", "trained with k_hard, parsed exactly", "s--"),
            (lower, "epoch_seconds", "", "o-"),
        )
        for panel, measure, label, line in lines:
            means = [fmean(getattr(row, measure) for row in runs) for runs in found.values()]
            panel.plot(places, means, line, markersize=4, label=label, color="#b3541e" if "s" in line else "#1f5fbf")
        upper.legend(frameon=False)
        upper.set_ylabel("development F1")
        lower.set_ylabel("CPU s per epoch")
        lower.set_ylim(bottom=0)
        lower.set_xticks(places, [str(limit) if limit else "none" for limit in found])
        lower.set_xlabel("k_hard")


def show(docs: Path) -> None:
    """Bring the page and the figure in line with the runs."""
    rows = read_rows(docs / f"{NAME}.csv", Pruned)
    if rows:
        fill(docs / "figures.md", "component pruning", table(rows))
        draw(rows, docs / f"{NAME}.svg")


def limits(is_quick: bool) -> list[tuple[int]]:
    """The limits of all runs."""
    return [(limit,) for limit in (LIMITS[:2] if is_quick else LIMITS)]


SWEEP = Sweep(NAME, __doc__ or "", Pruned, limits, run, show, LENGTHS)

if __name__ == "__main__":
    SWEEP.main()
