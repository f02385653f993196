"""The best derivations of a forest, by several criteria, and their trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lveg.decoding.marginals import Shares, constituent_shares, span_keys, tag_posteriors
from lveg.errors import UsageError
from lveg.families.forest import Posterior
from lveg.forest.best import best_derivations
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Derivation, Step, debinarise
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.assemble import STAY
from lveg.trees import Tree

DECODERS = ("max-rule", "viterbi", "mbr")

_F1_TURNS = 8
_LEAST_SHARE = 1e-9  # constituents with a smaller posterior are ignored in expected F1
_TAG_SHARE = 1e-6  # weight of a matched tag relative to a matched constituent: only breaks ties


def decode(
    grammar: Grammar, forest: Forest, posterior: Posterior, decoder: str = "max-rule", count: int = 1
) -> list[tuple[float, Ints]]:
    """(score, edges with parents first) of the best derivations according to a decoder, at most `count`, best first."""
    if decoder == "viterbi" and posterior.best is not None:
        return posterior.best(count)
    return best_derivations(forest, edge_scores(grammar, forest, posterior, decoder), count)


def edge_scores(grammar: Grammar, forest: Forest, posterior: Posterior, decoder: str = "max-rule") -> Floats:
    """The scores of edges whose sum a decoder maximises.

    viterbi: the log weight of the derivation. max-rule: the log product of the posteriors of its anchored
    rules (Petrov and Klein 2007). mbr: minimum Bayes risk for labelled F1, see `mbr_scores`.
    """
    if decoder == "mbr":
        return mbr_scores(grammar, forest, posterior)
    if decoder not in DECODERS:
        raise UsageError(f"decoder {decoder!r} is not one of {', '.join(DECODERS)}")
    if decoder == "viterbi" and not posterior.edge_weight.size:
        raise UsageError(
            "the single best derivation (viterbi) is not defined with latent subtypes: use max-rule or mbr"
        )
    if decoder == "max-rule" and posterior.log_rule is not None:
        scores = posterior.log_rule.copy()
    else:
        with np.errstate(divide="ignore"):
            scores = np.log(posterior.edge_weight if decoder == "viterbi" else posterior.edge)
    if decoder == "max-rule":
        scores[forest.edge_rule == STAY] = 0.0  # not a rule
    return scores


def mbr_scores(grammar: Grammar, forest: Forest, posterior: Posterior, penalty: float | None = None) -> Floats:
    """Edge scores whose sum is the expected number of correct constituents and tags, minus a penalty per constituent.

    Penalty 0 maximises expected labelled recall (Goodman 1996), which proposes far too many constituents if phrases may
    have any number of children; None uses the penalty with the highest expected F1, see `f1_scores`.
    """
    shares = constituent_shares(grammar, forest, posterior, _LEAST_SHARE)
    expected = float(shares.share.sum())
    return f1_scores(grammar, forest, shares, expected, tag_posteriors(grammar, forest, posterior), penalty)


def oracle_tree(grammar: Grammar, forest: Forest, gold: Tree) -> Tree:
    """The tree in the forest that is closest to the gold tree by labelled F1."""
    spans = {(node.label, start, end) for node, start, end in gold.spans()[1:] if node.word is None}
    width = forest.n_words + 1
    keys = [
        (grammar.label_ids[label] * width + start) * width + end
        for label, start, end in spans
        if label in grammar.label_ids
    ]
    shares = Shares(np.sort(np.array(keys, np.int64)), np.ones(len(keys)))
    numbers = {tag: index for index, tag in enumerate(grammar.tags)}
    tags = np.zeros((forest.n_words, len(numbers)))
    for index, tag in enumerate(gold.tags()):
        if tag in numbers:
            tags[index, numbers[tag]] = 1.0
    ((_, edges),) = best_derivations(forest, f1_scores(grammar, forest, shares, len(spans), tags, None))
    return tree_of(grammar, forest, edges, gold.words())


def f1_scores(
    grammar: Grammar, forest: Forest, shares: Shares, expected: float, tag_share: Floats, penalty: float | None
) -> Floats:
    """Edge scores whose sum is the matched constituents, minus a penalty for each proposed one, plus the matched tags.

    shares, tag_share: how much a constituent, or the tag of a word, counts as matched. expected: the number of
    constituents to match. penalty: None finds the one whose best derivation has the highest F1 of matched constituents:
    half that F1, raised iteratively (Dinkelbach 1967); tags then only break ties.
    """
    matched = np.zeros(forest.n_edges)
    proposed = np.zeros(forest.n_edges)
    rules, heads = forest.edge_rule, forest.edge_head
    phrase = np.where(forest.node_symbol >= 0, grammar.phrase_label[forest.node_symbol], -1)[heads]
    binary = np.flatnonzero((rules >= 0) & (rules < grammar.unary_start) & (phrase >= 0))
    matched[binary] = shares.of(span_keys(forest, phrase[binary], heads[binary]))
    proposed[binary] = 1.0
    unary = np.flatnonzero((rules >= grammar.unary_start) & (rules < grammar.root_start))
    added = grammar.added_table[rules[unary] - grammar.unary_start]
    step, place = np.nonzero(added >= 0)
    adding = unary[step]
    np.add.at(matched, adding, shares.of(span_keys(forest, added[step, place], heads[adding])))
    np.add.at(proposed, adding, 1.0)
    lexical = np.flatnonzero(forest.edge_rule >= grammar.lexical_start)
    tags = np.zeros(forest.n_edges)
    tag_ids = grammar.rule_lhs[forest.edge_rule[lexical]] - grammar.n_nonterminals
    tags[lexical] = tag_share[forest.node_start[forest.edge_head[lexical]], tag_ids]
    if penalty is not None:
        return matched - penalty * proposed + tags
    tags *= _TAG_SHARE
    f1 = 0.6
    for _ in range(_F1_TURNS):
        ((_, edges),) = best_derivations(forest, matched - f1 / 2 * proposed + tags)
        better = 2 * matched[edges].sum() / max(proposed[edges].sum() + expected, 1e-9)
        if abs(better - f1) < 1e-6:
            break
        f1 = better
    return matched - f1 / 2 * proposed + tags


def derivation_of(grammar: Grammar, forest: Forest, edges: Ints) -> Derivation:
    """The steps of the derivation with these edges."""
    steps: Derivation = []
    done: list[int] = []
    heads = forest.edge_head[edges].tolist()
    rules = forest.edge_rule[edges].tolist()
    for node, rule in zip(reversed(heads), reversed(rules), strict=True):
        if rule == STAY or grammar.root_start <= rule < grammar.lexical_start:
            continue
        symbol = grammar.symbols[forest.node_symbol[node]]
        left, right, path = -1, -1, ()
        if rule < grammar.root_start:
            left = done.pop()
            if rule < grammar.unary_start:
                right = done.pop()
            else:
                path = grammar.paths[rule - grammar.unary_start]
        done.append(len(steps))
        steps.append(Step(symbol, int(forest.node_start[node]), int(forest.node_end[node]), left, right, path))
    return steps


def tree_of(grammar: Grammar, forest: Forest, edges: Ints, words: Sequence[str]) -> Tree:
    """The tree of the derivation with these edges."""
    return debinarise(derivation_of(grammar, forest, edges), list(words))
