"""Scripts of the repository as modules."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load_script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Loads a script by its path in the repository; what it adds to the import path is removed after the test."""

    def load(path: str) -> ModuleType:
        monkeypatch.setattr(sys, "path", [str(ROOT / "experiments"), *sys.path])  # as when the script is run
        name = Path(path).stem
        spec = importlib.util.spec_from_file_location(name, ROOT / path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load
