"""Training a grammar in one space: minimises the negative conditional log likelihood over pruned forests."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import numpy as np

from lveg.families.family import Facts
from lveg.families.forest import pack
from lveg.families.shared.family import MOST_PARAMETER, Parameters, Shared, rules_of, shapes
from lveg.families.shared.options import SharedOptions
from lveg.grammar.grammar import Floats, Grammar
from lveg.kernels.shared import LEFT, RIGHT, ROOT, UNARY
from lveg.learning.data import TreeData
from lveg.learning.epochs import descend, gradient_copies
from lveg.learning.memory import check_memory
from lveg.learning.run import Run


def learn(data: TreeData, options: SharedOptions, run: Run) -> tuple[Shared, Facts]:
    """Train the grammar; returns the epoch with the best score, or the last epoch if there is no score."""
    sizes = shapes(data.grammar, options.components, options.dim, options.parts)
    what = f"--components {options.components} --dim {options.dim} --parts {options.parts}"
    check_memory(what, sum(int(np.prod(shape)) for shape in sizes), gradient_copies(options))
    first = first_grammar(data.grammar, data.weight, options, run.seed)
    with closing(data.examples(pack, options, run)) as examples:
        term = partial(penalty, options.cohesion) if options.cohesion else None
        return descend(first, examples, options, run, penalty=term), {}


def penalty(cohesion: float, family: Shared, share: float, slope: Floats) -> float:
    """The penalty for large regions, see `Penalty`."""
    variance, slopes = region_variance(family)
    slope += cohesion * share * slopes
    return cohesion * share * variance


def first_grammar(grammar: Grammar, weight: Floats, options: SharedOptions, seed: int) -> Shared:
    """An initial grammar: means are random, and biases give each rule about its weight in the treebank grammar."""
    dice = np.random.default_rng(seed)
    found = Parameters(*(np.zeros(shape) for shape in shapes(grammar, options.components, options.dim, options.parts)))
    for means in (found.lhs_mean, found.slot_mean, found.region_mean):
        means += dice.normal(0.0, options.spread, means.shape)
    found.region_log_std[:] = np.log(options.width)
    log_weight = np.log(np.maximum(weight, 1e-30))
    found.bias[:] = np.clip(log_weight - np.log(at_middle(grammar, found)), -MOST_PARAMETER, MOST_PARAMETER)
    return Shared.of(rules_of(grammar), found)


def at_middle(grammar: Grammar, found: Parameters) -> Floats:
    """For each rule, the weight of the shared components if each Gaussian is replaced by its mean over the region."""
    lhs = mean_heights(found, found.lhs_mean, found.lhs_log_std)
    slots = [
        mean_heights(found, mean.T, log_std.T) * np.exp(height)
        for mean, log_std, height in zip(found.slot_mean, found.slot_log_std, found.height, strict=True)
    ]
    above, left, right = grammar.rule_lhs, grammar.rule_left, grammar.rule_right
    binary, unary, root = slice(0, grammar.n_binary), grammar.kind_slice("unary"), grammar.kind_slice("root")
    total = np.ones(grammar.n_rules)
    total[binary] = (lhs[above[binary]] * slots[LEFT][left[binary]] * slots[RIGHT][right[binary]]).sum(axis=1)
    total[unary] = (lhs[above[unary]] * slots[UNARY][left[unary]]).sum(axis=1)
    total[root] = slots[ROOT][left[root]].sum(axis=1)
    return np.maximum(total, 1e-30)


def mean_heights(found: Parameters, mean: Floats, log_std: Floats) -> Floats:
    """The mean of each of some Gaussians over the region of each symbol, (symbols, Gaussians)."""
    own, variance = np.exp(2.0 * log_std), np.exp(2.0 * found.region_log_std)[:, :, None]
    both = variance + own
    square = (found.region_mean[:, :, None] - mean) ** 2 / both
    height: Floats = np.exp(0.5 * (np.log(own / both) - square).sum(axis=3)).mean(axis=1)
    return height


def region_variance(family: Shared) -> tuple[float, Floats]:
    """The sum of the variances of all regions, and its gradient with respect to all parameters."""
    own, slope = family.parameters, np.zeros_like(family.value)
    into = family.with_value(slope).parameters
    within, apart = np.exp(2.0 * own.region_log_std), own.region_mean - own.region_mean.mean(axis=1, keepdims=True)
    parts = own.region_mean.shape[1]
    into.region_log_std[:] = 2.0 * within / parts
    into.region_mean[:] = 2.0 * apart / parts
    return float((within.sum() + (apart**2).sum()) / parts), slope
