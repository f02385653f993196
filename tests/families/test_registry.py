"""Available families, and how those of other packages are found."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import lveg.families
from lveg.errors import UsageError
from lveg.families import registry
from lveg.families.family import Stored
from lveg.families.registry import Kind, default_kind, find, find_trainable, kinds, trainable, treebank_kind
from lveg.options import Options

TASKS = ("parser", "tagger", "tokeniser")
ALL = [kind for task in TASKS for kind in kinds(task).values()]


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """Entry points that are added to packages."""
    points: list[EntryPoint] = []
    monkeypatch.setattr(registry, "entry_points", lambda group: [point for point in points if point.group == group])
    kinds.cache_clear()
    yield points
    kinds.cache_clear()


def test_every_folder_is_a_family() -> None:
    folders = {path.parent.name for path in Path(lveg.families.__path__[0]).glob("*/__init__.py")}
    homes = {(kind.options or kind.family).split(".")[2] for kind in ALL}
    assert folders == homes


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: f"{kind.task}-{kind.name}")
def test_a_kind_agrees_with_its_family(kind: Kind) -> None:
    family = kind.load_family()
    assert issubclass(family, Stored)
    assert family.name == kind.name
    assert kind.summary.endswith(".")
    assert bool(kind.learning) == bool(kind.options)
    if kind.learning:
        assert issubclass(kind.load_options(), Options)
        assert callable(kind.load_learning())
        assert kind.load_options()().record() is not None


@pytest.mark.parametrize("task", ["parser", "tagger"])
def test_each_task_has_one_default_and_one_treebank_family(task: str) -> None:
    assert [kind for kind in kinds(task).values() if kind.is_default] == [default_kind(task)]
    assert [kind for kind in kinds(task).values() if kind.is_treebank] == [treebank_kind(task)]
    assert next(iter(kinds(task).values())) is treebank_kind(task)
    assert default_kind(task).name in trainable(task)
    assert all(kind.task == task for kind in kinds(task).values())


def test_unknown_names() -> None:
    assert find("parser", "pcfg") is treebank_kind("parser")
    with pytest.raises(UsageError, match="there is no parser model 'hmm'; there are pcfg, cvg, gm, "):
        find("parser", "hmm")
    assert find("parser", "product").name == "product"
    with pytest.raises(UsageError, match="a parser of model product is not trained: Several parsers"):
        find_trainable("parser", "product")
    assert "product" not in trainable("parser")


def test_families_of_other_packages_come_last(offered: list[EntryPoint]) -> None:
    before = list(kinds("parser"))
    kinds.cache_clear()
    offered.append(EntryPoint("b", "tests_of_registry:OTHER", registry.ENTRY_POINTS))
    offered.append(EntryPoint("a", "tests_of_registry:ANOTHER", registry.ENTRY_POINTS))
    offered.append(EntryPoint("c", "tests_of_registry:MISSING", "another.group"))
    module = type(sys)("tests_of_registry")
    module.__dict__["OTHER"] = Kind("another", "parser", "Something.", "x:X")
    module.__dict__["ANOTHER"] = Kind("tempered", "parser", "Something else.", "x:Y")
    sys.modules["tests_of_registry"] = module
    try:
        assert list(kinds("parser")) == [*before, "tempered", "another"]
        assert "tempered" not in kinds("tagger")
        offered.append(EntryPoint("d", "tests_of_registry:OTHER", registry.ENTRY_POINTS))
        assert list(kinds("parser")) == [*before, "tempered", "another"]
        kinds.cache_clear()
        module.__dict__["OTHER"] = Kind("pcfg", "parser", "Something.", "x:X")
        with pytest.raises(UsageError, match="two packages offer a parser family called 'pcfg'"):
            kinds("parser")
    finally:
        del sys.modules["tests_of_registry"]


def test_finding_families_imports_nothing_slow() -> None:
    code = (
        "import sys; from lveg.families.registry import trainable\n"
        "found = [*trainable('parser').values(), *trainable('tagger').values()]\n"
        "assert len(found) > 6 and all(kind.load_options() for kind in found)\n"
        "assert 'numba' not in sys.modules and 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
