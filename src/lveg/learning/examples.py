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


LIMIT = 2**30
"""Number of bytes of examples that are kept in memory, unless options say otherwise."""

ROOM = 2**24
"""Number of integers in each array that holds examples: 64 MiB, so much that the system gets the memory back as soon as
they are no longer needed. Memory of many small arrays would stay with the process."""


class Examples:
    """Arrays of int32 by index, each made from its source when it is first needed.

    Those that do not fit into `limit` bytes of memory are kept in a temporary file. Sources are made in fixed blocks,
    so that an example is the same wherever it is made. A copy in another process starts empty.
    """

    def __init__(self, make: Make, sources: Sequence[Any], limit: int = LIMIT, block: int = 1) -> None:
        self._recipe = make, sources, limit, block
        self._arrays: dict[int, Ints] = {}
        self._room = np.empty(0, np.int32)  # what is left of the array that holds the newest examples
        self._places = np.full((len(sources), 2), -1)  # of each example in the file: first byte, number of bytes
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
        if self._has(number):
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
        place, size = self._places[number].tolist()
        assert self._file is not None
        with self._lock:
            self._file.seek(place)
            return np.frombuffer(self._file.read(size), np.int32)

    def _has(self, number: int) -> bool:
        return number in self._arrays or self._places[number, 0] >= 0

    def _put(self, number: int, array: Ints) -> None:
        """Keep an example, unless another thread was faster; those within the limit stay in memory."""
        limit = self._recipe[2]
        with self._lock:
            if self._has(number):
                return
            if self._file is None and self._held + array.nbytes <= limit:
                self._arrays[number] = self._kept(array)
                self._held += array.nbytes
                return
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="lveg-forests-")  # noqa: SIM115
            self._file.seek(self._spilled)
            self._file.write(array.tobytes())
            self._places[number] = self._spilled, array.nbytes
            self._spilled += array.nbytes

    def _kept(self, array: Ints) -> Ints:
        """A copy in one of the large arrays."""
        if len(array) > len(self._room):
            self._room = np.empty(max(ROOM, len(array)), np.int32)
        kept, self._room = np.split(self._room, [len(array)])
        kept[:] = array
        return kept


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
