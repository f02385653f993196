"""Descriptions of surface features."""

from __future__ import annotations

from itertools import chain

from lveg.contexts.features.context import letters
from lveg.contexts.features.names import LENGTHS, Anchor, template_text
from lveg.contexts.features.templates import ATOMS, SPAN, SPLIT, WORD
from lveg.kernels.features import bucket

WORDS = ["The", "dog", "saw", "a", "cat", "."]
TEXTS = [dict(zip(ATOMS, (word, word.lower(), "T", "T|U", *letters(word)), strict=True)) for word in WORDS]


def test_what_templates_find_in_words() -> None:
    phrase, word = Anchor(0, 2, 5, False), Anchor(1, 1, 2, True)
    for template, anchor, expected in (
        (("first.lower", "last.suffix3"), phrase, 'first word "the" & last suffix "cat"'),
        (("before.tag", "after.tag"), phrase, "nothing before & after tag T"),
        (("left.tag", "right.lower"), phrase, 'left of split tag T & right of split word "saw"'),
        (("left-length", "right-length"), phrase, "left length 2 & right length 3"),
        (("last2.tag",), phrase, "last but one tag T"),
        (("first.word",), word, 'form "dog"'),
        (("first.prefix2",), word, 'prefix "do"'),
        (("before2.tag", "before.tags"), word, "nothing 2 before & before tags T|U"),
        (("outline",), Anchor(0, 0, 2, False), f"shapes {letters('The')[0]} {letters('dog')[0]}"),
    ):
        assert template_text(template, anchor, TEXTS) == expected


def test_every_template_has_a_text_everywhere() -> None:
    for start in range(len(WORDS)):
        for end in range(start + 1, len(WORDS) + 1):
            for template in chain(SPAN, SPLIT, WORD):
                assert template_text(template, Anchor(start, start, end, False), TEXTS)


def test_lengths_that_are_told_apart_have_a_text() -> None:
    texts = [LENGTHS[bucket(length)] for length in range(30)]
    assert list(dict.fromkeys(texts)) == list(LENGTHS)
    assert [texts[length] for length in (5, 6, 7, 8, 20, 21)] == ["5", "6-7", "6-7", "8-10", "16-20", "over 20"]
