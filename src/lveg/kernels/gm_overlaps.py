"""Overlaps of Gaussians, block by block, and the gradients from the uses of a block.

The loops over a block of 4 by 4 are unrolled, so that they are vectorised; the others work for any size.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.jit import inner_kernel, lean_kernel

_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453
_TWO_PI = 6.283185307179586
_TILE = 256  # maximum number of blocks processed at a time
_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


class Components(NamedTuple):
    """Parameters: rule r has components [ptr[r], ptr[r + 1]), with linear weights (C,).

    mean (dim, G) and var, the same or (1, G), have one column per Gaussian: first[0] + c, first[1] + c and first[2] + c
    for the left-hand side, left child and right child of component c.
    """

    ptr: Any
    weight: Any
    mean: Any
    var: Any
    first: Any


def fill_overlaps(parameters: Components, most: int, slots: Any, rules: Any, begins: Any, table: Any) -> None:
    """Fill the table with the overlaps of all blocks  [math: overlap]. most: maximum number of components of a rule."""
    square, product, power = np.empty((3, max(4096, most * most)))
    fill_blocks(parameters, slots, rules, begins, square, product, power, power.view(np.int64), table)


@inner_kernel
def slot_column(ptr: Any, first: Any, slot: int) -> int:
    """The first Gaussian of a child slot (see gm_plan)."""
    column: int = first[1 + slot % 2] + ptr[slot // 2]
    return column


@lean_kernel
def fill_blocks(
    parameters: Components, slots: Any, rules: Any, begins: Any, square: Any, product: Any, power: Any,
    power_bits: Any, table: Any,
) -> None:  # fmt: skip
    """Fill the table with the overlaps of all blocks; see `fill_overlaps`.

    square, product, power: scratch arrays for the blocks processed at a time, at least one block. power_bits: an
    integer view of power.
    """
    ptr, first, mean, var = parameters.ptr, parameters.first, parameters.mean, parameters.var
    block, n_blocks = 0, slots.shape[0]
    all_four = var.shape[0] < mean.shape[0]
    for b in range(n_blocks):
        rule, asking = rules[b], slots[b] // 2
        all_four = all_four and ptr[rule + 1] - ptr[rule] == 4 and ptr[asking + 1] - ptr[asking] == 4
    while block < n_blocks:
        begin, done = begins[block], block
        while done < n_blocks and done - block < _TILE and begins[done + 1] - begin <= square.shape[0]:
            slot, rule = slots[done], rules[done]
            width, height = ptr[slot // 2 + 1] - ptr[slot // 2], ptr[rule + 1] - ptr[rule]
            above, below = slot_column(ptr, first, slot), first[0] + ptr[rule]
            at = begins[done]
            if all_four:
                four_distances(mean, var, above, below, square, product, at - begin)
            else:
                distances(mean, var, above, below, width, height, square, product, at - begin)
            done += 1
        if all_four:
            finish_spherical(square, product, power, begins[done] - begin, mean.shape[0])
        overlaps_of(square, product, power, power_bits, begins[done] - begin, table, begin)
        block = done


@inner_kernel
def distances(
    mean: Any, var: Any, above: int, below: int, width: int, height: int, square: Any, product: Any, at: int
) -> None:
    """The squared distances of a block divided by summed variances, and the products of those variances times 2 pi."""
    dim, last = mean.shape[0], var.shape[0] - 1
    for row in range(height):
        for column in range(width):
            total, volume = 0.0, 1.0
            for d in range(dim):
                v = var[min(d, last), above + column] + var[min(d, last), below + row]
                difference = mean[d, above + column] - mean[d, below + row]
                total += difference * difference / v
                volume *= _TWO_PI * v
            square[at] = total
            product[at] = volume
            at += 1


@inner_kernel
def four_distances(mean: Any, var: Any, above: int, below: int, square: Any, product: Any, at: int) -> None:
    """The squared distances of four by four spherical Gaussians, and their summed variances; see `finish_spherical`."""
    up, down, to = np.uint64(above), np.uint64(below), np.uint64(at)
    dim = mean.shape[0]
    u0, u1, u2, u3 = var[0, up], var[0, up + _ONE], var[0, up + _TWO], var[0, up + _THREE]
    for _ in range(4):
        own = var[0, down]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for d in range(dim):
            middle = mean[d, down]
            d0, d1 = mean[d, up] - middle, mean[d, up + _ONE] - middle
            d2, d3 = mean[d, up + _TWO] - middle, mean[d, up + _THREE] - middle
            s0 += d0 * d0
            s1 += d1 * d1
            s2 += d2 * d2
            s3 += d3 * d3
        square[to], square[to + _ONE], square[to + _TWO], square[to + _THREE] = s0, s1, s2, s3
        product[to], product[to + _ONE] = u0 + own, u1 + own
        product[to + _TWO], product[to + _THREE] = u2 + own, u3 + own
        down += _ONE
        to += np.uint64(4)


@inner_kernel
def finish_spherical(square: Any, product: Any, power: Any, count: int, dim: int) -> None:
    """Divide squared distances by the variances in `product`, and raise those, times 2 pi, to the dimension."""
    for l in range(count):  # noqa: E741
        square[l] /= product[l]
    for l in range(count):  # noqa: E741
        product[l] *= _TWO_PI
    for l in range(count):  # noqa: E741
        power[l] = product[l]
    for _ in range(dim - 1):
        for l in range(count):  # noqa: E741
            product[l] *= power[l]


@inner_kernel
def overlaps_of(square: Any, product: Any, power: Any, power_bits: Any, count: int, table: Any, begin: int) -> None:
    """The overlaps of square[:count], with its products, into table[begin : begin + count].

    The loops are vectorised, which a call of exp would prevent: the exponential is a polynomial times a power of two
    assembled in power_bits, an integer view of power.
    """
    for l in range(count):  # noqa: E741
        x = max(-0.5 * square[l], -700.0)
        power_bits[l] = (np.int64(np.int32(x * _LOG2E - 0.5)) + 1023) << 52
    at = np.uint64(begin)
    for l in range(np.uint64(count)):  # noqa: E741
        x = max(-0.5 * square[l], -700.0)
        r = x - np.int32(x * _LOG2E - 0.5) * _LN2
        e = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24 + r * (1.0 / 120 + r * (
            1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 + r * (1.0 / 362880 + r / 3628800)))))))))  # fmt: skip
        table[at + l] = power[l] * e / math.sqrt(product[l])


@lean_kernel
def add_block_gradients(
    parameters: Components, slots: Any, rules: Any, begins: Any, posterior: Any, grad_mean: Any, grad_std: Any
) -> None:
    """Add to the gradients with respect to means and log standard deviations  [math: gm-gradient].

    posterior: for each overlap, the summed posteriors of its uses, with their signs.
    """
    ptr, first, mean, var = parameters.ptr, parameters.first, parameters.mean, parameters.var
    spherical = var.shape[0] < mean.shape[0]
    for block in range(slots.shape[0]):
        slot, rule = slots[block], rules[block]
        width, height = ptr[slot // 2 + 1] - ptr[slot // 2], ptr[rule + 1] - ptr[rule]
        above, below = slot_column(ptr, first, slot), first[0] + ptr[rule]
        at = begins[block]
        if width == 4 and height == 4 and spherical:
            four_gradients(mean, var, above, below, posterior, at, grad_mean, grad_std)
        else:
            gradients(mean, var, above, below, width, height, posterior, at, grad_mean, grad_std)


@inner_kernel
def gradients(
    mean: Any, var: Any, above: int, below: int, width: int, height: int, posteriors: Any, at: int,
    grad_mean: Any, grad_std: Any,
) -> None:  # fmt: skip
    """The gradients of one block."""
    dim, last = mean.shape[0], var.shape[0] - 1
    for row in range(height):
        for column in range(width):
            posterior = posteriors[at]
            at += 1
            if posterior == 0.0:
                continue
            for d in range(dim):
                of = min(d, last)
                up, down = var[of, above + column], var[of, below + row]
                inverse = 1.0 / (up + down)
                pull = (mean[d, below + row] - mean[d, above + column]) * inverse
                grad_mean[d, above + column] += posterior * pull
                grad_mean[d, below + row] -= posterior * pull
                var_pull = posterior * (pull * pull - inverse)
                grad_std[of, above + column] += up * var_pull
                grad_std[of, below + row] += down * var_pull


@inner_kernel
def four_gradients(
    mean: Any, var: Any, above: int, below: int, posterior: Any, at: int, grad_mean: Any, grad_std: Any
) -> None:
    """`gradients` of four by four spherical Gaussians."""
    up, down, to = np.uint64(above), np.uint64(below), np.uint64(at)
    dim = mean.shape[0]
    u0, u1, u2, u3 = var[0, up], var[0, up + _ONE], var[0, up + _TWO], var[0, up + _THREE]
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for _ in range(4):
        own = var[0, down]
        q0, q1, q2, q3 = posterior[to], posterior[to + _ONE], posterior[to + _TWO], posterior[to + _THREE]
        if q0 != 0.0 or q1 != 0.0 or q2 != 0.0 or q3 != 0.0:
            i0, i1, i2, i3 = 1.0 / (u0 + own), 1.0 / (u1 + own), 1.0 / (u2 + own), 1.0 / (u3 + own)
            q0, q1, q2, q3 = q0 * i0, q1 * i1, q2 * i2, q3 * i3
            b0, b1, b2, b3 = 0.0, 0.0, 0.0, 0.0
            for d in range(dim):
                middle = mean[d, down]
                d0, d1 = middle - mean[d, up], middle - mean[d, up + _ONE]
                d2, d3 = middle - mean[d, up + _TWO], middle - mean[d, up + _THREE]
                b0 += d0 * d0
                b1 += d1 * d1
                b2 += d2 * d2
                b3 += d3 * d3
                d0, d1, d2, d3 = q0 * d0, q1 * d1, q2 * d2, q3 * d3
                g0, g1 = grad_mean[d, up] + d0, grad_mean[d, up + _ONE] + d1
                g2, g3 = grad_mean[d, up + _TWO] + d2, grad_mean[d, up + _THREE] + d3
                grad_mean[d, up], grad_mean[d, up + _ONE] = g0, g1
                grad_mean[d, up + _TWO], grad_mean[d, up + _THREE] = g2, g3
                grad_mean[d, down] -= d0 + d1 + d2 + d3
            b0, b1, b2, b3 = q0 * (b0 * i0 - dim), q1 * (b1 * i1 - dim), q2 * (b2 * i2 - dim), q3 * (b3 * i3 - dim)
            t0 += b0
            t1 += b1
            t2 += b2
            t3 += b3
            grad_std[0, down] += own * (b0 + b1 + b2 + b3)
        down += _ONE
        to += np.uint64(4)
    grad_std[0, up] += u0 * t0
    grad_std[0, up + _ONE] += u1 * t1
    grad_std[0, up + _TWO] += u2 * t2
    grad_std[0, up + _THREE] += u3 * t3
