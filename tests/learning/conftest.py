"""A small treebank for learning parsers with discrete subtypes."""

from __future__ import annotations

import pytest

from lveg.learning.train import read_gold_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Cleaning, Tree


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    """The first trees of the demonstration treebank."""
    return read_gold_trees([str(ENGLISH.parent / "demo-train.mrg")], Cleaning())[:150]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, trees: list[Tree]) -> tuple[str, str]:
    """Some of them to learn from and some to score on, in files."""
    folder = tmp_path_factory.mktemp("trees")
    for name, some in (("train", trees[:100]), ("dev", trees[100:])):
        (folder / f"{name}.mrg").write_text("".join(f"{tree}\n" for tree in some))
    return str(folder / "train.mrg"), str(folder / "dev.mrg")
