"""Parallel work in order, chunks, and errors while reading."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lveg.parallel import chunks, ordered_map


def broken(count: int) -> Iterator[int]:
    """Some numbers, then an error."""
    yield from range(count)
    raise ValueError("no more")


def test_chunks() -> None:
    assert list(chunks(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunks(range(4), 2)) == [[0, 1], [2, 3]]
    assert list(chunks([], 2)) == []


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("count", [0, 4, 5])
def test_results_before_a_fault_come_first(threads: int, count: int) -> None:
    results = ordered_map(sum, chunks(broken(count), 2), threads)
    assert sum(next(results) for _ in range((count + 1) // 2)) == sum(range(count))
    with pytest.raises(ValueError, match="no more"):
        next(results)


@pytest.mark.parametrize("threads", [1, 4])
def test_order(threads: int) -> None:
    assert list(ordered_map(str, range(100), threads, ahead=2)) == [str(number) for number in range(100)]
