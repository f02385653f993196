"""How a network over vectors of words is learned."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.learning.options import fewer, scarcity
from lveg.options import Options, option

NETWORK = "Network"


@dataclass(frozen=True)
class NetworkOptions(Options):
    """How a network over vectors of words is learned; docs/decisions/0013 has the reasons for the defaults."""

    vectors: str | None = option(
        None, "Vectors of words from elsewhere, beside those that are learned: text as GloVe, word2vec or fastText "
        "write it, also with gzip.", group=NETWORK, metavar="FILE",
    )  # fmt: skip
    vector_limit: int = option(
        50_000, "Take this many words from the beginning of --vectors; the model keeps them all.", group=NETWORK,
        least=1,
    )  # fmt: skip
    units: int = option(200, "Units of the hidden layer.", group=NETWORK, least=1, most=4096)
    embedding: int = option(50, "Dimensions of learned vectors.", group=NETWORK, least=1, most=1000)
    network_epochs: int = option(
        6, "Passes over the data in which the network is learned alone, before it joins the rest; more if there is "
        "little data.", group=NETWORK,
        least=0,
    )  # fmt: skip
    network_batch: int = option(16, "Sentences per update in these; fewer if there are few.", group=NETWORK, least=1)
    network_rate: float = option(0.002, "Adam's step for the network.", group=NETWORK, least=1e-9)
    network_share: float = option(
        0.3, "When it joins the rest, its scores and its rate are multiplied by this; less if there is little data.",
        group=NETWORK, least=1e-6, most=1.0,
    )  # fmt: skip
    network_l2: float = option(1e-4, "How strongly its parameters are pulled to 0.", group=NETWORK, least=0.0)
    network_dropout: float = option(
        0.5, "Share of the units that is left out at random in training.", group=NETWORK, least=0.0, most=0.95
    )
    input_dropout: float = option(
        0.15, "Share of the dimensions of words that is left out at random in training.", group=NETWORK, least=0.0,
        most=0.95,
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """Smaller batches and more epochs where there are few sentences, and a network that counts less."""
        more = scarcity(sentences)
        return self.unless_given(
            given,
            network_batch=fewer(self.network_batch, sentences),
            network_epochs=round(more * self.network_epochs),
            network_share=round(self.network_share / more, 3),
        )
