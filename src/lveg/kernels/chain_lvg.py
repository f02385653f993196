"""Tag chains whose tags have N subtypes each: sums, posteriors, and expected uses of every parameter."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lveg.kernels.chain import LOG_2, Lattice, Posteriors, extents, make_lattice, rescale
from lveg.kernels.jit import lean_kernel, power_of_two
from lveg.kernels.vectors import add_scaled, dot

_GROUP = 2**14
"""Length of packed sentences that are processed together, so that their data stay in the cache."""


class LvgArrays(NamedTuple):
    """Values for every parameter, where t and u are tags and s their subtypes.

    start (T, N) of u, s; transition (T, N, T, N) of t, s, u, s'; end (T, N) of t, s; emission (R, N), one row per
    lexical rule.
    """

    start: Any
    transition: Any
    end: Any
    emission: Any


def run(
    packed: Any, is_given: bool, sign: float, weight: LvgArrays, use: LvgArrays | None, factor: Any, factor_slope: Any,
    found: Posteriors,
) -> float:  # fmt: skip
    """The summed log Z of packed sentences, one after the other; adds sign × the expected uses of parameters to `use`.

    A sentence without words has log Z 0, one without possible tags -inf.

    use: None for sums and posteriors alone. factor: None, or the factor of each subtype of each entry in use, (entries
    in use, N). factor_slope: None, or receives sign × the posterior of each subtype of each entry, (entries, N). found:
    receives the requested results; its shares and pairs must be zero, and are not available for given tags.
    """
    width, weight, use = weight.end.shape[1], _flat(weight), None if use is None else _flat(use)
    total, sentence, entry, pair, used = 0.0, 0, 0, 0, 0
    for part in _groups(packed):
        n_sentences, n_words, n_entries, n_pairs = extents(part)
        lattice = make_lattice(part, is_given, n_words, n_entries)
        n_used = int(lattice.begin[-1])
        own_factor = None if factor is None else factor[used : used + n_used]
        inside, scale, log_z = np.zeros(n_used * width), np.empty(n_words, np.int64), np.empty(n_sentences)
        forward(part, lattice, weight, own_factor, inside, scale, log_z)
        if use is not None or len(found.share):
            backward(
                part, lattice, weight, own_factor, inside, np.empty(len(inside)), scale, log_z, sign, use,
                None if factor_slope is None else factor_slope[entry : entry + n_entries],
                found.share[entry : entry + n_entries],
                found.pair[pair : pair + n_pairs] if len(found.pair) else None,
            )  # fmt: skip
        if len(found.log_z):
            found.log_z[sentence : sentence + n_sentences] = log_z
        total += float(log_z.sum())
        sentence, entry, pair, used = sentence + n_sentences, entry + n_entries, pair + n_pairs, used + n_used
    return total


def _groups(packed: Any) -> Iterator[Any]:
    """Packed sentences, in groups."""
    begin, end = 0, 0
    while end < len(packed):
        end += int(packed[end])
        if end - begin >= _GROUP or end == len(packed):
            yield packed[begin:end]
            begin = end


def _flat(arrays: LvgArrays) -> LvgArrays:
    """The arrays, with a view of the transitions as one row."""
    return arrays._replace(transition=arrays.transition.reshape(-1))


@lean_kernel
def forward(packed: Any, lattice: Lattice, weight: LvgArrays, factor: Any, inside: Any, scale: Any, log_z: Any) -> None:
    """Fill log_z and inside, (entries in use × N), all zero, with the inside score of each subtype  [math: tag-inside].

    Each tag of a word is a contiguous run of N weights; if a word may have every tag, they form a single long run, for
    which views are worth their cost. scale (words,): receives the power of two by which the word's sums were divided.
    """
    start, transition, end, emission = weight
    begin, tag, rule, _ = lattice
    tags, width = end.shape
    at, word, number = 0, 0, 0
    while at < packed.shape[0]:
        after = word + packed[at + 1]
        total, z = 0, 1.0
        for i in range(word, after):
            first, here = begin[i], begin[i + 1] - begin[i]
            if i == word:
                for y in range(first, first + here):
                    for s in range(width):
                        inside[y * width + s] = start[tag[y], s]
            own = inside[first * width : (first + here) * width]
            for x in range(begin[i - 1] if i > word else first, first):
                for r in range(width):
                    value = inside[x * width + r]
                    row = (tag[x] * width + r) * tags * width
                    if here == tags:
                        add_scaled(value, transition[row : row + tags * width], own)
                        continue
                    for y in range(first, first + here):
                        column, to = row + tag[y] * width, y * width
                        for s in range(width):
                            inside[to + s] += value * transition[column + s]
            for y in range(first, first + here):
                if rule[y] >= 0:
                    for s in range(width):
                        inside[y * width + s] *= emission[rule[y], s]
                if factor is not None:
                    for s in range(width):
                        inside[y * width + s] *= factor[y, s]
            scale[i] = rescale(inside, first * width, (first + here) * width)
            total += scale[i]
        if word < after:
            z = 0.0
            for y in range(begin[after - 1], begin[after]):
                for s in range(width):
                    z += inside[y * width + s] * end[tag[y], s]
        log_z[number] = math.log(z) + total * LOG_2 if z > 0.0 else -math.inf
        word = after
        number += 1
        at += packed[at]


@lean_kernel
def backward(
    packed: Any, lattice: Lattice, weight: LvgArrays, factor: Any, inside: Any, outside: Any, scale: Any, log_z: Any,
    sign: float, use: LvgArrays | None, factor_slope: Any, share: Any, pair: Any,
) -> None:  # fmt: skip
    """Posteriors and expected uses, from the last word of a sentence to the first  [math: tag-outside].

    outside: scratch array, multiplied by the word's scale and divided by Z, so that inside × outside is a posterior.
    share, pair: as in `Posteriors`; share may be empty, and pair None.
    """
    _, transition, end, emission = weight
    if use is not None:
        use_start, use_transition, use_end, use_emission = use
    begin, tag, rule, source = lattice
    tags, width = end.shape
    at, word, after, number, last_link = 0, 0, 0, 0, 0
    while at < packed.shape[0]:
        word, after = after, after + packed[at + 1]
        value = log_z[number]
        number += 1
        at += packed[at]
        for i in range(word, after - 1):
            last_link += (begin[i + 1] - begin[i]) * (begin[i + 2] - begin[i + 1])
        if word == after or not -math.inf < value < math.inf:
            continue
        z, link = 0.0, last_link
        for y in range(begin[after - 1], begin[after]):
            for s in range(width):
                z += inside[y * width + s] * end[tag[y], s]
        for y in range(begin[after - 1], begin[after]):
            for s in range(width):
                outside[y * width + s] = end[tag[y], s] / z
                if use is not None:
                    use_end[tag[y], s] += sign * inside[y * width + s] * outside[y * width + s]
        for i in range(after - 1, word - 1, -1):
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
                        if i == word:
                            use_start[tag[y], s] += sign * posterior
                    if factor_slope is not None:
                        factor_slope[source[y], s] += sign * posterior
                    if rule[y] >= 0:
                        outside[y * width + s] *= emission[rule[y], s] * power
                    else:
                        outside[y * width + s] *= power
                    if factor is not None:
                        outside[y * width + s] *= factor[y, s]
                if share.shape[0] > 0:
                    share[y] = total
            if i == word:
                break
            link -= (first - begin[i - 1]) * here
            is_whole = here == tags and pair is None
            runs, length = (1, tags * width) if is_whole else (here, width)
            for x in range(begin[i - 1], first):
                place = link + (x - begin[i - 1]) * here - first
                for r in range(width):
                    value, total = inside[x * width + r], 0.0
                    row = (tag[x] * width + r) * tags * width
                    for y in range(first, first + runs):
                        column, of = row + (0 if is_whole else tag[y] * width), y * width
                        part = 0.0
                        if is_whole:
                            part = dot(transition[column : column + length], outside[of : of + length])
                        else:
                            for s in range(length):
                                part += transition[column + s] * outside[of + s]
                        total += part
                        if pair is not None:
                            pair[place + y] += value * part
                        if use is not None:
                            part = sign * value
                            for s in range(length):
                                use_transition[column + s] += part * transition[column + s] * outside[of + s]
                    outside[x * width + r] = total
