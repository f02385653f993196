"""Learning a tagger that sees the forms of words, by the conditional likelihood of tags."""

from __future__ import annotations

import numpy as np

from lveg.contexts.forms.context import Forms, start_forms
from lveg.families.family import Facts
from lveg.families.tag_forms.family import TagForms, start_chain
from lveg.families.tag_forms.options import TagFormsOptions
from lveg.families.tag_gm.family import start_open_gm
from lveg.families.tag_lvg.family import TagLvg, size_of
from lveg.learning.data import TagData
from lveg.learning.epochs import descend, gradient_copies
from lveg.learning.memory import check_memory
from lveg.learning.run import Run


def learn(data: TagData, options: TagFormsOptions, run: Run) -> tuple[TagForms, Facts]:
    """The tagger with the best score of all epochs, or the last one if there is no score."""
    if options.chain == "discrete":
        return learn_discrete(data, options, options.subtypes, run), {}
    pruner = learn_discrete(data, options, 1, run.stage(0, epochs=options.epochs))
    return learn_gaussian(data, options, pruner, run.stage(1)), {}


def learn_discrete(data: TagData, options: TagFormsOptions, subtypes: int, run: Run) -> TagForms:
    """Discrete subtypes times forms."""
    tags = len(data.grammar.tags)
    forms = start_forms(([word for word, _ in sentence] for sentence in data.tagged), tags, subtypes)
    n_weights = size_of(tags, 0, subtypes) + forms.value.size
    check_memory(f"--subtypes {subtypes}", n_weights, gradient_copies(options))
    first = TagForms(start_chain(tags, subtypes, options.noise, run.seed), (forms,))
    return descend(first, first.examples(data.grammar, data.tagged), options, run).rounded()


def learn_gaussian(data: TagData, options: TagFormsOptions, pruner: TagForms, run: Run) -> TagForms:
    """Gaussian mixtures times forms, over the tags that the discrete chain leaves; starts where that one ended."""
    plain, (forms,) = pruner.family, pruner.contexts
    assert isinstance(plain, TagLvg)
    assert isinstance(forms, Forms)
    first, width = (
        start_open_gm(plain.tags, options.components, options.dim, options.spread, run.seed),
        options.components,
    )
    weights = plain.parts(plain.value)
    links = np.concatenate(
        [weights.transition.ravel(), weights.end.ravel(), weights.start.ravel(), np.zeros(plain.tags)]
    )
    first.parts(first.value).weight[:] = np.repeat(links, width)
    wide = Forms(forms.tags, width, forms.properties, np.repeat(forms.value, width))
    check_memory(f"--components {width}", first.value.size + wide.value.size, gradient_copies(options))
    start = TagForms(first, (wide,), pruner, options.tag_min)
    return descend(start, start.examples(data.grammar, data.tagged), options, run).rounded()
