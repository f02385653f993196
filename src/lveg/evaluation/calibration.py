"""Calibration: of all predictions with probability 0.8, 80 % should be correct."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lveg.decoding.marginals import sharpen
from lveg.model import Parse, Tagging
from lveg.trees import Tree

BINS = 10


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


def best_sharpness(parses: Sequence[Parse], gold: Sequence[Tree]) -> float:
    """The factor for the log odds of constituents that calibrates their probabilities.

    It maximises the likelihood of whether each constituent of the best trees is correct.
    """
    pairs = list(_judged(parses, gold))
    if not pairs:
        return 1.0
    losses = [-sum(math.log(sharpen(p if right else 1.0 - p, number)) for p, right in pairs) for number in SHARPNESS]
    return SHARPNESS[int(np.argmin(losses))]


SHARPNESS = tuple(round(0.05 * number, 2) for number in range(4, 41))
"""The factors that are tried, from 0.2 to 2."""


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
