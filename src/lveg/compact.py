"""Long sequences of trees or tagged sentences in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

from lveg.trees import Tree, from_rows, rows_of

Item = TypeVar("Item")


class Some(Sequence[Item]):
    """Some items of a sequence, given by their numbers; none of them is copied."""

    def __init__(self, items: Sequence[Item], numbers: Sequence[int]) -> None:
        self._items, self._numbers = items, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Some[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Some[Item]:
        if isinstance(index, slice):
            return Some(self._items, self._numbers[index])
        return self._items[self._numbers[index]]

    def __iter__(self) -> Iterator[Item]:
        return map(self._items.__getitem__, self._numbers)


def chosen(items: Sequence[Item], is_chosen: Iterable[bool]) -> Some[Item]:
    """The items for which this is true."""
    return Some(items, array("q", (number for number, is_in in enumerate(is_chosen) if is_in)))


class Compact(Sequence[Item]):
    """A sequence whose items are divided into parts; each different part is stored once, and an item as numbers.

    An item is made again from its parts every time it is used. take_apart, put_together: turn an item into its parts,
    and back.
    """

    def __init__(
        self,
        items: Iterable[Item],
        take_apart: Callable[[Item], Iterable[Hashable]],
        put_together: Callable[[list[Any]], Item],
    ) -> None:
        number_of: dict[Hashable, int] = {}
        self._numbers, self._ends = array("i"), array("q", [0])
        self._put_together = put_together
        for item in items:
            self._numbers.extend(number_of.setdefault(part, len(number_of)) for part in take_apart(item))
            self._ends.append(len(self._numbers))
        self._parts: list[Any] = list(number_of)

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Some[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Some[Item]:
        place = range(len(self))[index]
        if isinstance(place, range):
            return Some(self, place)
        numbers = self._numbers[self._ends[place] : self._ends[place + 1]]
        return self._put_together([self._parts[number] for number in numbers])


def compact_trees(trees: Iterable[Tree]) -> Compact[Tree]:
    """Trees, with 4 bytes per node; words, tags and labels are stored once."""
    return Compact(trees, rows_of, from_rows)


def compact_sentences(sentences: Iterable[list[tuple[str, str]]]) -> Compact[list[tuple[str, str]]]:
    """Sentences of (word, tag) pairs, with 4 bytes per word; each different pair is stored once."""
    return Compact(sentences, list, list)
