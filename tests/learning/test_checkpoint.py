"""Checkpoints: when they are written, what remains after an error, and that a run continues to the same bits."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lveg.errors import ModelError, UsageError
from lveg.files import remove_partial, replacing
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.checkpoint import Checkpoint, Timer
from lveg.learning.epochs import descend
from lveg.learning.examples import Examples
from lveg.learning.options import GradientOptions
from lveg.learning.run import Run

OPTIONS = GradientOptions(epochs=3, batch=4)


class Squares:
    """A family whose parameters are drawn towards the examples."""

    def __init__(self, value: Floats) -> None:
        self.value = value

    def with_value(self, value: Floats) -> Squares:
        return Squares(value)

    def add(self, examples: Ints, slope: Floats) -> float:
        gap = self.value - examples.reshape(-1, len(self.value))
        slope += gap.sum(axis=0)
        return float((gap**2).sum() / 2.0)


class StopError(Exception):
    """An interruption."""


class Events(list[tuple[str, dict[str, Any]]]):
    """A report that collects events, and stops the run at the n-th progress event."""

    def __init__(self, most: int = 10**9) -> None:
        self.most = most

    def __call__(self, event: str, facts: dict[str, Any]) -> None:
        self.append((event, facts))
        if sum(name == "progress" for name, _ in self) > self.most:
            raise StopError

    @property
    def warnings(self) -> list[str]:
        return [facts["note"] for event, facts in self if event == "warning"]


@pytest.fixture(scope="module")
def examples() -> Examples:
    return Examples(list, list(np.random.default_rng(0).integers(-9, 9, (18, 3), np.int32)))


def learned(examples: Examples, checkpoint: Checkpoint | None = None, report: Events | None = None) -> Floats:
    run = Run(seed=5, checkpoint=checkpoint, report=Events() if report is None else report)
    return descend(Squares(np.zeros(3)), examples, OPTIONS, run).value


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Writing beyond this size fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_run_resumes_after_any_batch_to_the_same_bits(examples: Examples, tmp_path: Path) -> None:
    whole = learned(examples)
    n_batches = 4 * OPTIONS.epochs
    for stop in range(n_batches):
        path, report = str(tmp_path / str(stop)), Events()
        with pytest.raises(StopError):
            learned(examples, Checkpoint(path, timer=Timer(0.0)), Events(stop))
        assert np.array_equal(learned(examples, Checkpoint(path, resume=True), report), whole)
        rest = [facts for event, facts in report if event == "progress"]
        assert len(rest) == n_batches - stop
        if stop % 4:
            told = next(facts for event, facts in report if event == "resumed")
            assert (told["epoch"], told["part_of_next"]) == (stop // 4, stop % 4 / 4)
    with pytest.raises(StopError):
        learned(examples, Checkpoint(str(tmp_path / "slow"), timer=Timer(60.0)), Events(3))
    assert not (tmp_path / "slow").exists()


def test_the_objective_of_a_resumed_epoch_is_that_of_all_its_batches(examples: Examples, tmp_path: Path) -> None:
    def objectives(report: Events) -> list[float]:
        return [facts["objective"] for event, facts in report if event == "epoch"]

    whole, again, path = Events(), Events(), str(tmp_path / "c")
    learned(examples, None, whole)
    with pytest.raises(StopError):
        learned(examples, Checkpoint(path, timer=Timer(0.0)), Events(6))
    learned(examples, Checkpoint(path, resume=True), again)
    assert objectives(again) == objectives(whole)[1:]


def test_a_damaged_checkpoint_falls_back_to_the_one_before(examples: Examples, tmp_path: Path) -> None:
    path = tmp_path / "c"
    checkpoint = Checkpoint(str(path), resume=True, timer=Timer(0.0))
    for damage in (lambda data: data[:-1], lambda data: b"", lambda data: data[:-9] + b"\1" + data[-8:], None):
        with pytest.raises(StopError):
            learned(examples, Checkpoint(str(path), timer=Timer(0.0)), Events(6))
        if damage is None:
            path.unlink()  # killed between the two renamings
        else:
            path.write_bytes(damage(path.read_bytes()))
        report = Events()
        assert np.array_equal(learned(examples, checkpoint, report), learned(examples))
        if damage is not None:
            (note,) = report.warnings
            assert note.startswith(f"{path}: is ")
            assert note.endswith("; continuing from the checkpoint before")
        assert next(facts for event, facts in report if event == "resumed")["part_of_next"] == 0.25
    for file in (path, Path(checkpoint.previous)):
        file.write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"c\.previous: is not a model file.*; start without --resume"):
        checkpoint.load()


def test_a_damaged_checkpoint_does_not_replace_the_good_one(tmp_path: Path) -> None:
    path, checkpoint = tmp_path / "c", Checkpoint(str(tmp_path / "c"), resume=True)
    for epoch in (1, 2):
        checkpoint.save({"epoch": epoch}, {})
    for epoch in (3, 4):
        path.write_bytes(b"damaged")
        assert checkpoint.load() == ({"epoch": 1}, {})
        checkpoint.save({"epoch": epoch}, {})


def test_a_full_disk_warns_and_training_goes_on(examples: Examples, tmp_path: Path) -> None:
    path, report = str(tmp_path / "c"), Events()
    with pytest.raises(StopError):
        learned(examples, Checkpoint(path, timer=Timer(0.0)), Events(5))
    with largest_file(100):
        value = learned(examples, Checkpoint(path, resume=True, timer=Timer(0.0)), report)
    assert np.array_equal(value, learned(examples))
    assert len(report.warnings) == 7
    assert set(report.warnings) == {
        f"{path}: cannot be written: File too large; training goes on, with the checkpoint before if there is one"
    }
    assert sorted(os.listdir(tmp_path)) == ["c", "c.previous"]
    again = Events()
    assert np.array_equal(learned(examples, Checkpoint(path, resume=True), again), value)
    assert sum(event == "progress" for event, _ in again) == 7  # from where it was before the disk was full


def test_files_that_were_not_finished_are_removed(tmp_path: Path) -> None:
    for name in ("m.checkpoint", "m.checkpoint.0.1", "m"):
        (tmp_path / f".lveg-{name}-{'0a' * 8}").touch()
    others = [f".lveg-m2-{'0a' * 8}", f".lveg-m.checkpoint.old-{'0a' * 8}", ".lveg-m-notes"]
    for name in others:
        (tmp_path / name).touch()
    Checkpoint(str(tmp_path / "m.checkpoint")).remove()
    remove_partial(str(tmp_path / "m"))
    assert sorted(os.listdir(tmp_path)) == sorted(others)


def test_the_temporary_file_carries_the_name_of_the_file(tmp_path: Path) -> None:
    for name in ("m", "m" * 230):
        with replacing(str(tmp_path / name)) as stream:
            stream.write(b"1")
            (found,) = tmp_path.glob(".lveg-*")
            assert len(name) > 200 or found.name.startswith(f".lveg-{name}-")
        assert (tmp_path / name).read_bytes() == b"1"
    refused = pytest.raises(UsageError, match="cannot be written: File too large")
    with refused, largest_file(10), replacing(str(tmp_path / "m")) as stream:
        stream.write(b"2" * 100)
    assert (tmp_path / "m").read_bytes() == b"1"
    assert not list(tmp_path.glob(".lveg-*"))
