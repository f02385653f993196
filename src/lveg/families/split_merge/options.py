"""How subtypes are split and merged."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.families.lvg.options import SmoothingOptions
from lveg.options import option

SUBTYPES, EM = "Subtypes", "EM"


@dataclass(frozen=True)
class SplitMergeOptions(SmoothingOptions):
    """How subtypes are learned; docs/decisions/0007 has the reasons for the defaults.

    `class_tokens` is in force all the time, the other smoothing in the last iterations of a cycle.
    """

    cycles: int = option(
        4, "How often all subtypes are split in two.", group=SUBTYPES, least=1, most=8, may_change=True
    )
    merged: float = option(
        0.5, "Share of the splits that is taken back after each cycle.", group=SUBTYPES, least=0.0, most=0.999
    )
    noise: float = option(
        0.3, "How far the two halves of a split differ at first.", group=SUBTYPES, least=0.0, most=0.999
    )
    keep_cycles: bool = option(
        False, "Write the parser of every cycle too, as MODEL.cycle1 and so on.",
        group=SUBTYPES, may_change=True, is_recorded=False,
    )  # fmt: skip
    split_iterations: int = option(20, "Iterations of EM after a split.", group=EM, least=1)
    merge_iterations: int = option(6, "Iterations of EM after a merge.", group=EM, least=1)
    smooth_iterations: int = option(4, "Iterations of EM with smoothing, at the end of a cycle.", group=EM, least=1)
