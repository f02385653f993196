"""Training a parser or a tagger, from files or from what is in memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, cast

from lveg._version import __version__
from lveg.chart.coarse import CoarseParser, Parses
from lveg.errors import UsageError
from lveg.evaluation.models import score_parser, score_tagger
from lveg.families.chain import Chains
from lveg.families.forest import ForestFamily, Judge
from lveg.families.registry import (
    NO_CONTEXT,
    Kind,
    default_kind,
    find_trainable,
    layers,
    partner_kinds,
    treebank_kind,
)
from lveg.grammar.binarise import learn_heads
from lveg.grammar.estimate import hmm_weights, pcfg_weights
from lveg.grammar.grammar import Grammar, fingerprint, tag_grammar, tree_grammar
from lveg.grammar.lexicon import Tagged
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TagData, TreeData
from lveg.learning.options import ForestOptions
from lveg.learning.run import Run
from lveg.model import Parser, Tagger, combine
from lveg.options import Options
from lveg.report import Report, silent
from lveg.task_options import ParserOptions, TaggerOptions, TaskOptions
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_gold_trees
from lveg.treebank.source import Faults
from lveg.trees import Cleaning, Tree, trees_fingerprint

Path = str | os.PathLike[str]
Trees = Path | Iterable[Path] | Iterable[Tree]
"""Files of bracketed trees, or trees."""

Sentences = Path | Iterable[Path] | Iterable[Tagged]
"""CoNLL-U files, or sentences as (word, tag) pairs."""


@dataclass(frozen=True)
class Setting:
    """How training is carried out; nothing here changes a bit of the model.

    faults: what happens at malformed sentences. checkpoint: where the state of a long run is kept; it is the caller's
    to remove once the model is safe. keep: gets a name and a model worth keeping beside the one that is trained.
    """

    threads: int = 1
    report: Report = silent
    faults: Faults | None = None
    checkpoint: Checkpoint | None = None
    keep: Callable[[str, Any], None] | None = None


QUIET = Setting()


def train_parser(
    train: Trees, dev: Trees = (), model: str | None = None, setting: Setting = QUIET, **options: Any
) -> Parser:
    """The parser of the training trees, with its scores on the development trees in `info`.

    train, dev: files, or trees. model: a family's name, as `lveg train parser --help` lists them. options: those of
    `lveg train parser --model NAME --help`, with `_` for `-`.
    """
    begun = time.perf_counter()
    kind, task, own, above = _options("parser", ParserOptions, model, options)
    trees = _gold_trees(train, task.cleaning, setting.faults)
    trees = _short_enough(trees, task.max_length, lambda tree: len(tree.words()), setting.report)
    binarisation = task.binarisation
    if binarisation.direction == "head":
        binarisation = replace(binarisation, heads=learn_heads(trees))
    own = own.for_size(len(trees), options)
    above = {item: chosen.for_size(len(trees), options) for item, chosen in above.items()}
    grammar = tree_grammar(trees, binarisation, task.lexicon)
    gold = (
        _gold_trees(dev, replace(task.cleaning, collapse_unaries=False), setting.faults, "to score on") if dev else []
    )
    _announce(grammar, setting.report)
    weight = pcfg_weights(grammar)
    info = _info(task, kind, [own, *above.values()], grammar, len(trees))
    info |= {"dev_fingerprint": trees_fingerprint(gold)} if gold else {}
    plain = treebank_kind("parser").load_family().restore(grammar, weight, {}, {})
    start = Parser(grammar, weight, task.cleaning, binarisation, info, cast(Judge, plain))
    prepared: list[Parses] | None = None
    partners = partner_kinds("parser", kind) if task.ensemble else []
    if task.ensemble and not partners:
        raise UsageError(f"--ensemble has no partner for --model {kind.name}: leave --model out")
    if gold and not kind.is_treebank:
        coarse = replace(start.coarse, is_exact=False)
        p_min = min(cast(type[Judge], item.load_family()).p_min for item in (kind, *partners))
        prepared = coarse_parses(coarse, gold, p_min, setting)

    def summary(family: Judge, decoder: str | None = None) -> dict[str, Any]:
        parser = replace(start, family=family)
        scores = score_parser(parser, gold, decoder, setting.threads, setting.report, prepared)
        return scores.summary

    def score(family: Judge) -> tuple[float, dict[str, Any]]:
        found = summary(family)
        told = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
        return found["f1"], {f"dev_{name}": found[name] for name in told}

    run = _run(
        setting, task, score if gold else None, lambda family: replace(start, family=family),
        train=trees_fingerprint(trees), info=info, own=[own, *above.values()],
    )  # fmt: skip
    data = TreeData(start.coarse, binarisation, trees)
    is_staged = above or partners
    family, facts = kind.load_learning()(data, own, run.stage(0) if is_staged else run)
    if above:
        family = _with_contexts(data, family, own, above, run.stage(1))
    if partners:
        members = (family, *_partners(data, partners, run))
        family = combine([replace(start, family=member) for member in members]).family
    if gold:
        decoders = ("max-rule", "mbr") if is_staged else ("max-rule",)
        scores = {decoder: summary(family, decoder) for decoder in decoders}
        decoder = max(decoders, key=lambda decoder: float(scores[decoder]["f1"]))
        facts = facts | ({"decoder": decoder} if is_staged else {}) | {"dev": scores[decoder]}
        setting.report("dev", facts["dev"])
    setting.report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return replace(start, info=info | facts, family=family)


def coarse_parses(coarse: CoarseParser, gold: Sequence[Tree], p_min: float, setting: Setting) -> list[Parses]:
    """What the coarse grammar leaves of each development sentence; learning changes nothing in it."""
    prepared: list[Parses] = []
    words = [tree.words() for tree in gold]
    run = Run(threads=setting.threads)
    for parses in run.map(lambda sentence: coarse.parses(sentence, p_min), words):
        prepared.append(parses)
        setting.report("progress", {"what": "development forests", "done": len(prepared), "total": len(gold)})
    return prepared


def train_tagger(
    train: Sentences, dev: Sentences = (), model: str | None = None, setting: Setting = QUIET, **options: Any
) -> Tagger:
    """The tagger of the training sentences, with its scores on the development sentences in `info`.

    train, dev: CoNLL-U files, or sentences as (word, tag) pairs. model, options: see `train_parser`.
    """
    begun = time.perf_counter()
    kind, task, own, _ = _options("tagger", TaggerOptions, model, options)
    tagged = _gold_tags(train, task.column, setting.faults)
    tagged = _short_enough(tagged, task.max_length, len, setting.report)
    own = own.for_size(len(tagged), options)
    grammar = tag_grammar(tagged, task.lexicon)
    gold = _gold_tags(dev, task.column, setting.faults, "to score on") if dev else []
    _announce(grammar, setting.report)
    weight = hmm_weights(grammar)
    info = _info(task, kind, [own], grammar, len(tagged)) | ({"dev_fingerprint": fingerprint(gold)} if gold else {})
    plain = treebank_kind("tagger").load_family().restore(grammar, weight, {}, {})
    start = Tagger(grammar, weight, task.column, info, cast(Chains, plain))

    def score(family: Chains) -> tuple[float, dict[str, Any]]:
        tagger = replace(start, family=family)
        scores = score_tagger(tagger, gold, threads=setting.threads, report=setting.report)
        facts = {f"dev_{name}": scores.summary[name] for name in ("token_accuracy", "sentence_accuracy")}
        return scores.counts.token_accuracy, facts

    run = _run(
        setting, task, score if gold else None, lambda family: replace(start, family=family),
        train=fingerprint(tagged), info=info, own=[own],
    )  # fmt: skip
    family, facts = kind.load_learning()(TagData(grammar, weight, tagged), own, run)
    tagger = replace(start, info=info | facts, family=family)
    if gold:
        tagger.info["dev"] = score_tagger(tagger, gold, threads=setting.threads, report=setting.report).summary
        setting.report("dev", tagger.info["dev"])
    setting.report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return tagger


Task = TypeVar("Task", bound=TaskOptions)


def _options(
    task: str, form: type[Task], model: str | None, given: dict[str, Any]
) -> tuple[Kind, Task, Options, dict[Kind, Options]]:
    """(the family, the options of the task, those of the family, those of what goes on top) from keywords.

    On top go contexts, and before them the family that learns them.
    """
    kind = default_kind(task) if model is None else find_trainable(task, model)
    above = layers(task, given.get("context"), model, given)
    rest = dict(given)
    if task == "parser":
        rest["context"] = ",".join(item.name for item in above[1:]) or NO_CONTEXT
    task_options, own = form.take(rest), kind.load_options().take(rest)
    chosen = {item: item.load_options().take(rest) for item in above}
    if rest:
        raise UsageError(f"{', '.join(rest)}: not an option of a {task} of model {kind.name}")
    return kind, task_options, own, chosen


def _partners(data: TreeData, partners: Sequence[Kind], run: Run) -> list[Judge]:
    """Families that are trained beside another one, with their usual options."""
    found = []
    for number, kind in enumerate(partners, start=2):
        run.report("partner", {"model": kind.name})
        options = kind.load_options()().for_size(len(data.trees), ())
        family, _ = kind.load_learning()(data, options, run.stage(number))
        found.append(family)
    return found


def _with_contexts(data: TreeData, family: Any, own: Options, above: dict[Kind, Options], run: Run) -> Judge:
    """The family with contexts on top, learned; the forests are those that its own options tell of."""
    (layer, options), *contexts = above.items()
    if not isinstance(family, ForestFamily):
        raise UsageError(f"a parser of model {family.name} takes no context")
    started = [kind.load_learning()(data, chosen, run.seed) for kind, chosen in contexts]
    forests = own if isinstance(own, ForestOptions) else ForestOptions()
    learned: Judge = layer.load_learning()(data, family, started, options, forests, run)
    return learned


def _run(
    setting: Setting, task: TaskOptions, score: Callable[[Any], Any] | None, model: Callable[[Any], Any], train: str,
    info: dict[str, Any], own: Sequence[Options],
) -> Run:  # fmt: skip
    """How learning is carried out; a run goes on from a checkpoint of the same data and options."""
    keep, checkpoint = setting.keep, setting.checkpoint
    key = {"train": train, "dev": info.get("dev_fingerprint"), "grammar": info["train_fingerprint"]}
    key |= {"model": info["config"]["model"], "task": task.record(True), "options": _record(own, True)}
    return Run(
        seed=task.seed,
        threads=setting.threads,
        report=setting.report,
        checkpoint=None if checkpoint is None else checkpoint.keyed(**key),
        score=score,
        keep=None if keep is None else lambda name, family: keep(name, model(family)),
    )


Found = TypeVar("Found")


def _short_enough(found: list[Found], limit: int | None, length: Callable[[Found], int], report: Report) -> list[Found]:
    """Those of the sentences that are not longer than the limit."""
    report("read", {"sentences": len(found), "words": sum(map(length, found))})
    if limit is None:
        return found
    short = [item for item in found if length(item) <= limit]
    report("filter", {"sentences": len(short), "max_length": limit})
    if not short:
        raise UsageError(f"no training sentence has at most {limit} words: raise --max-length")
    return short


def _gold_trees(source: Trees, cleaning: Cleaning, faults: Faults | None, why: str = "to learn from") -> list[Tree]:
    """Cleaned trees, from files or from memory."""
    items = _items(source)
    if items and all(isinstance(item, Tree) for item in items):
        trees = [tree for tree in map(cleaning, items) if tree is not None]
    else:
        trees = read_gold_trees(_paths(items, "trees"), cleaning, faults)
    if not trees:
        raise UsageError(f"{_named(items)}there are no trees {why}")
    return trees


def _gold_tags(
    source: Sentences, column: str, faults: Faults | None, why: str = "to learn from"
) -> list[list[tuple[str, str]]]:
    """Tagged sentences, from files or from memory."""
    items = _items(source)
    if items and all(isinstance(item, list | tuple) for item in items):
        tagged = [list(map(partial(_pair, number), item)) for number, item in enumerate(items, start=1)]
    else:
        tagged = read_tagged(_paths(items, "sentences"), column, faults)
    if not tagged:
        raise UsageError(f"{_named(items)}there are no sentences {why}")
    return tagged


def _pair(sentence: int, found: Any) -> tuple[str, str]:
    """A word and its tag, checked."""
    if not (
        isinstance(found, list | tuple) and len(found) == 2 and all(isinstance(part, str) and part for part in found)
    ):
        raise UsageError(f"sentence {sentence}: expected (word, tag) pairs of texts, found {found!r}")
    return found[0], found[1]


def _items(source: Any) -> list[Any]:
    """One path, or whatever several items there are, in a list."""
    return [source] if isinstance(source, str | os.PathLike) else list(source)


def _paths(items: list[Any], others: str) -> list[str]:
    for item in items:
        if not isinstance(item, str | os.PathLike):
            raise UsageError(f"expected either files or {others}, found {item!r}")
    return [os.fspath(item) for item in items]


def _named(items: list[Any]) -> str:
    """The first path, to begin a message with."""
    return f"{os.fspath(items[0])}: " if items and isinstance(items[0], str | os.PathLike) else ""


def _announce(grammar: Grammar, report: Report) -> None:
    report(
        "grammar",
        {
            "tags": len(grammar.tags),
            "nonterminals": grammar.n_nonterminals,
            "binary": grammar.n_binary,
            "unary": grammar.n_unary,
            "lexical": grammar.n_rules - grammar.lexical_start,
            "words": len(grammar.lexicon.words),
            "classes": len(grammar.lexicon.classes),
        },
    )


def _record(options: Sequence[Options], for_resume: bool = False) -> dict[str, Any]:
    """The values of several groups of options."""
    return {name: value for group in options for name, value in group.record(for_resume).items()}


def _info(task: TaskOptions, kind: Kind, own: Sequence[Options], grammar: Grammar, sentences: int) -> dict[str, Any]:
    """What the model file tells about its making."""
    return {
        "lveg": __version__,
        "config": {"model": kind.name, **task.record(), **_record(own)},
        "train_fingerprint": grammar.fingerprint,
        "train_sentences": sentences,
    }
