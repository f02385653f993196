"""A family in a package outside lveg: found by its entry point, and used like any other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lveg.treebank.synthetic import ENGLISH

SOURCE = '''
"""A treebank grammar with tempered weights: each probability to a power."""

from dataclasses import dataclass

import numpy as np

from lveg.families.family import check_arrays, check_facts
from lveg.families.pcfg.family import Pcfg
from lveg.families.registry import Kind
from lveg.options import Options, option

KIND = Kind(
    name="tempered",
    task="parser",
    summary="The treebank's own grammar with each probability raised to a power.",
    family="tempered:Tempered",
    options="tempered:TemperedOptions",
    learning="tempered:learn",
)


@dataclass(frozen=True)
class TemperedOptions(Options):
    power: float = option(0.9, "What probabilities are raised to.", group="Tempering", least=0.0, most=2.0)


@dataclass(frozen=True, eq=False)
class Tempered(Pcfg):
    name = "tempered"

    def arrays(self):
        return {"weight": self.weight}

    @classmethod
    def restore(cls, grammar, weight, arrays, facts):
        check_arrays(arrays, {"weight": (np.float64, 1)})
        check_facts(facts, {})
        return cls(arrays["weight"])


def learn(data, options, run):
    run.report("tempering", {"power": options.power})
    return Tempered(data.weight**options.power), {}
'''


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed package, and a small treebank in it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "tempered.py").write_text(SOURCE)
    facts = folder / "tempered-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: tempered\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[lveg.families]\ntempered = tempered:KIND\n")
    lines = (ENGLISH.parent / "demo-train.mrg").read_text().splitlines(keepends=True)
    (folder / "train.mrg").write_text("".join(lines[:100]))
    (folder / "dev.mrg").write_text("".join(lines[100:120]))
    return folder


def lveg(package: Path, *arguments: str, text: str = "") -> str:
    """What `lveg` prints with the package installed."""
    environment = os.environ | {"PYTHONPATH": str(package)}
    done = subprocess.run(
        [sys.executable, "-c", "from lveg.cli import main; main()", *arguments],
        cwd=package, env=environment, input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_family_of_another_package_is_used_like_any_other(package: Path) -> None:
    shown = lveg(package, "train", "parser", "--model", "tempered", "--help")
    assert "tempered: The treebank's own grammar with each probability raised" in " ".join(shown.split())
    assert "--power" in shown
    assert "--components" not in shown
    data = ("train.mrg", "--dev", "dev.mrg", "--quiet")
    lveg(package, "train", "parser", *data, "--out", "t.model", "--model", "tempered", "--power", "0.8")
    small = ("--model", "gm", "--epochs", "1", "--components", "2", "--dim", "2", "--forest-length", "8")
    lveg(package, "train", "parser", *data, "--out", "gm.model", *small)
    assert "power = 0.8" in lveg(package, "info", "t.model", "--config")
    assert "model: tempered" in lveg(package, "info", "t.model")
    lveg(package, "combine", "t.model", "gm.model", "--out", "both.model")
    for name in ("t.model", "both.model"):
        assert lveg(package, "parse", name, text="The dog saw a cat .\n").startswith("(TOP (S")
        assert '"f1"' in lveg(package, "evaluate", "dev.mrg", "--model", name, "--json")


def test_a_model_of_a_family_that_is_not_installed_is_refused(package: Path, tmp_path: Path) -> None:
    model = str(tmp_path / "t.model")
    lveg(package, "train", "parser", "train.mrg", "--out", model, "--model", "tempered", "--quiet")
    done = subprocess.run(
        [sys.executable, "-c", "from lveg.cli import main; main()", "info", model],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == f"lveg: {model}: holds a parser of model tempered, which is not installed here\n"
