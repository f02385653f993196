"""Posterior probabilities of constituents and tags."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from lveg.families.forest import Posterior
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, Grammar
from lveg.kernels.assemble import BOTTOM

Span = tuple[str, int, int]
"""(label, start, end) of a constituent."""

Keys = npt.NDArray[np.signedinteger]


@dataclass(frozen=True)
class Shares:
    """How much each constituent of a sentence counts: its probability, or 1 in a gold tree."""

    key: Keys
    """See `span_keys`; in ascending order."""
    share: Floats

    def of(self, keys: Keys) -> Floats:
        """The shares of the constituents with these keys."""
        if not self.key.size:
            return np.zeros(keys.shape)
        place = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return np.where(self.key[place] == keys, self.share[place], 0.0)


def span_keys(forest: Forest, labels: Keys, nodes: Keys) -> Keys:
    """One number for each constituent with a label over the span of a node."""
    width = forest.n_words + 1
    return (labels * width + forest.node_start[nodes]) * width + forest.node_end[nodes]


def constituent_shares(grammar: Grammar, forest: Forest, posterior: Posterior, least: float = 0.0) -> Shares:
    """P(the tree has this constituent | sentence) of every phrase that the forest allows  [math: marginals].

    A label over a span counts at most once, even if several steps of a unary chain have it. least: constituents with a
    smaller posterior may be left out.
    """
    rules = forest.edge_rule
    unary = np.flatnonzero((rules >= grammar.unary_start) & (rules < grammar.root_start) & (posterior.edge >= least))
    chains = grammar.chain_table[rules[unary] - grammar.unary_start]
    step, place = np.nonzero(chains >= 0)
    edges = unary[step]
    below = forest.edge_left[unary]
    covered = np.bincount(below, posterior.edge[unary], forest.n_nodes)  # probability of a unary rule above a node
    phrase = np.where(forest.node_symbol >= 0, grammar.phrase_label[forest.node_symbol], -1)
    bottom = np.flatnonzero((forest.node_level == BOTTOM) & (phrase >= 0) & (posterior.node >= least))
    keys = np.append(
        span_keys(forest, chains[step, place], forest.edge_head[edges]), span_keys(forest, phrase[bottom], bottom)
    )
    plain = np.maximum(posterior.node[bottom] - covered[bottom], 0.0)
    key, inverse = np.unique(keys, return_inverse=True)
    total = np.bincount(inverse, np.append(posterior.edge[edges], plain), len(key))
    return Shares(key, np.minimum(total, 1.0))


def constituents(grammar: Grammar, forest: Forest, posterior: Posterior) -> dict[Span, float]:
    """The shares of all constituents that the forest allows, by label and span."""
    shares, width = constituent_shares(grammar, forest, posterior), forest.n_words + 1
    return {
        (grammar.labels[key // width // width], key // width % width, key % width): share
        for key, share in zip(shares.key.tolist(), shares.share.tolist(), strict=True)
    }


def tag_posteriors(grammar: Grammar, forest: Forest, posterior: Posterior) -> Floats:
    """P(tag of word | sentence), (n_words, n_tags); rows sum to one."""
    share = np.zeros((forest.n_words, len(grammar.tags)))
    edges = np.flatnonzero(forest.edge_rule >= grammar.lexical_start)
    words = forest.node_start[forest.edge_head[edges]]
    tags = grammar.rule_lhs[forest.edge_rule[edges]] - grammar.n_nonterminals
    np.add.at(share, (words, tags), posterior.edge[edges])
    return share


def tags_by_word(grammar: Grammar, forest: Forest, posterior: Posterior) -> list[dict[str, float]]:
    """P(tag | sentence) of the tags that the forest allows for each word, most probable first."""
    found = []
    for row in tag_posteriors(grammar, forest, posterior):
        order = np.argsort(-row, kind="stable")[: np.count_nonzero(row)]
        found.append({grammar.tags[tag]: float(row[tag]) for tag in order})
    return found


class Sharpness(NamedTuple):
    """What makes probabilities honest: their log odds are multiplied by a factor, and an offset is added."""

    factor: float = 1.0
    offset: float = 0.0

    def of(self, probability: float) -> float:
        """The probability after that; it is clipped to 1e-12 from 0 and 1 before."""
        probability = min(max(probability, 1e-12), 1.0 - 1e-12)
        odds = self.factor * math.log(probability / (1.0 - probability)) + self.offset
        return 1.0 / (1.0 + math.exp(-min(max(odds, -700.0), 700.0)))
