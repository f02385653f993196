"""What is known about an analysis in advance, and the derivations of a forest that agree with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.errors import GrammarError
from lveg.forest.forest import Forest, part_of
from lveg.grammar.grammar import Grammar, Ints
from lveg.kernels.assemble import BOTTOM
from lveg.kernels.chart_rules import CLOSED, FREE, NO_PHRASE, ONLY_PHRASE

Mask = npt.NDArray[np.bool_]
Spans = Iterable[tuple[int, int] | tuple[int, int, str]]
"""(start, end), or (start, end, label); word positions from 0, half-open."""

MOST_KINDS = 256
"""The number of kinds of spans that a chart can distinguish."""


class SpanKind(NamedTuple):
    """Which labels the constituents over a span may have; several constituents over a span form a unary chain.

    needed: labels that must all be there. banned: labels that must not. is_phrase: whether there must be (True), or
    must not be (False), any constituent at all.
    """

    needed: frozenset[str] = frozenset()
    banned: frozenset[str] = frozenset()
    is_phrase: bool | None = None


STANDARD: dict[SpanKind, int] = {
    SpanKind(): FREE,
    SpanKind(is_phrase=False): NO_PHRASE,
    SpanKind(is_phrase=True): ONLY_PHRASE,
}
"""The kinds of spans that need no labels, with their codes in charts; CLOSED is the code of spans without any node."""


@dataclass(frozen=True)
class Constraints:
    """What is known about the analysis of a sentence in advance.

    spans: must be constituents; with a label, constituents with this label. not_spans: must not be constituents; with a
    label, no constituents with this label. A constituent is a phrase: a tag over its word is none. tags: the tag of
    each word, None if it is open, or the tags of some words by position. Positions count from 0, and a span does not
    include the word at its end.

        Constraints(spans=[(0, 2, "NP")], not_spans=[(3, 5), (2, 4, "VP")], tags={1: "NN"})
    """

    spans: Spans = ()
    not_spans: Spans = ()
    tags: Sequence[str | None] | Mapping[int, str] | None = None

    def __post_init__(self) -> None:
        for name in ("spans", "not_spans"):
            object.__setattr__(self, name, tuple(map(_checked_span, getattr(self, name))))

    def given_tags(self, n_words: int) -> list[str | None]:
        """The given tag of each word, None if it is open."""
        if self.tags is None:
            return [None] * n_words
        if isinstance(self.tags, Mapping):
            outside = [position for position in self.tags if position not in range(n_words)]
            if outside:
                raise GrammarError(f"word {outside[0]!r} was given a tag: expected a position from 0 to {n_words - 1}")
            return [self.tags.get(position) for position in range(n_words)]
        if len(self.tags) != n_words:
            raise GrammarError(f"{len(self.tags)} tags were given for {n_words} words")
        return list(self.tags)

    def tag_ids(self, grammar: Grammar, n_words: int) -> Ints:
        """The number of each word's given tag among the tags, -1 if it is open, (n,)."""
        ids = np.full(n_words, -1, dtype=np.int32)
        number = {tag: index for index, tag in enumerate(grammar.tags)}
        for index, tag in enumerate(self.given_tags(n_words)):
            if tag is not None:
                if tag not in number:
                    raise GrammarError(f"word {index + 1} was given the tag {tag!r}, which the grammar does not have")
                ids[index] = number[tag]
        return ids

    @property
    def is_plain(self) -> bool:
        """Whether a chart, which sees only symbols before and after the unary step, can apply all of this exactly."""
        spans = (*self.spans, *self.not_spans)
        return all(len(span) == 2 for span in spans) and all(end - start > 1 for start, end, *_ in self.spans)

    @property
    def needed_labels(self) -> list[str]:
        """The labels that spans must have, in alphabetical order."""
        return sorted({span[2] for span in self.spans if len(span) == 3})

    def span_table(self, grammar: Grammar, n_words: int) -> SpanTable:
        """What each span of a sentence may be."""
        kinds: dict[tuple[int, int], SpanKind] = {}
        for name, is_phrase in (("spans", True), ("not_spans", False)):
            for start, end, *label in getattr(self, name):
                if not 0 <= start < end <= n_words:
                    raise GrammarError(f"span {start}-{end} is not within a sentence of {n_words} words")
                if label and label[0] not in grammar.label_ids:
                    raise GrammarError(f"span {start}-{end}: the grammar has no phrase label {label[0]!r}")
                kinds[start, end] = _narrower(kinds.get((start, end), SpanKind()), start, end, label, is_phrase)
        number = dict(STANDARD)
        code = np.zeros((n_words + 1, n_words + 1), np.int64)
        for span, kind in kinds.items():
            code[span] = number.setdefault(kind, len(number) + 1)  # after CLOSED
        starts, ends = np.ogrid[: n_words + 1, : n_words + 1]
        for start, end, *_ in self.spans:
            crosses_right = (starts < end) & (starts > start) & (ends > end)
            crosses_left = (starts < start) & (ends > start) & (ends < end)
            code[crosses_left | crosses_right] = CLOSED
        return SpanTable(code, [kind for kind in number if kind not in STANDARD])


class SpanTable(NamedTuple):
    """What each span of a sentence may be: (n + 1, n + 1), codes of charts, or 4 + the number of a kind in `more`."""

    code: npt.NDArray[np.int64]
    more: list[SpanKind]


class Allowed(NamedTuple):
    """For each kind of span, whether a symbol may be used without a unary rule, and whether a unary rule may be used.

    bare: (kinds, symbols). unary: (kinds, unary rules). The first four kinds are those of charts.
    """

    bare: Mask
    unary: Mask


def allowed_of(grammar: Grammar, more: Sequence[SpanKind] = ()) -> Allowed:
    """What spans of the standard kinds, and of these kinds, may be."""
    phrase, chains = grammar.phrase_label[:, None], grammar.chain_table
    closed = [np.zeros(len(rows), bool) for rows in (phrase, chains)]
    found = [[_agrees(grammar, rows, kind) for rows in (phrase, chains)] for kind in (*STANDARD, *more)]
    bare, unary = (np.stack(part) for part in zip(*found[:CLOSED], closed, *found[CLOSED:], strict=True))
    return Allowed(bare, unary)


def chart_symbols(grammar: Grammar, more: Sequence[SpanKind] = (), is_strict: bool = False) -> npt.NDArray[np.float64]:
    """Whether nonterminals may cover spans of each kind before and after the unary step, (2, kinds, N), as 0 or 1.

    is_strict: whether labels that a span needs must be there before the unary step, if some symbol has them.
    """
    bare, unary = allowed_of(grammar, more)
    rules, (kind, rule) = grammar.kind_slice("unary"), np.nonzero(unary)
    before, after = bare.copy(), bare.copy()
    before[kind, grammar.rule_left[rules][rule]] = True
    after[kind, grammar.rule_lhs[rules][rule]] = True
    if is_strict:
        before = np.where(bare.any(axis=1, keepdims=True), bare, before)
    return np.stack([before, after])[:, :, : grammar.n_nonterminals].astype(np.float64)


def intersect(grammar: Grammar, forest: Forest, constraints: Constraints) -> Forest:
    """The derivations of the forest that satisfy the constraints."""
    table = constraints.span_table(grammar, forest.n_words)
    bare, unary = allowed_of(grammar, table.more)
    code = table.code[forest.node_start, forest.node_end]
    rule, head = forest.edge_rule, forest.edge_head
    is_unary = (rule >= grammar.unary_start) & (rule < grammar.root_start)
    kept = np.ones(forest.n_edges, bool)
    kept[is_unary] = unary[code[head[is_unary]], rule[is_unary] - grammar.unary_start]
    for child in (forest.edge_left, forest.edge_right):
        # Any other edge uses a symbol as it is before the unary step without a unary rule.
        edges = np.flatnonzero(~is_unary & (child >= 0))
        edges = edges[forest.node_level[child[edges]] == BOTTOM]
        kept[edges] &= bare[code[child[edges]], forest.node_symbol[child[edges]]]
    lexical = np.flatnonzero(rule >= grammar.lexical_start)
    given = constraints.tag_ids(grammar, forest.n_words)[forest.node_start[head[lexical]]]
    kept[lexical] &= (given < 0) | (grammar.rule_lhs[rule[lexical]] - grammar.n_nonterminals == given)
    return part_of(forest, kept)[0]


def _checked_span(span: Any) -> tuple[Any, ...]:
    """The span as a tuple."""
    found = tuple(span) if isinstance(span, Iterable) else ()
    is_place = [isinstance(part, int | np.integer) for part in found]
    if is_place[:2] != [True, True] or [type(part) for part in found[2:]] not in ([], [str]):
        raise GrammarError(f"expected a span (start, end) or (start, end, label), found {span!r}")
    return found


def _narrower(kind: SpanKind, start: int, end: int, label: list[str], is_phrase: bool) -> SpanKind:
    """The kind of a span that must also be, or not be, a constituent, with this label if there is one."""
    if label and is_phrase:
        kind = kind._replace(needed=kind.needed | set(label), is_phrase=True)
    elif label:
        kind = kind._replace(banned=kind.banned | set(label))
    elif kind.is_phrase is not None and kind.is_phrase != is_phrase:
        raise GrammarError(f"span {start}-{end} cannot both be a constituent and not be one")
    else:
        kind = kind._replace(is_phrase=is_phrase)
    for both in kind.needed & kind.banned:
        raise GrammarError(f"span {start}-{end} cannot both be {both} and not be one")
    return kind


def _agrees(grammar: Grammar, rows: Ints, kind: SpanKind) -> Mask:
    """Whether each row of label numbers, padded with -1, agrees with the kind of a span."""
    found = np.ones(len(rows), bool)
    if kind.is_phrase is not None:
        found = (rows >= 0).any(axis=1) == kind.is_phrase
    for label in kind.needed:
        found &= (rows == grammar.label_ids[label]).any(axis=1)
    for label in kind.banned:
        found &= ~(rows == grammar.label_ids[label]).any(axis=1)
    return found


NO_CONSTRAINTS = Constraints()
