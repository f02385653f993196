"""Builds the pruned forest of a sentence with the coarse PCFG; any sentence gets one.

If the forest has no derivation, the threshold is lowered, then pruning is turned off, then every tag and glue rules
that join any two constituents are allowed with a small weight. The result says which fallback was used.

Labels of spans are not known to the chart exactly: it may keep derivations without them, which are removed when the
forest is built.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from lveg.chart.chart import (
    Chart,
    Memory,
    Sentence,
    anchored_rules,
    exact_chart,
    exact_size,
    likely_chart,
    likely_size,
    read_sentence,
)
from lveg.chart.layout import ChartRules, chart_rules
from lveg.chart.tag_chain import tag_chain
from lveg.errors import GrammarError
from lveg.forest.builders import derivation_rules, tree_forest, union
from lveg.forest.constraints import MOST_KINDS, NO_CONSTRAINTS, Constraints, chart_symbols, intersect
from lveg.forest.forest import Forest, build_forest
from lveg.grammar.binarise import Binarisation, binarise
from lveg.grammar.grammar import NONE, Floats, Grammar, Ints, RuleRow, assemble_grammar
from lveg.grammar.symbols import PART, PHRASE, Symbol
from lveg.kernels.chart_estimate import TagChain
from lveg.kernels.chart_rules import FREE
from lveg.trees import Tree

MAX_WORDS = 1000
"""Longer sentences get a flat tree: the time for a chart is cubic in the length."""

MAX_BYTES = 2**28
"""If the exact chart would be larger, only likely symbols are used."""

MAX_LIKELY_BYTES = 2**31
"""If the chart of likely symbols would be larger, the sentence gets a flat tree. That takes more than MAX_WORDS."""

_ENTRIES = 32  # likely symbols per span: initial capacity; twice as many if it was too small
_UNLIKELY = 0.1  # of the threshold: symbols with a lower estimated posterior are left out
_WIDER = 1e-4  # of the threshold, if it left no derivation
_GLUE = 1e-9  # weight of rules that are not in the grammar
_LABEL = 1e-3  # the same, of rules that give a phrase a label that is needed

_Rows = set[tuple[int, int, int, tuple[str, ...], float]]  # left-hand side, children, path and weight of glue rules


@dataclass(frozen=True)
class Parses:
    """A forest, its grammar with the coarse weights, and how it was obtained.

    fallback: None normally; `wide`, `unpruned` or `glue` if normal pruning left no derivation; `flat`, with no forest,
    if the sentence is too long for a chart; `free` if none of the given trees is possible. log_z: log P(sentence) of
    the coarse grammar, before pruning; None if it is not defined, or not known exactly.
    """

    forest: Forest | None
    grammar: Grammar
    weight: Floats
    fallback: str | None
    log_z: float | None


@dataclass(frozen=True)
class CoarseParser:
    """Builds forests of sentences with a tree grammar and its rule probabilities.

    is_exact: whether every symbol of every span is used, if there is memory for it. If not, those that are unlikely
    given the words around them are left out while the chart is filled (docs/math.md: ahead). That takes a third of the
    time; log Z is slightly too low. memory: for charts. has_glue: whether the grammar has glue rules.
    """

    grammar: Grammar
    weight: Floats
    is_exact: bool = True
    memory: Memory = field(default_factory=Memory, repr=False, compare=False)
    has_glue: bool = False

    @cached_property
    def rules(self) -> ChartRules:
        """The rules, laid out for the chart."""
        return chart_rules(self.grammar, self.weight)

    @cached_property
    def chain(self) -> TagChain:
        """Statistics of the tags next to symbols."""
        return tag_chain(self.grammar, self.weight)

    def relaxed(self, words: Sequence[str], labels: Sequence[str] = ()) -> CoarseParser:
        """A parser with glue rules for these words: it derives them with any tags, and phrases with these labels."""
        terminals = sorted(set(self.grammar.lexicon.terminals(words)))
        return CoarseParser(*relax(self.grammar, self.weight, terminals, labels), has_glue=True, memory=self.memory)

    def fits(self, n_words: int) -> bool:
        """Whether there is memory for the exact chart of a sentence."""
        return 8 * exact_size(self.rules, n_words) <= MAX_BYTES

    def sentence(self, words: Sequence[str], constraints: Constraints = NO_CONSTRAINTS) -> Sentence:
        """The words as the chart kernels need them."""
        terminals = np.array(self.grammar.lexicon.terminals(words), dtype=np.int32)
        tags, table = constraints.tag_ids(self.grammar, len(words)), constraints.span_table(self.grammar, len(words))
        more = table.more[: MOST_KINDS - 4]
        allowed = chart_symbols(self.grammar, more, self.has_glue) if more else self.rules.symbols.allowed
        spans = np.where(table.code < MOST_KINDS, table.code, FREE).astype(np.uint8)
        return read_sentence(self.rules, words, terminals, tags, spans, allowed)

    def prune(
        self, words: Sequence[str], p_node: float, p_edge: float, constraints: Constraints = NO_CONSTRAINTS
    ) -> tuple[float, Forest]:
        """(log Z of the coarse grammar, the forest pruned at these posteriors); -inf and no nodes without a parse.

        If the constraints have labels, log Z is that of the chart, an upper bound. It is NaN if there was not enough
        memory to find a parse.
        """
        return self._prune(self.sentence(words, constraints), p_node, p_edge, constraints)

    def _prune(
        self, sentence: Sentence, p_node: float, p_edge: float, constraints: Constraints
    ) -> tuple[float, Forest]:
        """Like `prune`, for a `Sentence`."""

        def pruned_forest(chart: Chart) -> Forest:
            items = anchored_rules(self.rules, sentence, chart, p_node, p_edge)
            forest = build_forest(self.grammar, sentence.words, items, is_sorted=True)
            return forest if constraints.is_plain or forest.is_empty else intersect(self.grammar, forest, constraints)

        p_cell, n_words = _UNLIKELY * min(p_node, p_edge), len(sentence.words)
        if p_cell > 0.0 and not (self.is_exact and self.fits(n_words)):
            log_z, forest = self._likely(sentence, p_cell, pruned_forest)
            if not forest.is_empty:
                return log_z, forest
        if not self.fits(n_words):
            return np.nan, _no_forest(self.grammar, sentence)
        with self.memory.borrow(exact_size(self.rules, n_words)) as block:
            chart = exact_chart(self.rules, sentence, block)
            return chart.log_z, pruned_forest(chart)

    def _likely(
        self, sentence: Sentence, p_cell: float, pruned_forest: Callable[[Chart], Forest]
    ) -> tuple[float, Forest]:
        """log Z and the forest of the chart of likely symbols, with as much memory as it needs."""
        entries = _ENTRIES
        while (size := likely_size(self.rules, len(sentence.words), entries)) * 8 <= MAX_LIKELY_BYTES:
            with self.memory.borrow(size) as block:
                chart = likely_chart(self.rules, self.chain, sentence, p_cell, block)
                if chart is not None:
                    return chart.log_z, pruned_forest(chart)
            entries *= 2
        return np.nan, _no_forest(self.grammar, sentence)

    def training_forest(self, tree: Tree, scheme: Binarisation, p_min: float) -> tuple[Forest, Forest]:
        """(the pruned forest of a tree's words, including the tree itself; the forest of the tree alone)."""
        gold = tree_forest(self.grammar, tree, scheme)
        _, pruned = self.prune(tree.words(), p_min, p_min)
        return gold if pruned.is_empty else union(self.grammar, [pruned, gold]), gold

    def within(self, trees: Sequence[Tree], scheme: Binarisation) -> Parses | None:
        """The forest made by the rules of some cleaned trees over the same words; None if none can be derived."""
        found = []
        for tree in trees:
            with suppress(GrammarError):
                found.append(derivation_rules(self.grammar, binarise(tree, scheme), tree.words()))
        if not found:
            return None
        items = np.unique(np.concatenate(found, axis=1), axis=1)
        forest = build_forest(self.grammar, trees[0].words(), items)
        return Parses(forest, self.grammar, self.weight, None, None)

    def parses(
        self,
        words: Sequence[str],
        p_node: float,
        p_edge: float | None = None,
        constraints: Constraints = NO_CONSTRAINTS,
        max_words: int = MAX_WORDS,
    ) -> Parses:
        """The forest of a sentence of at least one word; never fails."""
        if len(words) > max_words:
            return Parses(None, self.grammar, self.weight, "flat", None)
        p_edge = p_node if p_edge is None else p_edge
        sentence = self.sentence(words, constraints)
        is_known = self.is_exact and self.fits(len(words)) and constraints.is_plain
        for fallback, factor in ((None, 1.0), ("wide", _WIDER), ("unpruned", 0.0)):
            log_z, forest = self._prune(sentence, p_node * factor, p_edge * factor, constraints)
            if not forest.is_empty:
                return Parses(forest, self.grammar, self.weight, fallback, log_z if is_known else None)
            if log_z == -np.inf:
                break
        relaxed = self.relaxed(words, constraints.needed_labels)
        sentence = relaxed.sentence(words, constraints)
        for factor in (1.0, _WIDER, _WIDER**3, _WIDER**7):
            _, forest = relaxed._prune(sentence, p_node * factor, p_edge * factor, constraints)
            if not forest.is_empty:
                return Parses(forest, relaxed.grammar, relaxed.weight, "glue", None)
        return Parses(None, self.grammar, self.weight, "flat", None)


def _no_forest(grammar: Grammar, sentence: Sentence) -> Forest:
    return build_forest(grammar, sentence.words, np.empty((4, 0), np.int32), is_sorted=True)


def relax(
    grammar: Grammar, weight: Floats, terminals: Sequence[int], labels: Sequence[str] = ()
) -> tuple[Grammar, Floats]:
    """The grammar with glue rules of a tiny weight, and the weights: it derives any of the terminals with any tags.

    With G the most frequent symbol below ROOT, the glue rules are `G -> X @G*`, `@G* -> X @G*`, `@G* -> X` and `ROOT ->
    X` for every symbol X that is not a PART, and `T -> w` for every tag. For each symbol L with one of the labels there
    are also `L -> X @G*`, `L -> X` and `@G* -> L -> X`. Lexical rules of other terminals are left out.
    """
    root = grammar.kind_slice("root")
    nonterminal_roots = grammar.rule_left[root] < grammar.n_nonterminals
    heaviest = np.where(nonterminal_roots, grammar.count[root], -1.0)
    goal = int(grammar.rule_left[root][int(np.argmax(heaviest))]) if nonterminal_roots.any() else 0
    has_goal = grammar.n_nonterminals > 0 and bool(nonterminal_roots.any())
    goal_symbol = grammar.symbols[goal] if has_goal else Symbol(PHRASE, "X")
    new = [Symbol(PART, goal_symbol.label, goal_symbol.parents, ("*",), "*")] + ([] if has_goal else [goal_symbol])
    known_labels = {symbol.label for symbol in (*grammar.symbols, *new) if symbol.kind == PHRASE}
    new += [Symbol(PHRASE, label) for label in labels if label not in known_labels]
    # New nonterminals are numbered between the old ones and the tags.
    shift = len(new)
    n_old = grammar.n_nonterminals
    symbols = (*grammar.symbols[:n_old], *new, *grammar.symbols[n_old:])
    rest, goal = n_old, goal if has_goal else n_old + 1

    def moved(array: Ints) -> Ints:
        return np.where(array >= n_old, array + shift, array).astype(np.int32)

    whole = [i for i, symbol in enumerate(symbols) if symbol.kind != PART]
    tags = range(n_old + shift, len(symbols))
    needed = {i for i in whole if symbols[i].kind == PHRASE and symbols[i].label in labels}
    binary: _Rows = {(lhs, x, rest, (), _GLUE) for lhs in {goal, rest} - needed for x in whole}
    binary |= {(lhs, x, rest, (), _LABEL) for lhs in needed for x in whole}
    unary: _Rows = {(rest, x, NONE, (), _GLUE) for x in whole}
    unary |= {(lhs, x, NONE, (), _LABEL) for lhs in needed for x in whole if x != lhs}
    unary |= {(rest, x, NONE, (label,), _GLUE * _LABEL) for label in labels for x in whole}
    roots: _Rows = {(NONE, x, NONE, (), _GLUE) for x in whole}
    lexical: _Rows = {(tag, terminal, NONE, (), _GLUE) for tag in tags for terminal in terminals}
    wanted = set(terminals)
    rows: list[RuleRow] = []
    kinds = ("binary", "unary", "root", "lexical")
    for number, (kind, glue) in enumerate(zip(kinds, (binary, unary, roots, lexical), strict=True)):
        part = grammar.kind_slice(kind)
        left = grammar.rule_left[part] if kind == "lexical" else moved(grammar.rule_left[part])
        lhs, right = moved(grammar.rule_lhs[part]), moved(grammar.rule_right[part])
        paths = grammar.paths if kind == "unary" else ((),) * len(lhs)
        old = list(zip(lhs.tolist(), left.tolist(), right.tolist(), paths, weight[part].tolist(), strict=True))
        if kind == "lexical":
            old = [row for row in old if row[1] in wanted]
        known = {row[:4] for row in old}
        rows += [(number, *row) for row in old]
        rows += [(number, *row) for row in glue if row[:4] not in known]
    rows.sort()
    relaxed = assemble_grammar(symbols, n_old + shift, rows, grammar.lexicon, grammar.fingerprint)
    return relaxed, relaxed.count
