"""The Gaussian mixture of one rule, for those who want to look at it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lveg.grammar.grammar import Floats


class Mixture(NamedTuple):
    """The weight of a rule, as a function of the subtype vectors of its symbols: a sum over K components.

    weight: (K,). mean, variance: for each symbol of the rule, left-hand side first, (K, dim); a spherical variance is
    repeated. Words have no vectors, and the vector of ROOT is not used.
    """

    weight: Floats
    mean: tuple[Floats, ...]
    variance: tuple[Floats, ...]


def mixture_of(weight: Floats, mean: Floats, variance: Floats, columns: list[int], n_components: int) -> Mixture:
    """The mixture with these weights, and the Gaussians in the columns that begin at `columns`, of (dim, G)."""
    means, variances = (
        tuple(array[:, first : first + n_components].T for first in columns) for array in (mean, variance)
    )
    return Mixture(weight, means, tuple(np.broadcast_to(one, means[0].shape) for one in variances))
