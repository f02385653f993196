"""Training a treebank grammar: nothing to do beyond counting rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lveg.options import Options

if TYPE_CHECKING:
    from lveg.families.family import Facts
    from lveg.families.pcfg.family import Pcfg
    from lveg.learning.data import TreeData
    from lveg.learning.run import Run


@dataclass(frozen=True)
class PcfgOptions(Options):
    """A treebank grammar has no options of its own."""


def learn(data: TreeData, options: PcfgOptions, run: Run) -> tuple[Pcfg, Facts]:
    """The grammar of the training trees."""
    from lveg.families.pcfg.family import Pcfg

    return Pcfg(data.weight), {}
