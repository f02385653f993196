"""Sentences that a grammar certainly derives, or certainly not."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from lveg.grammar.grammar import Floats, Grammar

Rules = npt.NDArray[np.int64]


def example_sentence(grammar: Grammar, weight: Floats) -> list[str]:
    """The known words of the most probable tree of all; some known words if that has none.

    The best derivation of each symbol is improved until nothing changes, as in Knuth's generalisation of Dijkstra's
    algorithm; a cycle of rules never improves a derivation.
    """
    with np.errstate(divide="ignore"):
        log_weight = np.minimum(np.log(weight), 0.0)
    best = np.full(len(grammar.symbols), -np.inf)
    chosen = np.full(len(grammar.symbols), -1)
    lexical = np.arange(grammar.lexical_start, grammar.n_rules)
    lexical = lexical[grammar.rule_left[lexical] < len(grammar.lexicon.words)]
    inner = np.arange(grammar.root_start)
    _improve(grammar, best, chosen, lexical, log_weight[lexical])
    while True:
        left, right = grammar.rule_left[inner], grammar.rule_right[inner]
        scores = log_weight[inner] + best[left] + np.where(right >= 0, best[right], 0.0)
        if not _improve(grammar, best, chosen, inner, scores):
            break
    roots = np.arange(grammar.root_start, grammar.lexical_start)
    scores = log_weight[roots] + best[grammar.rule_left[roots]]
    if not len(roots) or scores.max() == -np.inf:
        return list(grammar.lexicon.words[:5]) or ["x"]
    return _words(grammar, chosen, int(grammar.rule_left[roots[np.argmax(scores)]]))


def foreign_tag(grammar: Grammar, word: str) -> str | None:
    """A tag that the grammar does not have for a word; None if there is none."""
    lexical = np.arange(grammar.lexical_start, grammar.n_rules)
    own = grammar.rule_lhs[lexical[grammar.rule_left[lexical] == grammar.lexicon.word_ids.get(word, -1)]]
    names = {grammar.symbols[symbol].label for symbol in own.tolist()}
    return next((tag for tag in grammar.tags if tag not in names), None)


def _improve(grammar: Grammar, best: Floats, chosen: Rules, rules: Rules, scores: Floats) -> bool:
    """Take over the rules that are better than the best ones of their symbols; whether there were any."""
    order = np.argsort(scores, kind="stable")  # the last one of a symbol counts
    found, heads = np.full(len(best), -1), grammar.rule_lhs[rules[order]]
    found[heads] = order
    better = np.flatnonzero((found >= 0) & (np.where(found >= 0, scores[found], -np.inf) > best))
    best[better], chosen[better] = scores[found[better]], rules[found[better]]
    return better.size > 0


def _words(grammar: Grammar, chosen: Rules, symbol: int) -> list[str]:
    """The words below a symbol."""
    words, stack = [], [symbol]
    while stack:
        rule = chosen[stack.pop()]
        left, right = int(grammar.rule_left[rule]), int(grammar.rule_right[rule])
        if rule >= grammar.lexical_start:
            words.append(grammar.lexicon.words[left])
        else:
            stack += [right, left] if right >= 0 else [left]
    return words
