"""Options of grammars in one space."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.learning.options import ForestOptions, GradientOptions
from lveg.options import option, with_default

SPACE = "Space"

MOST_COMPONENTS = 1024
"""Time and memory are quadratic in the number of Gaussians."""


@dataclass(frozen=True)
class SharedOptions(ForestOptions, GradientOptions):
    """Options for training a grammar in one space; docs/decisions/0017 has the reasons for the defaults."""

    components: int = option(32, "Gaussians that all rules share.", group=SPACE, least=1, most=MOST_COMPONENTS)
    dim: int = option(8, "Dimensions of the space.", group=SPACE, least=1, most=100)
    parts: int = option(1, "Gaussians that make up the region of a symbol.", group=SPACE, least=1, most=64)
    spread: float = option(
        0.5, "Initial standard deviation of the means of regions and Gaussians.", group=SPACE, least=0.0
    )
    width: float = option(1.0, "Initial standard deviation of subtypes within a region.", group=SPACE, least=1e-3)
    cohesion: float = option(
        0.0, "Strength of the penalty on the variance of regions, which keeps the subtypes of each symbol together.",
        group=SPACE, least=0.0,
    )  # fmt: skip
    learning_rate: float = with_default(GradientOptions, "learning_rate", 0.03)
    batch: int = with_default(GradientOptions, "batch", 32)
