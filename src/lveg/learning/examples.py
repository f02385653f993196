"""Training examples as packed arrays: made where they are used, kept in memory or, above a limit, in a file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import IO, Any

import numpy as np

from lveg.grammar.grammar import Ints
from lveg.learning.run import Run

Make = Callable[[Sequence[Any]], Iterable[Ints]]
"""Makes the examples of some sources, such as trees, in their order."""


class Examples:
    """Arrays of int32 by index, each made from its source when it is first needed.

    Those that do not fit into `limit` bytes of memory are kept in a temporary file. Sources are made in fixed blocks,
    so that an example is the same wherever it is made. A copy in another process starts empty.
    """

    def __init__(self, make: Make, sources: Sequence[Any], limit: int = 2**40, block: int = 1) -> None:
        self._recipe = make, sources, limit, block
        self._arrays: dict[int, Ints] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._held = 0
        self._spilled = 0
        self._file: IO[bytes] | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Examples, self._recipe

    def __len__(self) -> int:
        return len(self._recipe[1])

    @property
    def spilled(self) -> int:
        """Number of bytes in the file."""
        return self._spilled

    @property
    def held(self) -> int:
        """Number of bytes in memory."""
        return self._held

    def gather(self, numbers: Iterable[int]) -> Ints:
        """The examples with these indices, concatenated."""
        return np.concatenate([self._get(int(number)) for number in numbers])

    def make(self, number: int) -> None:
        """Make the block of an example, unless it exists."""
        make, sources, _, block = self._recipe
        if number in self._arrays or number in self._places:
            return
        first = number - number % block
        for index, array in enumerate(make(sources[first : first + block]), start=first):
            self._put(index, array)

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()

    def _get(self, number: int) -> Ints:
        self.make(number)
        array = self._arrays.get(number)
        if array is not None:
            return array
        place, size = self._places[number]
        assert self._file is not None
        if not size:  # cannot be mapped
            return np.empty(0, np.int32)
        return np.memmap(self._file, dtype=np.int32, mode="r", offset=place, shape=(size,))

    def _put(self, number: int, array: Ints) -> None:
        """Keep an example, unless another thread was faster; those within the limit stay in memory."""
        limit = self._recipe[2]
        with self._lock:
            if number in self._arrays or number in self._places:
                return
            if self._file is None and self._held + array.nbytes <= limit:
                self._arrays[number] = array
                self._held += array.nbytes
                return
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="lveg-forests-")  # noqa: SIM115
            self._file.write(array.tobytes())
            self._file.flush()
            self._places[number] = self._spilled, array.size
            self._spilled += array.nbytes


def make_all(examples: Examples, run: Run, what: str = "building forests") -> Examples:
    """Make the examples now, if the workers share this memory; other workers make those that they need."""
    total = len(examples)
    if not run.shares_memory:
        run.report("forests", {"sentences": total, "note": "built by the workers"})
        return examples
    for done, _ in enumerate(run.map(lambda values: examples.make, range(total)), start=1):
        run.report("progress", {"what": what, "done": done, "total": total})
    held, spilled = (round(size / 2**20, 1) for size in (examples.held, examples.spilled))
    run.report("forests", {"sentences": total, "mib": held, "mib_on_disk": spilled})
    return examples


def blocks(size: int, length: int) -> list[range]:
    """The numbers of `size` examples in blocks of this length, the last one shorter."""
    return [range(first, min(first + length, size)) for first in range(0, size, length)]
