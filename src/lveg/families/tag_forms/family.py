"""Tags with subtypes whose words are known by their forms: every word may have any tag, and log-linear weights tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lveg.errors import GrammarError
from lveg.families.chain import ChainFamily, Chains, pack
from lveg.families.family import Arrays, Facts, check_arrays, check_value
from lveg.families.tag_lvg.family import MOST_LOG, TagLvg, size_of
from lveg.grammar.forms import Forms
from lveg.grammar.grammar import Floats, Grammar, Ints
from lveg.kernels.chain import TagTable
from lveg.kernels.forms import add_rows, add_to_rows, unpack

GRID, MOST_STEPS, LEAST_STEPS = 1 / 32, 127, 3
"""Weights of forms are quantised to multiples of GRID, as int8. Forms whose weights are all below LEAST_STEPS of it are
dropped. Neither changes accuracy."""


@dataclass(frozen=True, eq=False)
class TagForms(Chains):
    """Log weights of starts, transitions and ends as TagLvg has them, and of forms (rows, T × N)  [math: forms].

    The emission of a subtype and a word weighs exp(sum of the rows of the word's forms). For any words at hand this
    is a family of tag sequences, whose terminals are these words.
    """

    tags: int
    subtypes: int
    forms: Forms
    value: Floats

    name = "forms"

    def __post_init__(self) -> None:
        check_value(self.value, self.cut + len(self.forms.names) * self.tags * self.subtypes, MOST_LOG)

    @property
    def cut(self) -> int:
        """How many parameters are not weights of forms."""
        return size_of(self.tags, 0, self.subtypes)

    def with_value(self, value: Floats) -> TagForms:
        """The same with other parameters, which are not copied."""
        return TagForms(self.tags, self.subtypes, self.forms, value)

    def arrays(self) -> Arrays:
        """Weights of starts, transitions and ends, and quantised weights of forms."""
        return {"steps": self.value[: self.cut], "forms": self.steps}

    def facts(self) -> Facts:
        """The number of subtypes, and the forms."""
        return {"subtypes": self.subtypes, "forms": list(self.forms.names)}

    @classmethod
    def restore(cls, grammar: Grammar, weight: Floats, arrays: Arrays, facts: Facts) -> TagForms:
        """The tagger in a model file."""
        check_arrays(arrays, {"steps": (np.float64, 1), "forms": (np.int8, 2)})
        subtypes, names = facts.get("subtypes"), facts.get("forms")
        if len(facts) != 2 or type(subtypes) is not int or not isinstance(names, list):
            raise GrammarError("its settings are not subtypes and forms")
        if not all(isinstance(name, str) for name in names):
            raise GrammarError("a form is not a text")
        return of_steps(len(grammar.tags), subtypes, Forms(tuple(names)), arrays["steps"], arrays["forms"])

    def describe(self) -> Facts:
        """Numbers of subtypes, forms and parameters."""
        return {"subtypes": self.subtypes, "forms": len(self.forms.names), "parameters": int(self.value.size)}

    def of_forms(self, vector: Floats) -> Floats:
        """What a vector of something for every parameter has for forms, (rows, T × N)."""
        return vector[self.cut :].reshape(-1, self.tags * self.subtypes)

    def rounded(self) -> TagForms:
        """The same with weights of forms that are numbers of the grid, and without forms that hardly weigh."""
        steps = self.steps
        kept = np.flatnonzero((np.abs(steps) >= LEAST_STEPS).any(axis=1))
        forms = Forms(tuple(self.forms.names[row] for row in kept))
        return of_steps(self.tags, self.subtypes, forms, self.value[: self.cut], steps[kept])

    @property
    def steps(self) -> Any:
        """The weights of forms in steps of the grid, int8 (rows, T × N)."""
        return np.clip(np.round(self.of_forms(self.value) / GRID), -MOST_STEPS, MOST_STEPS).astype(np.int8)

    def of_rows(self, counts: Ints, rows: Ints) -> TagLvg:
        """The family of the words with these rows (see Forms); word i is terminal i."""
        score = np.empty((len(counts), self.tags * self.subtypes))
        add_rows(counts, rows, self.of_forms(self.value), score)
        n_emissions = len(counts) * self.tags
        emissions = np.arange(n_emissions, dtype=np.int32)
        table = TagTable(np.arange(0, n_emissions + 1, self.tags, dtype=np.int32), emissions % self.tags, emissions)
        value = np.concatenate([self.value[: self.cut], np.maximum(score.ravel(), -MOST_LOG)])
        return TagLvg(table, self.tags, n_emissions, self.subtypes, value)

    def over(self, grammar: Grammar, sentences: Sequence[Sequence[str]]) -> tuple[ChainFamily, Ints]:
        """The family of the words of these sentences, which are numbered in order."""
        found = [self.forms.rows(words) for words in sentences]
        counts, rows = ([number for pair in found for number in pair[side]] for side in (0, 1))
        family = self.of_rows(np.array(counts, np.int32), np.array(rows, np.int32))
        ends = np.cumsum([0, *map(len, sentences)]).tolist()
        return family, np.concatenate([pack(range(first, last)) for first, last in pairwise(ends)])

    def add(self, examples: Ints, slope: Floats) -> float:
        """Minus the log conditional likelihood of examples (see kernels.forms); adds its derivative to `slope`."""
        packed, counts, rows = unpack(examples)
        family = self.of_rows(counts, rows)
        found = np.zeros_like(family.value)
        value = family.run(packed, False, 1.0, found) - family.run(packed, True, -1.0, found)
        slope[: self.cut] += found[: self.cut]
        add_to_rows(counts, rows, found[self.cut :].reshape(len(counts), -1), self.of_forms(slope))
        return value


def of_steps(tags: int, subtypes: int, forms: Forms, plain: Floats, steps: Any) -> TagForms:
    """From the parameters that are not weights of forms, and those of forms in steps of the grid."""
    if subtypes < 1 or plain.shape != (size_of(tags, 0, subtypes),):
        raise GrammarError("the weights of steps from tag to tag are not as many as tags and subtypes need")
    if steps.shape != (len(forms.names), tags * subtypes) or len(forms.numbers) != len(forms.names):
        raise GrammarError("there are not weights for every form, tag and subtype")
    return TagForms(tags, subtypes, forms, np.concatenate([plain, GRID * steps.ravel()]))


def start_forms(tags: int, subtypes: int, forms: Forms, noise: float, seed: int = 0) -> TagForms:
    """A tagger to start learning from: forms weigh nothing, steps uniform within ± noise, which parts the subtypes."""
    cut = size_of(tags, 0, subtypes)
    value = np.zeros(cut + len(forms.names) * tags * subtypes)
    if subtypes > 1:
        value[:cut] = np.random.default_rng(seed).uniform(-noise, noise, cut)
    return TagForms(tags, subtypes, forms, value)
