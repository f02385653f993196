"""Golden models: files of every release stay readable and give the same answers (tests/golden/make.py makes them)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golden.make import HERE, Golden, answers, make

from lveg._version import __version__
from lveg.container import FORMAT, unpack
from lveg.families.registry import kinds
from lveg.model_io import load_model, save_model

RELEASES = sorted(path.parent for path in HERE.glob("*/answers.json"))
DOCS = HERE.parent.parent / "docs"


def told(release: Path) -> dict[str, Golden]:
    """The golden models of a release."""
    return msgspec.json.decode((release / "answers.json").read_bytes(), type=dict[str, Golden])


MODELS = [pytest.param(release, name, id=f"{release.name}-{name}") for release in RELEASES for name in told(release)]
models = pytest.mark.parametrize(("release", "name"), MODELS)


def is_same(one: Any, other: Any) -> bool:
    """Whether two answers are the same, numbers up to 1e-9."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


@models
def test_a_golden_model_gives_its_answers(release: Path, name: str) -> None:
    file, golden = release / f"{name}.model", told(release)[name]
    assert hashlib.sha256(file.read_bytes()).hexdigest() == golden.digest
    assert is_same(answers(load_model(file)), golden.answers)


@models
def test_its_format_is_documented(release: Path, name: str) -> None:
    text, _ = unpack((release / f"{name}.model").read_bytes())
    number = msgspec.json.decode(text)["format"]
    assert number == told(release)[name].format
    assert f"| {number} |" in (DOCS / "formats.md").read_text(encoding="utf-8")


def names_in(facts: Any, task: str) -> Iterator[tuple[str, str]]:
    """(task, name) of the parts of a family; a part counts both as a family and as a context."""
    for part in facts.get("parts", []):
        yield task, part["name"]
        yield f"{task}-context", part["name"]
        yield from names_in(part["facts"], task)


def test_every_registered_family_and_context_has_a_golden_model() -> None:
    found = set()
    for file in (HERE / __version__).glob("*.model"):
        header = msgspec.json.decode(unpack(file.read_bytes())[0])
        found |= {(header["task"], header["family"]), *names_in(header["facts"], header["task"])}
    tasks = ("parser", "tagger", "tokeniser", "parser-context", "tagger-context")
    wanted = {(task, name) for task in tasks for name, kind in kinds(task).items() if kind.family.startswith("lveg.")}
    assert wanted <= found


def test_the_current_format_has_golden_models() -> None:
    assert {golden.format for golden in told(HERE / __version__).values()} == {FORMAT}


def test_no_golden_model_is_forgotten_or_too_large() -> None:
    for release in RELEASES:
        assert {file.stem for file in release.glob("*.model")} == set(told(release))
        assert all(file.stat().st_size < 50_000 for file in release.iterdir())


def test_a_release_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "1.0").mkdir()
    with pytest.raises(FileExistsError):
        make(tmp_path / "1.0")


@models
def test_saving_again_keeps_every_answer(release: Path, name: str, tmp_path: Path) -> None:
    model = load_model(release / f"{name}.model")
    save_model(model, tmp_path / "again")
    assert answers(load_model(tmp_path / "again")) == answers(model)
