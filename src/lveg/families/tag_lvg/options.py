"""Training options of taggers with discrete subtypes."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.learning.options import LEARNING, OBJECTIVES, GradientOptions
from lveg.options import option

SUBTYPES = "Subtypes"


@dataclass(frozen=True)
class TagLvgOptions(GradientOptions):
    """Training options of taggers with N subtypes per tag; docs/decisions/0009 has the reasons for the defaults."""

    subtypes: int = option(16, "Subtypes per tag.", group=SUBTYPES, least=1, most=4096)
    objective: str = option(
        "generative", "The likelihood of words and tags, by EM, or of tags given words, by gradients.",
        group=SUBTYPES, choices=OBJECTIVES,
    )  # fmt: skip
    noise: float | None = option(
        None, "Initial difference between subtypes, as a share of their probabilities; 0.01 for EM, 0.5 for gradients "
        "if not given.", group=SUBTYPES, least=0.0, most=0.999,
    )  # fmt: skip
    smoothing: float = option(
        10.0, "Pseudo-counts of the HMM's probabilities for each subtype in EM.", group=LEARNING, least=0.0
    )
    epochs: int | None = option(  # type: ignore[assignment]
        None, "Passes over the data; 50 for EM, 20 for gradients, if not given.", group=LEARNING, least=1,
        may_change=True,
    )  # fmt: skip
    patience: int | None = option(  # type: ignore[assignment]
        None, "Stop after this many epochs without a better score on --dev; 0: never. 10 for EM, 5 for gradients, "
        "if not given.", group=LEARNING, least=0,
    )  # fmt: skip
    l2: float = option(
        0.3, "Strength of L2 regularisation towards the initial values; divided by the number of sentences.",
        group=LEARNING, least=0.0,
    )  # fmt: skip
    batch: int = option(128, "Sentences per update.", group=LEARNING, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = (0.01, 50, 10) if self.objective == "generative" else (0.5, 20, 5)
        for name, value in zip(("noise", "epochs", "patience"), usual, strict=True):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
