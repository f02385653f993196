"""Forests from a gold tree or a list of trees; unions; constraints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lveg.errors import GrammarError
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.binarise import Binarisation, Derivation, binarise
from lveg.grammar.grammar import NONE, Grammar, Ints
from lveg.kernels.chart_rules import CLOSED, FREE, NO_PHRASE, ONLY_PHRASE
from lveg.trees import Tree


@dataclass(frozen=True)
class Constraints:
    """What is known about the analysis in advance.

    constituents: spans (start, end) of at least two words that must be constituents. not_constituents: spans that must
    not be. tags: the tag of each word, None if it is open; None for no tags at all.
    """

    constituents: tuple[tuple[int, int], ...] = ()
    not_constituents: tuple[tuple[int, int], ...] = ()
    tags: tuple[str | None, ...] | None = None

    def span_table(self, n_words: int) -> npt.NDArray[np.uint8]:
        """What each span may be, (n + 1, n + 1), as coded in kernels.chart_rules."""
        table = np.full((n_words + 1, n_words + 1), FREE, dtype=np.uint8)
        for start, end in (*self.constituents, *self.not_constituents):
            if not 0 <= start < end <= n_words:
                raise GrammarError(f"span {start}-{end} is not within a sentence of {n_words} words")
        for start, end in self.not_constituents:
            table[start, end] = NO_PHRASE
        starts, ends = np.ogrid[: n_words + 1, : n_words + 1]
        for start, end in self.constituents:
            if end - start > 1:
                if table[start, end] == NO_PHRASE:
                    raise GrammarError(f"span {start}-{end} cannot both be a constituent and not be one")
                table[start, end] = max(table[start, end], ONLY_PHRASE)
            crosses_right = (starts < end) & (starts > start) & (ends > end)
            crosses_left = (starts < start) & (ends > start) & (ends < end)
            table[crosses_left | crosses_right] = CLOSED
        return table

    def tag_ids(self, grammar: Grammar, n_words: int) -> Ints:
        """The number of each word's given tag among the tags, -1 if it is open, (n,)."""
        ids = np.full(n_words, -1, dtype=np.int32)
        if self.tags is None:
            return ids
        if len(self.tags) != n_words:
            raise GrammarError(f"{len(self.tags)} tags were given for {n_words} words")
        number = {tag: index for index, tag in enumerate(grammar.tags)}
        for index, tag in enumerate(self.tags):
            if tag is not None:
                if tag not in number:
                    raise GrammarError(f"word {index + 1} was given the tag {tag!r}, which the grammar does not have")
                ids[index] = number[tag]
        return ids


NO_CONSTRAINTS = Constraints()


def intersect(grammar: Grammar, forest: Forest, constraints: Constraints) -> Forest:
    """The derivations of the forest that satisfy the constraints."""
    items = anchored_rules(forest)
    rule, start, end = items[0], items[1], items[3]
    table = constraints.span_table(forest.n_words)[start, end]
    given = constraints.tag_ids(grammar, forest.n_words)[np.minimum(start, forest.n_words - 1)]
    lhs = grammar.rule_lhs[rule]
    is_lexical = rule >= grammar.lexical_start
    is_inner = rule < grammar.root_start
    is_part = grammar.is_part[np.maximum(lhs, 0)] == 1
    # A unary rule may make part of a constituent.
    banned = is_inner & ((table == CLOSED) | ((table == NO_PHRASE) & ~is_part))
    banned |= (rule < grammar.unary_start) & (table == ONLY_PHRASE) & is_part
    banned |= is_lexical & (given >= 0) & (lhs - grammar.n_nonterminals != given)
    return build_forest(grammar, forest.words, np.ascontiguousarray(items[:, ~banned]))


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


def trees_forest(grammar: Grammar, trees: Iterable[Tree], scheme: Binarisation) -> Forest:
    """The packed union of the derivations of several trees over the same words."""
    return union(grammar, [tree_forest(grammar, tree, scheme) for tree in trees])


def union(grammar: Grammar, forests: Sequence[Forest]) -> Forest:
    """The forest of all derivations that the anchored rules of several forests allow."""
    (words, *others) = {forest.words for forest in forests}
    if others:
        raise GrammarError("forests to be joined must be over the same words")
    items = np.unique(np.concatenate([anchored_rules(forest) for forest in forests], axis=1), axis=1)
    return build_forest(grammar, words, items)
