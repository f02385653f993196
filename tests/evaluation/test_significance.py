"""Resampling against its limits: enumeration, and cases computed by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from lveg.errors import UsageError
from lveg.evaluation import significance
from lveg.evaluation.brackets import f1_from_counts
from lveg.evaluation.significance import bootstrap_interval, randomisation_test
from lveg.evaluation.tags import accuracy_from_counts

Array = NDArray[np.float64]


def draw_f1_counts(n_sentences: int, rate: float, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    gold = rng.integers(3, 20, n_sentences)
    test = rng.integers(3, 20, n_sentences)
    matched = rng.binomial(np.minimum(gold, test), rate)
    return np.stack([matched, gold, test], axis=1).astype(np.float64)


def test_interval_of_two_sentences() -> None:
    # Accuracies 0, 50 and 100 come with probabilities 1/4, 1/2 and 1/4.
    counts = [[0, 1], [1, 1]]
    assert bootstrap_interval(counts, accuracy_from_counts, 2000, 0.95) == (50.0, 0.0, 100.0)
    assert bootstrap_interval(counts, accuracy_from_counts, 2000, 0.4) == (50.0, 50.0, 50.0)


def test_interval_tends_to_the_binomial_one() -> None:
    counts = np.ones((2000, 2))
    counts[:500, 0] = 0
    score, low, high = bootstrap_interval(counts, accuracy_from_counts, samples=4000, level=0.95)
    half = 1.959964 * 100 * np.sqrt(0.75 * 0.25 / 2000)
    assert score == 75.0
    assert low == pytest.approx(75 - half, abs=0.12)
    assert high == pytest.approx(75 + half, abs=0.12)


def test_interval_of_identical_sentences_is_a_point() -> None:
    score, low, high = bootstrap_interval([[3, 4, 5]] * 10, f1_from_counts)
    assert score == low == high == pytest.approx(100 * 6 / 9)


def test_samples_draw_as_many_sentences_as_there_are() -> None:
    seen: list[Array] = []

    def keep(sums: Array) -> Array:
        seen.append(sums)
        return sums[..., 0]

    bootstrap_interval(np.ones((7, 1)), keep, samples=50)
    assert seen[0].shape == (50, 1)
    assert np.all(seen[0] == 7)


def test_same_seed_gives_same_interval_for_any_chunk_size(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = draw_f1_counts(50, 0.8, seed=1)
    first = bootstrap_interval(counts, f1_from_counts, seed=3)
    assert first == bootstrap_interval(counts, f1_from_counts, seed=3)
    assert first != bootstrap_interval(counts, f1_from_counts, seed=4)
    monkeypatch.setattr(significance, "_CELLS", 170)
    in_portions = bootstrap_interval(counts, f1_from_counts, seed=3)
    assert in_portions.score == first.score
    assert in_portions.low == pytest.approx(first.low, abs=1.5)


def exact_p_value(counts_a: Array, counts_b: Array) -> float:
    """The share of all swaps whose difference is at least that seen, by going through them."""
    seen = abs(f1_from_counts(counts_a.sum(axis=0)) - f1_from_counts(counts_b.sum(axis=0)))
    n_as_large = 0
    for swaps in product((False, True), repeat=len(counts_a)):
        mask = np.array(swaps)[:, None]
        one, other = np.where(mask, counts_b, counts_a), np.where(mask, counts_a, counts_b)
        difference = abs(f1_from_counts(one.sum(axis=0)) - f1_from_counts(other.sum(axis=0)))
        n_as_large += bool(difference >= seen - 1e-9)
    return float(n_as_large / 2 ** len(counts_a))


@pytest.mark.parametrize("seed", range(4))
def test_p_value_tends_to_that_of_all_swaps(seed: int) -> None:
    counts_a, counts_b = draw_f1_counts(9, 0.9, seed), draw_f1_counts(9, 0.75, seed + 100)
    found = randomisation_test(counts_a, counts_b, f1_from_counts, samples=20_000)
    assert found.p_value == pytest.approx(exact_p_value(counts_a, counts_b), abs=0.015)


def test_equal_systems_do_not_differ() -> None:
    counts = draw_f1_counts(30, 0.8, seed=5)
    assert randomisation_test(counts, counts, f1_from_counts, samples=100) == (0.0, 1.0)


def test_p_value_is_never_zero() -> None:
    better, worse = np.tile([9.0, 10.0, 10.0], (200, 1)), np.tile([5.0, 10.0, 10.0], (200, 1))
    found = randomisation_test(better, worse, f1_from_counts, samples=999)
    assert found.difference == pytest.approx(40.0)
    assert found.p_value == 1 / 1000
    back = randomisation_test(worse, better, f1_from_counts, samples=999)
    assert (back.difference, back.p_value) == (-found.difference, found.p_value)


def test_p_values_of_equally_good_systems_are_uniform() -> None:
    p_values = [
        randomisation_test(
            draw_f1_counts(40, 0.8, seed), draw_f1_counts(40, 0.8, seed + 1000), f1_from_counts, samples=200
        ).p_value
        for seed in range(200)
    ]
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.08)
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.07)


def test_faulty_arguments_are_named() -> None:
    with pytest.raises(UsageError, match="one shape"):
        randomisation_test(np.ones((3, 2)), np.ones((4, 2)), accuracy_from_counts)
    with pytest.raises(UsageError, match="n_sentences, n_counts"):
        bootstrap_interval(np.ones(3), accuracy_from_counts)
    with pytest.raises(UsageError, match="n_sentences, n_counts"):
        bootstrap_interval(np.ones((0, 2)), accuracy_from_counts)
    with pytest.raises(UsageError, match="between 0 and 1"):
        bootstrap_interval(np.ones((3, 2)), accuracy_from_counts, level=95)
    with pytest.raises(UsageError, match="at least one sample"):
        bootstrap_interval(np.ones((3, 2)), accuracy_from_counts, samples=0)
