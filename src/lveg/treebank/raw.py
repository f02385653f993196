"""Tokenised text in CoNLL-U: which tokens a treebank's text has, and sentences to write from tokens."""

from __future__ import annotations

import re

from lveg.text.tokens import Token, TokenSentence
from lveg.treebank.conllu import Sentence, numbered_sentences
from lveg.treebank.source import Faults, Paths, expand

_TEXT = re.compile(r"#[ \t]*(?:text[ \t]*=|sentence-text:)[ \t]*([^\r\n]*)")
_BREAK = re.compile(r"#[ \t]*new(?:par|doc)\b")
_SPACE = re.compile(r"\s+")


def read_tokens(paths: Paths, faults: Faults | None = None) -> list[TokenSentence]:
    """The tokens of the sentences of CoNLL-U files and directories; a new file begins a new paragraph."""
    faults = faults or Faults()
    found = []
    for path in expand(paths, "conllu", faults):
        starts = True
        for _, sentence in numbered_sentences(path, faults):
            starts = starts or any(map(_BREAK.match, sentence.lines))
            if sentence:
                found.append(TokenSentence(tuple(_tokens_of(sentence)), starts))
                starts = False
    return found


def _tokens_of(sentence: Sentence) -> list[Token]:
    """The tokens of a sentence; white space is as in its text, if that has the same tokens, otherwise as in MISC."""
    tokens: list[Token] = []
    rows = [line.rstrip("\r\n").split("\t") for line in sentence.lines if line[0] != "#"]
    covered = 0  # last word of the latest range
    for number, form, *_, misc in rows:
        first, mark, last = number.partition("-")
        if mark:
            covered = int(last)
            words = tuple(row[1] for row in rows if row[0].isdigit() and int(first) <= int(row[0]) <= covered)
        elif not number.isdigit() or int(number) <= covered:  # an empty node, or a word within a range
            continue
        else:
            words = (form,)
        tokens.append(Token(_SPACE.sub(" ", form), words, "SpaceAfter=No" not in misc.split("|")))
    text = next((match[1] for match in map(_TEXT.match, sentence.lines) if match), "")
    return _spaced(tokens, _SPACE.sub(" ", text).strip(" ")) or tokens


def _spaced(tokens: list[Token], text: str) -> list[Token] | None:
    """The tokens with white space as in the text; None if the text does not consist of these tokens."""
    found, end = [], 0
    for token in tokens:
        if not text.startswith(token.surface, end):
            return None
        end += len(token.surface)
        space_after = text[end : end + 1] == " "
        end += space_after
        found.append(Token(token.surface, token.words, space_after))
    if end != len(text):
        return None
    return [*found[:-1], tokens[-1]]


def to_conllu(sentence: TokenSentence, name: int | str) -> Sentence:
    """The sentence in CoNLL-U without annotation; name: its `sent_id`."""
    lines = ["# newpar\n"] if sentence.starts_paragraph else []
    lines += [f"# sent_id = {name}\n", f"# text = {sentence.text}\n"]
    word_lines: list[int] = []
    count = 0
    for token in sentence.tokens:
        misc = "_" if token.space_after or token is sentence.tokens[-1] else "SpaceAfter=No"
        if len(token.words) > 1:
            lines.append(_row(f"{count + 1}-{count + len(token.words)}", token.surface, misc))
        for word in token.words:
            count += 1
            word_lines.append(len(lines))
            single = len(token.words) == 1
            lines.append(_row(str(count), token.surface if single else word, misc if single else "_"))
    return Sentence(lines, word_lines)


def _row(number: str, form: str, misc: str) -> str:
    return "\t".join([number, form, *"_" * 7, misc]) + "\n"
