"""Training options of Gaussian mixture taggers."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.families.gm.options import GmOptions
from lveg.learning.options import GradientOptions
from lveg.options import with_default


@dataclass(frozen=True)
class TagGmOptions(GradientOptions):
    """Training options of Gaussian mixture taggers; docs/decisions/0009 has the reasons for the defaults."""

    components: int = with_default(GmOptions, "components", 4)
    dim: int = with_default(GmOptions, "dim", 3)
    covariance: str = with_default(GmOptions, "covariance", "spherical")
    spread: float = with_default(GmOptions, "spread", 0.5)
    epochs: int = with_default(GradientOptions, "epochs", 20)
    l2: float = with_default(GradientOptions, "l2", 1.0)
    batch: int = with_default(GradientOptions, "batch", 128)
