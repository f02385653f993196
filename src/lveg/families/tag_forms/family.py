"""Discrete subtypes times the forms of words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lveg.contexts.forms.context import Forms
from lveg.families.chain import open_table
from lveg.families.contextual.chain import ContextualChain
from lveg.families.tag_lvg.family import TagLvg, size_of


class TagForms(ContextualChain):
    """A chain of tags with discrete subtypes and no emissions, times the forms of words."""

    name = "forms"

    def rounded(self) -> TagForms:
        """The same with quantised weights of forms, and without those that hardly weigh."""
        contexts = (context.rounded() if isinstance(context, Forms) else context for context in self.contexts)
        return replace(self, contexts=tuple(contexts))


def start_chain(tags: int, subtypes: int, noise: float, seed: int = 0) -> TagLvg:
    """A chain without emissions to start learning from: log weights uniform within ± noise, so that subtypes differ."""
    size = size_of(tags, 0, subtypes)
    value = np.zeros(size)
    if subtypes > 1:
        value = np.random.default_rng(seed).uniform(-noise, noise, size)
    return TagLvg(open_table(tags), tags, 0, subtypes, value)
