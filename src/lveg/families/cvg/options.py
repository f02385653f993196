"""Options of compositional vector grammars."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.contexts.network.options import NetworkOptions
from lveg.learning.options import fewer, scarcity
from lveg.options import Options, option, with_default

PHRASES = "Phrase vectors"
OBJECTIVES = ("likelihood", "margin")


@dataclass(frozen=True)
class CvgOptions(Options):
    """Options for training phrase vectors; docs/decisions/0015 has the reasons for the defaults."""

    base: str = option(
        "split-merge", "The base grammar, whose best trees are reranked; its options can be given too.",
        group=PHRASES, metavar="NAME",
    )  # fmt: skip
    list_size: int = option(200, "Number of best trees that are reranked.", group=PHRASES, least=2, most=10_000)
    folds: int = option(
        5, "Train on lists from base grammars that have not seen the sentence: this many base grammars are trained, "
        "each without a part of the trees. 0: use the lists of the base itself.", group=PHRASES, least=0, most=100,
    )  # fmt: skip
    dimensions: int = option(25, "Dimensions of the vectors.", group=PHRASES, least=1, most=500)
    vectors: str | None = with_default(NetworkOptions, "vectors", None, group=PHRASES)
    vector_limit: int = with_default(NetworkOptions, "vector_limit", 50_000, group=PHRASES)
    objective: str = option(
        "likelihood", "Maximise the likelihood of the trees of each list that are closest to the gold tree, or the "
        "margin between them and the others.", group=PHRASES, choices=OBJECTIVES,
    )  # fmt: skip
    margin: float = option(
        0.1, "With --objective margin: how much each wrong phrase adds to the margin.", group=PHRASES, least=0.0
    )
    list_memory: float = option(
        4.0, "Lists of trees beyond this many GiB are kept on disk.", group=PHRASES, least=0.0, metavar="GIB",
        may_change=True, is_recorded=False,
    )  # fmt: skip
    phrase_epochs: int = option(
        6, "Passes over the lists; more if there are few.", group=PHRASES, least=1, may_change=True
    )
    phrase_patience: int = option(
        2, "Stop after this many epochs without a better score on --dev; 0: never.", group=PHRASES, least=0
    )
    phrase_batch: int = option(25, "Sentences per update; fewer if there are few.", group=PHRASES, least=1)
    phrase_rate: float = option(0.1, "AdaGrad's step size.", group=PHRASES, least=1e-9)
    phrase_l2: float = option(
        1e-4, "Strength of the L2 penalty that pulls parameters towards their initial values.", group=PHRASES, least=0.0
    )

    phrase_dropout: float = option(
        0.3, "Dropout rate of the dimensions of word and phrase vectors in training.", group=PHRASES, least=0.0,
        most=0.95,
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller batches and more epochs if there are few sentences."""
        more = scarcity(sentences)
        return self.unless_given(
            given,
            phrase_batch=fewer(self.phrase_batch, sentences),
            phrase_epochs=round(more * self.phrase_epochs),
            phrase_patience=round(more * self.phrase_patience),
        )
