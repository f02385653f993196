"""Training options of taggers with discrete subtypes."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.families.lvg.options import SUBTYPES, LvgOptions
from lveg.learning.options import LEARNING, OBJECTIVES, GradientOptions
from lveg.options import option, with_default


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
    epochs: int | None = with_default(  # type: ignore[assignment]
        LvgOptions, "epochs", None, help="Passes over the data; 50 for EM, 20 for gradients, if not given."
    )
    patience: int | None = with_default(LvgOptions, "patience", None)  # type: ignore[assignment]
    l2: float = with_default(GradientOptions, "l2", 0.3)
    batch: int = option(128, "Sentences per update.", group=LEARNING, least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = (0.01, 50, 10) if self.objective == "generative" else (0.5, 20, 5)
        for name, value in zip(("noise", "epochs", "patience"), usual, strict=True):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)
