"""English sentences and tokens by rule, as in the Penn Treebank; docs/guide/text.md lists the conventions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from lveg.text.english import ABBREVIATIONS, NEVER_FINAL, NUMBERED, STARTERS
from lveg.text.tokens import Token, TokenSentence, paragraphs

_APOSTROPHE = "['’]"
_TOKEN = re.compile(
    r"""(?:[a-z][a-z0-9+.-]{0,30}://|www\.)[^\s<>"“”]*[\w/&=#] # a URL, without the punctuation after it
    | [\w.+-]{1,64}@\w[\w-]*(?:\.\w[\w-]*)*(?<=\w)            # an e-mail address
    | \.(?:[ ]?\.)+ | …                                       # an ellipsis
    | --+ | — | –                                             # dashes
    | `` | '' | [A-Z]{1,2}\$(?=\d)                            # quotes; US$, C$
    | (?<=\w[ ])['’]n['’](?=[ ]\w)                            # rock 'n' roll
    | (?:n['’]t|['’](?:s|re|ve|ll|d|m))\b(?<!\w['’]s)         # a contraction that stands alone
    | ['’](?:t(?:is|was|were)|em|cause|n|\d\ds?)\b(?!['’])    # 'tis, 'em, '90s
    | (?:(?<![^\s(\[{"“$])[-+.](?=\d))?\w(?:\w
      | [-'’&/_+](?=\w) | \.(?=\w|-\w|['’]s\b) | (?<=\d)[,:–](?=\d) | (?<=\d)%(?=-\w))*
    | \S""",
    re.VERBOSE | re.IGNORECASE,
)
_CONTRACTION = re.compile(rf"(?<=\w)n{_APOSTROPHE}t$|(?<=[\w.]){_APOSTROPHE}(?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_LONGEST_END = 3  # characters of a contraction
_COMPOUNDS = {
    "cannot": 3, "gonna": 3, "gotta": 3, "wanna": 3, "lemme": 3, "gimme": 3, "'tis": 2, "'twas": 2, "d'ye": 2,
    "more'n": 4,
}  # fmt: skip
"""Where words that are written together are cut."""

_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|www\.|\S+@", re.IGNORECASE)
_STOPS = frozenset(".!?…")
_AFTER_STOPS = frozenset(".!?…'\"”’)]}»")
_QUOTES = {'"': ("``", "''"), "'": ("`", "'"), "`": ("`", "`")}  # opening, closing
_BEFORE_QUOTES = ("", " ", "(", "[", "{", "-", "—", "–", "“", "‘", '"', "'", "`")
_PENN = {
    "(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-", "“": "``", "”": "''",
    "‘": "`", "’": "'", "—": "--", "–": "--", "…": "...",
}  # fmt: skip
_DOUBLED = "U.S."
"""The abbreviation after which the treebank writes the period of the sentence as well."""


@dataclass(slots=True)
class _Piece:
    """A token while it is being made: its text, its word by Penn's conventions, and whether white space follows.

    is_doubled: whether the period of the sentence is another word of it.
    """

    surface: str
    word: str
    space_after: bool
    is_doubled: bool = False


@dataclass(frozen=True)
class PtbTokeniser:
    """Penn conventions by rule.

    known: the words of the model that is to analyse the text. A word that Penn writes otherwise, such as `-LRB-` for a
    bracket, is written so only if the model knows it. None: always.
    """

    known: Collection[str] | None = field(default=None, repr=False)

    @cached_property
    def _escapes(self) -> bool:
        """Whether slashes in words are written `\\/`."""
        return self.known is None or any("\\/" in word for word in self.known)

    def sentences(self, text: str) -> Iterator[TokenSentence]:
        """The sentences of a text; blank lines separate paragraphs, and always end a sentence."""
        for paragraph in paragraphs(text.splitlines()):
            starts = True
            for pieces in _split(_pieces(paragraph)):
                yield TokenSentence(tuple(map(self._token, pieces)), starts)
                starts = False

    def _token(self, piece: _Piece) -> Token:
        words = (self._word(piece), ".") if piece.is_doubled else (self._word(piece),)
        return Token(piece.surface, words, piece.space_after)

    def _word(self, piece: _Piece) -> str:
        """The word by Penn's conventions, as far as the model knows it."""
        surface = piece.surface
        if "/" in surface:
            return surface.replace("/", "\\/") if self._escapes and not _ADDRESS.match(surface) else surface
        return piece.word if self.known is None or piece.word in self.known else surface


def _pieces(paragraph: str) -> list[_Piece]:
    """The tokens of a paragraph, with all periods apart from words."""
    found: list[_Piece] = []
    for match in _TOKEN.finditer(paragraph):
        (start, end), surface = match.span(), match[0]
        for part in _parts(surface):
            found.append(_Piece(part, _penn(part), False))
        found[-1].space_after = paragraph[end : end + 1] == " "
        if surface in _QUOTES:
            found[-1].word = _QUOTES[surface][0 if _opens(paragraph, start, end) else 1]
    return found


def _penn(surface: str) -> str:
    """A token as Penn writes it."""
    if surface.startswith(". "):
        return "..."
    return _PENN.get(surface) or surface.replace("’", "'").replace("–", "-")


def _parts(surface: str) -> list[str]:
    """The tokens of a word: `do`, `n't`; `John`, `'s`; `can`, `not`."""
    if (at := _COMPOUNDS.get(surface.lower().replace("’", "'"))) is not None:
        return [surface[:at], surface[at:]]
    if "'" not in surface and "’" not in surface:  # no contraction: most words, and much faster
        return [surface]
    ends: list[str] = []
    last = len(surface)
    if not _ADDRESS.match(surface):
        while (match := _CONTRACTION.search(surface, max(0, last - _LONGEST_END), last)) is not None:
            last = match.start()
            ends.append(match[0])
    return [surface[:last], *reversed(ends)]


def _opens(text: str, start: int, end: int) -> bool:
    """Whether a quotation mark opens a quotation: white space, a bracket, a dash or another one is before it."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return before in _BEFORE_QUOTES and after not in ("", " ")


def _split(pieces: list[_Piece]) -> Iterator[list[_Piece]]:
    """The tokens of each sentence; the periods of abbreviations are joined with them."""
    sentence: list[_Piece] = []
    at = 0
    while at < len(pieces):
        stop = pieces[at]
        sentence.append(stop)
        at += 1
        if stop.surface[0] not in _STOPS or stop.surface[-1].isalnum():
            continue
        before = sentence[-2] if len(sentence) > 1 and not sentence[-2].space_after else None
        while at < len(pieces) and not sentence[-1].space_after and pieces[at].surface[0] in _AFTER_STOPS:
            sentence.append(pieces[at])
            at += 1
        following = _begins(pieces[at : at + 2])
        is_short = before is not None and stop.surface == "." and _is_short(before.surface, following)
        ends = at == len(pieces) or (sentence[-1].space_after and _may_begin(following))
        if is_short and before is not None:
            ends = ends and (at == len(pieces) or _may_end(before.surface, following))
            _join(sentence, before, stop, ends)
        if ends:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _begins(following: list[_Piece]) -> str:
    """The first word of what follows, after a quotation mark, an apostrophe or a bracket; empty at the end."""
    words = (piece.surface.lstrip("'’") for piece in following)
    return next((word for word in words if word[:1].isalnum()), "")


def _may_begin(word: str) -> bool:
    """Whether a sentence may begin with this word."""
    return word != "" and not word[0].islower()


def _is_short(word: str, following: str) -> bool:
    """Whether the period after a word is that of an abbreviation or an initial."""
    if word in NUMBERED:
        return following[:1].isdigit()
    return (
        word in NEVER_FINAL
        or word in ABBREVIATIONS
        or (len(word) == 1 and word.isupper() and word != "I")
        or _ACRONYM.fullmatch(word) is not None
    )


def _may_end(word: str, following: str) -> bool:
    """Whether a sentence may end with an abbreviation, before this word."""
    is_title = word in NEVER_FINAL or word in NUMBERED or len(word) == 1
    return not is_title and (following in STARTERS)


def _join(sentence: list[_Piece], word: _Piece, period: _Piece, ends: bool) -> None:
    """Join an abbreviation with its period; at the end of a sentence the period stays apart, or is doubled."""
    at = next(index for index in range(len(sentence) - 1, 0, -1) if sentence[index] is period)
    surface = word.surface + period.surface
    if not ends or surface == _DOUBLED:
        sentence[at - 1 : at + 1] = [_Piece(surface, surface, period.space_after, ends)]
