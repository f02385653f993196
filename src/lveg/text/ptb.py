"""English sentences and tokens by rule, as in the Penn Treebank; docs/guide/text.md lists the conventions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from lveg.text.tokens import Token, TokenSentence, paragraphs

NEVER_FINAL = frozenset(
    "Mr Mrs Ms Messrs Dr Prof Rev Hon Gen Sen Sens Rep Reps Gov Lt Col Sgt Capt Cmdr Maj Adm Pres Supt St Mt Ft "
    "vs v cf e.g i.e viz Fig pp".split()
)
"""Abbreviations that something always follows."""

NUMBERED = frozenset(("No", "Nos", "no", "nos", "p", "Art", "Sec"))
"""Abbreviations before a number; otherwise they are words."""

ABBREVIATIONS = frozenset(
    "Inc Corp Co Cos Ltd Bros Jr Sr Ph.D etc al Esq Assn Dept Univ Ave Blvd Rd Pty Plc "
    "Jan Feb Mar Apr Jun Jul Aug Sept Sep Oct Nov Dec Mon Tues Tue Wed Thurs Thu Fri "
    "Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Ore Pa Tenn "
    "Tex Va Vt Wash Wis Wyo approx dept est".split()
)
"""Abbreviations that may also be the last word of a sentence."""

STARTERS = frozenset(
    "A After All Although Among An And Another Any As At Because Before But By Despite Each Even For From He Her Here "
    "His How However I If In It Its Last Many Meanwhile Most Mr. Mrs. Ms. My No Nor Not Now On One Only Or Other Our "
    "Over She Since So Some Still Such That The Their Then There These They This Those Though To Two Under Until We "
    "Well What When Where Whether Which While Who Why With Yes Yet You Your".split()
)
"""Words with which a sentence begins after an abbreviation; other capitalised words continue the sentence."""

_APOSTROPHE = "['’]"
_TOKEN = re.compile(
    r"""(?:[a-z][a-z0-9+.-]*://|www\.)[^\s<>"“”]*[\w/&=#]     # a URL, without the punctuation after it
    | [\w.+-]+@\w[\w-]*(?:\.\w[\w-]*)*(?<=\w)                 # an e-mail address
    | \.(?:[ ]?\.)+ | …                                       # an ellipsis
    | --+ | — | –                                             # dashes
    | `` | '' | [A-Z]{1,2}\$(?=\d)                            # quotes; US$, C$
    | (?:n['’]t|['’](?:s|re|ve|ll|d|m))\b(?<!\w['’]s)         # a contraction that stands alone
    | ['’](?:t(?:is|was|were)|em|cause|n|\d\ds?)\b(?!['’])    # 'tis, 'em, '90s
    | (?:(?<![^\s(\[{"“$])[-+.](?=\d))?\w(?:\w
      | [-'’&/_+](?=\w) | \.(?=\w|-\w|['’]s\b) | (?<=\d)[,:](?=\d) | (?<=\d)%(?=-\w))*
    | \S""",
    re.VERBOSE | re.IGNORECASE,
)
_CONTRACTION = re.compile(rf"(?<=\w)n{_APOSTROPHE}t$|(?<=[\w.]){_APOSTROPHE}(?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_COMPOUNDS = {
    "cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "lemme": 3, "gimme": 3, "'tis": 2, "'twas": 2, "d'ye": 2,
    "more'n": 4,
}  # fmt: skip
"""Where words that are written together are cut."""

_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+|[^\W\d_]\.[^\W\d_]{1,2}\.[^\W\d_]", re.UNICODE)
_CLOSING = frozenset(("''", '"', "”", "’", "'", ")", "]", "}", "»"))
_STOPS = frozenset((".", "!", "?", "…"))
_PENN = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-", "“": "``", "”": "''",
    "‘": "`", "’": "'", "—": "--", "–": "--", "…": "...",
}  # fmt: skip
_DOUBLED = "U.S."
"""The abbreviation after which the treebank writes the period of the sentence as well."""


@dataclass(slots=True)
class _Piece:
    """A token while it is being made: its text, the word that it stands for, and whether white space follows."""

    surface: str
    word: str
    space_after: bool


@dataclass(frozen=True)
class PtbTokeniser:
    """Penn conventions by rule.

    known: the words of the model that is to analyse the text. A Penn word that is written otherwise, such as `-LRB-`
    for a bracket, is used only if the model knows it. None: it is always used.
    """

    known: Collection[str] | None = field(default=None, repr=False)

    @cached_property
    def escapes(self) -> bool:
        """Whether the model's words have `\\/` for a slash."""
        return self.known is None or any("\\/" in word for word in self.known)

    def sentences(self, text: str) -> Iterator[TokenSentence]:
        """The sentences of a text; blank lines separate paragraphs, and always end a sentence."""
        for paragraph in paragraphs(text.splitlines()):
            first = True
            for pieces in _split(_pieces(paragraph)):
                yield TokenSentence(tuple(map(self._token, pieces)), first)
                first = False

    def _token(self, piece: _Piece) -> Token:
        words = (piece.surface, ".") if piece.word == f"{_DOUBLED} ." else (self._known(piece),)
        return Token(piece.surface, words, piece.space_after)

    def _known(self, piece: _Piece) -> str:
        """The Penn word, if the model has it, otherwise the word as written."""
        word = piece.word.replace("’", "'") if piece.word != "’" else "'"
        if "/" in word and "://" not in word and self.escapes:
            return word.replace("/", "\\/")
        return word if self.known is None or word in self.known or len(word) > 5 else piece.surface


def _pieces(paragraph: str) -> list[_Piece]:
    """The tokens of a paragraph, with periods apart from words."""
    found: list[_Piece] = []
    for match in _TOKEN.finditer(paragraph):
        start, end = match.span()
        surface = match[0]
        for part in _parts(surface):
            found.append(_Piece(part, _PENN.get(part, part), False))
        found[-1].space_after = paragraph[end : end + 1] == " "
        if surface in ('"', "'", "`"):
            opens = _opens(paragraph, start, end)
            found[-1].word = {'"': "``" if opens else "''", "'": "`" if opens else "'", "`": "`"}[surface]
    return found


def _parts(surface: str) -> list[str]:
    """The tokens of a word: `do`, `n't`; `John`, `'s`; `can`, `not`."""
    if (at := _COMPOUNDS.get(surface.lower().replace("’", "'"))) is not None:
        return [surface[:at], surface[at:]]
    ends: list[str] = []
    while (match := _CONTRACTION.search(surface)) is not None and "://" not in surface:
        surface = surface[: match.start()]
        ends.append(match[0])
    return [surface, *reversed(ends)] if surface else ends[::-1]


def _opens(text: str, start: int, end: int) -> bool:
    """Whether a quotation mark opens a quotation: nothing but white space, a bracket or a dash is before it."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return before in ("", " ", "(", "[", "{", "-", "—", "–", "“", "‘", '"', "'", "`") and after not in ("", " ")


def _split(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """The tokens of each sentence; the periods of abbreviations are joined with them."""
    sentence: list[_Piece] = []
    at = 0
    while at < len(pieces):
        piece = pieces[at]
        at += 1
        sentence.append(piece)
        if piece.surface not in _STOPS and not piece.surface.startswith(".."):
            continue
        while at < len(pieces) and not sentence[-1].space_after and pieces[at].surface in _CLOSING | _STOPS:
            sentence.append(pieces[at])
            at += 1
        closing = len(sentence) - 1 - next(i for i, other in enumerate(reversed(sentence)) if other is piece)
        ends = _is_end(sentence, closing, pieces[at : at + 2])
        _join_abbreviation(sentence, closing, ends)
        if ends:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _is_end(sentence: list[_Piece], at: int, following: list[_Piece]) -> bool:
    """Whether a sentence ends with the stop at this place, given the tokens that follow."""
    if not following:
        return True
    if not sentence[-1].space_after:
        return False
    start = following[0].surface
    if not start[0].isalnum() and len(following) > 1:  # a quotation mark or a bracket
        start = following[1].surface
    if start[0].islower() or not start[0].isalnum():
        return False
    kind = _kind(sentence, at, start)
    if kind == "abbreviation":
        return start in STARTERS or f"{start}." in STARTERS
    return kind is None


def _kind(sentence: list[_Piece], at: int, start: str) -> str | None:
    """What the period at this place belongs to: a title, an abbreviation, or nothing but the sentence."""
    if at == 0 or sentence[at].surface != "." or sentence[at - 1].space_after:
        return None
    word = sentence[at - 1].surface
    if word in NEVER_FINAL or (word in NUMBERED and start[:1].isdigit()):
        return "title"
    if len(word) == 1 and word.isupper() and word != "I":
        return "title"
    return "abbreviation" if word in ABBREVIATIONS or _ACRONYM.fullmatch(word) else None


def _join_abbreviation(sentence: list[_Piece], at: int, ends: bool) -> None:
    """Join the period at this place with the abbreviation before it, unless it is needed to end the sentence."""
    following = sentence[at + 1].surface if at + 1 < len(sentence) else ""
    if _kind(sentence, at, following) is None and not (at and sentence[at - 1].surface in NUMBERED and not ends
                                                       and sentence[at].surface == "."):  # fmt: skip
        return
    word, period = sentence[at - 1], sentence[at]
    surface = word.surface + period.surface
    if ends and surface != _DOUBLED:
        return
    sentence[at - 1 : at + 1] = [_Piece(surface, f"{_DOUBLED} ." if ends else surface, period.space_after)]
