"""Calibration: of all predictions with probability 0.8, 80 % should be correct."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lveg.decoding.marginals import Sharpness
from lveg.model import Parse, Tagging
from lveg.trees import Tree

BINS = 10

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bin:
    """The predictions with a probability from `low` to `high`: number, mean probability and share that is correct."""

    low: float
    high: float
    count: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """Bins of equal width, and the expected calibration error: the mean of abs(confidence - accuracy)."""

    bins: list[Bin]
    error: float


def calibrate(judged: Iterable[tuple[float, bool]]) -> Calibration:
    """The calibration of (probability, whether correct) pairs."""
    pairs = list(judged)
    probability = np.array([p for p, _ in pairs], dtype=float)
    right = np.array([r for _, r in pairs], dtype=float)
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    bins, error = [], 0.0
    for number in range(BINS):
        inside = place == number
        count = int(inside.sum())
        if count:
            confidence, accuracy = float(probability[inside].mean()), float(right[inside].mean())
            bins.append(Bin(number / BINS, (number + 1) / BINS, count, confidence, accuracy))
            error += count / len(pairs) * abs(confidence - accuracy)
    return Calibration(bins, error)


def constituent_calibration(parses: Sequence[Parse], gold: Sequence[Tree]) -> Calibration:
    """The calibration of the constituents of the best trees; parses must come with marginals."""
    return calibrate(_judged(parses, gold))


def best_sharpness(parses: Sequence[Parse], gold: Sequence[Tree]) -> Sharpness:
    """What calibrates the probabilities of the constituents of the best trees; parses must come with marginals."""
    return fit_sharpness(_judged(parses, gold))


def fit_sharpness(judged: Iterable[tuple[float, bool]]) -> Sharpness:
    """The factor and the offset that calibrate the probabilities of (probability, whether correct) pairs.

    They maximise the likelihood of what is correct, by Newton's method; a small penalty keeps them near 1 and 0 if
    there are few pairs.
    """
    pairs = list(judged)
    if not pairs:
        return Sharpness()
    share = np.clip([p for p, _ in pairs], 1e-12, 1.0 - 1e-12)
    sign = np.where([right for _, right in pairs], 1.0, -1.0)
    inputs = sign[:, None] * np.stack([np.log(share / (1.0 - share)), np.ones(len(pairs))], axis=1)
    start = np.array([1.0, 0.0])

    def loss(point: Floats) -> float:
        return float(np.logaddexp(0.0, -inputs @ point).sum() + 0.5 * ((point - start) ** 2).sum())

    point = start
    for _ in range(_STEPS):
        wrong = np.exp(-np.logaddexp(0.0, inputs @ point))
        slope = point - start - inputs.T @ wrong
        curve = np.eye(2) + (inputs * (wrong * (1.0 - wrong))[:, None]).T @ inputs
        step = np.linalg.solve(curve, slope)
        while loss(point - step) > loss(point) and np.abs(step).max() > _SMALL:
            step = step / 2.0
        point = point - step
    factor, offset = np.clip(point, (0.2, -2.0), (2.0, 2.0))
    return Sharpness(round(float(factor), 3), round(float(offset), 3))


_STEPS, _SMALL = 20, 1e-6


def _judged(parses: Sequence[Parse], gold: Sequence[Tree]) -> Iterator[tuple[float, bool]]:
    """The probabilities of the constituents of the best trees, and whether they are in the gold tree."""
    return (
        (parse.constituents[span], span in right)
        for parse, tree in zip(parses, gold, strict=True)
        if parse.constituents
        for right in [set(_constituents(tree))]
        for span in _constituents(parse.tree)
    )


def tree_calibration(parses: Sequence[Parse], gold: Sequence[Tree]) -> Calibration:
    """The calibration of whole best trees, tags included."""
    return calibrate(
        (float(np.exp(parse.trees[0].log_prob)), _same(parse.tree, tree))
        for parse, tree in zip(parses, gold, strict=True)
        if parse.trees[0].log_prob is not None
    )


def tag_calibration(taggings: Sequence[Tagging], gold: Sequence[Sequence[str]]) -> Calibration:
    """The calibration of the best tags, word by word."""
    return calibrate(
        (confidence, tag == right)
        for tagging, tags in zip(taggings, gold, strict=True)
        for confidence, tag, right in zip(tagging.confidence, tagging.tags, tags, strict=True)
    )


def sequence_calibration(taggings: Sequence[Tagging], gold: Sequence[Sequence[str]]) -> Calibration:
    """The calibration of the best tags of whole sentences."""
    return calibrate(
        (math.exp(tagging.log_prob), tagging.tags == list(tags)) for tagging, tags in zip(taggings, gold, strict=True)
    )


def _constituents(tree: Tree) -> list[tuple[str, int, int]]:
    return sorted({(node.label, start, end) for node, start, end in tree.spans()[1:] if node.word is None})


def _same(one: Tree, other: Tree) -> bool:
    return one.tags() == other.tags() and _constituents(one) == _constituents(other)
