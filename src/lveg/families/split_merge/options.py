"""Training options of split-merge grammars."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.families.lvg.options import SmoothingOptions
from lveg.learning.options import scarcity
from lveg.options import option

SUBTYPES, EM = "Subtypes", "EM"

MOST_SMOOTHING = 0.2
"""Maximum default smoothing of rules on little data."""


@dataclass(frozen=True)
class SplitMergeOptions(SmoothingOptions):
    """Training options of split-merge grammars; docs/decisions/0007 has the reasons for the defaults.

    `class_tokens` applies in all iterations, the other smoothing in the last iterations of a cycle.
    """

    cycles: int = option(
        4, "Number of cycles; each splits all subtypes in two.", group=SUBTYPES, least=1, most=8, may_change=True
    )
    merged: float = option(
        0.5, "Share of the splits that are undone in each cycle.", group=SUBTYPES, least=0.0, most=0.999
    )
    noise: float = option(
        0.3, "Initial difference between the two halves of a split.", group=SUBTYPES, least=0.0, most=0.5
    )
    keep_cycles: bool = option(
        False, "Also write the parser of every cycle, as MODEL.cycle1 and so on.",
        group=SUBTYPES, may_change=True, is_recorded=False,
    )  # fmt: skip
    split_iterations: int = option(
        20, "Iterations of EM after a split; fewer, and more smoothing, if there is little data.", group=EM, least=1
    )
    merge_iterations: int = option(6, "Iterations of EM after a merge.", group=EM, least=1)
    smooth_iterations: int = option(4, "Iterations of EM with smoothing, at the end of a cycle.", group=EM, least=1)

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Fewer iterations after a split and more smoothing on little data, to avoid overfitting."""
        more = scarcity(sentences)
        if more == 1.0:
            return self
        return self.unless_given(
            given,
            split_iterations=max(1, round(self.split_iterations / more)),
            smooth_rules=min(MOST_SMOOTHING, round(self.smooth_rules * more**2, 3)),
        )
