"""A small treebank for training parsers with discrete subtypes."""

from __future__ import annotations

import pytest

from lveg.treebank.penn import read_gold_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Cleaning, Tree


@pytest.fixture(scope="session")
def some_trees() -> list[Tree]:
    """The first trees of the demonstration treebank."""
    return read_gold_trees([str(ENGLISH.parent / "demo-train.mrg")], Cleaning())[:150]


@pytest.fixture(scope="session")
def trees(some_trees: list[Tree]) -> list[Tree]:
    """The training trees."""
    return some_trees[:100]


@pytest.fixture(scope="session")
def dev(some_trees: list[Tree]) -> list[Tree]:
    """The development trees."""
    return some_trees[100:]
