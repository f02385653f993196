"""A network before anything is learned of it."""

from __future__ import annotations

from functools import partial

from lveg.contexts.context import Alone, Start
from lveg.contexts.layers import network_adam, start_layers
from lveg.contexts.network.context import Network, sizes
from lveg.contexts.network.options import NetworkOptions
from lveg.learning.data import TreeData

LEAST_SLOPE = 1e-3
"""Edges whose posterior is smaller do not count in a gradient."""


def start(data: TreeData, options: NetworkOptions, seed: int) -> Start:
    """A network that says nothing yet."""
    layers = start_layers((tree.words() for tree in data.trees), options, sizes(data.grammar))
    first = Network(
        layers, layers.first_value(seed), options.network_dropout, options.input_dropout, grammar=data.grammar,
        least=LEAST_SLOPE,
    )  # fmt: skip
    share = options.network_share
    alone = Alone(options.network_epochs, options.network_batch, share, partial(network_adam, options))
    return Start(first, partial(network_adam, options, slow=share), alone if options.network_epochs else None)
