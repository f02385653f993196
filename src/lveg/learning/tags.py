"""Learning taggers with latent subtypes: conditional likelihood by gradients, or joint likelihood by EM."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from lveg.errors import UsageError
from lveg.families.estimate import hmm_weights
from lveg.families.tag_forms import TagForms, start_forms
from lveg.families.tag_gm import start_gm
from lveg.families.tag_lvg import TagLvg, start_lvg
from lveg.families.tags import TagFamily, pack
from lveg.grammar.forms import Forms, learn_forms
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent, descend
from lveg.learning.em import Em, expectation_maximisation
from lveg.learning.examples import Examples
from lveg.report import Report, silent

OBJECTIVES = ("generative", "discriminative")
BY_EM = Descent(epochs=50, patience=10)
BY_GRADIENT = Descent(epochs=20, learning_rate=0.02, l2=1.0, batch=128, patience=5)
"""For Gaussian mixtures; docs/decisions/0009 tells where the defaults of all come from."""

BY_FORMS = Descent(epochs=8, learning_rate=0.02, decay=0.9, l2=0.2, batch=64, patience=3)


@dataclass(frozen=True)
class TagLvgOptions:
    """How a tagger with N subtypes a tag is learned.

    objective: generative for the likelihood of words and tags by EM, whose iterations are the epochs; discriminative
    for the likelihood of tags given words by gradients: `by_gradient` has defaults for it. noise: how far subtypes
    differ at the start, as a part of their probabilities. smoothing: tokens' worth of the HMM that EM gives each
    subtype.
    """

    subtypes: int = 16
    objective: str = "generative"
    noise: float = 0.01
    smoothing: float = 10.0
    descent: Descent = BY_EM

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise UsageError(f"objective {self.objective!r} is not one of {', '.join(OBJECTIVES)}")

    @classmethod
    def by_gradient(cls, subtypes: int = 16) -> TagLvgOptions:
        """Discriminative ones. Gradients part subtypes that are nearly alike too slowly, so the noise is larger."""
        return cls(subtypes, "discriminative", noise=0.5, descent=replace(BY_GRADIENT, l2=0.3))


@dataclass(frozen=True)
class TagGmOptions:
    """How a tagger of Gaussian mixtures is learned; spread: means start within this of 0, the paper's within 0.05."""

    components: int = 4
    dim: int = 3
    covariance: str = "spherical"
    spread: float = 0.5
    descent: Descent = BY_GRADIENT


@dataclass(frozen=True)
class TagFormsOptions:
    """How a tagger that sees the forms of words is learned; noise: log weights of steps start within this of 0."""

    subtypes: int = 2
    noise: float = 0.1
    descent: Descent = BY_FORMS


TagOptions = TagLvgOptions | TagGmOptions | TagFormsOptions


@dataclass(frozen=True)
class TagObjective:
    """Minus the log conditional likelihood of gold tags; an example is a sentence with its tags, as kernels want it."""

    shape: TagFamily | TagForms
    examples: Examples

    @property
    def size(self) -> int:
        """The number of sentences."""
        return len(self.examples)

    def model(self, value: Floats) -> TagFamily | TagForms:
        """What has these parameters."""
        return self.shape.with_value(value)

    def add(self, model: TagFamily | TagForms, numbers: Ints, slope: Floats) -> float:
        """The value for some sentences; adds its derivative to `slope`."""
        return model.add(self.examples.gather(numbers), slope)


def tag_examples(
    grammar: Grammar, tagged: Sequence[Sequence[tuple[str, str]]], forms: Forms | None = None
) -> Examples:  # fmt: skip
    """The sentences with their tags, as kernels want them: packed, or with the rows of their words."""
    numbers = {tag: index for index, tag in enumerate(grammar.tags)}
    examples = Examples(2**40)
    for sentence in tagged:
        words, tags = [word for word, _ in sentence], [numbers[tag] for _, tag in sentence]
        if forms is None:
            examples.append(pack(grammar.lexicon.terminals(words), tags))
        else:
            counts, rows = forms.rows(words)
            examples.append(np.array([len(words), len(rows), *tags, *counts, *rows], np.int32))
    return examples


def learn_tags(
    grammar: Grammar,
    tagged: Sequence[Sequence[tuple[str, str]]],
    options: TagOptions,
    seed: int = 0,
    threads: int = 1,
    score: Callable[[TagFamily | TagForms], tuple[float, dict[str, Any]]] | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> TagFamily | TagForms:
    """The family with the best score of all epochs, or the last one where there is no score.

    score: the number to make large, and facts to report with it.
    """
    weight, forms, descent = hmm_weights(grammar), None, options.descent
    first: TagFamily | TagForms
    if isinstance(options, TagGmOptions):
        first = start_gm(
            grammar, weight, options.components, options.dim, options.covariance, options.spread, seed
        )  # fmt: skip
    elif isinstance(options, TagFormsOptions):
        forms = learn_forms([word for word, _ in sentence] for sentence in tagged)
        first = start_forms(len(grammar.tags), options.subtypes, forms, options.noise, seed)
    else:
        first = start_lvg(grammar, weight, options.subtypes, options.noise, seed)
    examples = tag_examples(grammar, tagged, forms)

    def scored(value: Floats) -> tuple[float, dict[str, Any]]:
        assert score is not None
        return score(first.with_value(value))

    if checkpoint is not None:
        settings = asdict(options)
        del settings["descent"]["epochs"]
        checkpoint = checkpoint.keyed(seed=seed, options=settings, grammar=grammar.fingerprint)
    to_score = None if score is None else scored
    if isinstance(options, TagLvgOptions) and isinstance(first, TagLvg) and options.objective == "generative":
        em = Em(first, grammar, weight, examples, options.smoothing)

        def step(value: Floats) -> tuple[Floats, float]:
            model, log_likelihood = em.step(em.model.with_value(value), threads)
            return model.value, log_likelihood

        value = expectation_maximisation(
            step, first.value, len(examples), descent.epochs, descent.patience, to_score, report, checkpoint
        )
    else:
        objective = TagObjective(first, examples)
        value = descend(objective, first.value, descent, seed, threads, to_score, report, checkpoint)
    learned = first.with_value(np.ascontiguousarray(value))
    return learned.rounded() if isinstance(learned, TagForms) else learned
