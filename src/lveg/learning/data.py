"""Training data: the treebank grammar, and the analyses it was estimated from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lveg.chart.coarse import CoarseParser
from lveg.compact import chosen
from lveg.errors import UsageError
from lveg.forest.forest import Forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.estimate import pcfg_weights
from lveg.grammar.grammar import Floats, Grammar, Ints, tree_grammar
from lveg.grammar.lexicon import LexiconOptions, Tagged
from lveg.learning.examples import Examples, make_all
from lveg.learning.options import ForestOptions
from lveg.learning.run import Run
from lveg.trees import Tree

_USUAL = LexiconOptions()


@dataclass(frozen=True)
class TreeData:
    """Cleaned trees, the treebank grammar that prunes their forests, and the options of its lexicon.

    start: a family with the same rules that training starts from, if the options name one.
    """

    coarse: CoarseParser
    scheme: Binarisation
    trees: Sequence[Tree]
    lexicon: LexiconOptions = _USUAL
    start: Any = None

    @property
    def grammar(self) -> Grammar:
        """The treebank grammar."""
        return self.coarse.grammar

    @property
    def weight(self) -> Floats:
        """The treebank grammar's rule probabilities."""
        return self.coarse.weight

    def part(self, trees: Sequence[Tree]) -> TreeData:
        """Some of the trees, with their own treebank grammar."""
        grammar = tree_grammar(trees, self.scheme, self.lexicon)
        coarse = CoarseParser(grammar, pcfg_weights(grammar), self.coarse.is_exact, self.coarse.memory)
        return replace(self, coarse=coarse, trees=trees, start=None)

    def examples(
        self,
        pack: Callable[[Forest], Ints],
        options: ForestOptions,
        run: Run,
        narrow: Callable[[Forest, Forest], Forest] | None = None,
    ) -> Examples:
        """For each tree, the pruned forest of its words and the forest of the tree alone, packed one after the other.

        Forests do not depend on the parameters, so each is built once. narrow: returns the part of a forest, including
        the tree, that is used for training.
        """
        short = chosen(self.trees, (len(tree.words()) <= options.forest_length for tree in self.trees))
        if not short:
            raise UsageError(f"no sentence has at most {options.forest_length} words: raise --forest-length")

        make = ForestMaker(self.coarse, self.scheme, options.p_min, pack, narrow)
        return make_all(Examples(make, short, int(options.memory * 2**30)), run)


@dataclass(frozen=True)
class ForestMaker:
    """Makes the examples of trees, see `TreeData.examples`."""

    coarse: CoarseParser
    scheme: Binarisation
    p_min: float
    pack: Callable[[Forest], Ints]
    narrow: Callable[[Forest, Forest], Forest] | None

    def __call__(self, trees: Sequence[Tree]) -> Iterator[Ints]:
        """The example of each tree."""
        for tree in trees:
            forest, gold = self.coarse.training_forest(tree, self.scheme, self.p_min)
            used = forest if self.narrow is None else self.narrow(forest, gold)
            yield np.concatenate([self.pack(used), self.pack(gold)])


@dataclass(frozen=True)
class TagData:
    """Tagged sentences, and the grammar of their tag sequences with its probabilities."""

    grammar: Grammar
    weight: Floats
    tagged: Sequence[Tagged]
