"""Multi-scale grammars: splits and ties that change nothing, gradients, and training runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import central_difference

from lveg.errors import GrammarError, UsageError
from lveg.families.forest import pack
from lveg.families.lvg.em import tree_em
from lveg.families.multi_scale.family import MultiScale
from lveg.families.multi_scale.learning import Scales, first_scales, learn, split, tie
from lveg.families.multi_scale.options import MultiScaleOptions
from lveg.families.pcfg.family import Pcfg
from lveg.forest.builders import tree_forest
from lveg.grammar.grammar import Floats
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TreeData
from lveg.learning.run import Run
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.training import train_parser
from lveg.trees import Tree


class StopError(Exception):
    """An interruption."""


@pytest.fixture(scope="module")
def plain(trees: list[Tree], dev: list[Tree]) -> Parser:
    return train_parser(trees, dev, "pcfg", unknown_threshold=2)


@pytest.fixture(scope="module")
def data(plain: Parser, trees: list[Tree]) -> TreeData:
    return TreeData(plain.coarse, plain.binarisation, trees)


def uses_of(scales: Scales, data: TreeData) -> Floats:
    """Expected uses of each production in the trees."""
    rules = tree_em(data, Run()).expect(scales.model.finest).rules
    return np.bincount(scales.model.production, rules).astype(np.float64)


def log_zs(scales: Scales, data: TreeData) -> Floats:
    """The log Z of some trees, and of the forests of their words."""
    forests = [tree_forest(data.grammar, tree, data.scheme) for tree in data.trees[:20]]
    forests += [data.coarse.prune(tree.words(), 1e-3, 1e-3)[1] for tree in data.trees[:20]]
    return np.array([scales.model.log_z(forest) for forest in forests if not forest.is_empty])


def test_one_production_per_rule_is_the_treebank_grammar(data: TreeData) -> None:
    first, plain = first_scales(data), Pcfg(data.weight)
    for tree in data.trees[:10]:
        forest = tree_forest(data.grammar, tree, data.scheme)
        assert first.model.log_z(forest) == pytest.approx(plain.log_z(forest), rel=1e-12)


def test_splits_without_noise_change_nothing_whatever_is_tied(data: TreeData) -> None:
    scales = first_scales(data)
    before = log_zs(scales, data)
    for share in (0.5, 0.9):
        scales = split(scales, 0.0, 1)
        np.testing.assert_allclose(log_zs(scales, data), before, rtol=1e-10)
        scales = tie(scales, uses_of(scales, data), share)
        np.testing.assert_allclose(log_zs(scales, data), before, rtol=1e-10)
    scales = split(scales, 0.5, 1)
    assert not np.allclose(log_zs(scales, data), before, rtol=1e-6)


def test_productions_are_nodes_of_the_subtype_trees(data: TreeData) -> None:
    """In a block, the combinations that share a production are a product of nodes of the subtype trees."""
    scales = first_scales(data)
    for number in (1, 2):
        scales = split(scales, 0.5, number)
        scales = tie(scales, uses_of(scales, data), 0.4)
    scales = split(scales, 0.5, 3)
    blocks, production = scales.model.shape.blocks, scales.model.production
    kinds = set()
    for rule in range(0, data.grammar.n_rules, 7):
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


def test_the_least_important_splits_are_tied(data: TreeData) -> None:
    scales = split(first_scales(data), 0.0, 1)
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


def test_the_gradient(data: TreeData) -> None:
    scales = split(first_scales(data), 0.5, 1)
    model = split(tie(scales, uses_of(scales, data), 0.6), 0.5, 2).model
    some = TreeData(data.coarse, data.scheme, data.trees[:3])
    examples = some.examples(pack, MultiScaleOptions(p_min=1e-3), Run()).gather(range(3))
    slope = np.zeros_like(model.value)
    model.add(examples, slope)
    order = np.argsort(-np.abs(slope)).tolist()
    for at in (*order[:20], *order[60:70]):
        expected = central_difference(
            lambda value: model.with_value(value).add(examples, np.zeros_like(value)), model.value, at
        )
        assert slope[at] == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_a_parser_is_trained_and_saved(plain: Parser, trees: list[Tree], dev: list[Tree], tmp_path: Path) -> None:
    parser = train_parser(trees, dev, "multi-scale", cycles=2, epochs=10, batch=16, learning_rate=0.05, l2=2.0)
    assert parser.info["dev"]["f1"] > plain.info["dev"]["f1"]
    save_model(parser, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert isinstance(loaded, Parser)
    words = ["The", "dog", "saw", "a", "cat", "."]
    assert loaded.parse(words, count=2) == parser.parse(words, count=2)
    family = loaded.family
    assert isinstance(family, MultiScale)
    for change in (
        {"production": family.production + 10**6},
        {"production": -family.production},
        {"production": family.production[1:]},
        {"log_weight": family.log_weight * np.nan},
        {"log_weight": family.log_weight + 1e6},
    ):
        with pytest.raises(GrammarError):
            replace(family, **change)


def test_an_interrupted_run_resumes_and_threads_change_nothing(data: TreeData, tmp_path: Path) -> None:
    some = TreeData(data.coarse, data.scheme, data.trees[:60])

    def run(checkpoint: Checkpoint | None = None, stop: int = 99, threads: int = 1) -> MultiScale:
        seen: list[str] = []

        def report(event: str, facts: dict[str, Any]) -> None:
            seen.append(event)
            if seen.count("epoch") > stop:
                raise StopError

        options = MultiScaleOptions(cycles=1, epochs=6)
        return learn(some, options, Run(seed=1, threads=threads, report=report, checkpoint=checkpoint))[0]

    whole = run()
    path = str(tmp_path / "run.checkpoint")
    for stop in (2, 4):
        with pytest.raises(StopError):
            run(Checkpoint(path), stop)
        assert np.array_equal(run(Checkpoint(path, resume=True)).log_weight, whole.log_weight)
    assert np.array_equal(run(threads=3).log_weight, whole.log_weight)


def test_invalid_options_are_refused() -> None:
    wrong: dict[str, Any]
    for wrong in ({"cycles": 0}, {"merged": 1.0}, {"noise": -1.0}):
        with pytest.raises(UsageError):
            MultiScaleOptions(**wrong)
