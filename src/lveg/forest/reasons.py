"""Why one derivation of a forest has more weight than another, in parts that add up  [math: explanation]."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar, Ints

RULES, LATENT = "rules", "latent"
"""Names of parts: the treebank's own rule probabilities, and what a family adds to them."""

Term = tuple[str, float]
"""A reason for an edge, as text, and its contribution to the edge's log weight."""

Terms = Mapping[int, Sequence[Term]]
"""The terms of edges. An edge that has none is not listed."""


@dataclass(frozen=True)
class Reason:
    """A term of the difference between two derivations.

    count: occurrences in the first derivation minus occurrences in the second. Occurrences in both cancel out.
    """

    text: str
    value: float
    count: int


@dataclass(frozen=True)
class Part:
    """A part of the difference between two log weights, and its reasons, largest first.

    If there are reasons, they add up to the value.
    """

    name: str
    value: float
    reasons: tuple[Reason, ...] = ()


def difference(name: str, terms: Terms, one: Ints, other: Ints) -> Part:
    """The difference between two derivations in the terms of their edges."""
    signed = [(1, np.setdiff1d(one, other)), (-1, np.setdiff1d(other, one))]
    values: dict[str, list[float]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for sign, edges in signed:
        for edge in edges.tolist():
            for text, value in terms.get(edge, ()):
                values[text].append(sign * value)
                counts[text] += sign
    return _part(name, (Reason(text, math.fsum(found), counts[text]) for text, found in values.items()))


def mixture(parts: Iterable[tuple[float, Part]]) -> list[Part]:
    """Weighted sums of parts, one for each name, in the order of first occurrence."""
    by_name: dict[str, list[tuple[float, Part]]] = defaultdict(list)
    for share, part in parts:
        by_name[part.name].append((share, part))
    return [_sum(name, found) for name, found in by_name.items()]


def _sum(name: str, parts: Sequence[tuple[float, Part]]) -> Part:
    values: dict[str, list[float]] = defaultdict(list)
    counts: dict[str, int] = {}
    for share, part in parts:
        for reason in part.reasons:
            values[reason.text].append(share * reason.value)
            counts[reason.text] = reason.count
    if not values:
        return Part(name, math.fsum(share * part.value for share, part in parts))
    return _part(name, (Reason(text, math.fsum(found), counts[text]) for text, found in values.items()))


def _part(name: str, reasons: Iterable[Reason]) -> Part:
    kept = sorted((one for one in reasons if one.value), key=lambda one: (-abs(one.value), one.text))
    return Part(name, math.fsum(one.value for one in kept), tuple(kept))


def rule_terms(grammar: Grammar, weight: Floats, forest: Forest, chosen: Sequence[Ints]) -> Terms:
    """The rule of each edge of some derivations, with its log weight."""
    edges = real_edges(forest, chosen)
    with np.errstate(divide="ignore"):
        logs = np.log(weight[forest.edge_rule[edges]])
    texts = [_rule_text(grammar, forest, edge) for edge in edges.tolist()]
    return {edge: [(text, log)] for edge, text, log in zip(edges.tolist(), texts, logs.tolist(), strict=True)}


def _rule_text(grammar: Grammar, forest: Forest, edge: int) -> str:
    """The rule of an edge; for the class of an unknown word, also the word."""
    rule = int(forest.edge_rule[edge])
    text = grammar.describe_rule(rule)
    if rule < grammar.lexical_start or grammar.rule_left[rule] < len(grammar.lexicon.words):
        return text
    return f'{text} for "{forest.words[forest.node_start[forest.edge_head[edge]]]}"'


def real_edges(forest: Forest, chosen: Sequence[Ints]) -> Ints:
    """The distinct edges of some derivations that have a rule, in ascending order."""
    edges: Ints = np.unique(np.concatenate(chosen))
    return edges[forest.edge_rule[edges] >= 0]


def edge_text(grammar: Grammar, forest: Forest, edge: int) -> str:
    """The rule of an edge and its span, such as `NP -> DT NN 3-5`."""
    node = forest.edge_head[edge]
    return f"{grammar.describe_rule(forest.edge_rule[edge])} {forest.node_start[node]}-{forest.node_end[node]}"
