"""Confidence intervals of scores and significance tests, by resampling the sentences' counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lveg.errors import UsageError

Array = NDArray[np.float64]
Score = Callable[[Array], Array]
"""Computes scores, of shape (...), from sums of counts, of shape (..., n_counts)."""

_CELLS = 1 << 20  # numbers drawn at a time, to bound memory


class Interval(NamedTuple):
    """A score, and the interval that contains all resampled scores except equal shares at both ends."""

    score: float
    low: float
    high: float


class Comparison(NamedTuple):
    """The first system's score minus the second's, and the probability of such a difference by chance."""

    difference: float
    p_value: float


def bootstrap_interval(
    counts: ArrayLike, score: Score, samples: int = 1000, level: float = 0.95, seed: int = 0
) -> Interval:
    """The score of all sentences with its percentile bootstrap interval (Efron 1979).

    counts: (n_sentences, n_counts). Each sample draws n_sentences of them with replacement; cost is samples
    times counts.
    """
    rows = _rows(counts, "counts")
    _check_samples(samples)
    if not 0.0 < level < 1.0:
        raise UsageError(f"the level of an interval lies between 0 and 1, got {level}")
    n_sentences = len(rows)
    sums = [_resampled_weights(rng, n, n_sentences) @ rows for rng, n in _chunks(samples, n_sentences, seed)]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(score(np.concatenate(sums)), [tail, 1.0 - tail])
    return Interval(float(score(rows.sum(axis=0))), float(low), float(high))


def randomisation_test(
    counts_a: ArrayLike, counts_b: ArrayLike, score: Score, samples: int = 10_000, seed: int = 0
) -> Comparison:
    """The difference of two systems on the same sentences, and its p-value by approximate randomisation.

    Each sample swaps the systems at each sentence with probability 1/2 (Noreen 1989). The p-value is
    (r + 1) / (samples + 1), where r is the number of samples whose absolute difference is at least as large.
    counts_a, counts_b: (n_sentences, n_counts), with the same sentence in each row.
    """
    rows_a, rows_b = _rows(counts_a, "counts_a"), _rows(counts_b, "counts_b")
    _check_samples(samples)
    if rows_a.shape != rows_b.shape:
        raise UsageError(f"a paired test needs counts of one shape, got {rows_a.shape} and {rows_b.shape}")
    sum_a, sum_b, gain = rows_a.sum(axis=0), rows_b.sum(axis=0), rows_b - rows_a
    difference = float(score(sum_a) - score(sum_b))
    # Sums in another order may differ in the last bits; that counts as a tie.
    threshold = abs(difference) * (1.0 - 1e-12)
    n_as_large = 0
    for rng, n in _chunks(samples, len(rows_a), seed):
        swapped = rng.integers(0, 2, size=(n, len(rows_a))).astype(np.float64) @ gain
        n_as_large += int(np.sum(np.abs(score(sum_a + swapped) - score(sum_b - swapped)) >= threshold))
    return Comparison(difference, (n_as_large + 1) / (samples + 1))


def _rows(counts: ArrayLike, name: str) -> Array:
    rows = np.asarray(counts, dtype=np.float64)
    if rows.ndim != 2 or len(rows) == 0:
        raise UsageError(f"{name} must be of shape (n_sentences, n_counts) with a sentence, got {rows.shape}")
    return rows


def _check_samples(samples: int) -> None:
    if samples < 1:
        raise UsageError(f"resampling needs at least one sample, got {samples}")


def _chunks(samples: int, n_sentences: int, seed: int) -> Iterator[tuple[np.random.Generator, int]]:
    """(generator, number of samples) in portions that bound memory; always the same generator."""
    rng = np.random.default_rng(seed)
    portion = max(1, _CELLS // n_sentences)
    for done in range(0, samples, portion):
        yield rng, min(portion, samples - done)


def _resampled_weights(rng: np.random.Generator, samples: int, n_sentences: int) -> Array:
    """How often each sentence is drawn in each sample, of shape (samples, n_sentences)."""
    drawn = rng.integers(0, n_sentences, size=(samples, n_sentences))
    drawn += np.arange(samples)[:, None] * n_sentences
    weights = np.bincount(drawn.ravel(), minlength=samples * n_sentences)
    return weights.reshape(samples, n_sentences).astype(np.float64)
