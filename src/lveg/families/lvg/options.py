"""Training options of grammars with discrete subtypes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.learning.options import LEARNING, OBJECTIVES, ForestOptions, GradientOptions
from lveg.options import Options, option

SUBTYPES, SMOOTHING = "Subtypes", "Smoothing (EM)"


@dataclass(frozen=True)
class SmoothingOptions(Options):
    """How strongly EM smooths over the subtypes of a symbol."""

    smooth_rules: float = option(
        0.03, "Smoothing of rule probabilities: share of the mean over a symbol's subtypes.",
        group=SMOOTHING, least=0.0, most=0.999,
    )  # fmt: skip
    smooth_words: float = option(
        0.2, "Smoothing of word probabilities: share of the mean over a tag's subtypes.",
        group=SMOOTHING, least=0.0, most=0.999,
    )  # fmt: skip
    class_tokens: float = option(
        2.0, "Pseudo-counts that shrink a word's split among subtypes towards its class's, and that towards its tag's.",
        group=SMOOTHING, least=0.0,
    )  # fmt: skip


@dataclass(frozen=True)
class LvgOptions(SmoothingOptions, ForestOptions, GradientOptions):
    """Training options of a parser with N subtypes per symbol."""

    subtypes: int = option(8, "Subtypes per symbol.", group=SUBTYPES, least=1, most=4096)
    objective: str = option(
        "generative", "The likelihood of trees, by EM, or of trees given words, by gradients.",
        group=SUBTYPES, choices=OBJECTIVES,
    )  # fmt: skip
    noise: float = option(
        0.5, "Initial difference between subtypes, as a share of their weights.", group=SUBTYPES, least=0.0, most=0.999
    )
    warm: int = option(20, "Iterations of EM before gradients.", group=LEARNING, least=0)
    epochs: int | None = option(  # type: ignore[assignment]
        None, "Passes over the data; 50 for EM, 15 for gradients, if not given.", group=LEARNING, least=1,
        may_change=True,
    )  # fmt: skip
    patience: int | None = option(  # type: ignore[assignment]
        None, "Stop after this many epochs without a better score on --dev; 0: never. 10 for EM, 5 for gradients, "
        "if not given.", group=LEARNING, least=0,
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = (50, 10) if self.objective == "generative" else (15, 5)
        for name, value in zip(("epochs", "patience"), usual, strict=True):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """As for all gradient training; EM has no batches, and more epochs would only overfit small data."""
        return self if self.objective == "generative" else super().for_size(sentences, given)
