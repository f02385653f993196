"""Training a tagger with discrete subtypes: joint likelihood by EM, or conditional likelihood by gradients."""

from __future__ import annotations

from lveg.families.family import Facts
from lveg.families.tag_lvg.em import EM_COPIES, TagEm
from lveg.families.tag_lvg.family import TagLvg, size_of, start_lvg
from lveg.families.tag_lvg.options import TagLvgOptions
from lveg.grammar.grammar import Floats
from lveg.learning.data import TagData
from lveg.learning.epochs import Em, descend, gradient_copies, run_epochs
from lveg.learning.memory import check_memory
from lveg.learning.run import Run


def learn(data: TagData, options: TagLvgOptions, run: Run) -> tuple[TagLvg, Facts]:
    """The tagger with the best score of all epochs, or the last one if there is no score."""
    assert options.noise is not None
    n_tags, n_words = len(data.grammar.tags), data.grammar.n_rules - data.grammar.lexical_start
    copies = gradient_copies(options) if options.objective == "discriminative" else EM_COPIES
    check_memory(f"--subtypes {options.subtypes}", size_of(n_tags, n_words, options.subtypes), copies)
    first = start_lvg(data.grammar, data.weight, options.subtypes, options.noise, run.seed)
    examples = first.examples(data.grammar, data.tagged)
    if options.objective == "discriminative":
        return descend(first, examples, options, run), {}
    em = TagEm(first, data.grammar, data.weight, examples, options.smoothing, run)

    def step(value: Floats) -> tuple[Floats, float]:
        model, log_likelihood = em.step(first.with_value(value))
        return model.value, log_likelihood

    return run_epochs(first.with_value, Em(step, first.value, len(examples)), options, run), {}
