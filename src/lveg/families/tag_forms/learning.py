"""Training a tagger with contexts: maximises the conditional likelihood of tags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lveg.contexts.context import ChainContext
from lveg.contexts.factored.context import Factored, attributes_of
from lveg.contexts.forms.context import start_forms
from lveg.contexts.layers import network_adam
from lveg.contexts.tag_network.context import start_network
from lveg.families.chain import with_lexicon
from lveg.families.family import Facts
from lveg.families.tag_forms.family import TagForms, start_chain
from lveg.families.tag_forms.options import NETWORK, TagFormsOptions
from lveg.families.tag_gm.family import start_open_gm
from lveg.families.tag_lvg.family import TagLvg, size_of
from lveg.grammar.grammar import Floats, Ints
from lveg.grammar.lexicon import MANY_TAGS
from lveg.learning.adam import Adam
from lveg.learning.data import TagData
from lveg.learning.epochs import Descent, batches, gradient_copies, run_epochs
from lveg.learning.examples import Examples
from lveg.learning.gradient import Gradient
from lveg.learning.memory import check_memory
from lveg.learning.optimiser import Optimiser
from lveg.learning.run import Run
from lveg.learning.sparse_adam import SparseAdam


def learn(data: TagData, options: TagFormsOptions, run: Run) -> tuple[TagForms, Facts]:
    """Train the tagger; returns the epoch with the best score, or the last epoch if there is no score."""
    if options.chain == "discrete":
        return learn_discrete(data, options, options.subtypes, run), {}
    pruner = learn_discrete(data, options, 1, run.stage(0, epochs=options.epochs))
    return learn_gaussian(data, options, pruner, run.stage(1)), {}


def learn_discrete(data: TagData, options: TagFormsOptions, subtypes: int, run: Run) -> TagForms:
    """Train discrete subtypes with contexts. With both contexts, the network is first trained without forms.

    With many tags, contexts score attributes of tags, and a word may have only the tags of the lexicon.
    """
    tags, is_large = len(data.grammar.tags), len(data.grammar.tags) > MANY_TAGS
    words = [[word for word, _ in sentence] for sentence in data.tagged]
    names, of_tag = attributes_of(data.grammar.tags) if is_large else (data.grammar.tags, None)
    chain, contexts = start_chain(tags, subtypes, options.noise, run.seed), list[ChainContext]()
    if options.uses_forms:
        contexts.append(start_forms(words, len(names), subtypes))
    if options.uses_network:
        contexts.append(start_network(words, len(names), subtypes, options, run.seed))
    if of_tag is not None:
        chain, contexts = with_lexicon(chain, data.grammar), [Factored(context, of_tag) for context in contexts]
    n_weights = size_of(tags, 0, subtypes) + sum(context.value.size for context in contexts)
    check_memory(f"--subtypes {subtypes}", n_weights, gradient_copies(options))
    if len(contexts) > 1 and options.network_epochs:
        alone = replace(
            options, context=NETWORK, epochs=options.network_epochs, batch=options.network_batch, patience=0
        )  # fmt: skip
        network = TagForms(chain, (contexts.pop(),), is_lexical=is_large)
        first = descend(network, data, alone, replace(run.stage(0), score=None))
        contexts.append(first.contexts[0].scaled(options.network_share))
    return descend(TagForms(chain, tuple(contexts), is_lexical=is_large), data, options, run).rounded()


def learn_gaussian(data: TagData, options: TagFormsOptions, pruner: TagForms, run: Run) -> TagForms:
    """Train Gaussian mixtures with contexts, over the tags that the discrete chain keeps and from its weights."""
    plain, width = pruner.family, options.components
    assert isinstance(plain, TagLvg)
    first = start_open_gm(plain.tags, options.components, options.dim, options.spread, run.seed)
    first = with_lexicon(first, data.grammar) if pruner.is_lexical else first
    weights = plain.parts(plain.value)
    links = np.concatenate(
        [weights.transition.ravel(), weights.end.ravel(), weights.start.ravel(), np.zeros(plain.tags)]
    )
    first.parts(first.value).weight[:] = np.repeat(links, width)
    dropout = options.network_dropout, options.input_dropout
    contexts = tuple(context.widened(width).thinned(*dropout) for context in pruner.contexts)
    n_weights = first.value.size + sum(context.value.size for context in contexts)
    check_memory(f"--components {width}", n_weights, gradient_copies(options))
    started = TagForms(first, contexts, pruner, options.tag_min, pruner.is_lexical)
    return descend(started, data, options, run).rounded()


def descend(first: TagForms, data: TagData, options: TagFormsOptions, run: Run) -> TagForms:
    """Train with Adam; for forms, each batch updates only the rows that it uses."""
    examples = first.examples(data.grammar, data.tagged)
    size, n_batches, own = len(examples), batches(len(examples), options.batch), first.family.value
    optimisers: list[Optimiser] = [Adam.at(own, own, options.learning_rate, options.l2 / size, n_batches)]
    for context, optimiser in zip(first.contexts, context_optimisers(options, size), strict=True):
        optimisers.append(optimiser(context.value, n_batches))
    progress = Descent(partial(gradient_at, first, examples), optimisers, size, options.batch, options.decay)
    return run_epochs(first.with_value, progress, options, run)


def gradient_at(model: TagForms, examples: Examples, values: Sequence[Floats]) -> Gradient:
    """The gradient with respect to the parameters of the chain and of each context."""
    present = model.with_parts(values)

    def gradient(numbers: Ints, slopes: Sequence[Floats], noise: int) -> tuple[float, Sequence[Ints]]:
        return present.add_to(examples.gather(numbers), slopes, noise)

    return gradient


def context_optimisers(options: TagFormsOptions, sentences: int) -> list[Callable[[Floats, int], Optimiser]]:
    """The optimiser of each context, given its parameters and the number of batches; forms first, as in a tagger."""
    found: list[Callable[[Floats, int], Optimiser]] = []
    if options.uses_forms:
        rate, pull = options.learning_rate, options.l2 / sentences
        found.append(lambda value, n_batches: SparseAdam.at(value, rate, pull, n_batches))
    if options.uses_network:
        slow = options.network_share if options.uses_forms else 1.0
        found.append(lambda value, n_batches: network_adam(options, value, n_batches, slow))
    return found
