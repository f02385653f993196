"""Expectation-maximisation for tags with subtypes: the tags are seen, the subtypes are not."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lveg.families.estimate import TRANSITION_PRIOR
from lveg.families.tag_lvg import TagLvg, logs, normalise
from lveg.grammar.grammar import Floats, Grammar
from lveg.kernels.chain_lvg import LvgArrays
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.examples import Examples
from lveg.report import Report, silent

PART = 512
"""Sentences that are summed by one thread; parts are added in order, so the number of threads changes no bit."""


@dataclass(frozen=True)
class Em:
    """What a step needs beside the parameters.

    model: any with the shape of those to come. weight: rule probabilities of the HMM. smoothing: tokens' worth of the
    HMM's steps and emissions that each subtype is given; with one subtype it changes nothing.
    """

    model: TagLvg
    grammar: Grammar
    weight: Floats
    examples: Examples
    smoothing: float = 0.0

    @cached_property
    def prior(self) -> Floats:
        """Counts that are added to the expected ones."""
        model, tags, n = self.model, self.model.tags, self.model.subtypes
        flat = np.zeros_like(model.value)
        prior = model.parts(flat)
        steps, ends = self.weight[: tags * tags].reshape(tags, 1, tags, 1), self.weight[tags * tags :][:tags, None]
        prior.start[:] = TRANSITION_PRIOR / n
        prior.transition[:] = TRANSITION_PRIOR / n**2 + self.smoothing * steps / n
        prior.end[:] = TRANSITION_PRIOR / n + self.smoothing * ends
        prior.emission[:] = self.smoothing * self.weight[self.grammar.lexical_start :, None]
        return flat

    def step(self, model: TagLvg, threads: int = 1) -> tuple[TagLvg, float]:
        """The next parameters, and the log likelihood of the present ones with that of the prior, which never falls.

        Where the lexicon smooths its counts, emissions keep these: only their parting among subtypes is learned.
        """
        use, log_z = self._expected(model, threads)
        objective = log_z + float(np.dot(self.prior, model.value))
        probability = model.parts(use)
        self._keep_counts(probability)
        use += self.prior
        normalise(probability, self.grammar)
        return model.with_value(logs(use)), objective

    def _expected(self, model: TagLvg, threads: int) -> tuple[Floats, float]:
        """The expected uses of all parameters, and the log likelihood."""

        def work(first: int) -> tuple[Floats, float]:
            part = self.examples.gather(range(first, min(first + PART, len(self.examples))))
            use = np.zeros_like(model.value)
            return use, model.run(part, True, 1.0, use)

        total, log_z = np.zeros_like(model.value), 0.0
        with ThreadPoolExecutor(threads) as pool:
            for use, part in pool.map(work, range(0, len(self.examples), PART)):
                total += use
                log_z += part
        return total, log_z

    def _keep_counts(self, use: LvgArrays) -> None:
        """Give each emission its count in the lexicon, parted as its uses are, or as its tag's if it has none."""
        count = self.grammar.count[self.grammar.lexical_start :, None]
        owner = self.grammar.rule_lhs[self.grammar.lexical_start :] - self.grammar.n_nonterminals
        by_tag = np.zeros_like(use.end)
        np.add.at(by_tag, owner, use.emission)
        by_tag /= np.maximum(by_tag.sum(axis=1, keepdims=True), 1e-300)
        total = use.emission.sum(axis=1, keepdims=True)
        shares = np.where(total > 1e-9, use.emission / np.maximum(total, 1e-300), by_tag[owner])
        use.emission[:] = count * shares


def expectation_maximisation(
    step: Callable[[Floats], tuple[Floats, float]],
    start: Floats,
    size: int,
    iterations: int,
    patience: int,
    score: Callable[[Floats], tuple[float, dict[str, Any]]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> Floats:
    """The parameters of the iteration with the highest score, or of the last where there is no score.

    step: the next parameters, and the log likelihood of the present ones. size: the number of examples. patience:
    iterations without a better score before it ends; 0 for no such end.
    """
    value, best, best_score, first, since = start, start, -np.inf, 1, 0
    kept = checkpoint.load() if checkpoint is not None else None
    if kept is not None:
        facts, arrays = kept
        value, best = arrays["value"], arrays["best"]
        first, since = facts["epoch"] + 1, facts["since"]
        best_score = -np.inf if facts["best_score"] is None else facts["best_score"]
        report("resumed", {"epoch": facts["epoch"], "best": facts["best_score"]})
    for epoch in range(first, iterations + 1):
        if patience and since >= patience:
            break
        begun = time.perf_counter()
        value, objective = step(value)
        seconds = time.perf_counter() - begun
        facts = {
            "epoch": epoch,
            "objective": round(-objective / size, 4),
            "sentences_per_second": round(size / seconds, 1),
        }
        number = float(epoch)
        if score is not None:
            number, more = score(value)
            facts |= more
        since += 1
        if number > best_score:
            best, best_score, since = value, number, 0
        facts["seconds_left"] = round((time.perf_counter() - begun) * (iterations - epoch))
        report("epoch", facts)
        if checkpoint is not None and epoch < iterations:
            state = {"epoch": epoch, "best_score": best_score, "since": since}
            checkpoint.save(state, {"value": value, "best": best})
    return best
