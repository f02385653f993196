"""Components added and removed while a Gaussian mixture grammar is learned: development F1 and CPU time.

    python experiments/gm_greedy.py wsj-sample 0,1 "components=2 grow=1.0 drop=0.2" "grow=0.3 drop=0.3" ...

Learning begins with --components for each rule. After a quarter of the epochs, and after half of them, the share `drop`
of all components is removed: those that gold trees use least. Then as many as `grow` times those that there were are
added: every component gets a copy of next to no weight, moved at random, and the copies are kept whose weight the
objective wants to raise most. One line per run, as `gm_settings.py` prints it. docs/decisions/0006 has what came
out.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
from gm_settings import tell
from mixtures import Bench, Trace, parse_setting, some_trees

from lveg.families.forest import Ask
from lveg.families.gm.family import Gm, columns_of
from lveg.families.gm.learning import first_grammar
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.learning.epochs import descend
from lveg.learning.examples import Examples
from lveg.learning.run import Run

LITTLE = 0.01  # the share of a copy in its component's weight while its gradient is taken
PART = 64  # examples at a time


def main() -> None:
    """Run every setting with every seed."""
    name, seeds, *settings = sys.argv[1:]
    bench = Bench(some_trees(name, "train"), some_trees(name, "dev"))
    for setting in settings:
        for seed in seeds.split(","):
            run(bench, f"{name} seed {seed} {setting}", setting, int(seed))


def run(bench: Bench, what: str, setting: str, seed: int) -> None:
    """Learn with one setting and print what came out."""
    values = parse_setting(setting)
    grow, drop = values.pop("grow", 0.5), values.pop("drop", 0.25)
    options, grammar = bench.options(**values), bench.parser.grammar
    examples, trace = bench.examples(options), Trace()
    begun, work = time.process_time(), Run(seed=seed, score=bench.scorer(trace))
    learned = origin = first_grammar(bench.data, options, work)
    few = options.epochs // 4
    for stage, epochs in enumerate((few, few, options.epochs - 2 * few)):
        if stage:
            uses = weight_slopes(learned, examples, (0.0, 1.0))
            kept = most_used(learned, uses, 1.0 - drop)
            learned, origin = (chosen(grammar, model, kept) for model in (learned, origin))
            moves = np.random.default_rng([seed, stage]).uniform(-0.5, 0.5, learned.mean.shape)
            wanted = gains(grammar, learned, moves, examples)
            copied = np.argsort(-wanted, kind="stable")[: int(grow * len(wanted))]
            learned, origin = (with_copies(grammar, model, copied, moves, 0.5) for model in (learned, origin))
        learned = descend(learned, examples, replace(options, epochs=epochs), work, origin=origin.value)
    tell(f"{what}: {len(learned.log_weight)} components", trace, time.process_time() - begun)


def weight_slopes(model: Gm, examples: Examples, signs: tuple[float, float]) -> Floats:
    """The derivative in log weights of log Z of all forests and of gold trees, with these signs."""
    slope = np.zeros_like(model.value)
    for begin in range(0, len(examples), PART):
        numbers = range(begin, min(begin + PART, len(examples)))
        model.run(examples.gather(numbers), None, Ask([*signs] * len(numbers), slope))
    return model.parts(slope)[0]


def most_used(model: Gm, uses: Floats, share: float) -> Ints:
    """The components that are used most, and the most used one of each rule."""
    rule = np.repeat(np.arange(len(model.ptr) - 1), np.diff(model.ptr))
    order = np.lexsort((-uses, rule))
    firsts = order[model.ptr[:-1]]
    rest = np.setdiff1d(np.argsort(-uses, kind="stable")[: int(share * len(uses))], firsts)
    return np.sort(np.concatenate([firsts, rest])).astype(np.int32)


def gains(grammar: Grammar, model: Gm, moves: Floats, examples: Examples) -> Floats:
    """How fast the objective falls if weight goes from each component to its copy."""
    both = with_copies(grammar, model, np.arange(len(model.log_weight)), moves, LITTLE)
    slopes = weight_slopes(both, examples, (1.0, -1.0)).reshape(-1, 2)
    return slopes[:, 0] / (1.0 - LITTLE) - slopes[:, 1] / LITTLE


def chosen(grammar: Grammar, model: Gm, components: Ints) -> Gm:
    """The grammar with these components alone, in their order; a component may be there more than once."""
    rule = np.repeat(np.arange(len(model.ptr) - 1), np.diff(model.ptr))[components]
    ptr = np.concatenate([[0], np.cumsum(np.bincount(rule, minlength=len(model.ptr) - 1))]).astype(np.int32)
    ends = (grammar.n_rules, grammar.lexical_start, grammar.n_binary)
    columns = np.concatenate([first + components[: ptr[end]] for first, end in zip(model.first, ends, strict=True)])
    *first, _ = columns_of(grammar, ptr)
    log_weight, mean, log_std = model.log_weight[components], model.mean[:, columns], model.log_std[:, columns]
    return Gm(ptr, np.array(first), log_weight, mean, log_std)


def with_copies(grammar: Grammar, model: Gm, copied: Ints, moves: Floats, share: float) -> Gm:
    """The grammar with a copy behind each of these components, of a share of its weight, its means moved."""
    counts = 1 + np.bincount(copied, minlength=len(model.log_weight))
    components = np.repeat(np.arange(len(counts)), counts)
    is_copy = np.append(False, components[1:] == components[:-1])
    found = chosen(grammar, model, components)
    moved = chosen(grammar, replace(model, mean=moves), components).mean
    ends = (grammar.n_rules, grammar.lexical_start, grammar.n_binary)
    marks = np.concatenate([is_copy[: found.ptr[end]] for end in ends])
    parts = np.where(is_copy, np.log(share), np.where(counts[components] > 1, np.log1p(-share), 0.0))
    return replace(found, log_weight=found.log_weight + parts, mean=found.mean + np.where(marks, moved, 0.0))


if __name__ == "__main__":
    main()
