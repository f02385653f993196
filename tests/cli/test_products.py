"""`--with`, `--prune-with` and `--constraints`: several parsers, and parsers restricted to given trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import DATA, Run
from lveg.model import Parser, combine
from lveg.model_io import load_model, save_model
from lveg.training import train_parser
from lveg.treebank.penn import parse_tree, read_tree_lists
from lveg.trees import Tree

TEXT = "The dog saw a cat .\nA cat slept .\n\nThe dogs near the river saw a cat with a telescope .\n"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Parsers of the same trees: pcfg, and split-merge with two seeds; and one with other rules."""
    folder = tmp_path_factory.mktemp("products")
    train = folder / "train.mrg"
    train.write_text("".join((DATA / "demo-train.mrg").read_text().splitlines(keepends=True)[:120]))
    settings: dict[str, Any] = {"cycles": 1, "split_iterations": 5, "merge_iterations": 2, "smooth_iterations": 2}
    save_model(train_parser(train, model="pcfg"), str(folder / "pcfg"))
    for name, seed in (("a", 0), ("b", 1)):
        save_model(train_parser(train, model="split-merge", seed=seed, **settings), str(folder / name))
    other = folder / "other.mrg"
    other.write_text("".join((DATA / "demo-train.mrg").read_text().splitlines(keepends=True)[:60]))
    save_model(train_parser(other, model="pcfg"), str(folder / "other"))
    (folder / "text").write_text(TEXT)
    return folder


def load(path: Path) -> Parser:
    model = load_model(str(path))
    assert isinstance(model, Parser)
    return model


class TestProducts:
    def test_parse_as_the_library_does(self, run: Run, models: Path) -> None:
        found = run("parse", models / "a", models / "text", "--with", models / "b", "--with", models / "pcfg")
        product = combine([load(models / name) for name in ("a", "b", "pcfg")])
        assert found.out.splitlines() == [str(product.parse(line.split()).tree) for line in TEXT.splitlines()]

    def test_probabilities_are_means(self, run: Run, models: Path) -> None:
        one, two = load(models / "a"), load(models / "b")
        found = run("parse", models / "a", models / "text", "--with", models / "b", "--format", "jsonl")
        line = json.loads(found.out.splitlines()[0])
        tree = parse_tree(line["tree"])
        parses = [parser.parse(line["words"], p_min=one.p_min, marginals=True) for parser in (one, two)]
        for item in line["constituents"]:
            key = item["label"], item["start"], item["end"]
            assert item["probability"] == pytest.approx(sum(p.constituents[key] for p in parses) / 2, abs=1e-3)
        product = combine([one, two])
        assert product.log_prob(tree) == pytest.approx(line["log_prob"], abs=1e-2)
        assert len(product.sample(line["words"], 4)) == 4

    def test_evaluate(self, run: Run, models: Path) -> None:
        gold = models / "train.mrg"
        alone = json.loads(run("evaluate", gold, "--model", models / "a", "--json").out)
        both = json.loads(run("evaluate", gold, "--model", models / "a", "--with", models / "b", "--json").out)
        assert both["f1"] > 80
        assert alone["signature"] != both["signature"]

    def test_impossible_requests(self, run: Run, models: Path) -> None:
        refusal = run("parse", models / "a", models / "text", "--with", models / "other").refusal()
        assert "parser 2 has other rules" in refusal
        assert "needs a --model" in run("evaluate", models / "train.mrg", models / "train.mrg", "--with", "x").refusal()


class TestRestrictionToTrees:
    def test_of_another_parser(self, run: Run, models: Path) -> None:
        run("parse", models / "pcfg", models / "text", "--kbest", "5", "--out", "lists")
        pruned = run("parse", models / "a", models / "text", "--prune-with", models / "pcfg", "--prune-kbest", "5")
        listed = run("parse", models / "a", models / "text", "--constraints", "lists")
        assert pruned.status == 0
        assert pruned.out == listed.out
        assert len(pruned.out.splitlines()) == 4

    def test_one_tree_leaves_that_tree(self, run: Run, models: Path) -> None:
        trees = "(TOP (S (NP (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .)))\n"
        Path("one").write_text(trees)
        Path("sentence").write_text("The dog saw a cat .\n")
        found = run("parse", models / "a", "sentence", "--constraints", "one", "--format", "jsonl")
        line = json.loads(found.out)
        assert line["tree"] + "\n" == trees
        assert line["log_prob"] == pytest.approx(0.0, abs=1e-9)
        assert line["fallback"] is None

    def test_an_impossible_tree_is_ignored(self, run: Run, models: Path) -> None:
        Path("one").write_text("(TOP (Q (DT The) (DT dog)))\n")
        Path("sentence").write_text("The dog\n")
        found = json.loads(run("parse", models / "a", "sentence", "--constraints", "one", "--format", "jsonl").out)
        assert found["fallback"] == "free"
        assert found["words"] == ["The", "dog"]

    def test_impossible_requests(self, run: Run, models: Path) -> None:
        Path("sentence").write_text("The dog saw a cat .\n")
        Path("other").write_text("(TOP (S (NP (DT The) (NN cat))))\n")
        Path("more").write_text("(TOP (S (NP (DT The) (NN cat))))\n" * 2)
        Path("none").write_text("")
        assert "other words" in run("parse", models / "a", "sentence", "--constraints", "other").refusal()
        assert "for 0 sentences" in run("parse", models / "a", "sentence", "--constraints", "none").refusal()
        Path("short").write_text("The cat\n")
        many = run("parse", models / "a", "short", "--constraints", "more")
        assert many.status == 2
        assert "for more than the 1 sentences" in many.err
        both = run("parse", models / "a", "sentence", "--constraints", "other", "--prune-with", models / "pcfg")
        assert "cannot be used together" in both.refusal()


def test_lists_of_trees(tmp_path: Path) -> None:
    tree = "(S (N a))"
    path = tmp_path / "trees"
    for text, sizes in ((f"{tree}\n{tree}\n\n{tree}\n\n", [2, 1]), (f"{tree}\n{tree}\n", [1, 1]), ("", []),
                        (f"\n{tree}\n\n\n(())\n\n", [1, 1])):  # fmt: skip
        path.write_text(text)
        lists = list(read_tree_lists(path))
        assert [len(trees) for trees in lists] == sizes
        assert all(isinstance(one, Tree) for trees in lists for one in trees)
