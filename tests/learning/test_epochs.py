"""The training loop: early stopping, checkpoints, and storage of examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lveg.errors import ModelError
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.epochs import descend
from lveg.learning.examples import Examples
from lveg.learning.options import GradientOptions
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
