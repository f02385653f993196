"""Overlaps of the Gaussians of child slots with the Gaussians below them in the regions of symbols, and gradients.

A *row* has one number for each shared component: the overlap of the component's Gaussian over a child slot and one
Gaussian below it, that of a left-hand side or of a word, in the region of the child's symbol  [math: shared].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.gm_overlaps import overlaps_of
from lveg.kernels.jit import ZERO, inner_kernel, kernel


class Space(NamedTuple):
    """Means and precisions tau, one over the variance, of regions and child slots in each dimension.

    region: (symbols, parts, dim). slot: (kinds, dim, components), with heights (kinds, components).
    """

    region_mean: Any
    region_tau: Any
    slot_mean: Any
    slot_tau: Any
    slot_height: Any


class Rows(NamedTuple):
    """Row i is for the region of symbol[i], a child slot of kind[i] and the Gaussian below[i]; all int32."""

    symbol: Any
    kind: Any
    below: Any


@kernel
def fill_rows(space: Space, rows: Rows, mean: Any, tau: Any, table: Any) -> None:
    """Fill the table (rows, components) with overlaps.

    mean, tau: (n, dim) of the Gaussians below.
    """
    n_parts, width = space.region_mean.shape[1], table.shape[1]
    square, product, power, meet = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    power_bits = power.view(np.int64)
    for row in range(rows.symbol.shape[0]):
        kind = rows.kind[row]
        table[row] = 0.0
        for part in range(n_parts):
            distances(space, rows, row, part, mean, tau, square, product)
            overlaps_of(square, product, power, power_bits, width, meet, ZERO)
            for p in range(width):
                table[row, p] += space.slot_height[kind, p] * meet[p] / n_parts


@inner_kernel
def distances(space: Space, rows: Rows, row: int, part: int, mean: Any, tau: Any, square: Any, product: Any) -> None:
    """For a row and a part of its region, s and p such that the overlap is exp(-s / 2) / sqrt(p)."""
    symbol, kind, below = rows.symbol[row], rows.kind[row], rows.below[row]
    width = np.uint64(square.shape[0])
    for p in range(width):
        square[p] = 0.0
        product[p] = 1.0
    for d in range(mean.shape[1]):
        own, other = space.region_tau[symbol, part, d], tau[below, d]
        both = own + other
        apart = mean[below, d] - space.region_mean[symbol, part, d]
        middle = space.region_mean[symbol, part, d] + apart * other / both
        base = own * other / both * apart * apart
        for p in range(width):
            total = both + space.slot_tau[kind, d, p]
            away = space.slot_mean[kind, d, p] - middle
            square[p] += base + both * space.slot_tau[kind, d, p] / total * away * away
            product[p] *= total / own


class Slopes(NamedTuple):
    """Gradients with respect to means and log standard deviations, of the same shapes, and log heights.

    below_std may have one column for all dimensions.
    """

    region_mean: Any
    region_std: Any
    slot_mean: Any
    slot_std: Any
    slot_height: Any
    below_mean: Any
    below_std: Any


@kernel
def add_row_slopes(space: Space, rows: Rows, mean: Any, tau: Any, slope: Any, follows: bool, slopes: Slopes) -> None:
    """Add to the gradients, given those of the rows' overlaps (rows, components)  [math: shared-gradient].

    follows: whether the Gaussians below have means relative to the middle of the region.
    """
    n_parts, width = space.region_mean.shape[1], slope.shape[1]
    square, product, power, meet = np.empty(width), np.empty(width), np.empty(width), np.empty(width)
    power_bits = power.view(np.int64)
    for row in range(rows.symbol.shape[0]):
        kind = rows.kind[row]
        for part in range(n_parts):
            distances(space, rows, row, part, mean, tau, square, product)
            overlaps_of(square, product, power, power_bits, width, meet, ZERO)
            for p in range(width):
                meet[p] *= slope[row, p] * space.slot_height[kind, p] / n_parts
                slopes.slot_height[kind, p] += meet[p]
            add_one(space, rows, row, part, mean, tau, meet, follows, slopes)


@inner_kernel
def add_one(
    space: Space, rows: Rows, row: int, part: int, mean: Any, tau: Any, use: Any, follows: bool, slopes: Slopes
) -> None:
    """Add to the gradients for one part of the region; use: the posterior of each overlap of the row.

    The posterior of the subtype is a Gaussian: its precision is the sum of all three, and its mean is at a distance of
    `shift` from `middle`.
    """
    symbol, kind, below = rows.symbol[row], rows.kind[row], rows.below[row]
    n_parts, width, last = space.region_mean.shape[1], np.uint64(use.shape[0]), slopes.below_std.shape[1] - 1
    uses = 0.0
    for p in range(width):
        uses += use[p]
    for d in range(mean.shape[1]):
        own, other = space.region_tau[symbol, part, d], tau[below, d]
        both = own + other
        apart = mean[below, d] - space.region_mean[symbol, part, d]
        middle = space.region_mean[symbol, part, d] + apart * other / both
        shifts, squares = 0.0, 0.0
        for p in range(width):
            at = space.slot_tau[kind, d, p]
            spread = 1.0 / (both + at)
            away = space.slot_mean[kind, d, p] - middle
            shift = away * at * spread
            rest = shift - away
            shifts += use[p] * shift
            squares += use[p] * (shift * shift + spread)
            slopes.slot_mean[kind, d, p] += use[p] * at * rest
            slopes.slot_std[kind, d, p] += use[p] * at * (rest * rest + spread)
        to_own, to_below = apart * other / both, -apart * own / both
        slopes.region_mean[symbol, part, d] += own * (shifts + uses * to_own)
        slopes.region_std[symbol, part, d] += own * (squares + 2.0 * to_own * shifts + to_own * to_own * uses) - uses
        pull = other * (shifts + uses * to_below)
        slopes.below_mean[below, d] += pull
        slopes.below_std[below, min(d, last)] += other * (
            squares + 2.0 * to_below * shifts + to_below * to_below * uses
        )
        if follows:
            for every in range(n_parts):
                slopes.region_mean[symbol, every, d] += pull / n_parts
