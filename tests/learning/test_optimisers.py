"""Optimisers of sparse gradients against the same steps in plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from lveg.kernels.adam import SECOND
from lveg.learning.adagrad import FIRST, AdaGrad
from lveg.learning.sparse_adam import SparseAdam


def steps(count: int, size: int) -> list[np.ndarray]:
    """Gradients of which most are 0."""
    random = np.random.default_rng(0)
    return [np.where(random.random(size) < 0.4, random.normal(size=size), 0.0) for _ in range(count)]


def test_adagrad_and_its_average() -> None:
    value, square, seen = np.ones(5), np.zeros(5), []
    found = AdaGrad.at(value, 0.1)
    for slope in steps(20, 5):
        square += slope**2 / 4
        value = value - 0.1 * (slope / 2) / np.sqrt(square + FIRST)
        seen.append(value)
        found.step(np.stack([0.25 * slope, 0.75 * slope]), [np.flatnonzero(slope).astype(np.int32)] * 2, 0.5)
    assert found.value == pytest.approx(value)
    assert found.average == pytest.approx(np.mean(seen, axis=0))


@pytest.mark.parametrize("horizon", [1.0, 4.0, 100.0])
def test_sparse_adam_and_its_average(horizon: float) -> None:
    value, second, average = np.linspace(-1.0, 1.0, 5), np.zeros(5), np.linspace(-1.0, 1.0, 5)
    found = SparseAdam.at(value, 0.1, 0.0, horizon)
    for step, slope in enumerate(steps(20, 5), start=1):
        second = SECOND * second + (1.0 - SECOND) * slope**2
        with np.errstate(invalid="ignore"):
            move = slope / (np.sqrt(second / (1.0 - SECOND**step)) + 1e-8)
        value = value - 0.1 * np.where(slope == 0.0, 0.0, move)
        keep = min(1.0 - 1.0 / horizon, step / (step + 1.0))
        average = keep * average + (1.0 - keep) * value
        slopes = np.stack([0.25 * slope, 0.75 * slope])
        found.step(slopes, [np.flatnonzero(slope).astype(np.int32)] * 2, 1.0)
        assert not slopes.any()
        assert found.value == pytest.approx(value)
        assert found.average == pytest.approx(average)


def test_sparse_adam_applies_l2_for_skipped_steps() -> None:
    found = SparseAdam.at(np.ones(1), 0.1, 0.01, 4.0)
    for _ in range(3):
        found.step(np.zeros((1, 1)), [np.empty(0, np.int32)], 1.0)
    found.step(np.array([[1.0]]), [np.zeros(1, np.int32)], 1.0)
    slope = 1.0 + 4 * 0.01
    expected = 1.0 - 0.1 * slope / np.sqrt((1.0 - SECOND) * slope**2 / (1.0 - SECOND**4))
    assert found.value[0] == pytest.approx(expected, abs=1e-6)
