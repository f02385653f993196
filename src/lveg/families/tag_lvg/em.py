"""Expectation-maximisation for tags with subtypes: the tags are observed, the subtypes are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from lveg.families.tag_lvg.family import TagLvg, logs, normalise
from lveg.grammar.estimate import TRANSITION_PRIOR
from lveg.grammar.grammar import Floats, Grammar
from lveg.kernels.chain_lvg import LvgArrays
from lveg.learning.examples import Examples, blocks
from lveg.learning.run import Run, Work

PART = 512
"""Number of sentences summed by one worker; parts are added in order, so workers do not change the result."""

EM_COPIES = 8
"""Vectors of all parameters that EM holds with one worker: two models, the best, the prior, counts and their sum."""


@dataclass(frozen=True)
class TagEm:
    """What a step needs besides the parameters.

    model: any model of the right shape. weight: rule probabilities of the HMM. smoothing: pseudo-counts of the HMM's
    transitions and emissions for each subtype; with one subtype they change nothing.
    """

    model: TagLvg
    grammar: Grammar
    weight: Floats
    examples: Examples
    smoothing: float
    run: Run

    @cached_property
    def prior(self) -> Floats:
        """Pseudo-counts that are added to the expected counts."""
        model, tags, n = self.model, self.model.tags, self.model.subtypes
        flat = np.zeros_like(model.value)
        prior = model.parts(flat)
        steps, ends = self.weight[: tags * tags].reshape(tags, 1, tags, 1), self.weight[tags * tags :][:tags, None]
        prior.start[:] = TRANSITION_PRIOR / n
        prior.transition[:] = TRANSITION_PRIOR / n**2 + self.smoothing * steps / n
        prior.end[:] = TRANSITION_PRIOR / n + self.smoothing * ends
        prior.emission[:] = self.smoothing * self.weight[self.grammar.lexical_start :, None]
        return flat

    def step(self, model: TagLvg) -> tuple[TagLvg, float]:
        """The next parameters, and the log likelihood of the current ones plus the log prior, which never decreases.

        Emissions keep the lexicon's counts, which may be smoothed: only their split among subtypes is learned.
        """
        use, log_z = self._expected(model)
        objective = log_z + float(np.dot(self.prior, model.value))
        probability = model.parts(use)
        self._keep_counts(probability)
        use += self.prior
        normalise(probability, self.grammar)
        return model.with_value(logs(use)), objective

    def _expected(self, model: TagLvg) -> tuple[Floats, float]:
        """The expected uses of all parameters, and the log likelihood."""
        total, log_z = np.zeros_like(model.value), 0.0
        for use, part in self.run.map(self._uses_at, blocks(len(self.examples), PART), [model.value]):
            total += use
            log_z += part
        return total, log_z

    @cached_property
    def _uses_at(self) -> Work[Sequence[int], tuple[Floats, float]]:
        return partial(uses_at, self.model, self.examples)

    def _keep_counts(self, use: LvgArrays) -> None:
        """Rescale emissions to lexicon counts; keep the split among subtypes, or the tag's if there are no uses."""
        count = self.grammar.count[self.grammar.lexical_start :, None]
        owner = self.grammar.rule_lhs[self.grammar.lexical_start :] - self.grammar.n_nonterminals
        by_tag = np.zeros_like(use.end)
        np.add.at(by_tag, owner, use.emission)
        by_tag /= np.maximum(by_tag.sum(axis=1, keepdims=True), 1e-300)
        total = use.emission.sum(axis=1, keepdims=True)
        shares = np.where(total > 1e-9, use.emission / np.maximum(total, 1e-300), by_tag[owner])
        use.emission[:] = count * shares


def uses_at(
    model: TagLvg, examples: Examples, values: Sequence[Floats]
) -> Callable[[Sequence[int]], tuple[Floats, float]]:
    """Computes, for the sentences with some numbers, the expected uses of all parameters, and the log likelihood."""
    present = model.with_value(values[0])

    def work(numbers: Sequence[int]) -> tuple[Floats, float]:
        use = np.zeros_like(present.value)
        return use, present.run(examples.gather(numbers), True, 1.0, use)

    return work
