"""How a tagger that sees the forms of words is learned."""

from __future__ import annotations

from dataclasses import dataclass

from lveg.families.tag_lvg.options import SUBTYPES
from lveg.learning.options import GradientOptions
from lveg.options import option, with_default


@dataclass(frozen=True)
class TagFormsOptions(GradientOptions):
    """How a tagger that sees the forms of words is learned."""

    subtypes: int = option(2, "Subtypes per tag.", group=SUBTYPES, least=1, most=256)
    noise: float = option(0.1, "Log weights of transitions start within this of 0.", group=SUBTYPES, least=0.0)
    epochs: int = with_default(GradientOptions, "epochs", 8)
    patience: int = with_default(GradientOptions, "patience", 3)
    decay: float = with_default(GradientOptions, "decay", 0.9)
    l2: float = with_default(GradientOptions, "l2", 0.2)
