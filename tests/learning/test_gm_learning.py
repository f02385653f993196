"""Learning a Gaussian mixture grammar on a small treebank: it gets better, and threads change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lveg.errors import UsageError
from lveg.families.gm import Gm
from lveg.learning.descent import Descent
from lveg.learning.gm import GmOptions, learn
from lveg.learning.train import ParserOptions, train_parser
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

DATA = ENGLISH.parent
SMALL = GmOptions(components=2, dim=2, descent=Descent(epochs=10, learning_rate=0.05, batch=32))


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return [tree for tree in read_trees(DATA / "demo-train.mrg") if len(tree.words()) <= 12][:300]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, trees: list[Tree]) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("treebank")
    dev = [tree for tree in read_trees(DATA / "demo-dev.mrg") if len(tree.words()) <= 12][:60]
    for name, part in (("train.mrg", trees), ("dev.mrg", dev)):
        (folder / name).write_text("".join(f"{tree}\n" for tree in part), encoding="utf-8")
    return str(folder / "train.mrg"), str(folder / "dev.mrg")


@pytest.fixture(scope="module")
def trained(files: tuple[str, str]) -> tuple[Parser, list[dict[str, object]]]:
    epochs: list[dict[str, object]] = []

    def report(event: str, facts: dict[str, object]) -> None:
        if event == "epoch":
            epochs.append(facts)

    options = ParserOptions(model="gm", gm=SMALL)
    return train_parser([files[0]], [files[1]], options, threads=2, report=report), epochs


def test_objective_falls_and_the_best_epoch_beats_the_treebank_grammar(
    trained: tuple[Parser, list[dict[str, object]]], files: tuple[str, str]
) -> None:
    parser, epochs = trained
    objectives = [float(str(facts["objective"])) for facts in epochs]
    assert len(objectives) == SMALL.descent.epochs
    assert objectives == sorted(objectives, reverse=True)
    plain = train_parser([files[0]], [files[1]])
    assert parser.info["dev"]["f1"] > plain.info["dev"]["f1"] + 1.0
    assert parser.info["dev"]["f1"] == max(facts["dev_f1"] for facts in epochs)


def test_same_bits_on_any_number_of_threads(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, descent=replace(SMALL.descent, epochs=1))
    one, two = (learn(plain.coarse, plain.binarisation, trees[:100], options, 7, threads) for threads in (1, 2))
    for name in ("log_weight", "mean", "log_std"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    other: Gm = learn(plain.coarse, plain.binarisation, trees[:100], options, 8, 2)
    assert not np.array_equal(one.mean, other.mean)


def test_probabilities_of_trees(trained: tuple[Parser, list[dict[str, object]]], files: tuple[str, str]) -> None:
    parser, _ = trained
    for tree in list(read_trees(files[1]))[:20]:
        parse = parser.parse(tree.words(), count=40, marginals=True)
        logs = [candidate.log_prob for candidate in parse.trees]
        assert all(log is not None and log <= 1e-9 for log in logs)
        assert sum(np.exp([log for log in logs if log is not None])) <= 1 + 1e-9
        assert all(0 <= share <= 1 for share in parse.constituents.values())
        assert parse.log_sentence is None  # the weights are not normalised


def test_model_file(trained: tuple[Parser, list[dict[str, object]]], files: tuple[str, str], tmp_path: Path) -> None:
    parser, _ = trained
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    save_model(parser, first)
    loaded = load_model(first)
    assert isinstance(loaded, Parser)
    save_model(loaded, second)
    assert Path(first).read_bytes() == Path(second).read_bytes()
    for tree in list(read_trees(files[1]))[:20]:
        assert loaded.parse(tree.words()) == parser.parse(tree.words())


def test_viterbi_is_refused(trained: tuple[Parser, list[dict[str, object]]]) -> None:
    parser, _ = trained
    with pytest.raises(UsageError, match="max-rule or mbr"):
        parser.parse(["The", "dog", "slept", "."], "viterbi")
