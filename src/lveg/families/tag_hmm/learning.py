"""Training a hidden Markov model: nothing to do beyond counting rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lveg.options import Options

if TYPE_CHECKING:
    from lveg.families.family import Facts
    from lveg.families.tag_hmm.family import Hmm
    from lveg.learning.data import TagData
    from lveg.learning.run import Run


@dataclass(frozen=True)
class HmmOptions(Options):
    """A hidden Markov model has no options of its own."""


def learn(data: TagData, options: HmmOptions, run: Run) -> tuple[Hmm, Facts]:
    """The model of the training sentences."""
    from lveg.families.tag_hmm.family import Hmm

    return Hmm.of(data.grammar, data.weight), {}
