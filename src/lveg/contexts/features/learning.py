"""Surface features before anything is learned of them."""

from __future__ import annotations

import numpy as np

from lveg.contexts.features.context import Features, empty_table
from lveg.contexts.features.options import FeatureOptions
from lveg.grammar.grammar import Grammar

LEAST_SLOPE = 1e-3
"""Edges whose posterior is smaller do not count in a gradient."""


def start(grammar: Grammar, options: FeatureOptions) -> Features:
    """Features without any weight; `grown` gives them some."""
    return Features(
        grammar, empty_table(2), np.zeros(0), options.feature_dropout, LEAST_SLOPE, options.feature_share
    )  # fmt: skip
