"""Learning a tagger that sees the forms of words, by the conditional likelihood of tags."""

from __future__ import annotations

from lveg.contexts.forms.context import start_forms
from lveg.families.family import Facts
from lveg.families.tag_forms.family import TagForms, start_chain
from lveg.families.tag_forms.options import TagFormsOptions
from lveg.families.tag_lvg.family import size_of
from lveg.learning.data import TagData
from lveg.learning.epochs import descend, gradient_copies
from lveg.learning.memory import check_memory
from lveg.learning.run import Run


def learn(data: TagData, options: TagFormsOptions, run: Run) -> tuple[TagForms, Facts]:
    """The tagger with the best score of all epochs, or the last one if there is no score."""
    tags = len(data.grammar.tags)
    forms = start_forms(([word for word, _ in sentence] for sentence in data.tagged), tags, options.subtypes)
    n_weights = size_of(tags, 0, options.subtypes) + forms.value.size
    check_memory(f"--subtypes {options.subtypes}", n_weights, gradient_copies(options))
    first = TagForms(start_chain(tags, options.subtypes, options.noise, run.seed), (forms,))
    return descend(first, first.examples(data.grammar, data.tagged), options, run).rounded(), {}
