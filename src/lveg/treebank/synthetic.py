"""Synthetic treebanks: a weighted context-free grammar in a text file, and trees sampled from it.

The file's categories have features (`NP[sg,per]`) that the trees do not show (`NP`), so that a model has something to
learn. The format, line by line:

    # comment                          from a # at the start of a line or after a blank
    %feature n sg:2 pl                 $n below stands for sg, with weight 2, and for pl, with weight 1
    %before a an aeiou                 the word `a` is written `an` before a word that begins so
    S -> NP[$n] VP[$n]                 a rule of weight 1, once for each value of $n
    S -> 2.5 @clause .                 a rule of weight 2.5; @clause leaves no bracket, only its children
    NP[sg] ->                          several rules: one to an indented line
        3  DT NN
        1  PRP
    DT = the:5 a:3 this                words of a tag with their weights, 1 where none is given
    NN NNS ~ dog dogs  cat cats        rows of words, here two tags wide; weight 1/(rank + 1); `-` for a gap
    NNP ~ {Hal|Win}{ton|by}            braces spell out every combination

An indented line continues the one above. The first rule's left side is the start symbol. A feature's weights are used
only where the rule chooses its value, not where the left side has already fixed it.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lveg.errors import GrammarError, UsageError
from lveg.treebank.source import read_lines
from lveg.trees import Tree, with_root

ENGLISH = Path(__file__).parent.parent / "data" / "english.grammar"
"""The grammar of English that comes with lveg."""

MAX_WORDS = 40
"""Default maximum sentence length of `sample_trees`."""

# A sample is abandoned at this many brackets per allowed word; sampling fails after this many failures in a row.
_NODES_PER_WORD = 50
_MAX_REJECTED = 10_000

_VARIABLE = re.compile(r"\$([A-Za-z]\w*)")
_BRACES = re.compile(r"\{([^{}]*)\}")
_COMMENT = re.compile(r"(^|\s)#.*")
_OPENING_QUOTE = "``"

UPOS = {
    "#": "SYM", "$": "SYM", "''": "PUNCT", ",": "PUNCT", "-LRB-": "PUNCT", "-RRB-": "PUNCT", ".": "PUNCT",
    ":": "PUNCT", "``": "PUNCT", "CC": "CCONJ", "CD": "NUM", "DT": "DET", "EX": "PRON", "FW": "X",
    "IN": "ADP", "JJ": "ADJ", "JJR": "ADJ", "JJS": "ADJ", "LS": "X", "HYPH": "PUNCT", "MD": "AUX",
    "NN": "NOUN", "NNS": "NOUN", "NNP": "PROPN", "NNPS": "PROPN", "PDT": "DET", "POS": "PART", "PRP": "PRON",
    "PRP$": "PRON", "RB": "ADV", "RBR": "ADV", "RBS": "ADV", "RP": "ADP", "SYM": "SYM", "TO": "PART",
    "UH": "INTJ", "VB": "VERB", "VBD": "VERB", "VBG": "VERB", "VBN": "VERB", "VBP": "VERB", "VBZ": "VERB",
    "WDT": "PRON", "WP": "PRON", "WP$": "PRON", "WRB": "ADV",
}  # fmt: skip
"""Universal part of speech of each Penn tag. The word is not considered, so `be` is a VERB and `because` an ADP."""


@dataclass(frozen=True)
class Choices:
    """The expansions of a symbol: alternatives, their cumulative weights, and whether they are words."""

    options: tuple[tuple[str, ...], ...]
    totals: tuple[float, ...]
    lexical: bool

    def pick(self, point: float) -> tuple[str, ...]:
        """The alternative at `point`, which lies in [0, 1)."""
        # The bound is needed because rounding may make the product equal to the total.
        index = bisect_right(self.totals, point * self.totals[-1], hi=len(self.totals) - 1)
        return self.options[index]


@dataclass(frozen=True)
class SampleGrammar:
    """A grammar to sample from: the start symbol, each symbol's choices, and (word, spelling, letters) of %before."""

    start: str
    choices: Mapping[str, Choices]
    before: tuple[tuple[str, str, str], ...] = ()


def read_grammar(path: str | os.PathLike[str] = ENGLISH) -> SampleGrammar:
    """The grammar in the file, checked: every symbol is defined and can end in words."""
    name = os.fspath(path)
    return parse_grammar(read_lines(name), name)


def parse_grammar(lines: Iterable[tuple[int, str]], path: str = "<text>") -> SampleGrammar:
    """The grammar in the numbered lines; errors begin with `path:line:`."""
    reader = _Reader(path)
    for parts in _statements(lines, path):
        reader.statement(parts)
    return reader.finish()


def _statements(lines: Iterable[tuple[int, str]], path: str) -> Iterator[list[tuple[int, str]]]:
    """Each statement: its first numbered line and the indented lines below, without comments."""
    parts: list[tuple[int, str]] = []
    for number, raw in lines:
        text = _COMMENT.sub("", raw).rstrip()
        if not text:
            continue
        if not text[0].isspace():
            if parts:
                yield parts
            parts = []
        elif not parts:
            raise GrammarError(f"{path}:{number}: an indented line continues a statement, but none came before it")
        parts.append((number, text.strip()))
    if parts:
        yield parts


class _Reader:
    """Collects the statements of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.features: dict[str, list[tuple[str, float]]] = {}
        self.rules: dict[str, list[tuple[tuple[str, ...], float]]] = {}
        self.words: dict[str, list[tuple[tuple[str, ...], float]]] = {}
        self.before: list[tuple[str, str, str]] = []
        self.line_of: dict[str, int] = {}  # where a symbol is first used

    def fail(self, line: int, what: str) -> GrammarError:
        return GrammarError(f"{self.path}:{line}: {what}")

    def statement(self, parts: list[tuple[int, str]]) -> None:
        line = parts[0][0]
        head, *rest = parts[0][1].split()
        if head.startswith("%") and len(parts) > 1:
            raise self.fail(parts[1][0], f"{head} takes one line; this one is indented")
        if head == "%feature":
            self._feature(line, rest)
        elif head == "%before":
            if len(rest) != 3:
                raise self.fail(line, "%before needs a word, its other spelling and the letters that call for it")
            self.before.append((rest[0], rest[1], rest[2]))
        elif head.startswith("%"):
            raise self.fail(line, f"{head} is unknown; there are %feature and %before")
        elif rest[:1] == ["->"]:
            inline = [(line, " ".join(rest[1:]))] if rest[1:] else []
            self._rules(line, head, inline + parts[1:])
        else:
            self._words(line, parts)

    def _feature(self, line: int, rest: list[str]) -> None:
        if len(rest) < 2:
            raise self.fail(line, "%feature needs a name and at least one value")
        self.features[rest[0]] = [self._weighted(line, value) for value in rest[1:]]

    def _rules(self, line: int, left: str, alternatives: list[tuple[int, str]]) -> None:
        if not alternatives:
            raise self.fail(line, f"{left} -> has no right side, here or indented below")
        for number, text in alternatives:
            right = text.split()
            weight = _as_weight(right[0])
            if weight is not None:
                del right[0]
            if not right:
                raise self.fail(number, f"a rule for {left} has a weight and nothing else")
            for symbols, factor in self._instances(number, [left, *right]):
                for symbol in symbols:
                    self.line_of.setdefault(symbol, number)
                share = factor * (1.0 if weight is None else weight)
                self.rules.setdefault(symbols[0], []).append((symbols[1:], share))

    def _words(self, line: int, parts: list[tuple[int, str]]) -> None:
        tokens = parts[0][1].split()
        sign = next((index for index, token in enumerate(tokens) if token in ("=", "~")), 0)
        if not sign:
            raise self.fail(line, f"expected `{tokens[0]} ->`, `{tokens[0]} =` or `{tokens[0]} ~`")
        tags = tokens[:sign]
        entries = [
            (number, entry)
            for number, part in [(line, " ".join(tokens[sign + 1 :])), *parts[1:]]
            for token in part.split()
            for entry in _spell_out(token)
        ]
        if not entries or len(entries) % len(tags):
            raise self.fail(line, f"{len(entries)} words do not fill rows of {len(tags)}")
        for symbols, _ in self._instances(line, tags):
            for symbol in symbols:
                self.line_of.setdefault(symbol, line)
            for place, (number, entry) in enumerate(entries):
                word, weight = self._weighted(number, entry)
                if tokens[sign] == "~":
                    weight /= place // len(tags) + 2
                if word != "-" or len(tags) == 1:
                    self.words.setdefault(symbols[place % len(tags)], []).append(((word,), weight))

    def _weighted(self, line: int, token: str) -> tuple[str, float]:
        """A token such as `the:5` as text and weight."""
        text, colon, number = token.rpartition(":")
        weight = _as_weight(number)
        if not (text and colon) or weight is None:
            return token, 1.0
        if weight == 0:
            raise self.fail(line, f"{token!r} has weight 0; leave it out")
        return text, weight

    def _instances(self, line: int, symbols: list[str]) -> Iterator[tuple[tuple[str, ...], float]]:
        """The symbols for each combination of feature values, and its weight; the left side comes first."""
        fixed = _VARIABLE.findall(symbols[0])
        names = list(dict.fromkeys(_VARIABLE.findall(" ".join(symbols))))
        for name in names:
            if name not in self.features:
                raise self.fail(line, f"${name} is used before a %feature line names its values")
        for values in itertools.product(*(self.features[name] for name in names)):
            value_of = {name: value for name, (value, _) in zip(names, values, strict=True)}
            factor = 1.0
            for name, (_, weight) in zip(names, values, strict=True):
                factor *= 1.0 if name in fixed else weight
            filled = [_VARIABLE.sub(lambda match: value_of[match[1]], symbol) for symbol in symbols]  # noqa: B023
            yield tuple(filled), factor

    def finish(self) -> SampleGrammar:
        if not self.rules:
            raise self.fail(1, "the grammar has no rule; the first one's left side is the start symbol")
        for symbol in self.rules:
            if symbol in self.words:
                raise self.fail(self.line_of[symbol], f"{symbol} has both rules and words; give the words a tag")
        for symbol in self.words:
            if symbol.startswith("@"):
                raise self.fail(self.line_of[symbol], f"{symbol} is over words, so it needs a visible tag")
        for right, _ in itertools.chain.from_iterable(self.rules.values()):
            for symbol in right:
                if symbol not in self.rules and symbol not in self.words:
                    raise self.fail(self.line_of[symbol], f"{symbol} has no rule and no words")
        start = next(iter(self.rules))
        if start.startswith("@"):
            raise self.fail(self.line_of[start], f"the start symbol {start} must leave a bracket")
        self._check_ends()
        choices = {
            symbol: Choices(
                tuple(option for option, _ in options),
                tuple(itertools.accumulate(weight for _, weight in options)),
                table is self.words,
            )
            for table in (self.rules, self.words)
            for symbol, options in table.items()
        }
        return SampleGrammar(start, choices, tuple(self.before))

    def _check_ends(self) -> None:
        """Raise an error for a symbol that cannot be expanded to words."""
        ending = set(self.words)
        growing = True
        while growing:
            size = len(ending)
            for symbol, options in self.rules.items():
                if any(weight > 0 and ending.issuperset(right) for right, weight in options):
                    ending.add(symbol)
            growing = len(ending) > size
        for symbol in self.rules:
            if symbol not in ending:
                raise self.fail(self.line_of[symbol], f"no choice of rules turns {symbol} into words")


def _as_weight(token: str) -> float | None:
    return float(token) if re.fullmatch(r"\d+(\.\d*)?|\.\d+", token) else None


def _spell_out(token: str) -> list[str]:
    """Every combination of the alternatives in braces, the rightmost changing fastest."""
    pieces = [piece.split("|") if index % 2 else [piece] for index, piece in enumerate(_BRACES.split(token))]
    return ["".join(combination) for combination in itertools.product(*pieces)]


def sample_trees(grammar: SampleGrammar, count: int, seed: int, max_words: int = MAX_WORDS) -> Iterator[Tree]:
    """`count` trees sampled independently, of at most `max_words` words; the same seed gives the same trees.

    Longer sentences are rejected, so the trees follow the grammar's distribution restricted to that length. Only
    `random()` of the generator is used, which Python guarantees not to change.
    """
    if max_words < 1:
        raise UsageError(f"max_words is {max_words}; a sentence has at least one word")
    if seed < 0:  # the generator would take its absolute value
        raise UsageError(f"the seed is {seed}; it must not be negative")
    generator = random.Random(seed)
    for _ in range(count):
        for _ in range(_MAX_REJECTED):
            drawn = _draw(grammar, generator, max_words)
            if drawn is not None:
                break
        else:
            raise GrammarError(f"{_MAX_REJECTED} draws in a row had more than {max_words} words; allow longer ones")
        yield _assemble(drawn, _spelled([word for _, _, word in drawn if word is not None], grammar))


def _draw(grammar: SampleGrammar, generator: random.Random, max_words: int) -> list[tuple[str, int, str | None]] | None:
    """(symbol, number of children, word) of a tree's nodes, parents first; None if it is too long."""
    nodes: list[tuple[str, int, str | None]] = []
    stack = [grammar.start]
    n_words = 0
    while stack:
        symbol = stack.pop()
        choices = grammar.choices[symbol]
        option = choices.pick(generator.random())
        if choices.lexical:
            nodes.append((symbol, 0, option[0]))
            n_words += 1
        else:
            nodes.append((symbol, len(option), None))
            stack.extend(reversed(option))
        # Each item on the stack will yield at least one word.
        if n_words + len(stack) > max_words or len(nodes) > _NODES_PER_WORD * max_words:
            return None
    return nodes


def _spelled(words: list[str], grammar: SampleGrammar) -> list[str]:
    """The words with the spellings of %before, capitalised at the start and after an opening quotation mark."""
    spelled: list[str] = []
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        for plain, other, letters in grammar.before:
            if word == plain and following[:1].lower() in set(letters):
                word = other
        if all(mark == _OPENING_QUOTE for mark in spelled) or spelled[-1] == _OPENING_QUOTE:
            word = word[:1].upper() + word[1:]
        spelled.append(word)
    return spelled


def _assemble(nodes: list[tuple[str, int, str | None]], words: list[str]) -> Tree:
    """The tree of the nodes, with bare labels, the children of @symbols raised, and the words in place."""
    remaining = list(words)
    done: list[list[Tree]] = []  # the trees of each finished symbol: one tree, or the children of an @symbol
    for symbol, n_children, word in reversed(nodes):
        label = symbol.partition("[")[0]
        if word is not None:
            done.append([Tree(label, (), remaining.pop())])
            continue
        children = [tree for _ in range(n_children) for tree in done.pop()]
        done.append(children if label.startswith("@") else [Tree(label, children)])
    return with_root(done[0][0])


def conllu_block(tree: Tree, sent_id: str) -> str:
    """The tree's words and tags as one CoNLL-U sentence, with its closing blank line; no heads."""
    lines = [f"# sent_id = {sent_id}", f"# text = {' '.join(tree.words())}"]
    for number, leaf in enumerate(tree.leaves(), start=1):
        lines.append(f"{number}\t{leaf.word}\t_\t{UPOS.get(leaf.label, 'X')}\t{leaf.label}" + "\t_" * 5)
    return "\n".join(lines) + "\n\n"
