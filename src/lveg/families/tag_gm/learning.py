"""Training a Gaussian mixture tagger by the conditional likelihood of tags."""

from __future__ import annotations

import math

from lveg.families.family import Facts
from lveg.families.tag_gm.family import TagGm, shapes_of, start_gm
from lveg.families.tag_gm.options import TagGmOptions
from lveg.learning.data import TagData
from lveg.learning.epochs import descend, gradient_copies
from lveg.learning.memory import check_memory
from lveg.learning.run import Run


def learn(data: TagData, options: TagGmOptions, run: Run) -> tuple[TagGm, Facts]:
    """The tagger with the best score of all epochs, or the last one if there is no score."""
    n_tags, n_words = len(data.grammar.tags), data.grammar.n_rules - data.grammar.lexical_start
    shapes = shapes_of(n_tags, n_words, options.components, options.dim, options.covariance)
    what = f"--components {options.components} --dim {options.dim}"
    check_memory(what, sum(map(math.prod, shapes)), gradient_copies(options))
    first = start_gm(
        data.grammar, data.weight, options.components, options.dim, options.covariance, options.spread, run.seed
    )
    return descend(first, first.examples(data.grammar, data.tagged), options, run), {}
