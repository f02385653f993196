"""Training options of surface features."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.learning.options import CONTEXT, scarcity
from lveg.options import Options, option


@dataclass(frozen=True)
class FeatureOptions(Options):
    """Training options of surface features; docs/decisions/0011 has the reasons for the defaults."""

    feature_rate: float = option(
        0.1, "AdaGrad's step size for feature weights; smaller if there is little data.", group=CONTEXT, least=1e-9
    )
    feature_dropout: float = option(
        0.3, "Dropout: share of the properties of a phrase that are left out at random during training.",
        group=CONTEXT, least=0.0, most=0.95,
    )  # fmt: skip
    feature_share: float = option(
        0.01, "Features get a weight if they occur in a gold tree, or at a rule with this posterior without features.",
        group=CONTEXT, least=0.0, most=1.0,
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller steps if there are few sentences."""
        return self.unless_given(given, feature_rate=round(self.feature_rate / math.sqrt(scarcity(sentences)), 3))
