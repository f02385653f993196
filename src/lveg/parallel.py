"""Parallel work on many items, with results in the order of the items."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def default_threads() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Threads:
    """Workers that are threads of this process; kernels release the GIL, so they run in parallel.

    Work never runs in the caller's thread, so that an interrupt there ends the program cleanly.
    """

    def __init__(self, count: int) -> None:
        self.count = max(count, 1)
        self._pool = ThreadPoolExecutor(self.count)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item], ahead: int = 16) -> Iterator[Result]:
        """function(item) for each item, in order, with at most `ahead` items per thread started but not yet consumed.

        If reading an item fails, the results of the items before it are returned first, then the error is raised.
        """
        limit = ahead * self.count if self.count > 1 else 1
        waiting: deque[Future[Result]] = deque()
        trouble: Exception | None = None
        source = iter(items)
        try:
            while True:
                try:
                    item = next(source)
                except StopIteration:
                    break
                except Exception as error:
                    trouble = error
                    break
                waiting.append(self._pool.submit(function, item))
                while waiting and (len(waiting) >= limit or waiting[0].done()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
            if trouble is not None:
                raise trouble
        finally:
            for future in waiting:
                future.cancel()


def ordered_map(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int, ahead: int = 16
) -> Iterator[Result]:
    """function(item) for each item, in order, on threads; see `Threads`."""
    return Threads(threads).map(function, items, ahead)


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """The items in lists of `size`, the last one shorter; if reading one fails, those before it are returned first."""
    chunk: list[Item] = []
    try:
        for item in items:
            chunk.append(item)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except Exception:
        if chunk:
            yield chunk
        raise
    if chunk:
        yield chunk
