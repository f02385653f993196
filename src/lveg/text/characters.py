"""Text as a chain of characters: what a chain sees of each character, and the labels that mark ends.

Only characters that are not white space are labelled. A label says what ends after the character: nothing, a token, or
a token and its sentence; and whether the token stands for several words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lveg.text.tokens import TokenSentence, by_paragraph, paragraph_text

INSIDE, TOKEN, WORDS, SENTENCE, WORDS_SENTENCE = LABELS = ("inside", "token", "words", "sentence", "words-sentence")
"""Labels: within a token; the end of a token, of a multiword token, of a sentence, of both of the last two."""

SHORTEST = 400
"""Training examples are whole sentences with at least this many characters together, so that most sentence ends are
seen with the sentence that follows."""

_AROUND = ".,;:!?()[]<>\"'-*_"
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


def views(text: str) -> list[str]:
    """What is seen of each labelled character, as a word for a chain with word forms.

    Beginnings of such a word are the kinds of the character and of the next three; endings are the character, the one
    before it, the kind of the piece between spaces, and the kind of the next character. Those of more distant ones are
    seen as neighbouring words.
    """
    kinds = "".join(map(_kind, text)) + "   "
    padded = " " + text
    found = []
    start = 0
    for piece in text.split(" "):
        mark = _kind_of_piece(piece)
        for i in range(start, start + len(piece)):
            found.append(f"{kinds[i : i + 4]}{kinds[i + 1]}{mark}{padded[i : i + 2]}")
        start += len(piece) + 1
    return found


def _kind(character: str) -> str:
    """Symbols, which have no case: ⇑ for upper case, ⇓ for lower case, ¤ for other letters, # for digits."""
    if character.isupper():
        return "⇑"
    if character.islower():
        return "⇓"
    if character.isdigit():
        return "#"
    return "¤" if character.isalpha() else character


def _kind_of_piece(piece: str) -> str:
    """A symbol for a piece between spaces, apart from punctuation around it."""
    core = piece.strip(_AROUND)
    if _ADDRESS.search(piece):
        return "⊕"
    if not core:
        return "⊖"
    if _NAME.search(core):
        return "⊞"
    if core.isalpha():
        return "⊗" if core[0].islower() else "⊠" if len(core) > 1 and core.isupper() else "⊡"
    return "⊘" if any(map(str.isdigit, core)) else "⊙"


def labels(sentences: Iterable[TokenSentence]) -> list[str]:
    """The labels of the characters of sentences."""
    found: list[str] = []
    for sentence in sentences:
        for token in sentence.tokens:
            found += [INSIDE] * (len(token.surface.replace(" ", "")) - 1)
            found.append(TOKEN if len(token.words) == 1 else WORDS)
        found[-1] = SENTENCE if found[-1] == TOKEN else WORDS_SENTENCE
    return found


def examples(sentences: Iterable[TokenSentence]) -> list[list[tuple[str, str]]]:
    """Training examples: characters, as seen in their paragraph, with their labels."""
    found: list[list[tuple[str, str]]] = []
    for paragraph in by_paragraph(sentences):
        example: list[tuple[str, str]] = []
        for pair in zip(views(paragraph_text(paragraph)), labels(paragraph), strict=True):
            example.append(pair)
            if len(example) >= SHORTEST and ends_sentence(pair[1]):
                found.append(example)
                example = []
        if example:
            found.append(example)
    return found
