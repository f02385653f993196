"""Words as terminals: every word has one."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lveg.errors import GrammarError
from lveg.grammar.grammar import tag_grammar
from lveg.grammar.lexicon import Lexicon, LexiconOptions, Tagged, WordCounts, build_lexicon, count_words
from lveg.grammar.unknown import SCHEMES, UNKNOWN, candidates

SENTENCES = [
    [("The", "D"), ("dogs", "N"), ("walked", "V"), ("slowly", "R")],
    [("the", "D"), ("dogs", "N"), ("barked", "V"), ("loudly", "R"), ("in", "P"), ("1990", "C")],
    [("the", "D"), ("cats", "N"), ("jumped", "V"), ("Smith-Jones", "E"), (",", ","), ("$5M", "C")],
    [("Cats", "N"), ("played", "V"), ("nicely", "R"), ("in", "P"), ("Paris", "E"), ("2,000", "C")],
]


def counted(sentences: Iterable[Tagged]) -> WordCounts:
    counts: WordCounts = Counter()
    for sentence in sentences:
        count_words(counts, sentence)
    return counts


LEXICONS = {
    (scheme, threshold): build_lexicon(counted(SENTENCES), LexiconOptions(scheme, threshold))
    for scheme in SCHEMES
    for threshold in (1, 2, 5)
}


@given(st.text(min_size=1), st.booleans())
@example("İ", True)
@example("ß" * 7, False)
@example("\u01c5x", True)
@example("-", False)
@example("²", False)
@example("s", False)
def test_every_string_has_a_terminal_with_a_tag(word: str, is_first: bool) -> None:
    for lexicon, counts in LEXICONS.values():
        terminal = lexicon.terminal(word, is_first)
        assert 0 <= terminal < lexicon.n_terminals
        assert any(other == terminal and count > 0 for (_, other), count in counts.items())
        classes = candidates(lexicon.scheme)(word, is_first, lexicon.word_ids)
        assert classes[-1] == UNKNOWN
        assert len(set(classes)) == len(classes)


@pytest.mark.parametrize(
    ("word", "is_first", "name"),
    [
        ("dogs", False, "UNK-LC-s"),
        ("glass", False, "UNK-LC"),  # -ss, -is and -us are not plurals
        ("corpus", False, "UNK-LC"),
        ("Walking", False, "UNK-CAPS-ing"),
        ("Walking", True, "UNK-INITC-ing"),
        ("Walked", True, "UNK-INITC-KNOWNLC-ed"),
        ("NATO", True, "UNK-CAPS"),  # more than one capital
        ("well-known", False, "UNK-LC-DASH"),  # no suffix after a dash
        ("high-techs", False, "UNK-LC-DASH-s"),
        ("1990s", False, "UNK-LC-NUM-s"),
        ("2,000", False, "UNK-NUM"),
        ("$5M", False, "UNK-CAPS-NUM"),
        ("quickly", False, "UNK-LC-ly"),
        ("purity", False, "UNK-LC-ity"),
        ("fishy", False, "UNK-LC-y"),
        ("fly", False, "UNK-LC"),  # too short for a suffix
        ("national", False, "UNK-LC-al"),
        ("nation", False, "UNK-LC-ion"),
        ("!", False, "UNK"),
    ],
)
def test_english_signatures(word: str, is_first: bool, name: str) -> None:
    assert candidates("english")(word, is_first, {"walked"})[0] == name


def test_english_backs_off_by_removing_features() -> None:
    chain = ["UNK-LC-NUM-DASH-s", "UNK-LC-NUM-DASH", "UNK-LC-NUM", "UNK-LC", "UNK"]
    assert candidates("english")("mid-1990s", False, ()) == chain
    lexicon = Lexicon("english", ("a",), ("UNK", "UNK-LC"))
    names = (*lexicon.words, *lexicon.classes)
    assert names[lexicon.terminal("mid-1990s")] == "UNK-LC"
    assert names[lexicon.terminal("ABC")] == "UNK"
    assert names[lexicon.terminal("a")] == "a"


def test_auto_backs_off_by_shape_and_ending() -> None:
    chain = ["lower~alked", "lower~lked", "lower~ked", "lower~ed", "lower~d", "lower", "UNK"]
    assert candidates("auto")("walked", False, ()) == chain
    assert candidates("auto")("Ab", True, ())[-3:] == ["Title-first", "Title", "UNK"]
    assert candidates("auto")("Ab", True, {"ab"})[-3:] == ["Title-first-known", "Title", "UNK"]
    assert candidates("auto")("犬", False, ()) == ["caseless", "UNK"]
    assert candidates("auto")("1990", False, ())[-2:] == ["digit", "UNK"]
    assert candidates("auto")("...", False, ())[-2:] == ["punct", "UNK"]


def test_auto_learns_informative_endings() -> None:
    dice = random.Random(1)
    letters = "bcdfghjklm"
    sentences = [
        [("".join(dice.choices(letters, k=5)) + ending, tag)]
        for ending, tag in (("ing", "V"), ("ness", "N"), ("ly", "R"))
        for _ in range(30)
    ]
    lexicon, _ = build_lexicon(counted(sentences), LexiconOptions())
    names = (*lexicon.words, *lexicon.classes)
    classes = {names[lexicon.terminal(word)] for word in ("zzzing", "zzzness", "zzzly")}
    assert len(classes) == 3
    assert UNKNOWN in lexicon.classes


def test_threshold_decides_what_is_known() -> None:
    for threshold, known in ((1, 19), (2, 3), (3, 0)):
        lexicon, _ = build_lexicon(counted(SENTENCES), LexiconOptions(threshold=threshold))
        assert len(lexicon.words) == known
    lexicon, _ = build_lexicon(counted(SENTENCES), LexiconOptions(threshold=2))
    assert lexicon.words == ("dogs", "in", "the")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("smooth", [0, 10])
def test_counts_without_rare_words(scheme: str, smooth: int) -> None:
    """Even if every word is known, unknown words have a class and tags."""
    sentences = [[("a", "X"), ("b", "Y")]] * 3
    lexicon, counts = build_lexicon(counted(sentences), LexiconOptions(scheme, 2, smooth))
    terminal = lexicon.terminal("zebra")
    assert terminal >= len(lexicon.words) == 2
    assert {tag for tag, other in counts if other == terminal} == {"X", "Y"}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_if_all_words_are_known_classes_come_from_words_seen_once(scheme: str) -> None:
    sentences = [[("a", "X"), ("b", "Y")], [("a", "X"), ("c", "Z")]]
    lexicon, counts = build_lexicon(counted(sentences), LexiconOptions(scheme, 1, 0))
    assert lexicon.words == ("a", "b", "c")
    assert {tag for tag, other in counts if other == lexicon.terminal("d")} == {"Y", "Z"}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("threshold", [1, 2, 5])
@pytest.mark.parametrize("smooth", [0, 10])
def test_every_terminal_has_a_tag_and_every_pair_a_count(scheme: str, threshold: int, smooth: int) -> None:
    lexicon, counts = build_lexicon(counted(SENTENCES), LexiconOptions(scheme, threshold, smooth))
    assert {terminal for (_, terminal), count in counts.items() if count > 0} == set(range(lexicon.n_terminals))
    for sentence in SENTENCES:
        words = [word for word, _ in sentence]
        for (_, tag), terminal in zip(sentence, lexicon.terminals(words), strict=True):
            assert counts[tag, terminal] > 0
    assert all(count > 0 for count in counts.values())


def test_smoothing_keeps_the_tokens_of_a_word() -> None:
    """After smoothing, the counts of a known word still sum to its number of occurrences."""
    lexicon, counts = build_lexicon(counted(SENTENCES), LexiconOptions(threshold=2))
    for word, tokens in (("dogs", 2), ("in", 2), ("the", 2)):
        own = [count for (_, terminal), count in counts.items() if terminal == lexicon.word_ids[word]]
        assert sum(own) == pytest.approx(tokens, rel=1e-12)
        assert len(own) > 1
    _, exact = build_lexicon(counted(SENTENCES), LexiconOptions(threshold=2, smooth=0))
    assert [count for (_, terminal), count in exact.items() if terminal == lexicon.word_ids["dogs"]] == [2]


def test_the_cache_changes_nothing() -> None:
    lexicon, _ = LEXICONS["auto", 2]
    fresh = Lexicon(lexicon.scheme, lexicon.words, lexicon.classes)
    for word in ("Zebra", "zebra", "Zebra", "99", "zebra"):
        assert lexicon.terminal(word, True) == fresh.terminal(word, True) == lexicon.terminal(word, True)
        assert lexicon.terminal(word) == fresh.terminal(word)


def test_bad_options_are_errors() -> None:
    with pytest.raises(GrammarError, match="not one of auto, english, single"):
        LexiconOptions("french")
    with pytest.raises(GrammarError, match="threshold starts at 1"):
        LexiconOptions(threshold=0)
    with pytest.raises(GrammarError, match="no tagged words"):
        tag_grammar([[]], LexiconOptions())
