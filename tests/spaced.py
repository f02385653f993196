"""The demonstration treebank as if its text were running text: punctuation joined to words, and multiword tokens."""

from __future__ import annotations

from pathlib import Path

from lveg.text.tokens import Token, TokenSentence
from lveg.treebank.conllu import read_conllu
from lveg.treebank.raw import to_conllu
from lveg.treebank.synthetic import ENGLISH

JOINED = {".", ",", "?", "!", "'s", "n't", "''", ":"}
SEVERAL = {(word, "the") for word in ("with", "by", "and", "in", "of", "on", "to", "from")}
"""Words that are written together as one multiword token."""


def spaced(part: str, count: int) -> list[TokenSentence]:
    """The first sentences of a part of the treebank, with tokens as in running text."""
    found: list[TokenSentence] = []
    for sentence in read_conllu(ENGLISH.parent / f"demo-{part}.conllu"):
        if len(found) == count:
            break
        words = sentence.words()
        tokens: list[Token] = []
        at = 0
        while at < len(words):
            width = 2 if tuple(words[at : at + 2]) in SEVERAL else 1
            own = tuple(words[at : at + width])
            at += width
            tokens.append(Token("".join(own), own, at == len(words) or words[at] not in JOINED))
        found.append(TokenSentence(tuple(tokens), not found))
    return found


def write_spaced(path: Path, part: str, count: int) -> Path:
    """A CoNLL-U file of such sentences, with UPOS from the treebank."""
    tags = [sentence.column("upos") for sentence in read_conllu(ENGLISH.parent / f"demo-{part}.conllu")]
    sentences = [to_conllu(sentence, number) for number, sentence in enumerate(spaced(part, count), start=1)]
    lines = [str(one.with_column("upos", own)) for one, own in zip(sentences, tags, strict=False)]
    path.write_text("".join(lines), encoding="utf-8")
    return path
