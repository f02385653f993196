"""Posterior probabilities of constituents and tags."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np

from lveg.families.forest import Posterior
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar
from lveg.grammar.symbols import PHRASE
from lveg.kernels.assemble import BOTTOM

Span = tuple[str, int, int]
"""(label, start, end) of a constituent."""


def constituents(
    grammar: Grammar, forest: Forest, posterior: Posterior, least: float = 0.0
) -> dict[Span, float]:  # fmt: skip
    """P(the tree has this constituent | sentence) of every phrase that the forest allows  [math: marginals].

    A label over a span is there once or not at all, however many steps of a unary chain carry it. least: what has a
    smaller posterior may be left out.
    """
    share: dict[Span, float] = defaultdict(float)
    plain = posterior.node.copy()  # of nodes before the unary step: how often no unary rule is above them
    rules, heads, chains = forest.edge_rule, forest.edge_head, grammar.chain_labels
    unary = (rules >= grammar.unary_start) & (rules < grammar.root_start) & (posterior.edge >= least)
    for edge in np.flatnonzero(unary).tolist():
        node = heads[edge]
        span = int(forest.node_start[node]), int(forest.node_end[node])
        plain[forest.edge_left[edge]] -= posterior.edge[edge]
        for label in chains[rules[edge] - grammar.unary_start]:
            share[label, *span] += float(posterior.edge[edge])
    bottom = (forest.node_level == BOTTOM) & (forest.node_symbol >= 0) & (posterior.node >= least)
    for node in np.flatnonzero(bottom).tolist():
        symbol = grammar.symbols[forest.node_symbol[node]]
        if symbol.kind == PHRASE:
            key = symbol.label, int(forest.node_start[node]), int(forest.node_end[node])
            share[key] += max(float(plain[node]), 0.0)
    return {key: min(value, 1.0) for key, value in share.items()}


def tag_posteriors(grammar: Grammar, forest: Forest, posterior: Posterior) -> Floats:
    """P(tag of word | sentence), (n_words, n_tags); rows sum to one."""
    share = np.zeros((forest.n_words, len(grammar.tags)))
    edges = np.flatnonzero(forest.edge_rule >= grammar.lexical_start)
    words = forest.node_start[forest.edge_head[edges]]
    tags = grammar.rule_lhs[forest.edge_rule[edges]] - grammar.n_nonterminals
    np.add.at(share, (words, tags), posterior.edge[edges])
    return share


def sharpen(probability: float, sharpness: float) -> float:
    """The probability whose log odds are those of another one times a number; within 1e-12 of 0 and 1."""
    probability = min(max(probability, 1e-12), 1.0 - 1e-12)
    odds = math.exp(sharpness * math.log(probability / (1.0 - probability)))
    return odds / (1.0 + odds)
