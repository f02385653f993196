"""Recognises text that was meant to be tokenised but is not."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

_OPENING = re.compile(r"""[("'`“‘\[{]""")
_ENDING = re.compile(r"""(?:[.,;:!?)"'”’\]}]|n't|'(?:s|re|ve|ll|d|m))$""", re.IGNORECASE)


def joined_words(words: Sequence[str], known: Container[str]) -> tuple[str, str] | None:
    """The two parts of the first word that seems to be two tokens, such as `go.` and `didn't`; None if there is none.

    Such a word is not known to the model, although its parts are: punctuation or a contraction, and the rest. The rest
    of the last word may be any word of letters.
    """
    for number, word in enumerate(words, start=1):
        if (word[-1].isalnum() and "'" not in word and not _OPENING.match(word)) or word in known:
            continue
        for first, second in _divisions(word):
            is_last = number == len(words) and first.isalpha() and second in known
            if is_last or all(part in known or part.lower() in known for part in (first, second)):
                return first, second
    return None


def _divisions(word: str) -> Iterable[tuple[str, str]]:
    """The ways to divide a word into a word and punctuation or a contraction."""
    if (match := _ENDING.search(word)) is not None and match.start():
        yield word[: match.start()], match[0]
    if len(word) > 1 and _OPENING.match(word):
        yield word[0], word[1:]
