"""Learning a Gaussian mixture grammar: minus the log conditional likelihood of gold trees over pruned forests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lveg.chart.coarse import CoarseParser
from lveg.families.gm import Gm, Gradient, plan, start
from lveg.grammar.binarise import Binarisation
from lveg.grammar.grammar import Floats, Ints
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent, descend
from lveg.learning.examples import Examples
from lveg.parallel import ordered_map
from lveg.report import Report, silent
from lveg.trees import Tree


@dataclass(frozen=True)
class GmOptions:
    """How a Gaussian mixture grammar is made; docs/decisions/0006 tells where the defaults come from.

    max_length: longer sentences are in the treebank grammar, but not learned from. memory: bytes of training forests
    that are held; the rest is in a temporary file.
    """

    components: int = 4
    dim: int = 3
    covariance: str = "spherical"
    p_min: float = 1e-5
    alpha: float | None = None
    spread: float = 0.05
    max_length: int = 50
    memory: int = 4 * 2**30
    descent: Descent = field(default_factory=Descent)


@dataclass(frozen=True)
class GmObjective:
    """Minus the log conditional likelihood; an example is the plan of all analyses and that of the gold one."""

    shape: Gm
    examples: Examples

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
        return float(np.dot(log_z, signs))


def values_of(model: Gm) -> Floats:
    """All parameters in one vector."""
    return np.concatenate([model.log_weight, model.mean.ravel(), model.log_std.ravel()])


def with_values(model: Gm, values: Floats) -> Gm:
    """The grammar with other parameters; they are not copied."""
    return Gm(model.ptr, model.first, *_parts(model, values))


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
        return np.concatenate([plan(forest) for forest in coarse.training_forest(tree, scheme, options.p_min)])

    examples = Examples(options.memory)
    for item in ordered_map(example, trees, threads):
        examples.append(item)
        report("progress", {"what": "building forests", "done": len(examples), "total": len(trees)})
    report("forests", {"sentences": len(examples), "mib": examples.held >> 20, "mib_on_disk": examples.spilled >> 20})
    return examples


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
    first = start(
        coarse.grammar, coarse.weight, options.components, options.dim, options.covariance, options.alpha,
        options.spread, seed,
    )  # fmt: skip
    short = [tree for tree in trees if len(tree.words()) <= options.max_length]
    examples = prepare(coarse, scheme, short, options, threads, report)

    def scored(value: Floats) -> tuple[float, dict[str, Any]]:
        assert score is not None
        summary = score(with_values(first, value))
        facts = {f"dev_{name}": number for name, number in summary.items() if not isinstance(number, dict)}
        return summary["f1"], facts

    if checkpoint is not None:
        settings = asdict(options)
        del settings["descent"]["epochs"], settings["memory"]
        checkpoint = checkpoint.keyed(seed=seed, options=settings, grammar=coarse.grammar.fingerprint)
    value = descend(
        GmObjective(first, examples), values_of(first), options.descent, seed, threads,
        None if score is None else scored, report, checkpoint,
    )  # fmt: skip
    return with_values(first, value)
