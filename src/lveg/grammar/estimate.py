"""Rule probabilities from counts."""

from __future__ import annotations

import numpy as np

from lveg.grammar.grammar import Floats, Grammar

STAY_PRIOR = 0.1  # pseudo-count: every symbol has a nonzero probability of taking no unary step
TRANSITION_PRIOR = 0.1  # pseudo-count: every tag can follow every tag


def pcfg_weights(grammar: Grammar) -> Floats:
    """P(rule) such that the probabilities of all trees sum to one (docs/math.md: unary).

    A symbol takes a unary step with probability u, but never directly below another one. So binary rules have (1 - u)
    P(rule | no unary), and a unary rule is divided by (1 - u) of its child, since the child's rules have that factor.
    """
    n_symbols = len(grammar.symbols)
    binary, unary, root, lexical = (grammar.kind_slice(kind) for kind in ("binary", "unary", "root", "lexical"))
    count = grammar.count

    def by_symbol(kind: slice, of: np.ndarray) -> Floats:
        return np.bincount(of[kind], weights=count[kind], minlength=n_symbols).astype(np.float64)

    with_unary = by_symbol(unary, grammar.rule_lhs)
    branching = by_symbol(binary, grammar.rule_lhs)
    below_unary = by_symbol(unary, grammar.rule_left)
    plain = np.where(branching > 0, np.maximum(branching - below_unary, 0.0) + STAY_PRIOR, 0.0)
    stay = plain / np.maximum(with_unary + plain, 1e-300)
    stay[grammar.n_nonterminals :] = 1.0

    weight = np.zeros(grammar.n_rules)
    lhs, left = grammar.rule_lhs, grammar.rule_left
    weight[binary] = stay[lhs[binary]] * count[binary] / branching[lhs[binary]]
    weight[unary] = (
        (1.0 - stay[lhs[unary]]) * count[unary] / with_unary[lhs[unary]] / np.maximum(stay[left[unary]], 1e-300)
    )
    weight[root] = count[root] / count[root].sum()
    weight[lexical] = count[lexical] / by_symbol(lexical, lhs)[lhs[lexical]]
    return weight


def hmm_weights(grammar: Grammar) -> Floats:
    """Start, transition, end and emission probabilities of a tag grammar; transitions are smoothed a little."""
    n_symbols = len(grammar.symbols)
    root, lexical = grammar.kind_slice("root"), grammar.kind_slice("lexical")
    steps = slice(0, grammar.root_start)  # transitions, and ends as unary rules
    weight = grammar.count.copy()
    for kind, prior in ((steps, TRANSITION_PRIOR), (root, TRANSITION_PRIOR), (lexical, 0.0)):
        weight[kind] += prior
        lhs = grammar.rule_lhs[kind] + 1  # ROOT is -1
        weight[kind] /= np.bincount(lhs, weights=weight[kind], minlength=n_symbols + 1)[lhs]
    return weight
