"""The training loop: early stopping, checkpoints, and storage of examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lveg.errors import GrammarError, ModelError, UsageError
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.checkpoint import Checkpoint, Timer
from lveg.learning.epochs import Em, descend, run_epochs
from lveg.learning.examples import Examples
from lveg.learning.options import EpochOptions, GradientOptions
from lveg.learning.run import Run


class Flat:
    """A family whose objective has the same gradient everywhere."""

    def __init__(self, value: Floats) -> None:
        self.value = value

    def with_value(self, value: Floats) -> Flat:
        return Flat(value)

    def add(self, examples: Ints, slope: Floats) -> float:
        slope += 1.0
        return float(self.value.sum())


def test_training_stops_when_the_score_no_longer_rises() -> None:
    examples = Examples(list, [np.zeros(1, np.int32)] * 4)
    scores = iter([1.0, 3.0, 2.0, 2.5, 2.9, 9.0])
    seen: list[Floats] = []

    def score(family: Flat) -> tuple[float, dict[str, Any]]:
        seen.append(family.value.copy())
        return next(scores), {}

    best = descend(Flat(np.zeros(2)), examples, GradientOptions(epochs=6, patience=3), Run(score=score))
    assert len(seen) == 5
    assert np.array_equal(best.value, seen[1])
    assert not np.array_equal(best.value, seen[0])


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c"
    Checkpoint(str(path)).save({"epoch": 1}, {"value": np.zeros(3)})
    assert Checkpoint(str(path)).load() is None  # not requested
    kept = Checkpoint(str(path), resume=True).load()
    assert kept is not None
    assert kept[0] == {"epoch": 1}
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match=f"{path}: is damaged"):
        Checkpoint(str(path), resume=True).load()


def test_examples_are_the_same_from_memory_and_disk() -> None:
    arrays = [np.arange(size, dtype=np.int32) for size in (5, 700, 3, 900, 1)]
    for limit in (0, 2820, 10**6):
        examples = Examples(list, arrays, limit, block=2)
        for number in range(len(arrays)):
            examples.make(number)
        assert len(examples) == len(arrays)
        assert examples.held + examples.spilled == sum(array.nbytes for array in arrays)
        assert examples.held <= limit
        numbers = [3, 0, 4, 4, 1, 2]
        assert np.array_equal(examples.gather(numbers), np.concatenate([arrays[number] for number in numbers]))
        examples.close()


def test_a_falling_likelihood_ends_em(tmp_path: Path) -> None:
    def learned(likelihoods: list[float], path: Path, resume: bool = False) -> Floats:
        values = iter(likelihoods)

        def step(value: Floats) -> tuple[Floats, float]:
            return value + 1.0, next(values)

        run = Run(checkpoint=Checkpoint(str(path), resume))
        options = EpochOptions(epochs=len(likelihoods), patience=0)
        return run_epochs(lambda value: value, Em(step, np.zeros(2), 10), options, run)

    slightly = [-100.0, -90.0, -90.5, -80.0]  # smoothing costs a little
    assert np.array_equal(learned(slightly, tmp_path / "a"), [4.0, 4.0])
    for last, told in ((-95.0, "fell from -80.0 to -95.0"), (np.nan, "is nan"), (-np.inf, "is -inf")):
        path = tmp_path / str(last)
        with pytest.raises(UsageError, match=f"training failed in epoch 3: the log likelihood {told}; try other .*"):
            learned([-100.0, -80.0, last], path)
        assert np.array_equal(learned([0.0, 0.0], path, resume=True), [2.0, 2.0])  # the last good epoch


class Breaking(Flat):
    """A family that refuses parameters beyond a limit, which the second epoch exceeds after its first batch."""

    def with_value(self, value: Floats) -> Breaking:
        if not (np.abs(value) < 3.5).all():
            raise GrammarError("a parameter is too large")
        return Breaking(value)


def test_a_bad_state_is_not_saved_within_an_epoch(tmp_path: Path) -> None:
    examples = Examples(list, [np.zeros(1, np.int32)] * 6)
    options = GradientOptions(epochs=3, batch=2, learning_rate=1.0, l2=0.0, decay=1.0)
    run = Run(checkpoint=Checkpoint(str(tmp_path / "c"), timer=Timer(0.0)))
    with pytest.raises(UsageError, match=r"failed in epoch 2: a parameter is too large; try .* --resume --epochs 1"):
        descend(Breaking(np.zeros(2)), examples, options, run)
    kept = Checkpoint(str(tmp_path / "c"), resume=True).load()
    assert kept is not None
    assert kept[0]["epoch"] == 1
    assert np.abs(kept[1]["0.average"]).max() < 3.5
