"""Gaussian grammars that start from discrete subtypes: means, component weights, and runs from files."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli.conftest import run_main

import lveg
from lveg.errors import LvegError, ModelError, UsageError
from lveg.families.forest import DiscreteFamily
from lveg.families.gm.learning import n_components
from lveg.families.gm.options import GmOptions
from lveg.families.gm.subtypes import (
    LAYOUT,
    cluster,
    densities,
    expected_uses,
    lay_out,
    scaled,
    shares,
    start_from,
    uses_of_subtypes,
)
from lveg.grammar.grammar import Floats, Ints
from lveg.kernels.gm_start import cluster_rows
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TreeData
from lveg.learning.run import Run
from lveg.model import Parser
from lveg.training import Setting, train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

TRAIN, DEV = ENGLISH.parent / "demo-train.mrg", ENGLISH.parent / "demo-dev.mrg"
OPTIONS: dict[str, Any] = {"model": "gm", "epochs": 2, "components": 3, "dim": 2}


@cache
def trees() -> list[Tree]:
    return [tree for tree in read_trees(TRAIN) if len(tree.words()) <= 9][:80]


@cache
def discrete(model: str = "split-merge") -> Parser:
    options: dict[str, dict[str, Any]] = {"lvg": {"subtypes": 3, "epochs": 3}, "pcfg": {}}
    return train_parser(trees(), model=model, held_out=0.0, **options.get(model, {"cycles": 1}))


@pytest.fixture
def begun(tmp_path: Path) -> str:
    path = str(tmp_path / "begun.model")
    lveg.save(discrete(), path)
    return path


def data_of(parser: Parser) -> TreeData:
    cleaned = [tree for tree in map(parser.cleaning, trees()) if tree is not None]
    return TreeData(parser.coarse, parser.binarisation, cleaned)


def test_scaling_keeps_distances_with_enough_dimensions() -> None:
    dice = np.random.default_rng(0)
    table, weight = dice.normal(size=(4, 30)), dice.dirichlet(np.ones(4))
    points = scaled(table, weight, 3)
    for one in range(4):
        for other in range(4):
            expected = np.linalg.norm(table[one] - table[other])
            assert np.linalg.norm(points[:, one] - points[:, other]) == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(points @ weight, 0.0, atol=1e-9)
    assert not scaled(table[:1], np.ones(1), 3).any()


def test_subtypes_with_similar_uses_are_close() -> None:
    family = discrete("lvg").family
    assert isinstance(family, DiscreteFamily)
    rules = family.subtype_rules()
    uses = expected_uses(family, data_of(discrete("lvg")), Run())
    used = uses_of_subtypes(rules, uses)
    points = lay_out(rules, uses, used, 2)
    rule = np.repeat(np.arange(len(rules.ptr) - 1), np.diff(rules.ptr))
    symbol = int(np.argmax(np.add.reduceat(used, rules.first[:-1])))
    own = range(rules.first[symbol], rules.first[symbol + 1])

    def distribution(slots: list[Ints], subtype: int) -> Floats:
        counts = np.concatenate([np.bincount(rule[s == subtype], uses[s == subtype], len(rules.ptr)) for s in slots])
        root: Floats = np.sqrt(counts / counts.sum())
        return root

    for one in own:
        for other in own:
            square = sum(
                np.sum((distribution(slots, one) - distribution(slots, other)) ** 2)
                for slots in ([rules.lhs], [rules.left, rules.right])
            )
            assert np.sum((points[:, one] - points[:, other]) ** 2) == pytest.approx(square, abs=1e-9)


@pytest.mark.parametrize("model", ["lvg", "split-merge", "multi-scale"])
@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
def test_components_have_weight_and_moments_of_their_rules(model: str, covariance: str) -> None:
    parser = discrete(model)
    family, data = parser.family, data_of(parser)
    assert isinstance(family, DiscreteFamily)
    options = GmOptions(components=2, dim=2, covariance=covariance, spread=0.0)
    components = n_components(data.grammar, options)
    found = start_from(family, data, components, options, Run())
    assert found.log_std.shape[0] == (2 if covariance == "diagonal" else 1)
    rules, uses = family.subtype_rules(), expected_uses(family, data, Run())
    used = uses_of_subtypes(rules, uses)
    points, share = LAYOUT * lay_out(rules, uses, used, 2), shares(rules, used)
    clusters = cluster(rules, share, points, components)
    met = densities(data.grammar.rule_lhs, rules, used, points, clusters, components)
    for rule in range(0, data.grammar.n_rules, 7):
        own, rows = slice(found.ptr[rule], found.ptr[rule + 1]), slice(rules.ptr[rule], rules.ptr[rule + 1])
        weight = np.exp(found.log_weight[own]) * met[own]
        assert weight.sum() == pytest.approx(data.weight[rule], rel=1e-6)
        assert share[rows].sum() == pytest.approx(1.0)
        for slot, first, numbers in zip(range(3), found.first, (rules.lhs, rules.left, rules.right), strict=True):
            if numbers[rows][0] >= 0:
                columns = slice(first + own.start, first + own.stop)
                mean, variance = found.mean[:, columns], np.exp(2.0 * found.log_std[0, columns])
                at = points[:, numbers[rows]]
                np.testing.assert_allclose(mean, clusters.mean[slot, own].T)
                np.testing.assert_allclose(mean @ weight / weight.sum(), at @ share[rows], atol=1e-3)
                square = (variance - 1.0 + (mean**2).mean(axis=0)) @ weight / weight.sum()
                assert square == pytest.approx((at**2).mean(axis=0) @ share[rows], abs=1e-2)


def test_clusters_are_closest_and_means_are_theirs() -> None:
    dice = np.random.default_rng(3)
    points, share = dice.normal(size=(9, 2)), dice.uniform(0.1, 1.0, 40)
    slots = dice.integers(0, 9, (3, 40)).astype(np.int32)
    slots[1, 20:], slots[2, 10:] = -1, -1
    row_ptr = np.array([0, 10, 20, 40], np.int32)
    ptr, seeds = np.array([0, 3, 4, 7]), np.array([0, 1, 2, 10, 20, 21, 22])
    mean = np.zeros((3, 7, 2))
    own = cluster_rows(row_ptr, slots, share, points, ptr, seeds, mean)
    at = np.where(slots[:, :, None] >= 0, points[slots], 0.0)
    for rule in range(3):
        for row in range(row_ptr[rule], row_ptr[rule + 1]):
            distance = ((at[:, row, None] - mean[:, ptr[rule] : ptr[rule + 1]]) ** 2).sum(axis=(0, 2))
            assert own[row] == ptr[rule] + distance.argmin()
    for number in np.unique(own):
        expected = np.average(at[:, own == number], axis=1, weights=share[own == number])
        np.testing.assert_allclose(mean[:, number], expected)


def test_it_starts_better_than_a_random_start(begun: str) -> None:
    scores = [
        train_parser(trees(), [*read_trees(DEV)][:60], **(OPTIONS | {"epochs": 1, **more})).info["dev"]["f1"]
        for more in ({"start": begun}, {})
    ]
    assert scores[0] > scores[1]


def test_a_run_is_the_same_on_threads_and_after_an_interruption(begun: str, tmp_path: Path) -> None:
    class StopError(Exception):
        pass

    def run(checkpoint: Checkpoint | None = None, most: int = 99, threads: int = 1, **more: Any) -> bytes:
        def report(event: str, facts: dict[str, Any]) -> None:
            if event == "epoch" and facts["epoch"] > most:
                raise StopError

        setting = Setting(threads=threads, report=report, checkpoint=checkpoint)
        parser = train_parser(trees(), held_out=0.0, setting=setting, **OPTIONS, **({"start": begun} | more))
        lveg.save(parser, str(tmp_path / "out"))
        return (tmp_path / "out").read_bytes()

    whole, path = run(), str(tmp_path / "checkpoint")
    assert run(threads=3) == whole
    with pytest.raises(StopError):
        run(Checkpoint(path), most=1)
    assert run(Checkpoint(path, resume=True)) == whole
    other = str(tmp_path / "other")
    lveg.save(discrete("lvg"), other)
    with pytest.raises(UsageError, match="other data or options"):
        run(Checkpoint(path, resume=True), start=other)


def test_the_record_names_the_start(begun: str) -> None:
    parser = train_parser(trees(), held_out=0.0, start=begun, **OPTIONS)
    assert parser.info["config"]["start"] == begun
    assert parser.info["start_fingerprint"] == lveg.model_io.model_fingerprint(discrete())
    assert "start_fingerprint" not in train_parser(trees(), held_out=0.0, **OPTIONS).info


def test_options_suit_a_good_start_unless_they_are_given() -> None:
    found = GmOptions(start="some").for_size(5000, ("start",))
    assert (found.dim, found.learning_rate) == (8, 0.005)
    assert GmOptions(start="some", dim=3).for_size(5000, ("start", "dim", "learning_rate")).dim == 3
    assert GmOptions().for_size(5000, ()) == GmOptions()


def test_refusals(begun: str, tmp_path: Path) -> None:
    plain, tagger = str(tmp_path / "plain"), str(tmp_path / "tagger")
    lveg.save(discrete("pcfg"), plain)
    lveg.save(lveg.train_tagger([[("a", "A"), ("b", "B")]], model="hmm"), tagger)
    for error, message, some, options in (
        (UsageError, "its rules differ from those of these trees", trees()[:60], {"start": begun}),
        (UsageError, "its rules differ from those of these trees", trees(), {"start": begun, "horizontal": 1}),
        (UsageError, "is of model pcfg, which has no discrete subtypes", trees(), {"start": plain}),
        (UsageError, "is a tagger; --start takes a parser", trees(), {"start": tagger}),
        (ModelError, "nowhere: cannot be opened", trees(), {"start": "nowhere"}),
        (UsageError, "--start needs --dev or --held-out 0", trees(), {"start": begun, "held_out": 0.1}),
        (UsageError, "--start cannot be used with --split or --alpha", trees(), {"start": begun, "alpha": 8.0}),
    ):
        with pytest.raises(error, match=message) as found:
            train_parser(some, **(OPTIONS | {"held_out": 0.0} | options))
        assert isinstance(found.value, LvegError)
        assert "\n" not in str(found.value)


def test_the_command_line_does_not_overwrite_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.mrg").write_text("\n".join(map(str, trees())), encoding="utf-8")
    quick = ("--threads", 1, "-q", "--held-out", 0)
    assert run_main("train", "parser", "train.mrg", "--model", "lvg", "--epochs", 2, "--out", "a", *quick).status == 0
    before = Path("a").read_bytes()
    options = ("train", "parser", "train.mrg", "--model", "gm", "--epochs", 1, "--start", "a", *quick)
    assert "a: cannot be written: it is an input" in run_main(*options, "--out", "a").refusal()
    assert Path("a").read_bytes() == before
    assert run_main(*options, "--out", "b").status == 0
    Path("b.toml").write_text(run_main("info", "b", "--config").out, encoding="utf-8")
    assert 'start = "a"' in Path("b.toml").read_text(encoding="utf-8")
    again = run_main("train", "parser", "train.mrg", "--config", "b.toml", "--out", "c", "--threads", 1, "-q")
    assert again.status == 0
    assert Path("c").read_bytes() == Path("b").read_bytes()
