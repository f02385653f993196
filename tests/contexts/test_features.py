"""Descriptions of surface features."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import numpy as np
from small import DATA

from lveg.contexts.features.context import letters
from lveg.contexts.features.names import LENGTHS, Anchor, template_text
from lveg.contexts.features.templates import ATOMS, SPAN, SPLIT, WORD
from lveg.grammar.grammar import LIKELY
from lveg.kernels.features import bucket
from lveg.training import train_parser
from lveg.treebank.penn import read_trees

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


def test_likely_tags_are_those_of_the_table_of_all_words_and_tags() -> None:
    parser = train_parser(list(read_trees(DATA / "demo-train.mrg"))[:200], model="pcfg")
    dice = np.random.default_rng(3)
    plain = parser.grammar
    for count in (plain.count, dice.integers(0, 3, plain.n_rules).astype(float), np.zeros(plain.n_rules)):
        grammar = replace(plain, count=count)
        lexical = grammar.kind_slice("lexical")
        share = np.zeros((grammar.lexicon.n_terminals, len(grammar.tags)))
        places = grammar.rule_left[lexical], grammar.rule_lhs[lexical] - grammar.n_nonterminals
        np.add.at(share, places, count[lexical])
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        tags, sets = grammar.likely_tags
        assert tags == share.argmax(axis=1).tolist()
        assert sets == [tuple(np.flatnonzero(row >= LIKELY).tolist()) for row in share]
