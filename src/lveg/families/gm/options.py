"""Training options of Gaussian mixture grammars."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.errors import UsageError
from lveg.learning.options import FORESTS, ForestOptions, GradientOptions
from lveg.options import option

MOST_COMPONENTS = 64
COVARIANCES = ("spherical", "diagonal")

MIXTURES, PRUNING = "Mixtures", "Component pruning (an approximation of the paper; exact inference does not need it)"


@dataclass(frozen=True)
class GmOptions(ForestOptions, GradientOptions):
    """Training options of Gaussian mixture grammars; docs/decisions/0006 has the reasons for the defaults."""

    components: int = option(4, "Gaussians per rule.", group=MIXTURES, least=1, most=MOST_COMPONENTS)
    dim: int = option(3, "Dimensions of a subtype vector.", group=MIXTURES, least=1, most=100)
    covariance: str = option(
        "spherical", "One variance per Gaussian, or one per dimension.", group=MIXTURES, choices=COVARIANCES
    )
    by_frequency: bool = option(
        False, "Give a rule that was seen c times 1 + log2 c components, at most --components.", group=MIXTURES
    )
    split: bool = option(
        False, "Start with one component per rule and split all of them until there are --components.", group=MIXTURES
    )
    sparsity: float = option(
        0.0, "Strength of a prior that favours few components per rule; small ones are removed at the end.",
        group=MIXTURES, least=0.0,
    )  # fmt: skip
    spread: float = option(
        0.5, "Means start at random within this distance of 0, or of the means given by --start; in the paper, 0.05.",
        group=MIXTURES, least=0.0,
    )  # fmt: skip
    alpha: float | None = option(
        None, "Initial weight of components divided by P(rule), 8 in the paper; if not given, rules keep their weight.",
        group=MIXTURES, least=1e-9,
    )  # fmt: skip
    start: str | None = option(
        None, "Start from this parser with discrete subtypes, trained on the same trees, such as one of --model "
        "split-merge. --dim then defaults to 8 and --learning-rate to 0.005. Needs --dev or --held-out 0.",
        group=MIXTURES, metavar="MODEL", may_change=True,
    )  # fmt: skip
    k_best: int = option(
        0, "Train on this many best trees of the treebank grammar instead of all above --p-min; 0: on all.",
        group=FORESTS, least=0,
    )  # fmt: skip
    k_min: int = option(0, "Prune scores with more components than this; needs --k-max.", group=PRUNING, least=0)
    k_max: int = option(0, "Maximum number of components that a score keeps; 0: no pruning.", group=PRUNING, least=0)
    theta: float = option(
        0.35, "Of c components, k-min + c^theta are kept, at most k-max.", group=PRUNING, least=0.0, most=1.0
    )
    k_hard: int = option(
        0, "Prune to exactly this many components, instead of the other three; 0: off.", group=PRUNING, least=0
    )

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller steps and more dimensions if --start is given."""
        found = super().for_size(sentences, given)
        if self.start is None:
            return found
        return found.unless_given(given, dim=8, learning_rate=0.005)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.split and (self.by_frequency or self.components.bit_count() != 1):
            raise UsageError("--split needs --components 2, 4, 8 and so on, and cannot be used with --by-frequency")
        if self.start is not None and (self.split or self.alpha is not None):
            raise UsageError("--start cannot be used with --split or --alpha")
        if self.k_hard and (self.k_min or self.k_max):
            raise UsageError("--k-hard cannot be used with --k-min or --k-max")
        if bool(self.k_min) != bool(self.k_max) or self.k_min > self.k_max:
            raise UsageError("component pruning needs both --k-min and --k-max, with --k-min <= --k-max")
