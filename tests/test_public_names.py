"""The public names are those in `__all__`, each can be imported, and type checkers see their types."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import lveg

REPOSITORY = Path(__file__).resolve().parent.parent


def test_every_listed_name_exists() -> None:
    for name in lveg.__all__:
        assert getattr(lveg, name) is not None
    assert dir(lveg) == sorted(lveg.__all__)


def test_an_unlisted_name_is_an_attribute_error() -> None:
    assert not hasattr(lveg, "no_such_name")


def test_names_for_type_checkers_match_the_real_ones() -> None:
    tree = ast.parse(Path(lveg.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imported = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            imported[alias.asname] = (node.module, alias.name)
    assert {*imported, "__version__"} == {*lveg.__all__}
    for public, (module, name) in imported.items():
        assert getattr(lveg, str(public)) is getattr(sys.modules[str(module)], name)


def test_type_checkers_see_real_types(tmp_path: Path) -> None:
    mypy = pytest.importorskip("mypy.api")
    lines = [f"reveal_type(lveg.{name})" for name in lveg.__all__]
    (tmp_path / "uses.py").write_text("\n".join(["import lveg", *lines, "lveg.load('m').task + 1"]))
    settings = ("--config-file", str(REPOSITORY / "pyproject.toml"), "--cache-dir", str(REPOSITORY / ".mypy_cache"))
    out, err, _ = mypy.run([*settings, str(tmp_path / "uses.py")])
    found = [line for line in out.splitlines() if "Revealed type" in line]
    assert len(found) == len(lines), out + err
    assert not [line for line in found if line.endswith('is "Any"') or "-> Any" in line]
    assert "Unsupported operand types" in out


@pytest.mark.parametrize("module", ["lveg", "lveg.cli", "lveg.families.registry", "lveg.task_options"])
def test_import_loads_nothing_slow(module: str) -> None:
    code = f"import {module}, sys; assert 'numba' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
