"""Expectation-maximisation for trees with subtypes: the trees are observed, the subtypes are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from lveg.families.forest import Ask, count_packed, pack
from lveg.families.lvg.family import Lvg, Shape, from_counts
from lveg.families.lvg.options import SmoothingOptions
from lveg.forest.builders import tree_forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.lvg import merge_losses
from lveg.learning.data import TreeData
from lveg.learning.examples import Examples
from lveg.learning.run import Run
from lveg.trees import Tree

PARTS = 8
"""Parts of the treebank, each summed by one thread and added in order; threads do not change the result."""

EM_COPIES = PARTS + 5
"""Vectors of all weights that EM holds: two grammars, the best, counts, their sum, and those of the parts."""


@dataclass(frozen=True)
class Uses:
    """Expected uses of weights and of subtypes, and the log likelihood."""

    rules: Floats
    subtypes: Floats
    log_likelihood: float


@dataclass(frozen=True)
class TreeEm:
    """The packed training trees, whose uses are summed in parts."""

    grammar: Grammar
    trees: Examples
    run: Run

    def expect(self, model: Lvg) -> Uses:
        """The expected uses under a grammar."""
        rules, subtypes, total = np.zeros(model.shape.size), np.zeros(model.shape.n_subtypes), 0.0
        for slope, usage, log_z in self.run.map(partial(uses_at, self.trees, model.shape), self._parts, [model.weight]):
            rules += slope
            subtypes += usage
            total += log_z
        rules *= model.weight
        return Uses(rules, subtypes, total)

    def maximise(self, shape: Shape, uses: Uses, smoothing: SmoothingOptions) -> Lvg:
        """The grammar with probabilities estimated from the uses."""
        counts = uses.rules.copy()
        self._keep_counts(shape, counts, smoothing.class_tokens)
        return from_counts(shape, counts, smoothing.smooth_rules, smoothing.smooth_words)

    def losses(self, model: Lvg, usage: Floats) -> Floats:
        """Approximate loss of log likelihood if subtypes 2 i and 2 i + 1 of a symbol are merged, at index 2 i."""
        work = partial(losses_at, self.trees, model.shape)
        total: Floats = np.sum(list(self.run.map(work, self._parts, [model.weight, usage])), axis=0)
        return total

    @property
    def _parts(self) -> list[range]:
        """The numbers of the trees of each part."""
        return [range(index, len(self.trees), PARTS) for index in range(min(PARTS, len(self.trees)))]

    def _keep_counts(self, shape: Shape, counts: Floats, tokens: float) -> None:
        """Rescale to lexicon counts; keep the split among subtypes, smoothed with pseudo-counts of the word's class."""
        start, ptr = self.grammar.lexical_start, shape.blocks.ptr
        for first, last in self._tag_rules:
            rows = counts[ptr[first] : ptr[last]].reshape(last - first, -1)
            sums = rows.sum(axis=0)
            of_tag = sums / max(sums.sum(), 1e-300)
            back = self._class_rule[first - start : last - start]
            share = _mixed(rows, of_tag, tokens)
            has_class = back >= 0
            share[has_class] = _mixed(rows[has_class], share[back[has_class] - first], tokens)
            rows[:] = self.grammar.count[first:last, None] * share

    @cached_property
    def _tag_rules(self) -> list[tuple[int, int]]:
        """First and last lexical rule of each tag."""
        start, lhs = self.grammar.lexical_start, self.grammar.rule_lhs[self.grammar.lexical_start :]
        tags = np.unique(lhs)
        firsts = start + np.searchsorted(lhs, tags)
        lasts = start + np.searchsorted(lhs, tags, side="right")
        return list(zip(firsts.tolist(), lasts.tolist(), strict=True))

    @cached_property
    def _class_rule(self) -> Ints:
        """For each lexical rule of a known word, the rule of its tag and the word's class; -1 if there is none."""
        grammar, lexicon = self.grammar, self.grammar.lexicon
        of_word = [lexicon.class_of(word) for word in lexicon.words]
        found = np.full(grammar.n_rules - grammar.lexical_start, -1, np.int32)
        lexical = grammar.kind_slice("lexical")
        pairs = zip(grammar.rule_lhs[lexical].tolist(), grammar.rule_left[lexical].tolist(), strict=True)
        for index, (tag, terminal) in enumerate(pairs):
            if terminal < len(of_word):
                rule = grammar.lexical_id(tag, of_word[terminal])
                found[index] = -1 if rule is None else rule
        return found


def _mixed(rows: Floats, prior: Floats, tokens: float) -> Floats:
    """Rows as shares that sum to one, smoothed with pseudo-counts of the prior; the prior for rows of zeros."""
    tokens = max(tokens, 1e-9)
    shares: Floats = (rows + tokens * prior) / (rows.sum(axis=1, keepdims=True) + tokens)
    return shares


def tree_em(data: TreeData, run: Run) -> TreeEm:
    """The packed training trees."""
    return TreeEm(data.grammar, Examples(partial(pack_trees, data.grammar, data.scheme), data.trees), run)


def pack_trees(grammar: Grammar, scheme: Binarisation, trees: Sequence[Tree]) -> Iterator[Ints]:
    """The forest of each tree alone, packed."""
    return (pack(tree_forest(grammar, tree, scheme)) for tree in trees)


def uses_at(
    trees: Examples, shape: Shape, values: Sequence[Floats]
) -> Callable[[Sequence[int]], tuple[Floats, Floats, float]]:
    """Computes, for the trees with some numbers, uses relative to weights, uses of subtypes, and log likelihood."""
    model = Lvg(shape, values[0])

    def work(numbers: Sequence[int]) -> tuple[Floats, Floats, float]:
        part = trees.gather(numbers)
        slope, usage = np.zeros(shape.size), np.zeros(shape.n_subtypes)
        log_z = model.add_uses(part, Ask([1.0] * count_packed(part), slope), usage=usage)
        return slope, usage, float(log_z.sum())

    return work


def losses_at(trees: Examples, shape: Shape, values: Sequence[Floats]) -> Callable[[Sequence[int]], Floats]:
    """Computes the losses of merging for the trees with some numbers, given weights and uses of subtypes."""
    model, usage = Lvg(shape, values[0]), values[1]

    def work(numbers: Sequence[int]) -> Floats:
        loss = np.zeros(shape.n_subtypes)
        merge_losses(trees.gather(numbers), model.weights, usage, loss)
        return loss

    return work
