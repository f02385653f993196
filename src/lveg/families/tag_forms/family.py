"""A chain of tags multiplied by factors for word forms."""

from __future__ import annotations

import numpy as np

from lveg.families.chain import open_table
from lveg.families.contextual.chain import ContextualChain
from lveg.families.tag_lvg.family import TagLvg, size_of


class TagForms(ContextualChain):
    """A chain of tags without emissions, multiplied by contexts: word forms, a network over word vectors, or both."""

    name = "forms"


def start_chain(tags: int, subtypes: int, noise: float, seed: int = 0) -> TagLvg:
    """An initial chain without emissions. Log weights are uniform in ± noise, so that subtypes differ."""
    size = size_of(tags, 0, subtypes)
    value = np.zeros(size)
    if subtypes > 1:
        value = np.random.default_rng(seed).uniform(-noise, noise, size)
    return TagLvg(open_table(tags), tags, 0, subtypes, value)
