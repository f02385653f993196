"""Options of networks over word vectors."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.learning.options import fewer, scarcity
from lveg.options import Options, option

NETWORK = "Network"


@dataclass(frozen=True)
class NetworkOptions(Options):
    """Options for training a network over word vectors; docs/decisions/0013 has the reasons for the defaults."""

    vectors: str | None = option(
        None, "Pretrained word vectors, used in addition to learned ones: a text file in the format of GloVe, word2vec "
        "or fastText, optionally compressed with gzip.", group=NETWORK, metavar="FILE",
    )  # fmt: skip
    vector_limit: int = option(
        50_000, "Read this many words from the beginning of --vectors; all of them are stored in the model.",
        group=NETWORK, least=1,
    )  # fmt: skip
    units: int = option(200, "Units of the hidden layer.", group=NETWORK, least=1, most=4096)
    embedding: int = option(50, "Dimensions of learned vectors.", group=NETWORK, least=1, most=1000)
    network_epochs: int = option(
        6, "Passes over the data in which the network is trained alone, before it is trained with the rest of the "
        "model; more if there is little data.", group=NETWORK, least=0,
    )  # fmt: skip
    network_batch: int = option(
        16, "Sentences per update while the network is trained alone; fewer if there are few.", group=NETWORK, least=1
    )
    network_rate: float = option(0.002, "Adam's step size for the network.", group=NETWORK, least=1e-9)
    network_share: float = option(
        0.3, "Factor for the network's scores and its step size once it is trained with the rest of the model; less if "
        "there is little data.", group=NETWORK, least=1e-6, most=1.0,
    )  # fmt: skip
    network_l2: float = option(
        1e-4, "Strength of the L2 penalty on the parameters of the network.", group=NETWORK, least=0.0
    )
    network_dropout: float = option(
        0.5, "Dropout rate of the hidden units in training.", group=NETWORK, least=0.0, most=0.95
    )
    input_dropout: float = option(
        0.15, "Dropout rate of the dimensions of word vectors in training.", group=NETWORK, least=0.0, most=0.95,
    )  # fmt: skip

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """With few sentences: smaller batches, more epochs, and a smaller share for the network."""
        more = scarcity(sentences)
        return self.unless_given(
            given,
            network_batch=fewer(self.network_batch, sentences),
            network_epochs=round(more * self.network_epochs),
            network_share=round(self.network_share / more, 3),
        )
