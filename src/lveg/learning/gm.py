"""Learning a Gaussian mixture grammar: minus the log conditional likelihood of gold trees over pruned forests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from lveg.chart.coarse import CoarseParser
from lveg.decoding.derivations import best_derivations
from lveg.errors import UsageError
from lveg.families.gm import ComponentPruning, Gm, Gradient, columns_of, count_plans, plan, start
from lveg.families.pcfg import Pcfg
from lveg.forest.builders import union
from lveg.forest.forest import Forest, anchored_rules, build_forest
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent, descend
from lveg.learning.examples import Examples, collect
from lveg.report import Report, dev_facts, silent
from lveg.trees import Tree

SMALL = 1e-3
"""A component with a smaller share of its rule's weight is next to nothing."""


@dataclass(frozen=True)
class GmOptions:
    """How a Gaussian mixture grammar is made; docs/decisions/0006 tells where the defaults come from.

    components: Gaussians a rule. by_frequency: the most that a rule has; one that occurs c times has 1 + log2 c.
    split: begin with one component a rule and split all in two until there are so many, which must be a power of two.
    sparsity: strength of a prior that wants a rule's weight in few of its components; those left with next to nothing
    are removed in the end. p_min: training forests leave out what has a lower posterior in the treebank grammar.
    k_best: where not 0, they hold instead that many best trees of the treebank grammar, and what the rules of these
    trees make together. max_length: longer sentences are in the treebank grammar, but not learned from. memory: bytes
    of training forests that are held; the rest is in a temporary file. k_min, k_max, theta: component pruning while
    learning; none where k_max is 0.
    """

    components: int = 4
    by_frequency: bool = False
    split: bool = False
    sparsity: float = 0.0
    dim: int = 3
    covariance: str = "spherical"
    p_min: float = 1e-4
    alpha: float | None = None
    spread: float = 0.5
    max_length: int = 50
    memory: int = 4 * 2**30
    k_best: int = 0
    k_min: int = 0
    k_max: int = 0
    theta: float = 0.35
    descent: Descent = field(default_factory=Descent)

    def __post_init__(self) -> None:
        if self.split and (self.by_frequency or self.components.bit_count() != 1):
            raise UsageError("components that are split number 2, 4, 8 and so on, and are not chosen by frequency")


@dataclass(frozen=True)
class GmObjective:
    """Minus the log conditional likelihood; an example is the plan of all analyses and that of the gold one."""

    shape: Gm
    examples: Examples
    sparsity: float = 0.0

    @property
    def size(self) -> int:
        """The number of sentences."""
        return len(self.examples)

    def model(self, value: Floats) -> Gm:
        """The grammar with these parameters."""
        return with_values(self.shape, value)

    def add(self, model: Gm, numbers: Ints, slope: Floats) -> float:
        """The value for some sentences; adds its derivative to `slope`."""
        signs = [1.0, -1.0] * len(numbers)
        log_z = model.add_gradient(self.examples.gather(numbers), signs, Gradient(*_parts(model, slope)))
        value = float(np.dot(log_z, signs))
        if self.sparsity:
            part = self.sparsity * len(numbers) / self.size
            spread, slopes = weight_spread(model)
            value += part * spread
            slope[: len(slopes)] += part * slopes
        return value


def weight_spread(model: Gm) -> tuple[float, Floats]:
    """The summed log shares of components, from SMALL upwards, and the derivative in the log weights.

    It is small where few components have all the weight: a Dirichlet prior's logarithm, kept finite.
    """
    counts, begins = np.diff(model.ptr), model.ptr[:-1]
    shares = weight_shares(model)
    slopes = shares / (shares + SMALL)
    total = np.repeat(np.add.reduceat(slopes, begins), counts)
    return float(np.log(shares + SMALL).sum()), slopes - shares * total


def weight_shares(model: Gm) -> Floats:
    """What part of its rule's weight each component has."""
    counts, begins = np.diff(model.ptr), model.ptr[:-1]
    largest = np.maximum.reduceat(model.log_weight, begins)
    weights = np.exp(model.log_weight - np.repeat(largest, counts))
    shares: Floats = weights / np.repeat(np.add.reduceat(weights, begins), counts)
    return shares


def without_small(grammar: Grammar, model: Gm, least: float = SMALL) -> Gm:
    """The grammar without the components that have less than a share of their rule's weight."""
    kept = weight_shares(model) >= least
    counts = np.add.reduceat(kept, model.ptr[:-1])
    ptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    ends = (grammar.n_rules, grammar.lexical_start, grammar.n_binary)
    columns = np.concatenate(
        [first + np.flatnonzero(kept[: model.ptr[end]]) for first, end in zip(model.first, ends, strict=True)]
    )
    *first, _ = columns_of(grammar, ptr)
    return Gm(ptr, np.array(first), model.log_weight[kept], model.mean[:, columns], model.log_std[:, columns])


def values_of(model: Gm) -> Floats:
    """All parameters in one vector."""
    return np.concatenate([model.log_weight, model.mean.ravel(), model.log_std.ravel()])


def with_values(model: Gm, values: Floats) -> Gm:
    """The grammar with other parameters; they are not copied."""
    return Gm(model.ptr, model.first, *_parts(model, values), model.pruning)


def _parts(model: Gm, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Views of a vector in the shapes of log weights, means and log standard deviations."""
    a = model.log_weight.size
    b = a + model.mean.size
    return values[:a], values[a:b].reshape(model.mean.shape), values[b:].reshape(model.log_std.shape)


def prepare(
    coarse: CoarseParser, scheme: Binarisation, trees: Sequence[Tree], options: GmOptions, threads: int,
    report: Report = silent,
) -> Examples:  # fmt: skip
    """The examples of the trees; forests do not depend on the parameters, so each is built once."""

    def example(tree: Tree) -> Ints:
        forest, gold = coarse.training_forest(tree, scheme, options.p_min)
        if options.k_best:
            forest = best_forest(coarse, forest, gold, options.k_best)
        return np.concatenate([plan(forest), plan(gold)])

    return collect(example, trees, options.memory, threads, report)


def best_forest(coarse: CoarseParser, forest: Forest, gold: Forest, count: int) -> Forest:
    """The part of a forest that the rules of the treebank grammar's best trees, and of the gold tree, make."""
    scores = np.log(Pcfg(coarse.weight).posterior(forest).edge_weight)
    edges = np.unique(np.concatenate([edges for _, edges in best_derivations(forest, scores, count)]))
    kept = build_forest(coarse.grammar, forest.n_words, anchored_rules(forest, edges))
    return union(coarse.grammar, [kept, gold])


def learn(
    coarse: CoarseParser,
    scheme: Binarisation,
    trees: Sequence[Tree],
    options: GmOptions,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[Gm], dict[str, Any]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> Gm:
    """The grammar with the best development F1 of all epochs, or the last one where there is no score."""
    short = [tree for tree in trees if len(tree.words()) <= options.max_length]
    with closing(prepare(coarse, scheme, short, options, threads, report)) as examples:
        return learn_from(coarse, examples, options, seed, threads, score, report, checkpoint)


def learn_from(
    coarse: CoarseParser,
    examples: Examples,
    options: GmOptions,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[Gm], dict[str, Any]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> Gm:
    """`learn`, from examples that are there."""
    first = _start(coarse, options, seed)
    if options.k_max:
        first = replace(first, pruning=ComponentPruning(options.k_min, options.k_max, options.theta))
    if checkpoint is not None:
        settings = asdict(options)
        del settings["descent"]["epochs"], settings["memory"]
        checkpoint = checkpoint.keyed(seed=seed, options=settings, grammar=coarse.grammar.fingerprint)
    learned, origin = first, first
    for number, descent in enumerate(stages := _stages(options)):
        if number:
            learned = halved(coarse.grammar, learned, options.spread, seed + number)
            origin = halved(coarse.grammar, origin, options.spread, seed + number)
            report("split", {"components": len(learned.log_weight)})
        kept = checkpoint if checkpoint is None or len(stages) == 1 else checkpoint.stage(number)
        learned = _stage(learned, origin, examples, options.sparsity, descent, seed, threads, score, report, kept)
    if learned.pruning is not None:
        report("component pruning", cost_of_pruning(learned, examples))
    learned = replace(learned, pruning=None)
    if options.sparsity:
        before, learned = len(learned.log_weight), without_small(coarse.grammar, learned)
        report("sparsity", {"components": before, "kept": len(learned.log_weight)})
    return learned


def _start(coarse: CoarseParser, options: GmOptions, seed: int) -> Gm:
    """The grammar that learning starts from."""
    components: int | Ints = 1 if options.split else options.components
    if options.by_frequency:
        components = np.minimum(1 + np.log2(np.maximum(coarse.grammar.count, 1.0)).astype(int), options.components)
    return start(
        coarse.grammar, coarse.weight, components, options.dim, options.covariance, options.alpha, options.spread, seed
    )


def _stages(options: GmOptions) -> list[Descent]:
    """What is learned before, between and after splits: a quarter of the epochs before each split, the rest at last."""
    splits = (options.components - 1).bit_length() if options.split else 0
    few = max(1, options.descent.epochs // 4)
    last = max(1, options.descent.epochs - splits * few)
    return [*(replace(options.descent, epochs=few) for _ in range(splits)), replace(options.descent, epochs=last)]


def halved(grammar: Grammar, model: Gm, spread: float, seed: int) -> Gm:
    """The grammar with each component in two of half its weight, means moved at random by up to half the spread."""
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


def _stage(
    first: Gm,
    origin: Gm,
    examples: Examples,
    sparsity: float,
    descent: Descent,
    seed: int,
    threads: int,
    score: Callable[[Gm], dict[str, Any]] | None,
    report: Report,
    checkpoint: Checkpoint | None,
) -> Gm:
    """The grammar with the best development F1 of one stage's epochs."""

    def scored(value: Floats) -> tuple[float, dict[str, Any]]:
        assert score is not None
        return dev_facts(score(with_values(first, value)))

    value = descend(
        GmObjective(first, examples, sparsity), values_of(first), descent, seed, threads,
        None if score is None else scored, report, checkpoint, values_of(origin),
    )  # fmt: skip
    return with_values(first, value)


def cost_of_pruning(model: Gm, examples: Examples, most: int = 200) -> dict[str, Any]:
    """What component pruning cuts from the first training sentences, and what it makes of their log likelihood."""
    assert model.pruning is not None
    model.pruning.tally[:] = 0
    plans = examples.gather(range(min(most, len(examples))))
    signs = np.tile([-1.0, 1.0], count_plans(plans) // 2)
    pruned = model.log_zs(plans)
    exact = replace(model, pruning=None).log_zs(plans)
    seen, cut = model.pruning.tally.tolist()
    return {
        "sentences": len(signs) // 2,
        "components": seen,
        "cut": cut,
        "log_likelihood_exact": round(float(np.dot(signs, exact)), 4),
        "log_likelihood_pruned": round(float(np.dot(signs, pruned)), 4),
        "log_weight_lost": round(float(np.sum((exact - pruned)[::2])), 4),
    }
