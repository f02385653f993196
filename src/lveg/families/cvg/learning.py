"""Training phrase vectors on lists of trees, by conditional likelihood or by a margin (Socher et al. 2013)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from lveg.chart.coarse import CoarseParser
from lveg.compact import chosen
from lveg.contexts.inputs import learn_inputs
from lveg.contexts.vectors import NO_VECTORS, read_vectors
from lveg.families.cvg.family import Cvg, Form, Trees, Units, pack_list, units_of
from lveg.families.cvg.listing import Listing, best_trees
from lveg.families.cvg.options import CvgOptions
from lveg.families.family import Facts
from lveg.families.forest import ForestFamily
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.cvg import sum_up
from lveg.learning.adagrad import AdaGrad
from lveg.learning.data import TreeData
from lveg.learning.epochs import PART, Descent, run_epochs
from lveg.learning.examples import Examples, blocks, make_all
from lveg.learning.gradient import Gradient
from lveg.learning.memory import check_memory
from lveg.learning.options import EpochOptions
from lveg.learning.run import Run
from lveg.trees import Tree

FIRST_EMBEDDING = 0.2
"""Standard deviation of the initial learned vectors."""

NOISE = 0.01
"""Standard deviation of the noise added to the initial matrices."""

COPIES = 9
"""Number of copies of the parameter vector in training: the model's, AdaGrad's, averages, gradients."""


def learn(
    data: TreeData, options: CvgOptions, run: Run, learn_base: Callable[[TreeData, Run], ForestFamily]
) -> tuple[Cvg, Facts]:
    """Train the grammar; returns the epoch with the best score, or the last epoch if there is no score."""
    vectors = NO_VECTORS if options.vectors is None else read_vectors(options.vectors, options.vector_limit)
    inputs = learn_inputs((tree.words() for tree in data.trees), vectors)
    form = Form(inputs, units_of(data.grammar), options.dimensions)
    check_memory(f"--dimensions {options.dimensions}", form.size, COPIES)
    base = learn_base(data, run.stage(0))
    with closing(all_lists(data, base, learn_base, form, options, run)) as examples:
        return learn_over(base, form, examples, options, run.stage(1)), {}


def learn_over(base: ForestFamily, form: Form, examples: Examples, options: CvgOptions, run: Run) -> Cvg:
    """Train the grammar on lists of trees, given its base."""
    start, useful = first_value(form, run.seed), useful_lists(examples, run)
    model = Cvg(base, form, start, options.list_size)
    if not len(useful):  # in every list, all trees are equally good
        return model.rounded()
    progress = Descent(
        partial(gradient_at, model, examples, useful, options), [AdaGrad.at(start, options.phrase_rate)], len(useful),
        options.phrase_batch, what="phrase epoch",
        remedy="try a smaller --phrase-rate",
    )  # fmt: skip
    epochs = EpochOptions(epochs=options.phrase_epochs, patience=options.phrase_patience)
    return run_epochs(model.with_value, progress, epochs, run).rounded()


def all_lists(
    data: TreeData, base: ForestFamily, learn_base: Callable[[TreeData, Run], ForestFamily], form: Form,
    options: CvgOptions, run: Run,
) -> Examples:  # fmt: skip
    """The lists of all trees, from bases that were not trained on them, or from the base itself."""
    folds = options.folds if 2 <= options.folds <= len(data.trees) // 2 else 0
    place, listers = run.stage(0).place, [] if folds else [Lister(data.coarse, base, form.units.of_rule)]
    for fold in range(folds):
        run.report("fold", {"number": fold + 1, "of": folds})
        part = data.part(chosen(data.trees, (number % folds != fold for number in range(len(data.trees)))))
        stage = run.stage(2 + fold)
        rounds = {
            stage.place + key.removeprefix(place): best for key, best in run.best.items() if key.startswith(place)
        }
        one = learn_base(part, replace(stage, score=None, keep=None, fixed=rounds, best={}))
        listers.append(Lister(part.coarse, one, foreign_units(form.units, data.grammar, part.grammar)))
    lists = Lists(form, options.list_size, tuple(listers), data.trees)
    n, n_trees = len(listers), len(data.trees)
    sources = [(number, tree) for number in range(n) for tree in range(number, n_trees, n)]
    return make_all(Examples(lists, sources, int(options.list_memory * 2**30)), run, "listing trees")


def first_value(form: Form, seed: int) -> Floats:
    """Initial parameters: a phrase's vector is about the mean of its children's, and score vectors are 0."""
    random, value, dim = np.random.default_rng(seed), np.zeros(form.size), form.dim
    net = form.net(value)
    net.embed[:] = random.normal(0.0, FIRST_EMBEDDING, net.embed.shape)
    net.project[:] = random.normal(0.0, 1.0 / np.sqrt(max(1, len(net.project))), net.project.shape)
    net.matrix[:, :, : 2 * dim] = np.concatenate([np.eye(dim), np.eye(dim)], axis=1) / 2.0
    net.matrix[:] += random.normal(0.0, NOISE, net.matrix.shape)
    net.scale[:] = 1.0
    return value


def tree_slopes(trees: Trees, objective: str, margin: float) -> tuple[float, Floats]:
    """The objective of a list, and its gradient with respect to the score of each tree."""
    is_right, wrong = trees.known % 2 == 1, trees.known // 2
    slope = np.zeros_like(trees.score)
    if objective == "margin":
        target = int(np.argmax(np.where(is_right, trees.score, -np.inf)))
        worst = int(np.argmax(trees.score + margin * (wrong - wrong[target])))
        slope[worst] += 1.0
        slope[target] -= 1.0
        value = trees.score[worst] + margin * (wrong[worst] - wrong[target]) - trees.score[target]
        return float(value), slope
    log_all = np.logaddexp.reduce(trees.score)
    log_right = np.logaddexp.reduce(trees.score[is_right])
    slope[:] = np.exp(trees.score - log_all)
    slope[is_right] -= np.exp(trees.score[is_right] - log_right)
    return float(log_all - log_right), slope


def gradient_at(
    model: Cvg, examples: Examples, useful: Ints, options: CvgOptions, values: Sequence[Floats]
) -> Gradient:
    """The gradient of the objective, with L2 towards the parameters of `model` where the gradient is not zero.

    useful: the numbers of the lists that are used.
    """
    present, start = model.with_value(values[0]), model.value

    def gradient(numbers: Ints, slopes: Sequence[Floats], noise: int) -> tuple[float, Sequence[Ints]]:
        total, slope = 0.0, slopes[0]
        masks = (dropout_mask(model.form.dim, options.phrase_dropout, noise + int(number)) for number in numbers)
        for trees in present.trees(examples.gather(useful[numbers]), masks=masks):
            value, tree_slope = tree_slopes(trees, options.objective, options.margin)
            total += value
            present.add_slope(trees, tree_slope, slope)
        touched = np.flatnonzero(slope).astype(np.int32)
        slope[touched] += options.phrase_l2 * len(numbers) * (present.value[touched] - start[touched])
        return total, [touched]

    return gradient


def dropout_mask(dim: int, dropout: float, noise: int) -> Floats:
    """Dropout for the vectors of a list: 0 for dropped dimensions, the others are scaled up."""
    return (np.random.default_rng(noise).random(dim) >= dropout) / (1.0 - dropout)


def phrase_counts(grammar: Grammar, listing: Listing, gold: Tree) -> tuple[Floats, Floats, int]:
    """(number of phrases of each tree, number of those in the gold tree, number of phrases of the gold tree)."""
    spans = {(node.label, start, end) for node, start, end in gold.spans()[1:] if node.word is None}
    part = listing.forest
    made, right = np.zeros(part.n_edges), np.zeros(part.n_edges)
    rules, heads = part.edge_rule.tolist(), part.edge_head.tolist()
    for edge, (rule, node) in enumerate(zip(rules, heads, strict=True)):
        if rule < 0 or rule >= grammar.root_start:
            continue
        symbol, start, end = part.node_symbol[node], int(part.node_start[node]), int(part.node_end[node])
        if grammar.is_phrase[symbol]:
            is_unary = rule >= grammar.unary_start
            labels = grammar.added_labels[rule - grammar.unary_start] if is_unary else [grammar.symbols[symbol].label]
            made[edge] = len(labels)
            right[edge] = sum((label, start, end) in spans for label in labels)
    for counts in (made, right):
        sum_up(part.edge_left, part.edge_right, counts)
    return made[-listing.n_trees :], right[-listing.n_trees :], len(spans)


def knowledge(grammar: Grammar, listing: Listing, gold: Tree) -> Ints:
    """For each tree, twice its number of wrong phrases, plus 1 if no other tree has a higher F1."""
    made, right, n_gold = phrase_counts(grammar, listing, gold)
    f1 = np.where(np.isfinite(listing.log_weight), right / np.maximum(made + n_gold, 1.0), -1.0)
    known: Ints = (2 * (made - right) + (f1 >= f1.max() - 1e-9)).astype(np.int32)
    return known


def foreign_units(units: Units, grammar: Grammar, other: Grammar) -> Ints:
    """The units, in the grammar of all trees, of the rules of `other`, the grammar of some of the trees."""
    ids = grammar.symbol_ids
    number = np.array([ids[symbol] for symbol in other.symbols] + [-1], np.int32)
    of_rule = np.full(other.n_rules, -1, np.int32)
    lexical = other.kind_slice("lexical")
    of_rule[lexical] = number[other.rule_lhs[lexical]] - grammar.n_nonterminals
    for rule in range(other.root_start):
        path = other.paths[rule - other.unary_start] if rule >= other.unary_start else ()
        slots = other.rule_lhs[rule], other.rule_left[rule], other.rule_right[rule]
        lhs, left, right = number[list(slots)].tolist()
        found = grammar.rule_id(lhs, left, right, path)
        assert found is not None
        of_rule[rule] = units.of_rule[found]
    return of_rule


class Lister(NamedTuple):
    """A base, the parser that prunes for it, and the unit of each rule of its grammar."""

    coarse: CoarseParser
    base: ForestFamily
    of_rule: Ints


@dataclass(frozen=True)
class Lists:
    """Makes lists of trees as examples; a list is empty if all of its trees are equally good.

    listers: make the lists, of at most `count` trees. trees: the gold trees.
    """

    form: Form
    count: int
    listers: tuple[Lister, ...]
    trees: Sequence[Tree]

    def __call__(self, sources: Sequence[tuple[int, int]]) -> Iterator[Ints]:
        """The lists for the sentences of some trees, each given by the numbers of its lister and of the tree."""
        for lister, tree in sources:
            found = self._list(self.listers[lister], self.trees[tree])
            yield np.empty(0, np.int32) if found is None else found

    def _list(self, lister: Lister, tree: Tree) -> Ints | None:
        coarse, base, of_rule = lister
        parses = coarse.parses(tree.words(), base.p_min)
        if parses.forest is None or parses.fallback == "glue":
            return None
        listing = best_trees(base, parses.forest, base.posterior(parses.forest), self.count)
        known = None if listing is None else knowledge(coarse.grammar, listing, tree)
        if known is None or (known % 2 == 1).all():
            return None
        return pack_list(self.form.inputs, of_rule, parses.forest, listing, known)


def useful_lists(examples: Examples, run: Run) -> Ints:
    """The numbers of the lists that are not empty."""
    found = run.map(partial(is_useful_at, examples), blocks(len(examples), PART))
    return np.flatnonzero(list(chain.from_iterable(found))).astype(np.int32)


def is_useful_at(examples: Examples, values: Sequence[Floats]) -> Callable[[Sequence[int]], list[bool]]:
    """Computes which of the lists with some numbers are not empty."""
    return lambda numbers: [len(examples.gather([number])) > 0 for number in numbers]
