"""Memory for charts: reused, used by one borrower at a time, and bounded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from oracles import random_cases, subject

from lveg.chart import coarse
from lveg.chart.chart import Memory
from lveg.chart.coarse import CoarseParser
from lveg.forest.forest import Forest, anchored_rules
from lveg.parallel import Threads


def test_a_block_is_reused() -> None:
    memory = Memory()
    with memory.borrow(10) as first:
        assert first.size == 10
    with memory.borrow(5) as second:
        assert second is first
    with memory.borrow(20) as larger:
        assert larger.size == 20
    with memory.borrow(10) as third:
        assert third is larger


def test_borrowers_do_not_share_a_block() -> None:
    memory = Memory()
    with memory.borrow(10) as one, memory.borrow(10) as two:
        assert not np.shares_memory(one, two)


def test_a_large_block_is_not_kept() -> None:
    memory = Memory(limit=10)
    with memory.borrow(11) as large:
        pass
    with memory.borrow(10) as small:
        assert not np.shares_memory(small, large)


def test_a_block_is_returned_after_an_error() -> None:
    memory = Memory()
    try:
        with memory.borrow(10) as first:
            raise KeyError
    except KeyError:
        pass
    with memory.borrow(10) as second:
        assert second is first


def pruned(parser: CoarseParser, words: Sequence[str]) -> Forest:
    """The forest of a sentence."""
    return parser.prune(words, 1e-3, 1e-3)[1]


def test_old_contents_of_a_block_do_not_matter() -> None:
    """Sentences of all lengths, in sequence and on several threads, give the same forests as each alone."""
    for case in random_cases(20, seed=31, most=100):
        for is_exact in (True, False):
            parser = CoarseParser(*subject(case.toy), is_exact=is_exact)
            sentences = [case.words[:length] for length in range(len(case.words), 0, -1)] * 3
            alone = [
                anchored_rules(CoarseParser(*subject(case.toy), is_exact=is_exact).prune(words, 1e-3, 1e-3)[1])
                for words in sentences
            ]
            with parser.memory.borrow(5000) as block:
                block[:] = np.nan
            found = list(Threads(3).map(partial(pruned, parser), sentences))
            assert all(np.array_equal(a, anchored_rules(b)) for a, b in zip(alone, found, strict=True))


def test_lists_that_are_too_short_become_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = list(random_cases(20, seed=32, most=100))
    expected = [anchored_rules(pruned(CoarseParser(*subject(case.toy), is_exact=False), case.words)) for case in cases]
    monkeypatch.setattr(coarse, "_ENTRIES", 1)
    for case, items in zip(cases, expected, strict=True):
        found = pruned(CoarseParser(*subject(case.toy), is_exact=False), case.words)
        assert np.array_equal(anchored_rules(found), items)


def test_likely_symbols_are_used_if_the_exact_chart_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case for case in random_cases(40, seed=33, most=100) if len(case.words) > 1]
    monkeypatch.setattr(coarse, "MAX_BYTES", 0)
    for case in cases:
        parses = CoarseParser(*subject(case.toy)).parses(case.words, 1e-5)
        assert parses.forest is not None
        assert parses.log_z is None


def test_a_flat_tree_if_there_is_no_memory_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "MAX_BYTES", 0)
    monkeypatch.setattr(coarse, "MAX_LIKELY_BYTES", 0)
    for case in random_cases(5, seed=34, most=100):
        assert CoarseParser(*subject(case.toy)).parses(case.words, 1e-5).fallback == "flat"
