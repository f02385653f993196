"""How productions between subtypes are split and tied."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.learning.options import ForestOptions, GradientOptions
from lveg.options import option, with_default

PRODUCTIONS = "Productions"


@dataclass(frozen=True)
class MultiScaleOptions(ForestOptions, GradientOptions):
    """How productions are split and tied; epochs are those of all cycles together."""

    cycles: int = option(3, "Depth of the trees of subtypes.", group=PRODUCTIONS, least=1, most=8)
    merged: float = option(
        0.7, "Share of the splits, of a production at one of its symbols, that is taken back after each cycle.",
        group=PRODUCTIONS, least=0.0, most=0.999,
    )  # fmt: skip
    noise: float = option(
        1.0, "How far the log weights of the two halves of a split differ at first.", group=PRODUCTIONS, least=0.0
    )
    epochs: int = with_default(GradientOptions, "epochs", 20)
    learning_rate: float = with_default(GradientOptions, "learning_rate", 0.04)
    l2: float = with_default(GradientOptions, "l2", 1.0)
