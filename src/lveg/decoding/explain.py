"""What supports the constituents of a tree, each compared with the best tree without it  [math: explanation]."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lveg.decoding.derivations import edge_scores, tree_of
from lveg.decoding.marginals import Span
from lveg.families.forest import Judge, Mask, Posterior
from lveg.forest.best import best_derivations
from lveg.forest.forest import Forest
from lveg.forest.reasons import Part
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.trees import Tree

CANDIDATES = 4
"""Number of trees without a constituent that are compared: with latent subtypes, the best tree by max-rule need not be
the most probable one."""


@dataclass(frozen=True)
class Explanation:
    """Why a tree has some constituents: it is more probable than its rival, the best tree without any one of them.

    rival: None if no other tree is left. difference: log P(tree | sentence) - log P(rival | sentence), infinite without
    a rival. parts: they add up to the difference.
    """

    constituents: tuple[Span, ...]
    rival: Tree | None = None
    difference: float = math.inf
    parts: tuple[Part, ...] = ()


def explain(
    grammar: Grammar,
    weight: Floats,
    forest: Forest,
    family: Judge,
    posterior: Posterior,
    edges: Ints,
    count: int = CANDIDATES,
) -> list[Explanation]:
    """Explanations of all constituents of a derivation's tree, one for each rival, the outer constituents first.

    weight: the treebank's own rule probabilities. posterior: the family's posterior of the forest. The rival of a
    constituent is the most probable of the candidates without it. Candidates are, for each constituent, the `count`
    best derivations of the forest without it; by max-rule, or by their weights if edges have weights.
    """
    words = list(forest.words)
    nodes = tree_of(grammar, forest, edges, words).spans()[1:]
    spans = dict.fromkeys((node.label, start, end) for node, start, end in nodes if node.word is None)
    made_by = {span: edges_of(grammar, forest, span) for span in spans}
    candidates = _candidates(grammar, forest, family, posterior, list(made_by.values()), count)
    log_probs = family.log_probs(grammar, forest, [edges, *candidates], posterior)
    groups: dict[int | None, list[Span]] = defaultdict(list)
    for span, made in made_by.items():
        groups[_best(made, candidates, log_probs[1:]) if math.isfinite(log_probs[0]) else None].append(span)
    rivals = [number for number in groups if number is not None]
    if not rivals:
        return [Explanation(tuple(group)) for group in groups.values()]
    chosen = [edges, *(candidates[number] for number in rivals)]
    parts = dict(zip(rivals, family.compare(grammar, weight, forest, chosen, posterior), strict=True))
    return [
        Explanation(tuple(group))
        if number is None
        else Explanation(
            tuple(group),
            tree_of(grammar, forest, candidates[number], words),
            math.fsum(part.value for part in parts[number]),
            tuple(parts[number]),
        )
        for number, group in groups.items()
    ]


def edges_of(grammar: Grammar, forest: Forest, span: Span) -> Mask:
    """The edges that make a constituent: exactly the trees with the constituent have one of them."""
    label, start, end = span
    is_here = ((forest.node_start == start) & (forest.node_end == end))[forest.edge_head]
    is_here &= (forest.edge_rule >= 0) & (forest.edge_rule < grammar.root_start)
    made = np.zeros(forest.n_edges, bool)
    for edge in np.flatnonzero(is_here).tolist():
        rule = forest.edge_rule[edge]
        if rule >= grammar.unary_start:
            made[edge] = label in grammar.chain_labels[rule - grammar.unary_start]
        else:
            symbol = grammar.rule_lhs[rule]
            made[edge] = grammar.is_phrase[symbol] and grammar.symbols[symbol].label == label
    return made


def _candidates(
    grammar: Grammar, forest: Forest, family: Judge, posterior: Posterior, made_by: Sequence[Mask], count: int
) -> list[Ints]:
    """The best derivations without each of some constituents, without duplicates."""
    found: dict[bytes, Ints] = {}
    for made in made_by:
        rest = posterior if posterior.edge_weight.size else family.without(forest, made, posterior)
        if rest.is_sound:
            scores = edge_scores(grammar, forest, rest, "viterbi" if rest.edge_weight.size else "max-rule")
            scores[made] = -np.inf
            found |= {edges.tobytes(): edges for _, edges in best_derivations(forest, scores, count)}
    return list(found.values())


def _best(made: Mask, candidates: Sequence[Ints], log_probs: Sequence[float]) -> int | None:
    """The index of the most probable candidate without a constituent, None if there is none."""
    free = [number for number, edges in enumerate(candidates) if not made[edges].any()]
    best = max(free, key=log_probs.__getitem__, default=None)
    return best if best is not None and math.isfinite(log_probs[best]) else None
