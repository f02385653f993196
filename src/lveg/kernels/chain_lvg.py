"""Tag chains whose tags have N subtypes each: sums, posteriors, and expected uses of every parameter."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.chain import LOG_2, Posteriors, count_in_use, count_pairs, lattice, rescale
from lveg.kernels.jit import ZERO, kernel, power_of_two


class LvgArrays(NamedTuple):
    """Something for every parameter, t and u being tags and s their subtypes.

    start (T, N) of u, s; transition (T, N, T, N) of t, s, u, s'; end (T, N) of t, s; emission (R, N), a row a lexical
    rule.
    """

    start: Any
    transition: Any
    end: Any
    emission: Any


@kernel
def run(
    packed: Any, is_given: bool, sign: float, weight: LvgArrays, use: LvgArrays | None, factor: Any, factor_slope: Any,
    found: Posteriors,
) -> float:  # fmt: skip
    """The summed log Z of packed sentences, one after the other; adds sign × the expected uses of parameters to `use`.

    A sentence without words has log Z 0, one that can have no tags -inf.

    use: None for sums and posteriors alone. factor: None, or what multiplies each subtype of each entry in use,
    (entries in use, N). factor_slope: None, or gets sign × the posterior of each subtype of each entry, (entries, N).
    found: gets what is asked for; its shares and pairs are all zero before, and not asked for of given tags.
    """
    log_z, share, pair = found.log_z, found.share, found.pair
    width = weight.end.shape[1]
    total, number = 0.0, 0
    at, entries, used, pairs = ZERO, ZERO, ZERO, ZERO
    while at < packed.shape[0]:
        n, value = packed[at + 1], 0.0
        if n > 0:
            begin, tag, rule, source = lattice(packed, at, is_given)
            inside = np.zeros(tag.shape[0] * width)
            scale = np.zeros(n + 1, np.int64)
            value = forward(n, begin, tag, rule, weight, factor, used, inside, scale)
            if (use is not None or share.shape[0] > 0) and -math.inf < value < math.inf:
                backward(
                    n, begin, tag, rule, source, weight, factor, used, inside, scale, sign, use, factor_slope, entries,
                    share, pair, pairs,
                )  # fmt: skip
        total += value
        if log_z.shape[0] > 0:
            log_z[number] = value
        if factor is not None:
            used += count_in_use(packed, at, is_given)
        entries += packed[at + 2]
        pairs += count_pairs(packed, at)
        number += 1
        at += packed[at]
    return total


@kernel
def forward(
    n: int, begin: Any, tag: Any, rule: Any, weight: LvgArrays, factor: Any, first_used: int, inside: Any, scale: Any
) -> float:
    """log Z; fills inside, (entries of the lattice × N), with what leads up to each subtype  [math: tag-inside].

    The tags of a word are as many runs of N weights in memory, or a single long one where it may have every tag.
    """
    start, end, emission = weight.start, weight.end, weight.emission
    transition = weight.transition.ravel()
    tags, width = end.shape
    total = 0
    for i in range(1, n + 1):
        first, here = begin[i], begin[i + 1] - begin[i]
        if i == 1:
            for y in range(first, first + here):
                for s in range(width):
                    inside[y * width + s] = start[tag[y], s]
        is_whole = here == tags
        runs, length = (1, tags * width) if is_whole else (here, width)
        for x in range(begin[i - 1] if i > 1 else first, first):
            for r in range(width):
                value = inside[x * width + r]
                row = (tag[x] * width + r) * tags * width
                for y in range(first, first + runs):
                    column, to = row + (0 if is_whole else tag[y] * width), y * width
                    for s in range(length):
                        inside[to + s] += value * transition[column + s]
        for y in range(first, first + here):
            if rule[y] >= 0:
                for s in range(width):
                    inside[y * width + s] *= emission[rule[y], s]
            if factor is not None:
                for s in range(width):
                    inside[y * width + s] *= factor[first_used + y - 1, s]
        scale[i] = rescale(inside, first * width, (first + here) * width)
        total += scale[i]
    z = 0.0
    for y in range(begin[n], begin[n + 1]):
        for s in range(width):
            z += inside[y * width + s] * end[tag[y], s]
    return math.log(z) + total * LOG_2 if z > 0.0 else -math.inf


@kernel
def backward(
    n: int, begin: Any, tag: Any, rule: Any, source: Any, weight: LvgArrays, factor: Any, first_used: int, inside: Any,
    scale: Any, sign: float, use: LvgArrays | None, factor_slope: Any, first_entry: int, share: Any, pair: Any,
    first_pair: int,
) -> None:  # fmt: skip
    """Posteriors and expected uses, from the last word to the first  [math: tag-outside]."""
    end, emission, transition = weight.end, weight.emission, weight.transition.ravel()
    if use is not None:
        use_start, use_end, use_emission, use_transition = use.start, use.end, use.emission, use.transition.ravel()
    tags, width = end.shape
    outside = np.zeros(inside.shape[0])  # times the position's scale over Z: inside × outside is a posterior
    z, link = 0.0, first_pair
    for i in range(1, n):
        link += (begin[i + 1] - begin[i]) * (begin[i + 2] - begin[i + 1])
    for y in range(begin[n], begin[n + 1]):
        for s in range(width):
            z += inside[y * width + s] * end[tag[y], s]
    for y in range(begin[n], begin[n + 1]):
        for s in range(width):
            outside[y * width + s] = end[tag[y], s] / z
            if use is not None:
                use_end[tag[y], s] += sign * inside[y * width + s] * outside[y * width + s]
    for i in range(n, 0, -1):
        power = power_of_two(-scale[i])
        first, here = begin[i], begin[i + 1] - begin[i]
        for y in range(first, first + here):
            total = 0.0
            for s in range(width):
                posterior = inside[y * width + s] * outside[y * width + s]
                total += posterior
                if use is not None:
                    if rule[y] >= 0:
                        use_emission[rule[y], s] += sign * posterior
                    if i == 1:
                        use_start[tag[y], s] += sign * posterior
                if factor_slope is not None:
                    factor_slope[first_entry + source[y], s] += sign * posterior
                if rule[y] >= 0:
                    outside[y * width + s] *= emission[rule[y], s] * power
                else:
                    outside[y * width + s] *= power
                if factor is not None:
                    outside[y * width + s] *= factor[first_used + y - 1, s]
            if share.shape[0] > 0:
                share[first_entry + y - 1] = total
        if i == 1:
            break
        link -= (first - begin[i - 1]) * here
        is_whole = here == tags and pair.shape[0] == 0
        runs, length = (1, tags * width) if is_whole else (here, width)
        for x in range(begin[i - 1], first):
            place = link + (x - begin[i - 1]) * here - first
            for r in range(width):
                value, total = inside[x * width + r], 0.0
                row = (tag[x] * width + r) * tags * width
                for y in range(first, first + runs):
                    column, of = row + (0 if is_whole else tag[y] * width), y * width
                    part = 0.0
                    for s in range(length):
                        part += transition[column + s] * outside[of + s]
                    total += part
                    if pair.shape[0] > 0:
                        pair[place + y] += value * part
                    if use is not None:
                        part = sign * value
                        for s in range(length):
                            use_transition[column + s] += part * transition[column + s] * outside[of + s]
                outside[x * width + r] = total
