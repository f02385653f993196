"""The initial network, and how it is trained."""

from __future__ import annotations

from functools import partial

from lveg.contexts.context import Alone, Start
from lveg.contexts.layers import network_adam, start_layers
from lveg.contexts.network.context import Network, sizes
from lveg.contexts.network.options import NetworkOptions
from lveg.learning.data import TreeData

LEAST_SLOPE = 1e-3
"""Edges with a smaller absolute gradient are ignored in training."""


def start(data: TreeData, options: NetworkOptions, seed: int) -> Start:
    """An untrained network whose outputs are zero."""
    layers = start_layers((tree.words() for tree in data.trees), options, sizes(data.grammar))
    first = Network(
        layers, layers.first_value(seed), options.network_dropout, options.input_dropout, grammar=data.grammar,
        least=LEAST_SLOPE,
    )  # fmt: skip
    share = options.network_share
    alone = Alone(options.network_epochs, options.network_batch, share, partial(network_adam, options))
    return Start(first, partial(network_adam, options, slow=share), alone if options.network_epochs else None)
