"""Learning a tagger that sees the forms of words, by the conditional likelihood of tags."""

from __future__ import annotations

import numpy as np

from lveg.families.family import Facts
from lveg.families.tag_forms.family import TagForms, start_forms
from lveg.families.tag_forms.options import TagFormsOptions
from lveg.families.tag_lvg.family import size_of
from lveg.grammar.forms import learn_forms
from lveg.learning.data import TagData
from lveg.learning.epochs import descend, gradient_copies
from lveg.learning.examples import Examples
from lveg.learning.memory import check_memory
from lveg.learning.run import Run


def learn(data: TagData, options: TagFormsOptions, run: Run) -> tuple[TagForms, Facts]:
    """The tagger with the best score of all epochs, or the last one if there is no score."""
    forms = learn_forms([word for word, _ in sentence] for sentence in data.tagged)
    n_tags = len(data.grammar.tags)
    n_weights = size_of(n_tags, 0, options.subtypes) + len(forms.names) * n_tags * options.subtypes
    check_memory(f"--subtypes {options.subtypes}", n_weights, gradient_copies(options))
    first = start_forms(len(data.grammar.tags), options.subtypes, forms, options.noise, run.seed)
    numbers = {tag: index for index, tag in enumerate(data.grammar.tags)}
    examples = Examples(2**40)
    for sentence in data.tagged:
        counts, rows = forms.rows([word for word, _ in sentence])
        tags = [numbers[tag] for _, tag in sentence]
        examples.append(np.array([len(tags), len(rows), *tags, *counts, *rows], np.int32))
    return descend(first, examples, options, run).rounded(), {}
