"""Hostile sentences, for a parser and a tagger; tests/long/sentences.py asks 100,000."""

from __future__ import annotations

import pytest
from long.sentences import check


@pytest.mark.parametrize(
    ("parser", "tagger"), [("parser-features", "tagger-forms"), ("parser-pcfg", "tagger-factored")]
)
def test_every_sentence_gets_a_well_formed_answer(parser: str, tagger: str) -> None:
    found = check(150, 14, parser, tagger, longest=450)
    assert found["sentences"] == 150
    assert isinstance(found["seen"], dict)
    assert found["bytes"] <= found["most_bytes"]  # type: ignore[operator]
    assert not [what for what in found["seen"] if what.startswith("refused")]
