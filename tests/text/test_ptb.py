"""Penn conventions by rule, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lveg.text.ptb import PtbTokeniser
from lveg.text.tokens import paragraphs, text_of

CASES = {
    # periods, and what is not one
    "He didn't go.": "He did n't go .",
    "Mr. Smith met Dr. J. R. Jones, Ph.D., at 3:15 p.m. on Nov. 29.": (
        "Mr. Smith met Dr. J. R. Jones , Ph.D. , at 3:15 p.m. on Nov. 29 ."
    ),
    "It rose 3.5% to 1,234.50, or .5 a share.": "It rose 3.5 % to 1,234.50 , or .5 a share .",
    "See No. 5 vs. No. 6, e.g., today.": "See No. 5 vs. No. 6 , e.g. , today .",
    "The answer is no.": "The answer is no .",
    # an abbreviation at the end of a sentence: the period is that of the sentence, or doubled after U.S.
    "He works for Acme Corp.": "He works for Acme Corp .",
    "She lives in N.J. The rest left.": "She lives in N.J . | The rest left .",
    "He left the U.S. The end.": "He left the U.S. . | The end .",
    "The U.S. Senate met.": "The U.S. Senate met .",
    "the U.S.-based firm and the U.K.'s bid": "the U.S.-based firm and the U.K. 's bid",
    # sentences
    "It rained. We left! Why? Yahoo! said so.": "It rained . | We left ! | Why ? | Yahoo! said so .".replace(
        "Yahoo! said", "Yahoo ! said"
    ),
    'He said, "Go." She went.': "He said , `` Go . '' | She went .",
    "(It rained.) We left.": "-LRB- It rained . -RRB- | We left .",
    "Is it?! Yes.": "Is it ? ! | Yes .",
    "Yes! 'Tis he. ’Twas he. They saw 'em.": "Yes ! | 'T is he . | 'T was he . | They saw 'em .",
    "No! 'em too. 'Go!' 'Yes.'": "No ! 'em too . | ` Go ! ' | ` Yes . '",
    "version 2. of it": "version 2 . of it",
    # quotes
    '"They\'re here," he said.': "`` They 're here , '' he said .",
    "“Curly,” she said, ‘single’.": "`` Curly , '' she said , ` single ' .",
    "``Done,'' he said.": "`` Done , '' he said .",
    "'Quote me,' he said.": "` Quote me , ' he said .",
    'the ("real") one': "the -LRB- `` real '' -RRB- one",
    # contractions
    "I can't, won't, don't; they’ll go, we've gone": ("I ca n't , wo n't , do n't ; they 'll go , we 've gone"),
    "You cannot; gonna, gotta, wanna, lemme": "You can not ; gon na , got ta , wan na , lem me",
    "I'd've, he'd, I'm, you're": "I 'd 've , he 'd , I 'm , you 're",
    "'Tis the '90s, O'Brien": "'T is the '90s , O'Brien",
    "rock 'n' roll, the letter 'n'": "rock 'n' roll , the letter ` n '",
    "DIDN'T HE'S": "DID N'T HE 'S",
    # possessives
    "John's dogs' bones, the boss's": "John 's dogs ' bones , the boss 's",
    # brackets
    "a (b) [c] {d} word(s)": "a -LRB- b -RRB- -LSB- c -RSB- -LCB- d -RCB- word -LRB- s -RRB-",
    # dashes and hyphens
    "a -- b, c--d, e—f, well-known, 30-year, 1990–95": "a -- b , c -- d , e -- f , well-known , 30-year , 1990-95",
    "a 62%-owned unit": "a 62%-owned unit",
    # ellipses
    "Well... no … yes . . . so": "Well ... no ... yes ... so",
    # money and symbols
    "$5.50, US$5, C$12, £3, #1, 50%": "$ 5.50 , US$ 5 , C$ 12 , £ 3 , # 1 , 50 %",
    "AT&T and S&P, R & D": "AT&T and S&P , R & D",
    "1/2 and and/or": r"1\/2 and and\/or",
    "-5 degrees, +3": "-5 degrees , +3",
    # addresses
    "See http://a.org/b?c=d. Or www.x.com/y_z, or a.b@c.org!": (
        "See http://a.org/b?c=d . | Or www.x.com/y_z , or a.b@c.org !"
    ),
    # paragraphs
    "A title\n\nThe text\ngoes on.": "A title | The text goes on .",
    "": "",
    " \n\t\n ": "",
}


@pytest.mark.parametrize("text", CASES)
def test_each_convention(text: str) -> None:
    assert " | ".join(" ".join(sentence.words) for sentence in PtbTokeniser().sentences(text)) == CASES[text]


def test_words_are_as_the_model_writes_them() -> None:
    text = '("1/2")'
    assert words(PtbTokeniser({"(", ")", '"'}), text) == ["(", '"', "1/2", '"', ")"]
    assert words(PtbTokeniser({"-LRB-", "``", "''", r"3\/4"}), text) == ["-LRB-", "``", r"1\/2", "''", ")"]


def test_what_is_doubled_is_a_multiword_token() -> None:
    (sentence,) = PtbTokeniser().sentences("I left the U.S.")
    assert sentence.tokens[-1].surface == "U.S."
    assert sentence.tokens[-1].words == ("U.S.", ".")


def words(tokeniser: PtbTokeniser, text: str) -> list[str]:
    return [word for sentence in tokeniser.sentences(text) for word in sentence.words]


PIECES = st.sampled_from(
    [*"aZ09.,;:!?'\"()[]{}-–—…’“”`$%&/@#_ \n", "n't", "U.S.", "Mr.", "://", "..", "\n\n", "é", "中"]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_no_character_is_lost(text: str) -> None:
    found = list(PtbTokeniser().sentences(text))
    assert text_of(found).split("\n\n") == (list(paragraphs(text.splitlines())) or [""])
    assert all(sentence.tokens and all(sentence.words) for sentence in found)
    assert [sentence.starts_paragraph for sentence in found][:1] in ([], [True])
