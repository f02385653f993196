"""Options that several families share."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Self

from lveg.options import Options, option

LEARNING = "Learning"
FORESTS = "Training forests"
CONTEXT = "Context"

MINUTES = 5.0
"""Default number of minutes between checkpoints within an epoch."""

MANY, MOST_MORE, UPDATES, LEAST_BATCH = 3000, 3.0, 40, 8
"""With fewer than MANY sentences there are more epochs, up to MOST_MORE times as many, and batches small enough for
UPDATES per epoch, but not below LEAST_BATCH (docs/decisions/0012)."""


def scarcity(sentences: int) -> float:
    """The factor by which defaults change with few sentences: from 1 with MANY up to MOST_MORE."""
    return max(1.0, min(MOST_MORE, math.sqrt(MANY / max(1, sentences))))


def fewer(batch: int, sentences: int) -> int:
    """The default batch size: smaller if there are few sentences."""
    return min(batch, max(LEAST_BATCH, sentences // UPDATES)) if sentences < MANY else batch


OBJECTIVES = ("generative", "discriminative")
"""The likelihood of analyses and words, by EM, or of analyses given words, by gradients."""


@dataclass(frozen=True)
class EpochOptions(Options):
    """How long to train."""

    epochs: int = option(15, "Passes over the data; more if there is little.", group=LEARNING, least=1, may_change=True)
    patience: int = option(
        5, "Stop after this many epochs without a better score on --dev; 0: never.", group=LEARNING, least=0
    )


@dataclass(frozen=True)
class GradientOptions(EpochOptions):
    """Options of gradient training; docs/decisions/0006 has the reasons for the defaults."""

    learning_rate: float = option(0.02, "Adam's step size in the first epoch.", group=LEARNING, least=1e-9)
    decay: float = option(0.95, "Factor for the learning rate after each epoch.", group=LEARNING, least=0.0, most=1.0)
    l2: float = option(
        2.0, "Strength of L2 regularisation towards the initial values; divided by the number of sentences.",
        group=LEARNING, least=0.0,
    )  # fmt: skip
    batch: int = option(64, "Sentences per update; fewer if there are few.", group=LEARNING, least=1)

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller batches and more epochs if there are few sentences, so that there are enough updates."""
        more = scarcity(sentences)
        return self.unless_given(
            given,
            batch=fewer(self.batch, sentences),
            epochs=round(more * self.epochs),
            patience=round(more * self.patience),
        )

    def as_base(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller batches, but not more epochs: contexts gain more on top of a family that was not trained for long."""
        return replace(self.for_size(sentences, given), epochs=self.epochs, patience=self.patience)


@dataclass(frozen=True)
class ForestOptions(Options):
    """Options for the forests of training sentences."""

    p_min: float = option(
        1e-4, "Prune what has a lower posterior under the treebank grammar.", group=FORESTS, least=1e-12, most=0.1
    )
    forest_length: int = option(
        50, "Train by gradients on sentences of at most this many words; longer ones only count in the treebank "
        "grammar.", group=FORESTS, least=1,
    )  # fmt: skip
    memory: float = option(
        4.0, "Forests beyond this many GiB are kept on disk.", group=FORESTS, least=0.0, metavar="GIB",
        may_change=True, is_recorded=False,
    )  # fmt: skip
