"""How vectors of phrases are learned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.learning.options import fewer, scarcity
from lveg.options import Options, option

PHRASES = "Vectors of phrases"
OBJECTIVES = ("likelihood", "margin")


@dataclass(frozen=True)
class CvgOptions(Options):
    """How vectors of phrases are learned; docs/decisions/0015 has the reasons for the defaults."""

    base: str = option(
        "split-merge", "The model whose best trees are chosen from; its options can be given too.", group=PHRASES,
        metavar="NAME",
    )  # fmt: skip
    list_size: int = option(200, "How many of its best trees are chosen from.", group=PHRASES, least=2, most=10_000)
    folds: int = option(
        5, "Learn from trees of bases that have not seen the sentence: so many bases are learned from parts of the "
        "trees. 0: from those of the base itself.", group=PHRASES, least=0, most=100,
    )  # fmt: skip
    dimensions: int = option(25, "Dimensions of the vectors.", group=PHRASES, least=1, most=500)
    vectors: str | None = option(
        None, "Vectors of words from elsewhere, beside those that are learned: text as GloVe, word2vec or fastText "
        "write it, also with gzip.", group=PHRASES, metavar="FILE",
    )  # fmt: skip
    vector_limit: int = option(
        50_000, "Take this many words from the beginning of --vectors; the model keeps them all.", group=PHRASES,
        least=1,
    )  # fmt: skip
    objective: str = option(
        "likelihood", "Raise the likelihood of the trees of each list that are closest to the right one, or the margin "
        "between them and the others.", group=PHRASES, choices=OBJECTIVES,
    )  # fmt: skip
    margin: float = option(
        0.1, "With --objective margin: what a wrong phrase adds to the margin.", group=PHRASES, least=0.0
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
    phrase_rate: float = option(0.1, "AdaGrad's step.", group=PHRASES, least=1e-9)
    phrase_l2: float = option(1e-4, "How strongly parameters are pulled towards their start.", group=PHRASES, least=0.0)

    phrase_dropout: float = option(
        0.3, "Share of the dimensions that is left out at random while vectors are learned.", group=PHRASES, least=0.0,
        most=0.95,
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller batches and more epochs where there are few sentences."""
        more = scarcity(sentences)
        return self.unless_given(
            given,
            phrase_batch=fewer(self.phrase_batch, sentences),
            phrase_epochs=round(more * self.phrase_epochs),
            phrase_patience=round(more * self.phrase_patience),
        )
