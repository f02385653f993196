"""The forest of a tree, and unions of forests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lveg.errors import GrammarError
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.binarise import Binarisation, Derivation, binarise
from lveg.grammar.grammar import NONE, Grammar, Ints
from lveg.trees import Tree


def derivation_rules(grammar: Grammar, derivation: Derivation, words: Sequence[str]) -> Ints:
    """The anchored rules of a derivation, (4, m); raises an error that names the rule if the grammar lacks one."""
    items = []
    ids = grammar.symbol_ids
    for step in derivation:
        symbol = ids.get(step.symbol)
        if symbol is None:
            raise GrammarError(f"the grammar has no symbol {step.symbol.name}")
        split = step.end
        if step.left < 0:
            terminal = grammar.lexicon.terminal(words[step.start], step.start == 0)
            rule = grammar.lexical_id(symbol, terminal)
        else:
            left = ids[derivation[step.left].symbol]
            right = NONE if step.right < 0 else ids[derivation[step.right].symbol]
            split = step.end if step.right < 0 else derivation[step.right].start
            rule = grammar.rule_id(symbol, left, right, step.path)
        if rule is None:
            span = " ".join(words[step.start : step.end])
            raise GrammarError(f"the grammar has no rule for {step.symbol.name} over {span!r}")
        items.append((rule, step.start, split, step.end))
    root = grammar.rule_id(NONE, ids[derivation[-1].symbol])
    if root is None:
        raise GrammarError(f"the grammar has no rule ROOT -> {derivation[-1].symbol.name}")
    items.append((root, 0, len(words), len(words)))
    return np.array(items, dtype=np.int32).T.copy()


def tree_forest(grammar: Grammar, tree: Tree, scheme: Binarisation) -> Forest:
    """The forest with the one derivation of a cleaned tree."""
    words = tree.words()
    return build_forest(grammar, words, derivation_rules(grammar, binarise(tree, scheme), words), may_stay=False)


def union(grammar: Grammar, forests: Sequence[Forest]) -> Forest:
    """The forest of all derivations that the anchored rules of several forests allow."""
    (words, *others) = {forest.words for forest in forests}
    if others:
        raise GrammarError("forests to be joined must be over the same words")
    items = np.unique(np.concatenate([anchored_rules(forest) for forest in forests], axis=1), axis=1)
    return build_forest(grammar, words, items)
