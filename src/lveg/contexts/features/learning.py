"""Surface features at the start of training."""

from __future__ import annotations

import numpy as np

from lveg.contexts.context import Start
from lveg.contexts.features.context import Features, empty_table
from lveg.contexts.features.options import FeatureOptions
from lveg.learning.adagrad import AdaGrad
from lveg.learning.data import TreeData

LEAST_SLOPE = 1e-3
"""Edges with a smaller posterior are ignored in gradients."""


def start(data: TreeData, options: FeatureOptions, seed: int) -> Start:
    """Features without any weights; `grown` adds them."""
    first = Features(
        data.grammar, empty_table(2), np.zeros(0), options.feature_dropout, LEAST_SLOPE, options.feature_share
    )  # fmt: skip
    return Start(first, lambda value, n_batches: AdaGrad.at(value, options.feature_rate))
