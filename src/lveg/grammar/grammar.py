"""The grammar of a treebank: symbols, rules by kind and their counts, as validated arrays."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from lveg.errors import GrammarError
from lveg.grammar.binarise import Binarisation, Derivation, Step, binarise
from lveg.grammar.lexicon import Lexicon, LexiconOptions, Tagged, WordCounts, build_lexicon, count_words
from lveg.grammar.symbols import PART, PHRASE, TAG, Symbol
from lveg.trees import UNWRITABLE, Tree

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

NONE = -1
"""Instead of a symbol: no such slot, or ROOT as left-hand side."""

LIKELY = 0.1
"""Minimum share of a likely tag of a word."""


@dataclass(frozen=True)
class Grammar:
    """Rules in four kinds, in this order, each sorted by its symbols:

    - binary `A -> B C`: lhs, left, right are symbols;
    - unary `A -> B`: right is NONE; `paths` has the labels inside the chain that the rule represents;
    - root `ROOT -> A`: lhs is NONE, left the symbol;
    - lexical `T -> w`: lhs is a tag, left a terminal of the lexicon.

    Symbols are numbered nonterminals (phrases and parts) first, then tags.
    """

    symbols: tuple[Symbol, ...]
    n_nonterminals: int
    rule_lhs: Ints
    rule_left: Ints
    rule_right: Ints
    n_binary: int
    n_unary: int
    n_root: int
    paths: tuple[tuple[str, ...], ...]
    count: Floats
    lexicon: Lexicon
    fingerprint: str

    def __post_init__(self) -> None:
        n_rules = self.rule_lhs.shape[0]
        for name in ("rule_lhs", "rule_left", "rule_right"):
            array = getattr(self, name)
            if array.shape != (n_rules,) or array.dtype != np.int32 or not array.flags.c_contiguous:
                raise GrammarError(f"{name} is not a contiguous int32 array with one entry per rule")
        if self.count.shape != (n_rules,) or self.count.dtype != np.float64:
            raise GrammarError("count is not a float64 array with one entry per rule")
        if not np.isfinite(self.count).all() or (self.count < 0).any():
            raise GrammarError("rule counts must be finite and not negative")
        if min(self.n_binary, self.n_unary, self.n_root) < 0 or self.lexical_start > n_rules:
            raise GrammarError("the kinds have more rules than there are")
        if len(self.paths) != self.n_unary:
            raise GrammarError("one path is needed for each unary rule")
        if not self._symbols_in_range():
            raise GrammarError("a rule names a symbol or terminal that does not exist")

    def _symbols_in_range(self) -> bool:
        inner = slice(0, self.n_binary + self.n_unary)
        binary, root, lexical = slice(0, self.n_binary), self.kind_slice("root"), self.kind_slice("lexical")
        n_symbols, n_nonterminals = len(self.symbols), self.n_nonterminals

        def within(array: Ints, low: int, high: int) -> bool:
            return bool(((array >= low) & (array < high)).all())

        return (
            0 <= n_nonterminals <= n_symbols
            and within(self.rule_lhs[inner], 0, n_nonterminals)
            and within(self.rule_left[inner], 0, n_symbols)
            and within(self.rule_right[binary], 0, n_symbols)
            and within(self.rule_right[self.n_binary :], NONE, 0)
            and within(self.rule_lhs[root], NONE, 0)
            and within(self.rule_left[root], 0, n_symbols)
            and within(self.rule_lhs[lexical], n_nonterminals, n_symbols)
            and within(self.rule_left[lexical], 0, self.lexicon.n_terminals)
        )

    @property
    def n_rules(self) -> int:
        """Number of rules of all kinds."""
        return int(self.rule_lhs.shape[0])

    @property
    def unary_start(self) -> int:
        """The first unary rule."""
        return self.n_binary

    @property
    def root_start(self) -> int:
        """The first root rule."""
        return self.n_binary + self.n_unary

    @property
    def lexical_start(self) -> int:
        """The first lexical rule."""
        return self.n_binary + self.n_unary + self.n_root

    def kind_slice(self, kind: str) -> slice:
        """The range of rules of a kind: binary, unary, root or lexical."""
        return self._slices[kind]

    @cached_property
    def _slices(self) -> dict[str, slice]:
        ends = (0, self.unary_start, self.root_start, self.lexical_start, self.n_rules)
        return dict(zip(("binary", "unary", "root", "lexical"), map(slice, ends, ends[1:]), strict=False))

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The tags' labels, in the order of their symbols."""
        return tuple(symbol.label for symbol in self.symbols[self.n_nonterminals :])

    @cached_property
    def chain_labels(self) -> list[set[str]]:
        """For each unary rule, the labels of the phrases in its chain."""
        unary = self.kind_slice("unary")
        found = []
        for *ends, path in zip(self.rule_lhs[unary], self.rule_left[unary], self.paths, strict=True):
            phrases = (self.symbols[symbol] for symbol in ends if self.symbols[symbol].kind == PHRASE)
            found.append({phrase.label for phrase in phrases} | set(path))
        return found

    @cached_property
    def added_labels(self) -> list[set[str]]:
        """For each unary rule, the labels of the phrases that it adds: those of its chain except the last."""
        children = (self.symbols[child] for child in self.rule_left[self.kind_slice("unary")])
        last = ({child.label} if child.kind == PHRASE else set() for child in children)
        return [labels - below for labels, below in zip(self.chain_labels, last, strict=True)]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The phrase labels, in alphabetical order."""
        own = {symbol.label for symbol in self.symbols if symbol.kind == PHRASE}
        return tuple(sorted(own.union(*self.chain_labels)))

    @cached_property
    def label_ids(self) -> dict[str, int]:
        """The number of each phrase label."""
        return {label: index for index, label in enumerate(self.labels)}

    @cached_property
    def phrase_label(self) -> Ints:
        """The number of each symbol's phrase label; -1 for symbols that are not phrases."""
        return np.array(
            [self.label_ids[symbol.label] if symbol.kind == PHRASE else -1 for symbol in self.symbols], np.int64
        )

    @cached_property
    def chain_table(self) -> Ints:
        """`chain_labels` as numbers, one row per unary rule, padded with -1."""
        return self._table(self.chain_labels)

    @cached_property
    def added_table(self) -> Ints:
        """`added_labels` as numbers, one row per unary rule, padded with -1."""
        return self._table(self.added_labels)

    def _table(self, labels: list[set[str]]) -> Ints:
        table = np.full((len(labels), max(map(len, labels), default=0)), -1)
        for row, group in zip(table, labels, strict=True):
            row[: len(group)] = sorted(self.label_ids[label] for label in group)
        return table

    @cached_property
    def likely_tags(self) -> tuple[list[int], list[tuple[int, ...]]]:
        """For each terminal its most frequent tag, the first of several, and all tags with a share of at least LIKELY.

        Tags are numbered among the tags.
        """
        lexical = self.kind_slice("lexical")
        terminal, tag = self.rule_left[lexical], self.rule_lhs[lexical] - self.n_nonterminals
        count = self.count[lexical]
        total = np.bincount(terminal, count, self.lexicon.n_terminals)
        is_likely = count / np.maximum(total, 1e-300)[terminal] >= LIKELY
        commonest = np.zeros(self.lexicon.n_terminals, np.int64)
        order = np.lexsort((-tag, count))  # so that the largest count, and among equals the lowest tag, comes last
        commonest[terminal[order]] = tag[order]
        commonest[total == 0.0] = 0
        sets: list[list[int]] = [[] for _ in range(self.lexicon.n_terminals)]
        for word, one in zip(terminal[is_likely].tolist(), tag[is_likely].tolist(), strict=True):
            sets[word].append(one)
        return commonest.tolist(), [tuple(sorted(tags)) for tags in sets]

    @cached_property
    def is_phrase(self) -> npt.NDArray[np.bool_]:
        """Whether each symbol is a complete constituent."""
        return np.array([symbol.kind == PHRASE for symbol in self.symbols], dtype=bool)

    @cached_property
    def symbol_ids(self) -> dict[Symbol, int]:
        """The number of each symbol."""
        return {symbol: index for index, symbol in enumerate(self.symbols)}

    @cached_property
    def is_part(self) -> npt.NDArray[np.bool_]:
        """Whether each symbol is a part of a constituent."""
        return np.array([symbol.kind == PART for symbol in self.symbols], dtype=bool)

    @cached_property
    def _rule_ids(self) -> dict[tuple[int, int, int, tuple[str, ...]], int]:
        """The number of each rule that is not lexical."""
        paths = ((),) * self.n_binary + self.paths + ((),) * self.n_root
        columns = (self.rule_lhs.tolist(), self.rule_left.tolist(), self.rule_right.tolist(), paths)
        return {key: index for index, key in enumerate(zip(*columns, strict=False))}

    @cached_property
    def _lexical_ids(self) -> dict[tuple[int, int], int]:
        kind = self.kind_slice("lexical")
        keys = zip(self.rule_lhs[kind].tolist(), self.rule_left[kind].tolist(), strict=True)
        return {key: self.lexical_start + index for index, key in enumerate(keys)}

    def rule_id(self, lhs: int, left: int, right: int = NONE, path: tuple[str, ...] = ()) -> int | None:
        """The number of a binary, unary or root rule, or None if the grammar does not have it."""
        return self._rule_ids.get((lhs, left, right, path))

    def lexical_id(self, tag: int, terminal: int) -> int | None:
        """The number of a lexical rule, or None if the grammar does not have it."""
        return self._lexical_ids.get((tag, terminal))

    def symbol(self, name: str) -> int:
        """The number of the symbol with this name; of a phrase and a tag with the same name, that of the phrase."""
        if name not in self._symbols_by_name:
            raise GrammarError(f"the grammar has no symbol {name}")
        return self._symbols_by_name[name][0]

    @cached_property
    def _symbols_by_name(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, symbol in enumerate(self.symbols):
            found.setdefault(symbol.name, []).append(index)
        return found

    def rule(self, text: str) -> int:
        """The number of a rule written as by `describe_rule`: `NP -> DT @NP`, `ROOT -> S`, `NN -> dog`."""
        *above, tail = text.split(" -> ")
        head, middle = above[0] if above else "", above[1:]
        of_name = self._symbols_by_name
        heads = [NONE] if head == "ROOT" else of_name.get(head, [])
        slots = [of_name.get(name, []) for name in tail.split(" ")]
        lefts, rights = slots[0], slots[1] if len(slots) == 2 else [NONE] * (len(slots) == 1)
        found = [self.rule_id(*symbols, tuple(middle)) for symbols in product(heads, lefts, rights)]
        terminals = [*self.lexicon.words, *self.lexicon.classes]
        if tail in terminals and not middle:
            found += [self.lexical_id(lhs, terminals.index(tail)) for lhs in heads]
        for rule in found:
            if rule is not None:
                return rule
        raise GrammarError(f"the grammar has no rule {text}")

    def describe_rule(self, rule: int) -> str:
        """The rule as text, such as `NP -> DT @NP`."""
        lhs, left, right = int(self.rule_lhs[rule]), int(self.rule_left[rule]), int(self.rule_right[rule])
        if rule >= self.lexical_start:
            names = (*self.lexicon.words, *self.lexicon.classes)
            return f"{self.symbols[lhs].name} -> {names[left]}"
        head = "ROOT" if lhs == NONE else self.symbols[lhs].name
        middle = self.paths[rule - self.unary_start] if self.unary_start <= rule < self.root_start else ()
        tail = [self.symbols[symbol].name for symbol in (left, right) if symbol != NONE]
        return " -> ".join((head, *middle, " ".join(tail)))


_BREAKS = re.compile(r"[\t\n\r\v\f]")


def check_labels(grammar: Grammar, in_brackets: bool) -> None:
    """Raise an error unless labels can be written, in bracketed trees or in the columns of CoNLL-U."""
    labels = {symbol.label for symbol in grammar.symbols}.union(*grammar.paths)
    for label in sorted(labels):
        if not label or (UNWRITABLE if in_brackets else _BREAKS).search(label):
            raise GrammarError(
                f"the label {label[:60]!r} cannot be written: it is empty or has white space or brackets"
            )


MOST_ENTRIES = 2**22
"""Maximum size of a table: of symbols and tags, and of unary rules and the labels of their chains. Charts need several
of the former, with 8 bytes for each entry. Grammars of treebanks are far below it."""


def check_tables(grammar: Grammar) -> None:
    """Raise an error if tables of the symbols of a tree grammar would be too large, however few rules there are."""
    n_symbols, n_tags = len(grammar.symbols), len(grammar.tags)
    if n_symbols * (n_tags + 1) > MOST_ENTRIES:
        raise GrammarError(f"it has {n_symbols:,} symbols, {n_tags:,} of them tags: tables of them would be too large")
    longest = max((len(path) for path in grammar.paths), default=0)
    if len(grammar.paths) * longest > MOST_ENTRIES:
        raise GrammarError(f"it has a unary chain of {longest:,} labels: tables of chains would be too large")


def same_rules(one: Grammar, other: Grammar) -> bool:
    """Whether two grammars have the same symbols, rules and terminals, whatever their counts."""
    arrays = ("rule_lhs", "rule_left", "rule_right")
    return (one.symbols, one.paths, one.lexicon) == (other.symbols, other.paths, other.lexicon) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays
    )


RuleKey = tuple[Symbol | None, Symbol, Symbol | None, tuple[str, ...]]
"""(lhs, left, right, path) of a rule that is not lexical; None for ROOT and for no slot."""


class Tally:
    """Counts of rules and words, and a hash of the sentences: all that a grammar needs of a treebank."""

    def __init__(self) -> None:
        self.rules: Counter[RuleKey] = Counter()
        self.words: WordCounts = Counter()
        self._digest = hashlib.sha256()

    def add(self, sentence: Tagged) -> None:
        """Count the words of a sentence."""
        count_words(self.words, sentence)
        self._digest.update(_bytes_of(sentence))

    def grammar(self, options: LexiconOptions, in_brackets: bool) -> Grammar:
        """The grammar of these rules and words, checked: see `check_labels`."""
        grammar = build_grammar(self.rules, self.words, options, self._digest.hexdigest()[:16])
        check_labels(grammar, in_brackets)
        if in_brackets:
            check_tables(grammar)
        return grammar


def build_grammar(
    rule_counts: Counter[RuleKey], words: WordCounts, options: LexiconOptions, fingerprint: str
) -> Grammar:
    """The grammar with the given rules and the lexicon of the words."""
    lexicon, lexical_counts = build_lexicon(words, options)
    seen = {symbol for key in rule_counts for symbol in key[:3] if isinstance(symbol, Symbol)}
    tags = {Symbol(TAG, tag) for tag, _ in lexical_counts}
    symbols = tuple(sorted(seen - tags) + sorted(tags))
    ids: dict[Symbol | None, int] = {symbol: index for index, symbol in enumerate(symbols)}
    ids[None] = NONE

    def kind_of(key: RuleKey) -> int:
        return 2 if key[0] is None else int(key[2] is None)

    rows: list[RuleRow] = sorted(
        (kind_of(key), ids[key[0]], ids[key[1]], ids[key[2]], key[3], count) for key, count in rule_counts.items()
    )
    rows += sorted(
        (3, ids[Symbol(TAG, tag)], terminal, NONE, (), count) for (tag, terminal), count in lexical_counts.items()
    )
    return assemble_grammar(symbols, len(symbols) - len(tags), rows, lexicon, fingerprint)


RuleRow = tuple[int, int, int, int, tuple[str, ...], float]
"""(kind, lhs, left, right, path, count) of a rule; kinds are 0 binary, 1 unary, 2 root and 3 lexical."""


def assemble_grammar(
    symbols: tuple[Symbol, ...], n_nonterminals: int, rows: list[RuleRow], lexicon: Lexicon, fingerprint: str
) -> Grammar:
    """The grammar of sorted rule rows."""
    kinds = Counter(row[0] for row in rows)
    return Grammar(
        symbols=symbols,
        n_nonterminals=n_nonterminals,
        rule_lhs=np.array([row[1] for row in rows], dtype=np.int32),
        rule_left=np.array([row[2] for row in rows], dtype=np.int32),
        rule_right=np.array([row[3] for row in rows], dtype=np.int32),
        n_binary=kinds[0],
        n_unary=kinds[1],
        n_root=kinds[2],
        paths=tuple(row[4] for row in rows if row[0] == 1),
        count=np.array([row[5] for row in rows], dtype=np.float64),
        lexicon=lexicon,
        fingerprint=fingerprint,
    )


def fingerprint(tagged: Iterable[Tagged]) -> str:
    """A short hash of the data: the words and tags, in order."""
    digest = hashlib.sha256()
    for sentence in tagged:
        digest.update(_bytes_of(sentence))
    return digest.hexdigest()[:16]


def _bytes_of(sentence: Tagged) -> bytes:
    """What is hashed of a sentence: the words and tags, in order."""
    return repr(list(sentence)).encode()


def step_key(step: Step, derivation: Derivation) -> RuleKey:
    """The rule that a binary or unary step applies."""
    right = derivation[step.right].symbol if step.right >= 0 else None
    return step.symbol, derivation[step.left].symbol, right, step.path


def tree_grammar(trees: Iterable[Tree], scheme: Binarisation, options: LexiconOptions) -> Grammar:
    """The grammar of cleaned trees: every rule that occurs in them, with its count. The trees are read once."""
    tally = Tally()
    for tree in trees:
        derivation = binarise(tree, scheme)
        tally.rules.update(step_key(step, derivation) for step in derivation if step.left >= 0)
        tally.rules[None, derivation[-1].symbol, None, ()] += 1
        tally.add([(leaf.word or "", leaf.label) for leaf in tree.leaves()])
    if not tally.rules:
        raise GrammarError("there are no trees to learn from")
    return tally.grammar(options, in_brackets=True)


def tag_grammar(tagged: Iterable[Tagged], options: LexiconOptions) -> Grammar:
    """The regular grammar of tag sequences: `t^ -> t u^` for a transition, `t^ -> t` at the end, ROOT -> t^ first.

    The state t^ is a phrase labelled t, so that tag and state are two symbols. All transitions exist; those
    that do not occur have count zero. The sentences are read once.
    """
    tally = Tally()
    counts = tally.rules
    for sentence in tagged:
        tally.add(sentence)
        labels = [tag for _, tag in sentence]
        if labels:
            counts[None, Symbol(PHRASE, labels[0]), None, ()] += 1
            counts[Symbol(PHRASE, labels[-1]), Symbol(TAG, labels[-1]), None, ()] += 1
        for tag, other in pairwise(labels):
            counts[Symbol(PHRASE, tag), Symbol(TAG, tag), Symbol(PHRASE, other), ()] += 1
    tags = {tag for _, tag, _ in tally.words}
    if not tags:
        raise GrammarError("there are no tagged words to learn from")
    for tag in tags:
        state = Symbol(PHRASE, tag)
        counts[None, state, None, ()] += 0
        counts[state, Symbol(TAG, tag), None, ()] += 0
        for other in tags:
            counts[state, Symbol(TAG, tag), Symbol(PHRASE, other), ()] += 0
    return tally.grammar(options, in_brackets=False)
