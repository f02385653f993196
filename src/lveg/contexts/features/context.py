"""Log-linear weights of surface features of anchored rules  [math: features]."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt

from lveg.contexts.context import ForestContext, Kept, forest_rows
from lveg.contexts.features.names import Anchor, template_text
from lveg.contexts.features.templates import ATOMS, SPAN, SPLIT, WORD, all_templates
from lveg.contexts.forms.properties import shape
from lveg.errors import GrammarError
from lveg.families.family import Arrays, Facts, check_arrays, check_facts, check_value
from lveg.forest.forest import Forest
from lveg.forest.reasons import Term
from lveg.grammar.grammar import LIKELY, Floats, Grammar, Ints
from lveg.kernels.factors import sum_of
from lveg.kernels.features import (
    AT_SPLIT,
    EMPTY,
    N_EDGES,
    OF_WORD,
    ON_SPAN,
    PADDING,
    Rules,
    Table,
    grow,
    insert_keys,
    look_up,
    visit,
)

MOST_WEIGHT = 100.0
"""Bound on abs(weight)."""

GRID, MOST_STEPS, LEAST_WEIGHT = 1 / 64, 127, 1 / 80
"""Weights are quantised to multiples of GRID, as int8; those below LEAST_WEIGHT are dropped."""

_TEMPLATES = all_templates()
_MOST_PER_EDGE = 2 * sum(len(templates) for templates in _TEMPLATES)
_SHAPE = ATOMS.index("shape")
_MOST_CACHED = 200_000  # words


@dataclass(frozen=True, eq=False)
class Features(ForestContext):
    """Weights of features, in one vector; `table` maps the key of a feature to its weight.

    dropout: the share of properties that are dropped at random during training. least: edges with smaller gradients are
    ignored in training. least_share: features get a weight if they occur at an edge with this posterior.
    """

    grammar: Grammar
    table: Table
    value: Floats
    dropout: float = 0.0
    least: float = 0.0
    least_share: float = 0.0
    _atoms: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False)

    name = "features"

    def __post_init__(self) -> None:
        check_value(self.value, len(self.value), MOST_WEIGHT)

    def with_value(self, value: Floats) -> Features:
        """The same features with other weights."""
        return replace(self, value=value)

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self.grammar.lexical_start, self.grammar.n_rules)

    @cached_property
    def _tags(self) -> tuple[list[int], list[int]]:
        """For each terminal its most likely tag, and a number that represents the set of its likely tags."""
        tags, sets = self.grammar.likely_tags
        return tags, [crc32(np.array(one, "<i8").tobytes()) & 0x7FFFFFFF for one in sets]

    def _word_atoms(self, word: str) -> tuple[int, ...]:
        """The atoms of a word, in the order of ATOMS."""
        found = self._atoms.get(word)
        if found is None:
            terminal = self.grammar.lexicon.terminal(word)
            tag, tags = self._tags
            found = (number(word), number(word.lower()), tag[terminal], tags[terminal], *map(number, letters(word)))
            if len(self._atoms) < _MOST_CACHED:
                self._atoms[word] = found
        return found

    def _word_texts(self, word: str) -> dict[str, str]:
        """The atoms of a word as text, by atom."""
        lexical, terminal = self.grammar.kind_slice("lexical"), self.grammar.lexicon.terminal(word)
        own = np.flatnonzero(self.grammar.rule_left[lexical] == terminal) + lexical.start
        share = self.grammar.count[own] / max(self.grammar.count[own].sum(), 1e-300)
        labels = [self.grammar.symbols[tag].label for tag in self.grammar.rule_lhs[own]]
        tags = "|".join(sorted(label for label, part in zip(labels, share, strict=True) if part >= LIKELY))
        tag = self.grammar.tags[self._tags[0][terminal]]
        return dict(zip(ATOMS, (word, word.lower(), tag, tags, *letters(word)), strict=True))

    def rows(self, forest: Forest) -> Ints:
        """The words of a forest, its nodes and its edges (see kernels.features)."""
        words = [_EDGE] * PADDING + [self._word_atoms(word) for word in forest.words] + [_EDGE] * PADDING
        return forest_rows(words, forest)

    def score(self, rows: Ints, noise: int = 0, kept: Kept | None = None) -> Floats:
        """The sum of the weights of each edge's features; without noise, times the share that dropout would keep."""
        found = np.zeros(sum_of(rows, N_EDGES))
        share = np.ones_like(found) if kept is None else kept.astype(np.float64)
        self._visit(rows, self.table, found, share, least=0.5, noise=noise)
        return found if noise else found * (1.0 - self.dropout)

    def reasons(self, grammar: Grammar, forest: Forest, edges: Ints) -> list[list[Term]]:
        """For each of some edges with rules, its features with nonzero weights, as text, and their weights."""
        rows, texts = self.rows(forest), [self._word_texts(word) for word in forest.words]
        return [self._edge_reasons(grammar, forest, edge, rows, texts) for edge in edges.tolist()]

    def _edge_reasons(
        self, grammar: Grammar, forest: Forest, edge: int, rows: Ints, texts: Sequence[Mapping[str, str]]
    ) -> list[Term]:
        rule, node, right = int(forest.edge_rule[edge]), forest.edge_head[edge], forest.edge_right[edge]
        symbol, start, end = (int(array[node]) for array in (forest.node_symbol, forest.node_start, forest.node_end))
        split = end if right < 0 else int(forest.node_start[right])
        is_word = rule >= grammar.lexical_start
        owners = [(self._rules.n_rules + 1 + symbol, grammar.symbols[symbol].name if symbol >= 0 else "ROOT")]
        kinds = [(WORD, _TEMPLATES.word, OF_WORD)] if is_word else [(SPAN, _TEMPLATES.span, ON_SPAN)]
        if not is_word:
            owners.append((rule, grammar.describe_rule(rule)))
        if split < end:
            kinds.append((SPLIT, _TEMPLATES.split, AT_SPLIT))
        anchor, scale, found = Anchor(start, split, end, is_word), 1.0 - self.dropout, []
        for templates, codes, salt in kinds:
            numbers = np.empty(len(templates), np.int64)
            for owner, name in owners:
                look_up(rows, len(ATOMS), _SHAPE, codes, salt, self.table, owner, start, split, end, numbers)
                for place in np.flatnonzero(numbers >= 0).tolist():
                    text = template_text(templates[place], anchor, texts)
                    found.append((f"{text} & {name}", scale * float(self.value[numbers[place]])))
        return found

    def add(self, rows: Ints, edge_slope: Floats, slope: Floats, noise: int = 0) -> Ints:
        """Add the gradient of each edge to its features."""
        touched = np.empty(slope.size, np.int32)
        if not noise:
            edge_slope = edge_slope * (1.0 - self.dropout)
        return touched[: self._visit(rows, self.table, None, edge_slope, slope, touched, self.least, noise)]

    def occurring(self, rows: Ints, share: Floats) -> Ints:
        """The keys of the features of the edges whose posterior is at least `least_share`, as they first occur."""
        table = empty_table(2 ** (2 * _MOST_PER_EDGE * len(share)).bit_length())  # at most half full
        self._visit(rows, table, None, share, None, None, self.least_share)
        used = np.flatnonzero(table.key != EMPTY)
        keys: Ints = table.key[used[np.argsort(table.number[used])]]
        return keys

    def grown(self, occurring: Iterable[Ints]) -> Features:
        """A copy with weights of 0 for these features."""
        table, size = empty_table(2**16), 0
        for keys in occurring:
            while 2 * (size + len(keys)) > len(table.key):
                larger = empty_table(2 * len(table.key))
                grow(table, larger)
                table = larger
            size = insert_keys(table, keys, size)
        return replace(self, table=table, value=np.zeros(size))

    def _visit(
        self, rows: Ints, table: Table, edge_score: Floats | None = None, edge_slope: Floats | None = None,
        slope: Floats | None = None, touched: Ints | None = None, least: float = 0.0, noise: int = 0, size: int = 0,
    ) -> int:  # fmt: skip
        weight = None if edge_score is None else self.value
        return visit(
            rows, len(ATOMS), _SHAPE, _TEMPLATES, table, self._rules, weight, edge_score, edge_slope, slope, touched,
            least, noise, self.dropout, size,
        )  # fmt: skip

    def rounded(self) -> Features:
        """A copy with quantised weights, without features whose weight becomes 0."""
        weight = self.value * (1.0 - self.dropout)
        steps = _steps(np.where(np.abs(weight) < LEAST_WEIGHT, 0.0, weight))
        kept = np.flatnonzero(self.table.key != EMPTY)
        kept = kept[steps[self.table.number[kept]] != 0]
        key = self.table.key[kept]
        order = np.argsort(key)
        value = GRID * steps[self.table.number[kept[order]]]
        return replace(self, table=table_of(key[order]), value=value, dropout=0.0)

    def arrays(self) -> Arrays:
        """The keys of the features in ascending order, and their quantised weights."""
        kept = np.flatnonzero(self.table.key != EMPTY)
        kept = kept[np.argsort(self.table.key[kept])]
        return {"key": self.table.key[kept], "steps": _steps(self.value)[self.table.number[kept]]}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> Features:
        """The context in a model file."""
        check_arrays(arrays, {"key": (np.int32, 1), "steps": (np.int8, 1)})
        check_facts(facts, {})
        key, steps = arrays["key"], arrays["steps"]
        if key.shape != steps.shape or (key[:1] < 0).any() or (key[1:] <= key[:-1]).any():
            raise GrammarError("its features are not in order, or their number differs from that of its weights")
        return cls(grammar, table_of(key), GRID * steps)

    def describe(self) -> Facts:
        """The number of weights."""
        return {"parameters": int(self.value.size)}


_EDGE = tuple(-1 - index for index in range(len(ATOMS)))


def number(text: str) -> int:
    """A hash of a text."""
    return crc32(text.encode(errors="surrogatepass")) & 0x7FFFFFFF


def letters(word: str) -> tuple[str, ...]:
    """The shape, prefixes and suffixes of a word, in the order of ATOMS."""
    lowered = word.lower()
    return (shape(word), lowered[:2], lowered[:3], lowered[-1:], lowered[-2:], lowered[-3:], lowered[-4:])


def empty_table(capacity: int) -> Table:
    """An empty table."""
    return Table(np.full(capacity, EMPTY, np.int32), np.zeros(capacity, np.int32))


def table_of(key: Ints) -> Table:
    """A table of features with these keys, whose weights are in the same order."""
    small = Table(key, np.arange(len(key), dtype=np.int32))
    table = empty_table(2 ** max(1, (2 * len(key)).bit_length()))
    grow(small, table)
    return table


def _steps(value: Floats) -> npt.NDArray[np.int8]:
    """Weights in steps of the grid."""
    return np.clip(np.round(value / GRID), -MOST_STEPS, MOST_STEPS).astype(np.int8)
