"""`lveg warm`: compile all kernels in advance."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lveg.cli.options import Quiet

SMALL = {
    "epochs": 1, "cycles": 2, "components": 4, "subtypes": 2, "warm": 1, "batch": 16, "context_epochs": 1,
    "network_epochs": 1, "phrase_epochs": 1, "folds": 2,
}  # fmt: skip
"""Options that make training quick, for the models that have them."""


def warm(
    models: Annotated[
        list[str] | None,
        typer.Option("--model", metavar="NAME", help="Compile only the kernels of this model; may be repeated."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Compile the kernels in advance, so that the first parse or tagging is not delayed.

    Useful in a container image or an install script. Tiny models of every kind are
    trained and used; parsers and taggers in parallel if there are two cores.
    Compiled kernels are stored next to the package, or in NUMBA_CACHE_DIR. The few
    that only rare options need, such as --k-hard, are compiled when they are used.

        lveg warm
    """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    from lveg.errors import UsageError
    from lveg.families.registry import trainable
    from lveg.kernels.jit import uncached
    from lveg.parallel import default_threads
    from lveg.progress import say

    chosen = {task: [name for name in trainable(task) if not models or name in models] for task in ("parser", "tagger")}
    unknown = [name for name in models or [] if not any(name in names for names in chosen.values())]
    if unknown:
        raise UsageError(f"there is no model {unknown[0]!r}")
    if uncached:
        raise UsageError(
            "compiled kernels cannot be kept: no directory for them is writable; set NUMBA_CACHE_DIR to one"
        )
    workers = min(2, default_threads())
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        jobs = [(task, pool.submit(exercise, task, names, quiet)) for task, names in chosen.items() if names]
        for task, job in jobs:
            compiled, seconds = job.result()
            if not quiet:
                say(f"{task}: {compiled} kernels compiled in {seconds:.0f} s ({', '.join(chosen[task])})")


def exercise(task: str, names: list[str], quiet: bool = True) -> tuple[int, float]:
    """Train and use a tiny model of each name; returns the number of kernels compiled, and CPU seconds.

    Without `quiet`, each model is reported on stderr before its kernels are compiled.
    """
    import time

    from lveg.families.registry import bases_of, described, find, layers
    from lveg.kernels.jit import watch_compilation
    from lveg.model import combine
    from lveg.progress import say
    from lveg.training import train_parser, train_tagger
    from lveg.treebank.synthetic import ENGLISH, read_grammar, sample_trees

    count = 0

    def watch(number: int) -> None:
        nonlocal count
        count = number

    trees = list(sample_trees(read_grammar(ENGLISH), 30, 1, 12))
    tagged = [list(zip(tree.words(), tree.tags(), strict=True)) for tree in trees]
    begun = time.process_time()
    with watch_compilation(watch):
        parsers = []
        for name, context in (pair for model in names for pair in variants(task, model)):
            if not quiet:
                say(f"{task}: compiling {name}{f' with {context}' if context else ''} ({count} kernels so far)")
            kind = find(task, name)
            own = {item.name for item in described([kind, *bases_of(task, kind), *layers(task, context, name)])}
            options: dict[str, Any] = {key: value for key, value in SMALL.items() if key in own}
            options |= {} if context is None else {"context": context}
            if task == "tagger":
                tagger = train_tagger(tagged[:25], tagged[25:], name, **options)
                for decoder in ("posterior", "viterbi"):
                    tagger.tag(trees[0].words(), decoder, posteriors=True)
                continue
            parser = train_parser(trees[:25], trees[25:], name, **options)
            parsers.append(parser)
            for decoder in ("max-rule", "mbr"):
                parser.parse(trees[0].words(), decoder, 2, marginals=True)
            parser.parse("colourless green ideas sleep furiously")
            parser.sample(trees[0].words(), 2)
            parser.log_prob(trees[0])
            parser.explain(trees[0].words())
        if parsers:
            combine(parsers).parse(trees[0].words())
    return count, time.process_time() - begun


def variants(task: str, name: str) -> list[tuple[str, str | None]]:
    """The model alone, and with all contexts if it is the default model or has contexts of its own."""
    from lveg.families.registry import default_kind, find, trainable_contexts
    from lveg.options import describe

    found: list[tuple[str, str | None]] = [(name, None)]
    if trainable_contexts(task) and name == default_kind(task).name:
        found.append((name, ",".join(trainable_contexts(task))))
    for item in describe(find(task, name).load_options()):
        if item.name == "context":
            found.append((name, max(item.option.choices, key=len)))
    return found
