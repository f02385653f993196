"""Text as a chain of characters: what a chain sees of each character, and the labels that mark ends.

Only characters that are not white space are labelled. A label says what ends after the character: nothing, a token, or
a token and its sentence; and whether the token stands for several words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from lveg.text.surroundings import AROUND, at_ends, kind, look, within
from lveg.text.tokens import TokenSentence, by_paragraph, paragraph_text

INSIDE, TOKEN, WORDS, SENTENCE, WORDS_SENTENCE = LABELS = ("inside", "token", "words", "sentence", "words-sentence")
"""Labels: within a token; the end of a token, of a multiword token, of a sentence, of both of the last two."""

LENGTH = 400
"""Training examples have at most this many characters. They end anywhere: if they ended where sentences do, the chain
would learn from its end what the text should tell."""

ALIKE = ("'’‘‚‛´`", '"“”„‟«»', "-–—‒−‐‑", ".…", "%‰", "$€£¥")
"""Characters that are used alike."""

_LETTERS = "⇑⇓¤#"  # kinds of letters and digits
_ADDRESS = re.compile(r"://|www\.|.@.", re.IGNORECASE)
_NAME = re.compile(r"[^\W_]\.[a-z]{2,4}(?:[/?#:].*)?$")  # of a file or a domain


def is_several(label: str) -> bool:
    """Whether a label marks the end of a multiword token."""
    return label in (WORDS, WORDS_SENTENCE)


def ends_sentence(label: str) -> bool:
    """Whether a label marks the end of a sentence."""
    return label in (SENTENCE, WORDS_SENTENCE)


def positions(text: str) -> list[int]:
    """The positions of the characters that are labelled."""
    return [index for index, character in enumerate(text) if character != " "]


def views(text: str, seen_as: Mapping[str, str] | None = None) -> list[str]:
    """What is seen of each labelled character, as a word for a chain with word forms.

    Beginnings of such a word are the kinds of the character and of the next three; endings are the character, the one
    before it, the kind of the piece between spaces, and the kind of the next character. Those of more distant ones are
    seen as neighbouring words. Where a token may well end, the character brings along properties of its surroundings;
    models without weights for them ignore them. seen_as: see `stand_ins`.
    """
    text = text.translate({ord(character): other for character, other in (seen_as or {}).items()})
    kinds = "".join(map(kind, text)) + "   "
    padded = " " + text
    found = []
    start = 0
    pieces = text.split(" ")
    ends = at_ends(pieces)
    for number, piece in enumerate(pieces):
        mark = _kind_of_piece(piece)
        behind = look(pieces[number + 1]) if number + 1 < len(pieces) else ""
        last = start + len(piece) - 1
        for i in range(start, last + 1):
            more = ""
            if i == last:
                more = ends[number]
            elif kinds[i] != kinds[i + 1] or kinds[i] not in _LETTERS:
                more = within(piece, i + 1 - start, behind)
            found.append(f"{kinds[i : i + 4]}{kinds[i + 1]}{mark}{padded[i : i + 2]}{more}")
        start += len(piece) + 1
    return found


def _kind_of_piece(piece: str) -> str:
    """A symbol for a piece between spaces, apart from punctuation around it."""
    core = piece.strip(AROUND)
    if _ADDRESS.search(piece):
        return "⊕"
    if not core:
        return "⊖"
    if _NAME.search(core):
        return "⊞"
    if core.isalpha():
        return "⊗" if core[0].islower() else "⊠" if len(core) > 1 and core.isupper() else "⊡"
    return "⊘" if any(map(str.isdigit, core)) else "⊙"


def stand_ins(sentences: Iterable[TokenSentence]) -> dict[str, str]:
    """For characters that do not occur in these sentences: the most frequent of those that are used alike."""
    counts = Counter(character for sentence in sentences for token in sentence.tokens for character in token.surface)
    found: dict[str, str] = {}
    for group in ALIKE:
        best = max(group, key=lambda character: counts[character])
        found |= {character: best for character in group if counts[best] and not counts[character]}
    return found


def labels(sentences: Iterable[TokenSentence]) -> list[str]:
    """The labels of the characters of sentences."""
    found: list[str] = []
    for sentence in sentences:
        for token in sentence.tokens:
            found += [INSIDE] * (len(token.surface.replace(" ", "")) - 1)
            found.append(TOKEN if len(token.words) == 1 else WORDS)
        found[-1] = SENTENCE if found[-1] == TOKEN else WORDS_SENTENCE
    return found


def examples(
    sentences: Iterable[TokenSentence], seen_as: Mapping[str, str] | None = None
) -> list[list[tuple[str, str]]]:
    """Examples: characters, as seen in their paragraph, with their labels."""
    found: list[list[tuple[str, str]]] = []
    for paragraph in by_paragraph(sentences):
        example: list[tuple[str, str]] = []
        for pair in zip(views(paragraph_text(paragraph), seen_as), labels(paragraph), strict=True):
            example.append(pair)
            if len(example) == LENGTH:
                found.append(example)
                example = []
        if example:
            found.append(example)
    return found
