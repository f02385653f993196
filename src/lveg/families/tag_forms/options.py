"""Options of taggers with word forms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from lveg.contexts.network.options import NetworkOptions
from lveg.families.lvg.options import SUBTYPES
from lveg.learning.options import CONTEXT, GradientOptions, scarcity
from lveg.options import option, with_default

GAUSSIAN = "With --chain gaussian"
FORMS, NETWORK = "forms", "network"
_MANY = 10_000  # sentences from which L2 has its full strength
_LEAST_L2 = 0.1  # share of it with few sentences


@dataclass(frozen=True)
class TagFormsOptions(GradientOptions, NetworkOptions):
    """Options for training a tagger with word forms, a network, or both."""

    context: str = option(
        f"{FORMS},{NETWORK}", "What multiplies the chain of tags. Training forms alone takes a third of the time.",
        group=CONTEXT, choices=(FORMS, NETWORK, f"{FORMS},{NETWORK}"),
    )  # fmt: skip
    subtypes: int = option(2, "Subtypes per tag.", group=SUBTYPES, least=1, most=256)
    chain: str = option(
        "discrete", "Discrete subtypes, or subtype vectors with Gaussian mixtures, over the tags that a discrete chain "
        "keeps.", group=SUBTYPES, choices=("discrete", "gaussian"),
    )  # fmt: skip
    components: int = option(2, "Gaussians per rule.", group=GAUSSIAN, least=1, most=64)
    dim: int = option(2, "Dimensions of a subtype vector.", group=GAUSSIAN, least=1, most=100)
    spread: float = option(0.5, "Means start at random within this distance of 0.", group=GAUSSIAN, least=0.0)
    tag_min: float = option(
        1e-3, "A word may have the tags to which the discrete chain gives at least this posterior.",
        group=GAUSSIAN, least=0.0, most=0.5,
    )  # fmt: skip
    noise: float = option(
        0.1, "Log weights of transitions start at random within this distance of 0.", group=SUBTYPES, least=0.0
    )
    epochs: int = with_default(GradientOptions, "epochs", 6)
    patience: int = with_default(GradientOptions, "patience", 3)
    decay: float = with_default(GradientOptions, "decay", 0.9)
    l2: float = with_default(GradientOptions, "l2", 0.2)
    units: int = with_default(NetworkOptions, "units", 128)
    network_batch: int = with_default(NetworkOptions, "network_batch", 32)
    network_rate: float = with_default(NetworkOptions, "network_rate", 0.003)
    network_epochs: int = with_default(NetworkOptions, "network_epochs", 5)
    network_share: float = with_default(NetworkOptions, "network_share", 0.5)
    network_l2: float = with_default(NetworkOptions, "network_l2", 1e-6)
    network_dropout: float = with_default(NetworkOptions, "network_dropout", 0.3)
    input_dropout: float = with_default(NetworkOptions, "input_dropout", 0.3)

    @property
    def uses_forms(self) -> bool:
        """Whether word forms are used."""
        return self.context != NETWORK

    @property
    def uses_network(self) -> bool:
        """Whether a network is used."""
        return self.context != FORMS

    def for_size(self, sentences: int, given: Collection[str]) -> Self:
        """With few sentences: smaller batches and more epochs, for the network too; less L2, more dropout of inputs."""
        found = NetworkOptions.for_size(super().for_size(sentences, given), sentences, given)
        return found.unless_given(
            given,
            l2=round(self.l2 * min(1.0, max(_LEAST_L2, sentences / _MANY)), 4),
            input_dropout=round(max(self.input_dropout, min(0.5, self.input_dropout * scarcity(sentences))), 3),
        )
