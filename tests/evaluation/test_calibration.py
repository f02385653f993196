"""Calibration: computed by hand, and for trees sampled from the model itself."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lveg.annotate import ParseSettings, parse_all
from lveg.decoding.marginals import Sharpness
from lveg.evaluation.calibration import calibrate, constituent_calibration, fit_sharpness, tree_calibration
from lveg.training import train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.treebank.text import Input

DATA = ENGLISH.parent


def test_calibration_computed_by_hand() -> None:
    found = calibrate([(0.95, True), (0.91, False), (1.0, True), (0.05, False), (0.0, True)])
    assert [(part.low, part.count) for part in found.bins] == [(0.0, 2), (0.9, 3)]
    first, last = found.bins
    assert first.confidence == pytest.approx(0.025)
    assert first.accuracy == 0.5
    assert last.accuracy == pytest.approx(2 / 3)
    expected = 2 / 5 * (0.5 - 0.025) + 3 / 5 * ((0.95 + 0.91 + 1.0) / 3 - 2 / 3)
    assert found.error == pytest.approx(expected)
    assert calibrate([]).error == 0.0


def test_trees_drawn_from_the_model_are_calibrated() -> None:
    """If gold trees are sampled from P(tree | sentence), the probabilities are correct by definition."""
    parser = train_parser(DATA / "demo-train.mrg", model="pcfg")
    trees = [tree for tree in read_trees(DATA / "demo-dev.mrg") if len(tree.words()) <= 14][:150]
    drawn = [tree for number, tree in enumerate(trees) for tree in parser.sample(tree.words(), 1, seed=number)]
    sentences = (Input(tree.words()) for tree in drawn)
    parses = [parse for _, parse in parse_all(parser, sentences, ParseSettings(marginals=True))]
    assert constituent_calibration(parses, drawn).error < 0.04
    assert tree_calibration(parses, drawn).error < 0.12


def test_the_fitted_sharpness_has_the_largest_likelihood_of_all_on_a_grid() -> None:
    random = np.random.default_rng(0)
    true = Sharpness(0.5, -0.3)
    shares = [float(share) for share in random.uniform(0.02, 0.999, 3000)]
    pairs = [(share, bool(random.uniform() < true.of(share))) for share in shares]

    def likelihood(sharpness: Sharpness) -> float:
        penalty = 0.5 * ((sharpness.factor - 1.0) ** 2 + sharpness.offset**2)
        return sum(math.log(sharpness.of(p) if right else 1.0 - sharpness.of(p)) for p, right in pairs) - penalty

    found = fit_sharpness(pairs)
    assert found == pytest.approx(true, abs=0.15)
    for factor in (0.2, 0.4, found.factor, 0.6, 1.0):
        for offset in (-1.0, -0.4, found.offset, -0.2, 0.0, 0.5):
            assert likelihood(Sharpness(factor, offset)) <= likelihood(found) + 1e-3
    assert calibrate([(found.of(p), right) for p, right in pairs]).error < 0.03 < calibrate(pairs).error


@pytest.mark.parametrize("pairs", [[], [(0.0, True)], [(1.0, False)] * 5, [(1.0, True)] * 10_000, [(0.5, False)] * 100])
def test_a_sharpness_is_fitted_to_any_outcomes(pairs: list[tuple[float, bool]]) -> None:
    factor, offset = fit_sharpness(pairs)
    assert 0.2 <= factor <= 2.0
    assert -2.0 <= offset <= 2.0
