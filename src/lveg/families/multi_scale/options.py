"""Training options of multi-scale grammars."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.learning.options import ForestOptions, GradientOptions
from lveg.options import option, with_default

PRODUCTIONS = "Productions"


@dataclass(frozen=True)
class MultiScaleOptions(ForestOptions, GradientOptions):
    """Training options of multi-scale grammars; epochs are those of all cycles together."""

    cycles: int = option(3, "Depth of the subtype trees.", group=PRODUCTIONS, least=1, most=8)
    merged: float = option(
        0.7, "Share of the splits of productions, each at one of its symbols, that are undone after each cycle.",
        group=PRODUCTIONS, least=0.0, most=0.999,
    )  # fmt: skip
    noise: float = option(
        1.0, "Initial difference between the log weights of the two halves of a split.", group=PRODUCTIONS, least=0.0
    )
    epochs: int = with_default(GradientOptions, "epochs", 20)
    learning_rate: float = with_default(GradientOptions, "learning_rate", 0.04)
    l2: float = with_default(GradientOptions, "l2", 1.0)
