"""Training a Gaussian mixture grammar on a small treebank: it improves, and threads change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from oracles import central_difference

from lveg.errors import UsageError
from lveg.families.gm.family import Gm, start
from lveg.families.gm.learning import (
    SMALL_SHARE,
    best_forest,
    halved,
    learn,
    weight_shares,
    weight_spread,
    without_small,
)
from lveg.families.gm.options import GmOptions
from lveg.forest.builders import tree_forest
from lveg.forest.forest import Forest, anchored_rules
from lveg.grammar.grammar import Floats
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TreeData
from lveg.learning.run import Run
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.training import Setting, train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

SMALL: dict[str, Any] = {"components": 2, "dim": 2, "epochs": 10, "learning_rate": 0.05, "batch": 32}


def short_trees(name: str, count: int) -> list[Tree]:
    """The first short trees of a demonstration file."""
    return [tree for tree in read_trees(ENGLISH.parent / name) if len(tree.words()) <= 12][:count]


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return short_trees("demo-train.mrg", 300)


@pytest.fixture(scope="module")
def dev() -> list[Tree]:
    return short_trees("demo-dev.mrg", 60)


@pytest.fixture(scope="module")
def plain(trees: list[Tree], dev: list[Tree]) -> Parser:
    """The treebank grammar."""
    return train_parser(trees, dev, "pcfg")


@pytest.fixture(scope="module")
def data(plain: Parser, trees: list[Tree]) -> TreeData:
    return TreeData(plain.coarse, plain.binarisation, trees)


class Trained(NamedTuple):
    """A parser, its grammar, and what was reported of each epoch."""

    parser: Parser
    gm: Gm
    epochs: list[dict[str, Any]]


@pytest.fixture(scope="module")
def trained(trees: list[Tree], dev: list[Tree]) -> Trained:
    epochs: list[dict[str, Any]] = []

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            epochs.append(facts)

    parser = train_parser(trees, dev, "gm", Setting(threads=2, report=report), **SMALL)
    assert isinstance(parser.family, Gm)
    return Trained(parser, parser.family, epochs)


def learned(data: TreeData, count: int, run: Run, **options: Any) -> Gm:
    """The grammar trained on the first trees; `options` override SMALL."""
    return learn(replace(data, trees=data.trees[:count]), GmOptions(**SMALL | options), run)[0]


def test_objective_falls_and_the_best_epoch_beats_the_treebank_grammar(trained: Trained, plain: Parser) -> None:
    objectives = [facts["objective"] for facts in trained.epochs]
    assert len(objectives) == SMALL["epochs"]
    assert objectives == sorted(objectives, reverse=True)
    f1 = trained.parser.info["dev"]["f1"]
    assert f1 > plain.info["dev"]["f1"] + 1.0
    assert f1 == max(facts["dev_f1"] for facts in trained.epochs)


def test_same_bits_on_any_number_of_threads(data: TreeData) -> None:
    one, two, other = (
        learned(data, 100, Run(seed=seed, threads=threads), epochs=1) for seed, threads in ((7, 1), (7, 2), (8, 2))
    )
    assert np.array_equal(one.value, two.value)
    assert not np.array_equal(one.mean, other.mean)


def test_probabilities_of_trees(trained: Trained, dev: list[Tree]) -> None:
    for tree in dev[:20]:
        parse = trained.parser.parse(tree.words(), count=40, marginals=True)
        logs = [candidate.log_prob for candidate in parse.trees]
        assert all(log is not None and log <= 1e-9 for log in logs)
        assert sum(np.exp([log for log in logs if log is not None])) <= 1 + 1e-9
        assert all(0 <= share <= 1 for share in parse.constituents.values())
        assert parse.log_sentence is None  # the weights are not normalised


def test_model_file(trained: Trained, dev: list[Tree], tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    save_model(trained.parser, str(first))
    loaded = load_model(str(first))
    assert isinstance(loaded, Parser)
    save_model(loaded, str(second))
    assert first.read_bytes() == second.read_bytes()
    for tree in dev[:20]:
        assert loaded.parse(tree.words()) == trained.parser.parse(tree.words())


def test_viterbi_is_refused(trained: Trained) -> None:
    with pytest.raises(UsageError, match="max-rule or mbr"):
        trained.parser.parse(["The", "dog", "slept", "."], "viterbi")


class StopError(Exception):
    """An interruption."""


def test_an_interrupted_run_resumes_to_the_same_bits(trees: list[Tree], tmp_path: Path) -> None:
    path = tmp_path / "run.checkpoint"
    resumed = Checkpoint(str(path), resume=True)

    def run(checkpoint: Checkpoint | None, stop_in: int | None = None, some: list[Tree] = trees, **changed: Any) -> Gm:
        def report(event: str, facts: dict[str, Any]) -> None:
            if event == "progress" and facts["what"] == f"epoch {stop_in}" and facts["done"] != facts["total"]:
                raise StopError

        setting = Setting(threads=2, report=report, checkpoint=checkpoint)
        family = train_parser(some[:100], (), "gm", setting, **SMALL | {"epochs": 4, "seed": 7} | changed).family
        assert isinstance(family, Gm)
        return family

    whole = run(None)
    for epoch in (3, 4):
        with pytest.raises(StopError):
            run(resumed, epoch)
    assert np.array_equal(run(resumed).value, whole.value)
    for changed in ({"spread": 0.1}, {"seed": 8}, {"unknown_threshold": 3}, {"some": trees[1:]}):
        with pytest.raises(UsageError, match="other data or options"):
            run(resumed, **changed)
    resumed.remove()
    assert not path.exists()


def test_forests_on_disk_give_the_same_bits(data: TreeData) -> None:
    on_disk: list[float] = []

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "forests":
            on_disk.append(facts["mib_on_disk"])

    one, two = (learned(data, 100, Run(seed=7, report=report), epochs=1, memory=gib) for gib in (1.0, 2.0**-12))
    assert on_disk[0] == 0 < on_disk[1]
    assert np.array_equal(one.value, two.value)


def test_forests_of_best_trees_contain_them_and_the_gold_tree(plain: Parser, data: TreeData) -> None:
    def rules(forest: Forest) -> set[tuple[int, ...]]:
        return set(map(tuple, anchored_rules(forest).T.tolist()))

    for tree in data.trees[:20]:
        forest, gold = plain.coarse.training_forest(tree, plain.binarisation, 1e-6)
        small = best_forest(data.grammar, data.weight, 5, forest, gold)
        assert gold.n_edges <= small.n_edges <= forest.n_edges
        best = tree_forest(plain.grammar, plain.parse(tree.words(), "viterbi").tree, plain.binarisation)
        assert rules(gold) | rules(best) <= rules(small)
    assert np.isfinite(learned(data, 60, Run(), k_best=5, epochs=1).value).all()


def test_component_pruning_reports_its_cost(data: TreeData) -> None:
    told: dict[str, Any] = {}

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "component pruning":
            told.update(facts)

    assert learned(data, 60, Run(report=report), k_min=2, k_max=3, epochs=1).pruning is None
    assert 0 < told["cut"] < told["components"]
    assert told["log_weight_lost"] > 0


def test_spread_of_weights_and_its_gradient(trained: Trained) -> None:
    gm = trained.gm
    value, slope = weight_spread(gm)
    shares = weight_shares(gm)
    assert np.add.reduceat(shares, gm.ptr[:-1]) == pytest.approx(np.ones(len(gm.ptr) - 1))
    assert value == pytest.approx(np.log(shares + SMALL_SHARE).sum())
    for place in (0, 17, len(slope) - 1):
        expected = central_difference(lambda log_weight: spread_with(gm, log_weight), gm.log_weight, place)
        assert slope[place] == pytest.approx(expected, abs=1e-5)


def spread_with(gm: Gm, log_weight: Floats) -> float:
    """The spread with these weights."""
    return weight_spread(replace(gm, log_weight=log_weight))[0]


def test_sparse_weights_lose_components(plain: Parser, data: TreeData) -> None:
    sparse = learned(data, 100, Run(), sparsity=30.0, learning_rate=0.5)
    assert (np.diff(sparse.ptr) >= 1).all()
    assert len(sparse.log_weight) < 2 * plain.grammar.n_rules
    assert np.isfinite(replace(plain, family=sparse).log_prob(data.trees[0]))


def assert_same_probabilities(plain: Parser, trees: list[Tree], one: Gm, other: Gm) -> None:
    """Compare the probabilities of a few trees."""
    for tree in trees[:10]:
        log_probs = [replace(plain, family=family).log_prob(tree) for family in (one, other)]
        assert log_probs[0] == pytest.approx(log_probs[1])


def test_removing_components_without_weight_changes_nothing(plain: Parser, trees: list[Tree]) -> None:
    model = start(plain.grammar, plain.weight, 3, 2, spread=0.5)
    weights = model.log_weight.copy()
    weights[1::3] = -80.0
    model = replace(model, log_weight=weights)
    small = without_small(plain.grammar, model)
    assert (np.diff(small.ptr) == 2).all()
    assert_same_probabilities(plain, trees, small, model)


def test_splitting_without_moving_changes_nothing(plain: Parser, trees: list[Tree]) -> None:
    model = start(plain.grammar, plain.weight, 2, 2, "diagonal", spread=0.5)
    both = halved(plain.grammar, model, 0.0, 1)
    assert (np.diff(both.ptr) == 4).all()
    assert_same_probabilities(plain, trees, both, model)


def test_components_by_frequency(plain: Parser, data: TreeData) -> None:
    counts = np.diff(learned(data, 40, Run(), by_frequency=True, components=3, epochs=1).ptr)
    for least, most, number in ((0, 1, 1), (2, 3, 2), (4, np.inf, 3)):
        chosen = (plain.grammar.count >= least) & (plain.grammar.count <= most)
        assert (counts[chosen] == number).all()


def test_components_that_split_while_learning(plain: Parser, data: TreeData, tmp_path: Path) -> None:
    splits: list[int] = []

    def run(checkpoint: Checkpoint | None, stop: bool = False) -> Gm:
        splits.clear()

        def report(event: str, facts: dict[str, Any]) -> None:
            if event == "split":
                splits.append(facts["components"])
                if stop and len(splits) == 2:
                    raise StopError

        return learned(data, 60, Run(3, report=report, checkpoint=checkpoint), components=4, split=True, epochs=6)

    whole = run(None)
    assert splits == [2 * plain.grammar.n_rules, 4 * plain.grammar.n_rules]
    assert (np.diff(whole.ptr) == 4).all()
    path = str(tmp_path / "run.checkpoint")
    with pytest.raises(StopError):
        run(Checkpoint(path), stop=True)
    assert np.array_equal(run(Checkpoint(path, resume=True)).value, whole.value)
    Checkpoint(path).remove()
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="2, 4, 8"):
        GmOptions(components=3, split=True)
