"""Options for training contexts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.learning.options import CONTEXT, fewer, scarcity
from lveg.options import Options, option


@dataclass(frozen=True)
class ContextOptions(Options):
    """Options for training contexts on top of a family that has been trained without them."""

    context_epochs: int = option(
        4, "Passes over the data; more if there is little.", group=CONTEXT, least=1, may_change=True
    )
    context_patience: int = option(
        2, "Stop after this many epochs without a better score on --dev; 0: never.", group=CONTEXT, least=0
    )
    context_batch: int = option(32, "Sentences per update; fewer if there are few.", group=CONTEXT, least=1)
    base_rate: float = option(
        0.002, "Adam's step size for the parameters of the model without contexts; those of generative models are not "
        "changed.", group=CONTEXT, least=0.0,
    )  # fmt: skip
    narrow: float = option(
        1e-3, "Contexts score only edges to which the model without them gives at least this posterior.",
        group=CONTEXT, least=0.0, most=0.1,
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller batches and more epochs if there are few sentences."""
        more = scarcity(sentences)
        return self.unless_given(
            given,
            context_batch=fewer(self.context_batch, sentences),
            context_epochs=round(more * self.context_epochs),
            context_patience=round(more * self.context_patience),
        )
