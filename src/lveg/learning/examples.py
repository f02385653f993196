"""Training examples as packed arrays, in memory or, above a limit, in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import IO

import numpy as np

from lveg.grammar.grammar import Ints
from lveg.learning.run import Run
from lveg.trees import Tree


class Examples:
    """Arrays of int32 by index; those that do not fit into `limit` bytes of memory are kept in a temporary file."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._arrays: list[Ints] = []
        self._held = 0
        self._spilled = 0
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []

    def __len__(self) -> int:
        return len(self._arrays) + len(self._places)

    @property
    def spilled(self) -> int:
        """Number of bytes in the file."""
        return self._spilled

    @property
    def held(self) -> int:
        """Number of bytes in memory."""
        return self._held

    def append(self, array: Ints) -> None:
        """Add an example; those within the limit stay in memory."""
        if self._file is None and self._held + array.nbytes <= self._limit:
            self._arrays.append(array)
            self._held += array.nbytes
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="lveg-forests-")  # noqa: SIM115
        self._file.write(array.tobytes())
        self._file.flush()
        self._places.append((self._spilled, array.size))
        self._spilled += array.nbytes

    def gather(self, numbers: Iterable[int]) -> Ints:
        """The examples with these indices, concatenated."""
        return np.concatenate([self._get(int(number)) for number in numbers])

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()

    def _get(self, number: int) -> Ints:
        if number < len(self._arrays):
            return self._arrays[number]
        place, size = self._places[number - len(self._arrays)]
        assert self._file is not None
        return np.memmap(self._file, dtype=np.int32, mode="r", offset=place, shape=(size,))


def collect(example: Callable[[Tree], Ints], trees: Sequence[Tree], limit: int, run: Run) -> Examples:
    """The examples of trees, with `limit` bytes of them in memory."""
    examples = Examples(limit)
    for item in run.map(example, trees):
        examples.append(item)
        run.report("progress", {"what": "building forests", "done": len(examples), "total": len(trees)})
    held, spilled = (round(size / 2**20, 1) for size in (examples.held, examples.spilled))
    run.report("forests", {"sentences": len(examples), "mib": held, "mib_on_disk": spilled})
    return examples
