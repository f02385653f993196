"""What a family learned about each symbol, as plain data that `lveg inspect` shows.

Symbols are seen from the *slots* of rules in which they occur: as left-hand side of rules or words, or as a child. A
family describes what its parameters say about each slot; what the treebank's counts say is the same for all families.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.grammar.grammar import NONE, Floats, Grammar
from lveg.grammar.symbols import TAG

Numbers = npt.NDArray[np.signedinteger]
"""Whole numbers of any type."""

MOST, MOST_GAUSSIANS = 24, 48
"""Rules or words, and Gaussians, that are kept for each title of a symbol or subtype: the most frequent ones."""

RULES, WORDS, PLACES, NEXT, BEFORE = "rules", "words", "where it occurs", "next tags", "tags before"


class Use(NamedTuple):
    """A rule or a word, and its share in the uses of the symbol or subtype."""

    text: str
    share: float


Lists = dict[str, list[Use]]
"""The most frequent uses by title, most frequent first."""


@dataclass(frozen=True)
class Gaussians:
    """The largest Gaussians over the vectors of a symbol, by title, largest first, each with the text of its use.

    share: (n,) of the uses with the same title. mean, std: (n, dim).
    """

    title: list[str]
    text: list[str]
    share: Floats
    mean: Floats
    std: Floats


@dataclass(frozen=True)
class Subtype:
    """A discrete subtype: its share in the uses of its symbol, and what it is used for."""

    share: float
    lists: Lists


@dataclass(frozen=True)
class About:
    """What is known about a symbol. kind: phrase, part or tag. count: in the treebank.

    levels: for a hierarchy of subtypes, the group of each subtype at each level, coarse levels first.
    """

    name: str
    kind: str
    count: float
    lists: Lists
    gaussians: Gaussians | None = None
    subtypes: Sequence[Subtype] = ()
    levels: Sequence[Sequence[int]] = ()


@dataclass(frozen=True)
class Insight:
    """What a family learned. model: its name."""

    model: str
    symbols: list[About]


class Slot(NamedTuple):
    """A slot of rules. symbol: the symbol in the slot of each rule, NONE if it has none. text: of a rule."""

    title: str
    symbol: Numbers
    text: Callable[[int], str]


@dataclass(frozen=True)
class View:
    """The symbols of a grammar and the slots in which they occur."""

    grammar: Grammar
    names: list[str]
    kinds: list[str]
    slots: list[Slot]

    def insight(self, model: str, symbols: Sequence[About] | None = None) -> Insight:
        """The result for a family with this name."""
        return Insight(model, list(self.symbols if symbols is None else symbols))

    @property
    def symbols(self) -> list[About]:
        """What the treebank's counts say about each symbol."""
        rule = np.arange(self.grammar.n_rules)
        slots = [slot.symbol for slot in self.slots]
        lists, counts = self._lists(rule, self.grammar.count, slots, len(self.names))
        return [About(*facts) for facts in zip(self.names, self.kinds, counts, lists, strict=True)]

    def with_subtypes(
        self, first: Numbers, rule: Numbers, uses: Floats, slots: Sequence[Numbers], groups: Numbers | None = None
    ) -> list[About]:
        """The symbols with their subtypes.

        first: the first subtype of each symbol, and the total number. rule, uses: of each combination of subtypes.
        slots: the subtype of each combination in each slot, NONE for none. groups: (levels, n_subtypes).
        """
        lists, counts = self._lists(rule, uses, slots, int(first[-1]))
        found = []
        for number, about in enumerate(self.symbols):
            own = slice(int(first[number]), int(first[number + 1]))
            total = max(sum(counts[own]), 1e-300)
            subtypes = [Subtype(count / total, one) for count, one in zip(counts[own], lists[own], strict=True)]
            levels = [] if groups is None else [row[own].tolist() for row in groups]
            found.append(replace(about, subtypes=subtypes, levels=levels))
        return found

    def with_gaussians(
        self, rule: Numbers, uses: Floats, columns: Sequence[Numbers], mean: Floats, std: Floats
    ) -> list[About]:
        """The symbols with their Gaussians.

        rule, uses: of each component. columns: the column of each component's Gaussian for each slot, in `mean` (dim,
        n) and `std`, (dim, n) or (1, n).
        """
        std = np.broadcast_to(std, mean.shape)
        found: list[list[tuple[str, str, float, int]]] = [[] for _ in self.names]
        for title, slots in self._titles():
            owner = np.concatenate([slot.symbol[rule] for _, slot in slots])
            size = np.tile(uses, len(slots))
            slot_of = np.repeat([number for number, _ in slots], len(rule))
            total = np.bincount(owner[owner >= 0], size[owner >= 0], len(self.names)) + 1e-300
            for symbol, chosen in enumerate(largest(owner, size, len(self.names), MOST_GAUSSIANS)):
                for entry in chosen.tolist():
                    number, component = int(slot_of[entry]), entry % len(rule)
                    text = self.slots[number].text(int(rule[component]))
                    column = int(columns[number][component])
                    found[symbol].append((title, text, float(size[entry] / total[symbol]), column))
        return [
            replace(about, gaussians=_gaussians(entries, mean, std)) if entries else about
            for about, entries in zip(self.symbols, found, strict=True)
        ]

    def _titles(self) -> list[tuple[str, list[tuple[int, Slot]]]]:
        """The titles, each with its numbered slots."""
        titles = dict.fromkeys(slot.title for slot in self.slots)
        return [(title, [(n, slot) for n, slot in enumerate(self.slots) if slot.title == title]) for title in titles]

    def _lists(
        self, rule: Numbers, uses: Floats, slots: Sequence[Numbers], n_owners: int
    ) -> tuple[list[Lists], list[float]]:  # fmt: skip
        """For each owner of slots, a symbol or subtype, its most frequent uses by title, and its number of uses.

        rule, uses: of each row. slots: the owner of each slot in each row, NONE for none.
        """
        lists: list[Lists] = [{} for _ in range(n_owners)]
        counts = np.zeros(n_owners)
        for title, numbered in self._titles():
            total = np.zeros(n_owners)
            entries: list[tuple[Numbers, Floats, int]] = []
            for number, _ in numbered:
                has = slots[number] >= 0
                key, place = np.unique(slots[number][has].astype(np.int64) * self.grammar.n_rules + rule[has],
                                       return_inverse=True)  # fmt: skip
                size = np.bincount(place, uses[has], len(key)).astype(np.float64)
                total += np.bincount(key // self.grammar.n_rules, size, n_owners)
                entries.append((key, size, number))
            counts = np.maximum(counts, total)
            self._fill(title, entries, total, lists)
        return lists, counts.tolist()

    def _fill(
        self, title: str, entries: Sequence[tuple[Numbers, Floats, int]], total: Floats, lists: list[Lists]
    ) -> None:
        """Add the largest entries under a title to each owner's lists; an entry is a key, a size and its slot."""
        key, size = (np.concatenate([entry[k] for entry in entries]) for k in (0, 1))
        slot_of = np.repeat([number for *_, number in entries], [len(entry[0]) for entry in entries])
        owner, rule = key // self.grammar.n_rules, key % self.grammar.n_rules
        for number, chosen in enumerate(largest(owner, size, len(lists))):
            uses = [
                Use(self.slots[slot_of[entry]].text(int(rule[entry])), float(size[entry] / total[number]))
                for entry in chosen.tolist()
                if size[entry] > 0.0
            ]
            if uses:
                lists[number][title] = uses


def _gaussians(entries: Sequence[tuple[str, str, float, int]], mean: Floats, std: Floats) -> Gaussians:
    titles, texts, shares, columns = zip(*entries, strict=True)
    return Gaussians(list(titles), list(texts), np.array(shares), mean[:, columns].T, std[:, columns].T)


def largest(owner: Numbers, size: Floats, n_owners: int, most: int = MOST) -> list[Numbers]:
    """For each owner, the indices of its largest entries, largest first; entries of a negative owner are ignored."""
    order = np.lexsort((-size, owner))
    begins = np.searchsorted(owner[order], np.arange(n_owners + 1))
    return [order[begin : min(begin + most, end)] for begin, end in pairwise(begins)]


def expected_uses(
    count: Floats,
    first: Numbers,
    rule: Numbers,
    weight: Floats,
    lhs: Numbers,
    children: Sequence[Numbers],
    rounds: int = 10,
) -> Floats:
    """An estimate of how often each combination of subtypes is used, given how often each rule is.

    A rule's uses are shared in proportion to the weights of its combinations and to the uses of their left-hand sides,
    which are counted where these subtypes are children; repeated until it hardly changes. lhs, children: the subtypes
    of each combination, NONE for none.
    """
    used = np.ones(int(first[-1]))
    uses = weight
    for _ in range(rounds):
        joint = np.where(lhs >= 0, used[lhs], 1.0) * weight
        total = np.bincount(rule, joint, len(count))[rule]
        uses = count[rule] * np.divide(joint, total, out=np.zeros_like(joint), where=total > 0.0)
        used = np.full(int(first[-1]), 1e-9)
        for child in children:
            used += np.bincount(child[child >= 0], uses[child >= 0], len(used))
    return uses


def tree_view(grammar: Grammar) -> View:
    """The symbols of a grammar of trees: in rules, over words, and where they occur in other rules."""
    is_word = np.arange(grammar.n_rules) >= grammar.lexical_start
    terminals = (*grammar.lexicon.words, *grammar.lexicon.classes)
    return View(
        grammar,
        [symbol.name for symbol in grammar.symbols],
        [symbol.kind for symbol in grammar.symbols],
        [
            Slot(RULES, np.where(is_word, NONE, grammar.rule_lhs), lambda rule: _rule_text(grammar, rule)),
            Slot(WORDS, np.where(is_word, grammar.rule_lhs, NONE), lambda rule: terminals[grammar.rule_left[rule]]),
            Slot(PLACES, np.where(is_word, NONE, grammar.rule_left), partial(_rule_text, grammar, slot=0)),
            Slot(PLACES, grammar.rule_right, partial(_rule_text, grammar, slot=1)),
        ],
    )


def _rule_text(grammar: Grammar, rule: int, slot: int | None = None) -> str:
    """A rule that is not lexical; the child in the slot is in brackets."""
    *before, last = grammar.describe_rule(rule).split(" -> ")
    if slot is not None:
        children = [grammar.symbols[child].name for child in (grammar.rule_left[rule], grammar.rule_right[rule])
                    if child != NONE]  # fmt: skip
        children[slot] = f"[{children[slot]}]"
        last = " ".join(children)
    return " → ".join([*before, last])


def tag_view(grammar: Grammar) -> View:
    """The tags of a grammar of tag sequences: over words, before and after other tags."""
    tags, numbers = list(grammar.tags), np.arange(grammar.n_rules)
    n, terminals = len(tags), (*grammar.lexicon.words, *grammar.lexicon.classes)
    is_link, is_end = numbers < n * n, (numbers >= n * n) & (numbers < grammar.root_start)
    is_start, is_word = (
        (numbers >= grammar.root_start) & (numbers < grammar.lexical_start),
        numbers >= grammar.lexical_start,
    )
    start = numbers - grammar.root_start
    return View(
        grammar,
        tags,
        [TAG] * n,
        [
            Slot(WORDS, np.where(is_word, grammar.rule_lhs - grammar.n_nonterminals, NONE),
                 lambda rule: terminals[grammar.rule_left[rule]]),
            Slot(NEXT, np.where(is_link, numbers // n, np.where(is_end, numbers - n * n, NONE)),
                 lambda rule: tags[rule % n] if rule < n * n else "end of the sentence"),
            Slot(BEFORE, np.where(is_link, numbers % n, np.where(is_start, start, NONE)),
                 lambda rule: tags[rule // n] if rule < n * n else "start of the sentence"),
        ],
    )  # fmt: skip
