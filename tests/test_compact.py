"""Sequences in compact form are used like lists."""

from __future__ import annotations

import pickle
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import trees

from lveg.compact import Some, chosen, compact_sentences, compact_trees
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree, rows_of


@given(st.lists(trees(), max_size=5))
def test_trees_come_back(items: list[Tree]) -> None:
    packed = compact_trees(items)
    assert len(packed) == len(items)
    for same in (packed, pickle.loads(pickle.dumps(packed))):
        assert list(map(rows_of, same)) == list(map(rows_of, items))


@given(st.lists(st.lists(st.tuples(st.text(), st.text())), max_size=9), st.slices(9))
def test_sentences_are_used_like_a_list(items: list[list[tuple[str, str]]], part: slice) -> None:
    packed = compact_sentences(items)
    assert list(packed) == items
    assert list(packed[part]) == items[part]
    assert list(packed[part][::-1]) == items[part][::-1]
    assert list(reversed(packed)) == items[::-1]
    assert [packed[index] for index in range(-len(items), 0)] == items


def test_an_index_out_of_range_is_an_error() -> None:
    packed = compact_sentences([[("a", "X")]])
    for items in (packed, packed[:]):
        for index in (1, -2):
            with pytest.raises(IndexError):
                items[index]


def test_lemmas_are_kept_and_leaves_without_them_differ() -> None:
    items = [Tree("TOP", [Tree("N", (), "dogs", lemma)]) for lemma in (None, "dog", "dogs")]
    assert [str(tree) for tree in compact_trees(items)] == [str(tree) for tree in items]


def test_chosen_items() -> None:
    some = chosen("abcdef", [index % 2 == 0 for index in range(6)])
    assert list(some) == ["a", "c", "e"]
    assert list(Some(some, [2, 0])) == ["e", "a"]
    assert not chosen("abc", [False] * 3)


def test_a_tree_takes_little_memory() -> None:
    """A tree of the demo treebank has about 22 nodes of 4 bytes; as objects it takes some kilobytes."""
    path = str(ENGLISH.parent / "demo-train.mrg")
    list(read_trees(path))
    tracemalloc.start()
    try:
        items = [tree for _ in range(3) for tree in read_trees(path)]
        as_objects = tracemalloc.get_traced_memory()[0]
        packed = compact_trees(items)
        as_numbers = tracemalloc.get_traced_memory()[0] - as_objects
    finally:
        tracemalloc.stop()
    assert len(packed) == len(items)
    assert as_numbers < as_objects / 8
