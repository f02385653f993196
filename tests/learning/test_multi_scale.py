"""Multi-scale grammars: splits that change nothing, ties that lose nothing, gradients, and runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lveg.errors import GrammarError, UsageError
from lveg.families.multi_scale import MultiScale
from lveg.forest.builders import tree_forest
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent
from lveg.learning.lvg import forest_examples
from lveg.learning.multi_scale import (
    MultiScaleObjective,
    MultiScaleOptions,
    Scales,
    first_scales,
    learn_multi_scale,
    split,
    tie,
)
from lveg.learning.train import ParserOptions, train_parser
from lveg.learning.tree_em import tree_em
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.report import silent
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

DATA = ENGLISH.parent


class StopError(Exception):
    """An interruption."""


@pytest.fixture(scope="module")
def plain(files: tuple[str, str]) -> Parser:
    return train_parser([files[0]])


def uses_of(scales: Scales, plain: Parser, trees: list[Tree]) -> np.ndarray:
    em = tree_em(plain.grammar, plain.binarisation, trees[:100])
    return np.bincount(scales.model.production, em.expect(scales.model.finest).rules)


def log_zs(scales: Scales, plain: Parser, trees: list[Tree]) -> np.ndarray:
    forests = [tree_forest(plain.grammar, tree, plain.binarisation) for tree in trees[:20]]
    forests += [plain.coarse.prune(tree.words(), 1e-3, 1e-3)[1] for tree in trees[:20]]
    return np.array([scales.model.log_z(forest) for forest in forests if not forest.is_empty])


def test_one_production_a_rule_is_the_treebank_grammar(plain: Parser, trees: list[Tree]) -> None:
    first = first_scales(plain.coarse)
    for tree in trees[:10]:
        forest = tree_forest(plain.grammar, tree, plain.binarisation)
        assert first.model.log_z(forest) == pytest.approx(plain.family.log_z(forest), rel=1e-12)


def test_splits_without_noise_change_nothing_whatever_is_tied(plain: Parser, trees: list[Tree]) -> None:
    scales = first_scales(plain.coarse)
    before = log_zs(scales, plain, trees)
    for share in (0.5, 0.9):
        scales = split(scales, 0.0, 1)
        np.testing.assert_allclose(log_zs(scales, plain, trees), before, rtol=1e-10)
        scales = tie(scales, uses_of(scales, plain, trees), share)
        np.testing.assert_allclose(log_zs(scales, plain, trees), before, rtol=1e-10)
    scales = split(scales, 0.5, 1)
    assert not np.allclose(log_zs(scales, plain, trees), before, rtol=1e-6)


def test_productions_are_nodes_of_the_trees_of_subtypes(plain: Parser, trees: list[Tree]) -> None:
    """In a block, what shares a production is a product of sets, each a node of the binary tree of its symbol."""
    scales = first_scales(plain.coarse)
    for number in (1, 2):
        scales = split(scales, 0.5, number)
        scales = tie(scales, uses_of(scales, plain, trees), 0.4)
    scales = split(scales, 0.5, 3)
    blocks, production = scales.model.shape.blocks, scales.model.production
    kinds = set()
    for rule in range(0, plain.grammar.n_rules, 7):
        sizes = (int(blocks.n_lhs[rule]), int(blocks.n_left[rule]), int(blocks.n_right[rule]))
        block = production[blocks.ptr[rule] : blocks.ptr[rule + 1]].reshape(sizes)
        for one in np.unique(block):
            places = np.argwhere(block == one)
            widths = []
            for axis in range(3):
                members = np.unique(places[:, axis])
                width = len(members)
                assert width.bit_count() == 1
                assert members[0] % width == 0
                assert members[-1] == members[0] + width - 1
                widths.append(width)
            assert len(places) == np.prod(widths)
            kinds.add(tuple(widths))
    assert len(kinds) > 6


def test_what_is_tied_is_what_differs_least(plain: Parser) -> None:
    scales = split(first_scales(plain.coarse), 0.0, 1)
    moved = scales.model.log_weight.copy()
    rule = int(np.flatnonzero((scales.is_open == 7) & (scales.half == 7))[0])
    moved[rule] += 1.0  # one corner of a binary rule's cube
    scales = replace(scales, model=replace(scales.model, log_weight=moved))
    uses = np.ones(len(moved))
    tied = tie(scales, uses, 0.99)
    kept = scales.whole[rule]
    ptr = scales.model.shape.blocks.ptr
    assert len(np.unique(tied.model.production[ptr[kept] : ptr[kept + 1]])) == 8
    others = [len(np.unique(tied.model.production[ptr[r] : ptr[r + 1]])) for r in range(20) if r != kept]
    assert sorted(others)[:10] == [1] * 10


def test_the_gradient(plain: Parser, trees: list[Tree]) -> None:
    scales = split(first_scales(plain.coarse), 0.5, 1)
    scales = split(tie(scales, uses_of(scales, plain, trees), 0.6), 0.5, 2)
    model = scales.model
    examples = forest_examples(plain.coarse, plain.binarisation, trees[:3], 1e-3, 2**30, 1, silent)
    objective, value = MultiScaleObjective(model.shape, model.production, examples), model.log_weight
    slope, numbers = np.zeros_like(value), np.arange(3, dtype=np.int32)
    objective.add(objective.model(value), numbers, slope)
    order = np.argsort(-np.abs(slope))
    for at in (*order[:20], *order[60:70]):
        values = []
        for step in (1e-5, -1e-5):
            moved = value.copy()
            moved[at] += step
            values.append(objective.add(objective.model(moved), numbers, np.zeros_like(value)))
        assert slope[at] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6, abs=1e-7)


def test_a_parser_is_trained_and_saved(files: tuple[str, str], tmp_path: Path) -> None:
    baseline = train_parser([files[0]], [files[1]])
    descent = Descent(epochs=10, batch=16, learning_rate=0.05)
    options = ParserOptions("multi-scale", multi_scale=MultiScaleOptions(2, descent=descent))
    parser = train_parser([files[0]], [files[1]], options)
    assert parser.info["dev"]["f1"] > baseline.info["dev"]["f1"]
    save_model(parser, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert isinstance(loaded, Parser)
    assert loaded.family_name == "multi-scale"
    words = ["The", "dog", "saw", "a", "cat", "."]
    assert loaded.parse(words, count=2) == parser.parse(words, count=2)
    assert isinstance(loaded.lvg, MultiScale)
    for change in (
        {"production": loaded.lvg.production + 10**6},
        {"production": -loaded.lvg.production},
        {"production": loaded.lvg.production[1:]},
        {"log_weight": loaded.lvg.log_weight * np.nan},
        {"log_weight": loaded.lvg.log_weight + 1e6},
    ):
        with pytest.raises(GrammarError):
            replace(loaded.lvg, **change)


def test_an_interrupted_run_goes_on_and_threads_change_no_bit(plain: Parser, trees: list[Tree], tmp_path: Path) -> None:
    options = MultiScaleOptions(1, descent=Descent(epochs=6))

    def run(checkpoint: Checkpoint | None = None, stop: int = 99, threads: int = 1) -> MultiScale:
        seen = []

        def report(event: str, facts: dict[str, Any]) -> None:
            seen.append(event)
            if seen.count("epoch") > stop:
                raise StopError

        return learn_multi_scale(
            plain.coarse, plain.binarisation, trees[:60], options, 1, threads, None, report, checkpoint
        )

    whole = run()
    path = str(tmp_path / "run.checkpoint")
    for stop in (2, 4):
        with pytest.raises(StopError):
            run(Checkpoint(path), stop)
        assert np.array_equal(run(Checkpoint(path, resume=True)).log_weight, whole.log_weight)
    assert np.array_equal(run(threads=3).log_weight, whole.log_weight)


def test_options_that_make_no_sense_are_refused() -> None:
    for wrong in ({"cycles": 0}, {"merged": 1.0}, {"noise": -1.0}):
        with pytest.raises(UsageError):
            MultiScaleOptions(**wrong)  # type: ignore[arg-type]
