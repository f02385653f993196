"""Training a Gaussian mixture grammar by the conditional likelihood of gold trees over pruned forests."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial

import numpy as np

from lveg.errors import UsageError
from lveg.families.family import Facts
from lveg.families.forest import DiscreteFamily, count_packed
from lveg.families.gm.family import ComponentPruning, Gm, columns_of, plan, start
from lveg.families.gm.options import GmOptions
from lveg.families.gm.subtypes import start_from
from lveg.families.pcfg.family import Pcfg
from lveg.forest.best import best_derivations
from lveg.forest.builders import union
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.learning.data import TreeData
from lveg.learning.epochs import descend, gradient_copies
from lveg.learning.examples import Examples
from lveg.learning.memory import check_memory
from lveg.learning.run import Run

SMALL_SHARE = 1e-3
"""A component with a smaller share of its rule's weight is removed."""


def learn(data: TreeData, options: GmOptions, run: Run) -> tuple[Gm, Facts]:
    """The grammar with the best score of all epochs, or the last one if there is no score."""
    what = f"--components {options.components} --dim {options.dim}"
    check_memory(what, n_parameters(data.grammar, options), gradient_copies(options))
    with closing(prepare(data, options, run)) as examples:
        return learn_from(data, examples, options, run), {}


def prepare(data: TreeData, options: GmOptions, run: Run) -> Examples:
    """The examples of the trees."""
    narrow = partial(best_forest, data.grammar, data.weight, options.k_best) if options.k_best else None
    return data.examples(plan, options, run, narrow)


def learn_from(data: TreeData, examples: Examples, options: GmOptions, run: Run) -> Gm:
    """Like `learn`, with given examples."""
    learned = first_grammar(data, options, run)
    k_min, k_max = (options.k_hard, options.k_hard) if options.k_hard else (options.k_min, options.k_max)
    if k_max:
        learned = replace(learned, pruning=ComponentPruning(k_min, k_max, options.theta))
    origin = learned
    for number, epochs in enumerate(stages := _stages(options)):
        stage = run
        if number:
            learned = halved(data.grammar, learned, options.spread, run.seed + number)
            origin = halved(data.grammar, origin, options.spread, run.seed + number)
            run.report("split", {"components": len(learned.log_weight)})
        if len(stages) > 1:
            stage = run.stage(number, **({} if number + 1 == len(stages) else {"epochs": epochs}))
        learned = descend(
            learned, examples, replace(options, epochs=epochs), stage, origin=origin.value,
            penalty=partial(penalty, options.sparsity) if options.sparsity else None,
        )  # fmt: skip
    if learned.pruning is not None:
        run.report("component pruning", cost_of_pruning(learned, examples))
        learned = replace(learned, pruning=None)
    if options.sparsity:
        before, learned = len(learned.log_weight), without_small(data.grammar, learned)
        run.report("sparsity", {"components": before, "kept": len(learned.log_weight)})
    return learned


def first_grammar(data: TreeData, options: GmOptions, run: Run) -> Gm:
    """The grammar that training starts from."""
    components = 1 if options.split else n_components(data.grammar, options)
    if options.start is None:
        return start(
            data.grammar, data.weight, components, options.dim, options.covariance, options.alpha, options.spread,
            run.seed,
        )  # fmt: skip
    if data.start is None:
        raise UsageError("--start cannot be used for the base of another grammar")
    if not isinstance(data.start, DiscreteFamily):
        raise UsageError(f"{options.start}: is of model {data.start.name}, which has no discrete subtypes")
    return start_from(data.start, data, n_components(data.grammar, options), options, run)


def n_components(grammar: Grammar, options: GmOptions) -> Ints:
    """The number of components of each rule."""
    counts = np.full(grammar.n_rules, options.components)
    if options.by_frequency:
        counts = np.minimum(1 + np.log2(np.maximum(grammar.count, 1.0)).astype(int), counts)
    return counts


def n_parameters(grammar: Grammar, options: GmOptions) -> int:
    """The number of parameters of the grammar."""
    ptr = np.concatenate([[0], np.cumsum(n_components(grammar, options))])
    n_gaussians = int(columns_of(grammar, ptr)[-1])
    n_deviations = options.dim if options.covariance == "diagonal" else 1
    return int(ptr[-1]) + (options.dim + n_deviations) * n_gaussians


def _stages(options: GmOptions) -> list[int]:
    """Numbers of epochs before, between and after splits: a quarter of all before each split, the rest at the end."""
    splits = (options.components - 1).bit_length() if options.split else 0
    few = max(1, options.epochs // 4)
    return [*([few] * splits), max(1, options.epochs - splits * few)]


def halved(grammar: Grammar, model: Gm, spread: float, seed: int) -> Gm:
    """The grammar with each component split into two of half its weight, means moved by up to half the spread."""
    ptr = 2 * model.ptr
    *first, columns = columns_of(grammar, ptr)
    moves = np.random.default_rng(seed).uniform(-spread / 2, spread / 2, (model.mean.shape[0], int(columns)))
    return Gm(
        ptr=ptr,
        first=np.array(first),
        log_weight=np.repeat(model.log_weight - np.log(2.0), 2),
        mean=np.repeat(model.mean, 2, axis=1) + moves,
        log_std=np.repeat(model.log_std, 2, axis=1),
        pruning=model.pruning,
    )


def best_forest(grammar: Grammar, weight: Floats, count: int, forest: Forest, gold: Forest) -> Forest:
    """The part of a forest made by the rules of the treebank grammar's best trees and of the gold tree."""
    scores = np.log(Pcfg(weight).posterior(forest).edge_weight)
    edges = np.unique(np.concatenate([edges for _, edges in best_derivations(forest, scores, count)]))
    kept = build_forest(grammar, forest.words, anchored_rules(forest, edges))
    return union(grammar, [kept, gold])


def penalty(sparsity: float, family: Gm, share: float, slope: Floats) -> float:
    """The penalty for components of similar weight, see `weight_spread` and `Penalty`."""
    spread, slopes = weight_spread(family)
    slope[: len(slopes)] += sparsity * share * slopes
    return sparsity * share * spread


def weight_spread(model: Gm) -> tuple[float, Floats]:
    """The sum of log(share + SMALL_SHARE) over components, and its derivative with respect to the log weights.

    It is small if few components have all the weight: the logarithm of a Dirichlet prior, kept finite.
    """
    counts, begins = np.diff(model.ptr), model.ptr[:-1]
    shares = weight_shares(model)
    slopes = shares / (shares + SMALL_SHARE)
    total = np.repeat(np.add.reduceat(slopes, begins), counts)
    return float(np.log(shares + SMALL_SHARE).sum()), slopes - shares * total


def weight_shares(model: Gm) -> Floats:
    """The share of each component in its rule's weight."""
    counts, begins = np.diff(model.ptr), model.ptr[:-1]
    largest = np.maximum.reduceat(model.log_weight, begins)
    weights = np.exp(model.log_weight - np.repeat(largest, counts))
    shares: Floats = weights / np.repeat(np.add.reduceat(weights, begins), counts)
    return shares


def without_small(grammar: Grammar, model: Gm, least: float = SMALL_SHARE) -> Gm:
    """The grammar without the components that have less than this share of their rule's weight."""
    kept = weight_shares(model) >= least
    counts = np.add.reduceat(kept, model.ptr[:-1])
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    ends = (grammar.n_rules, grammar.lexical_start, grammar.n_binary)
    columns = np.concatenate(
        [first + np.flatnonzero(kept[: model.ptr[end]]) for first, end in zip(model.first, ends, strict=True)]
    )
    *first, _ = columns_of(grammar, ptr)
    return Gm(ptr, np.array(first), model.log_weight[kept], model.mean[:, columns], model.log_std[:, columns])


def cost_of_pruning(model: Gm, examples: Examples, most: int = 200) -> Facts:
    """What component pruning removes on the first training sentences, and its effect on their log likelihood."""
    plans = examples.gather(range(min(most, len(examples))))
    signs = np.tile([-1.0, 1.0], count_packed(plans) // 2)
    pruned, seen, cut = model.count_cut(plans)
    exact = replace(model, pruning=None).run(plans)
    return {
        "sentences": len(signs) // 2,
        "components": seen,
        "cut": cut,
        "log_likelihood_exact": round(float(np.dot(signs, exact)), 4),
        "log_likelihood_pruned": round(float(np.dot(signs, pruned)), 4),
        "log_weight_lost": round(float(np.sum((exact - pruned)[::2])), 4),
    }
