"""Training of parsers, taggers and tokenisers, from files or from data in memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from lveg.chart.coarse import CoarseParser, Parses
from lveg.compact import chosen, compact_sentences
from lveg.errors import UsageError
from lveg.evaluation.calibration import best_sharpness
from lveg.evaluation.models import ParserScores, score_parser, score_tagger, score_tokeniser
from lveg.families.chain import Chains
from lveg.families.forest import ForestFamily, Judge
from lveg.families.registry import Kind, treebank_kind
from lveg.grammar.binarise import learn_heads
from lveg.grammar.estimate import hmm_weights, pcfg_weights
from lveg.grammar.grammar import Grammar, fingerprint, tag_grammar, tree_grammar
from lveg.grammar.lexicon import MANY_TAGS, SMOOTH_MANY
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TagData, TreeData
from lveg.learning.options import ForestOptions
from lveg.learning.run import Run, Workers
from lveg.model import Parser, Tagger, combine
from lveg.options import Options
from lveg.parallel import ordered_map
from lveg.recipe import Recipe, Task, make_recipe
from lveg.report import Report, counted, logged
from lveg.task_options import ParserOptions, TaggerOptions, TokeniserOptions
from lveg.text.characters import examples, stand_ins
from lveg.text.expansions import learn_expansions
from lveg.text.learned import LearnedTokeniser
from lveg.treebank.given import (
    Item,
    Pairs,
    Sentences,
    Texts,
    Trees,
    check_files,
    gold_tags,
    gold_tokens,
    gold_trees,
    items_of,
    short_enough,
)
from lveg.treebank.source import Faults
from lveg.trees import Tree, trees_fingerprint


@dataclass(frozen=True)
class Setting:
    """How training is carried out; none of these settings changes the trained model.

    report: receives what happens; by default, the logger `lveg`. faults: how malformed sentences are handled.
    checkpoint: where the state of a long run is saved; the caller removes it once the model is saved. keep: called with
    a name and a model for each intermediate model worth saving. workers: compute expectations and gradients; by
    default, threads.
    """

    threads: int = 1
    report: Report = logged
    faults: Faults | None = None
    checkpoint: Checkpoint | None = None
    keep: Callable[[str, Any], None] | None = None
    workers: Workers | None = None


DEFAULTS = Setting()


def train_parser(
    train: Trees, dev: Trees = (), model: str | None = None, setting: Setting = DEFAULTS, **options: Any
) -> Parser:
    """Train a parser; its scores on the development trees are in `info`.

    train, dev: files, or trees. model: the name of a family, see `lveg train parser --help`. options: those listed by
    `lveg train parser --model NAME --help`, with `_` for `-`.
    """
    begun = time.perf_counter()
    recipe = make_recipe("parser", ParserOptions, model, options)
    task = recipe.task
    trees = gold_trees(train, task.cleaning, setting.faults)
    trees = short_enough(trees, task.max_length, lambda tree: len(tree.words()), setting.report)
    whole = replace(task.cleaning, collapse_unaries=False)
    gold = gold_trees(dev, whole, setting.faults, "to score on") if dev else []
    parser = _train(trees, gold, recipe.for_size(len(trees), options), setting, _learn_parser, trees_fingerprint)
    setting.report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return parser


def _learn_parser(
    trees: Sequence[Tree], gold: Sequence[Tree], recipe: Recipe[ParserOptions], setting: Setting, found: Found
) -> tuple[Parser, Found]:
    """Train a parser on some trees; with gold trees, also find the best rounds, decoder and sharpness on them."""
    kind, task, own, above = recipe.kind, recipe.task, recipe.own, recipe.above
    binarisation = task.binarisation
    if binarisation.direction == "head":
        binarisation = replace(binarisation, heads=learn_heads(trees))
    grammar = tree_grammar(trees, binarisation, task.lexicon)
    _announce(grammar, setting.report)
    weight = pcfg_weights(grammar)
    info = recipe.info(grammar, len(trees))
    info |= {"dev_fingerprint": trees_fingerprint(gold)} if gold else {}
    origin = recipe.start and recipe.start.check(grammar)
    info |= {"start_fingerprint": recipe.start.name} if recipe.start else {}
    plain = treebank_kind("parser").load_family().restore(grammar, weight, {}, {})
    start = Parser(grammar, weight, task.cleaning, binarisation, info, cast(Judge, plain))
    coarse = replace(start.coarse, is_exact=False)
    prepared: list[Parses] | None = None
    if gold and not kind.is_treebank:
        p_min = min(cast(type[Judge], item.load_family()).p_min for item in (kind, *recipe.partners))
        prepared = coarse_parses(coarse, gold, p_min, setting)

    def score_all(family: Judge, decoder: str | None = None, marginals: bool = True) -> ParserScores:
        parser = replace(start, family=family)
        return score_parser(parser, gold, decoder, setting.threads, setting.report, prepared, marginals)

    def score(family: Judge) -> tuple[float, dict[str, Any]]:
        summed = score_all(family, marginals=False).summary
        names = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
        return summed["f1"], {f"dev_{name}": summed[name] for name in names}

    run = _run(
        setting, recipe, score if gold else None, lambda family: replace(start, family=family),
        train=trees_fingerprint(trees), info=info, found=found,
    )  # fmt: skip
    data = TreeData(coarse, binarisation, trees, task.lexicon, origin)
    is_staged = above or recipe.partners
    contexts = _contexts(data, above, task.seed)
    bases = [partial(_learn_base, item, chosen) for item, chosen in recipe.bases.items()]
    family, facts = kind.load_learning()(data, own, run.stage(0) if is_staged else run, *bases)
    if above:
        family = _with_contexts(data, family, own, above, contexts, run.stage(1))
    if recipe.partners:
        members = (family, *_partners(data, recipe.partners, run))
        family = combine([replace(start, family=member) for member in members]).family
    decoder, sharpness = found.decoder, found.sharpness
    if gold:
        decoders = ("max-rule", "mbr") if recipe.is_gradual else ("max-rule",)
        scores = {decoder: score_all(family, decoder) for decoder in decoders}
        best = max(decoders, key=lambda decoder: float(scores[decoder].summary["f1"]))
        decoder = best if recipe.is_gradual else None
        sharpness = list(best_sharpness(scores[best].parses, gold)) if is_staged else None
        facts = facts | {"dev": scores[best].summary}
        setting.report("dev", facts["dev"])
    facts |= {"decoder": decoder} if decoder else {}
    facts |= {"sharpness": sharpness} if sharpness else {}
    return replace(start, info=info | facts, family=family), Found(run.best, decoder, sharpness)


def coarse_parses(coarse: CoarseParser, gold: Sequence[Tree], p_min: float, setting: Setting) -> list[Parses]:
    """The pruned forests of the development sentences; they do not change in training, so they are computed once."""
    words = [tree.words() for tree in gold]
    found = ordered_map(lambda sentence: coarse.parses(sentence, p_min), words, setting.threads)
    return list(counted(found, setting.report, "development forests", len(gold)))


def train_tagger(
    train: Sentences, dev: Sentences = (), model: str | None = None, setting: Setting = DEFAULTS, **options: Any
) -> Tagger:
    """Train a tagger; its scores on the development sentences are in `info`.

    train, dev: CoNLL-U files, or sentences as (word, tag) pairs. model, options: see `train_parser`.
    """
    begun = time.perf_counter()
    recipe = make_recipe("tagger", TaggerOptions, model, options)
    column = recipe.task.column
    train, dev = items_of(train), items_of(dev)
    if recipe.task.with_tokeniser:
        check_files([*train, *dev], "a tokeniser")
    tagged = gold_tags(train, column, setting.faults)
    tagged = short_enough(tagged, recipe.task.max_length, len, setting.report)
    gold = gold_tags(dev, column, setting.faults, "to score on") if dev else []
    recipe = recipe.for_size(len(tagged), options)
    if len({tag for sentence in tagged for _, tag in sentence}) > MANY_TAGS:
        recipe = replace(recipe, task=recipe.task.unless_given(options, smooth=SMOOTH_MANY))
    tagger = _train(tagged, gold, recipe, setting, _learn_tagger, fingerprint)
    if recipe.task.with_tokeniser:
        apart = replace(setting, checkpoint=setting.checkpoint and setting.checkpoint.stage(_APART), keep=None)
        common = {name: getattr(recipe.task, name) for name in ("max_length", "seed", "held_out")}
        tagger = replace(tagger, tokeniser=train_tokeniser(train, dev, setting=apart, **common))
    setting.report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return tagger


_APART = 9  # the stage of a tokeniser that is trained with a tagger, in checkpoints


def train_tokeniser(
    train: Texts, dev: Texts = (), model: str | None = None, setting: Setting = DEFAULTS, **options: Any
) -> LearnedTokeniser:
    """Train a tokeniser; its scores on the development sentences are in `info`.

    train, dev: CoNLL-U files, or sentences as tokens. model, options: see `train_parser`.
    """
    begun = time.perf_counter()
    recipe = make_recipe("tokeniser", TokeniserOptions, model, options)
    sentences = gold_tokens(train, setting.faults)
    limit = recipe.task.max_length
    sentences = short_enough(sentences, limit, lambda sentence: len(sentence.words), setting.report)
    if all(token.space_after for sentence in sentences for token in sentence.tokens[:-1]):
        note = "there is white space after every token: the tokeniser will divide text at white space only"
        setting.report("text", {"note": note})
    gold = gold_tokens(dev, setting.faults, "to score on") if dev else []
    chunks = compact_sentences(examples(sentences))
    recipe = recipe.for_size(len(chunks), options)
    inner = replace(setting, report=_of_characters(setting.report))
    seen_as = stand_ins(sentences)
    tagger = _train(chunks, examples(gold, seen_as), recipe, inner, _learn_tagger, fingerprint)
    joins_spaces = any(" " in token.surface for sentence in sentences for token in sentence.tokens)
    tokeniser = LearnedTokeniser(tagger, learn_expansions(sentences), joins_spaces, seen_as)
    tokeniser.info["train_sentences"] = len(sentences)
    if gold:
        tokeniser.info["dev"] = score_tokeniser(tokeniser, gold).summary()
        setting.report("dev", tokeniser.info["dev"])
    setting.report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return tokeniser


def _of_characters(report: Report) -> Report:
    """A report in which the scores of a chain are those of characters; its final scores are left out."""

    def renamed(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and "dev_token_accuracy" in facts:
            facts = {name: value for name, value in facts.items() if name != "dev_sentence_accuracy"}
            facts["dev_character_accuracy"] = facts.pop("dev_token_accuracy")
        if event != "dev":
            report(event, facts)

    return renamed


def _learn_tagger(
    tagged: Sequence[Pairs], gold: Sequence[Pairs], recipe: Recipe[Any], setting: Setting, found: Found
) -> tuple[Tagger, Found]:
    """Train a tagger on some sentences; with gold sentences, also find the best rounds on them."""
    task = recipe.task
    grammar = tag_grammar(tagged, task.lexicon)
    _announce(grammar, setting.report)
    weight = hmm_weights(grammar)
    info = recipe.info(grammar, len(tagged)) | ({"dev_fingerprint": fingerprint(gold)} if gold else {})
    plain = treebank_kind("tagger").load_family().restore(grammar, weight, {}, {})
    start = Tagger(grammar, weight, task.column, info, cast(Chains, plain))

    def score(family: Chains) -> tuple[float, dict[str, Any]]:
        tagger = replace(start, family=family)
        scores = score_tagger(tagger, gold, threads=setting.threads, report=setting.report)
        facts = {f"dev_{name}": scores.summary[name] for name in ("token_accuracy", "sentence_accuracy")}
        return scores.counts.token_accuracy, facts

    run = _run(
        setting, recipe, score if gold else None, lambda family: replace(start, family=family),
        train=fingerprint(tagged), info=info, found=found,
    )  # fmt: skip
    family, facts = recipe.kind.load_learning()(TagData(grammar, weight, tagged), recipe.own, run)
    tagger = replace(start, info=info | facts, family=family)
    if gold:
        tagger.info["dev"] = score_tagger(tagger, gold, threads=setting.threads, report=setting.report).summary
        setting.report("dev", tagger.info["dev"])
    return tagger, Found(run.best)


Trained = TypeVar("Trained", Parser, Tagger)


@dataclass(frozen=True)
class Found:
    """The best settings on held-out sentences: the rounds of each stage (see Run), the decoder, and the sharpness of
    the probabilities of constituents (see Parser)."""

    rounds: dict[str, int] = field(default_factory=dict)
    decoder: str | None = None
    sharpness: list[float] | None = None


FEW = 50
"""With fewer sentences, none are held out: too few would be left for training and for scoring."""

MOST_HELD_OUT = 3000
"""Held-out sentences are scored after every epoch and stay in memory; more of them would choose no better."""


def _train(
    items: Sequence[Item], gold: Sequence[Item], recipe: Recipe[Task], setting: Setting,
    learn: Callable[[Sequence[Item], Sequence[Item], Recipe[Task], Setting, Found], tuple[Trained, Found]],
    name: Callable[[Sequence[Item]], str],
) -> Trained:  # fmt: skip
    """Train on all items and score on `gold`; without gold items, use the number of rounds found on held-out items.

    learn: trains on some items and scores on others, given settings that are already known. name: the fingerprint of
    items.
    """
    if setting.checkpoint is not None and not setting.checkpoint.is_stage:
        setting.checkpoint.announce(setting.report)
    share = recipe.task.held_out
    if gold or not share or not recipe.is_gradual or len(items) < FEW:
        return learn(items, gold, recipe, setting, Found())[0]
    if recipe.start:
        raise UsageError(
            f"{recipe.start.flag} needs --dev or --held-out 0: without the held-out trees, the rules would differ"
        )
    parts = setting.checkpoint
    values = recipe.task.record() | recipe.record()
    if parts is not None:
        parts = parts.keyed(train=name(items), **recipe.key)
    kept = parts and parts.load(setting.report)
    if kept and kept[0]["options"] == values:
        facts = kept[0]["held_out"]
    else:
        rest, held = hold_out(items, share, recipe.task.seed)
        setting.report("held out", {"sentences": len(held), "to_learn_from": len(rest)})
        search = replace(setting, checkpoint=parts and parts.stage(0), keep=None)
        model, found = learn(rest, held, recipe, search, Found())
        facts = {"sentences": len(held), "rounds": found.rounds, "scores": model.info["dev"]}
        facts |= {"decoder": found.decoder} if found.decoder else {}
        facts |= {"sharpness": found.sharpness} if found.sharpness else {}
        if parts is not None:
            parts.save({"options": values, "held_out": facts}, {}, setting.report)
    rounds = facts["rounds"]
    setting.report("all sentences", {"sentences": len(items), "rounds": " + ".join(map(str, rounds.values()))})
    final = replace(setting, checkpoint=parts and parts.stage(1))
    model, _ = learn(items, [], recipe, final, Found(rounds, facts.get("decoder"), facts.get("sharpness")))
    return replace(model, info=model.info | {"held_out": facts})


def hold_out(items: Sequence[Item], share: float, seed: int) -> tuple[Sequence[Item], Sequence[Item]]:
    """(the rest, the held-out share of the items, at most MOST_HELD_OUT), both in order.

    They depend only on the number of items and the seed.
    """
    order = np.random.default_rng([seed, len(items)]).permutation(len(items))
    is_held = np.zeros(len(items), dtype=bool)
    is_held[order[: min(max(1, round(share * len(items))), MOST_HELD_OUT)]] = True
    return chosen(items, ~is_held), chosen(items, is_held)


def _learn_base(kind: Kind, options: Options, data: TreeData, run: Run) -> ForestFamily:
    """Train the base of another family."""
    family: ForestFamily = kind.load_learning()(data, options, run)[0]
    return family


def _partners(data: TreeData, partners: Sequence[Kind], run: Run) -> list[Judge]:
    """Train partners, with their default options."""
    found = []
    for number, kind in enumerate(partners, start=2):
        run.report("partner", {"model": kind.name})
        options = kind.load_options()().for_size(len(data.trees), ())
        family, _ = kind.load_learning()(data, options, run.stage(number))
        found.append(family)
    return found


def _contexts(data: TreeData, above: dict[Kind, Options], seed: int) -> list[Any]:
    """The untrained contexts; they are made before training, so that missing files are reported early."""
    return [kind.load_learning()(data, chosen, seed) for kind, chosen in above.items() if not kind.is_layer]


def _with_contexts(
    data: TreeData, family: Any, own: Options, above: dict[Kind, Options], contexts: Sequence[Any], run: Run
) -> Judge:
    """Train contexts on top of a family, with the forest options of the family."""
    layer, options = next(iter(above.items()))
    if not isinstance(family, ForestFamily):
        raise UsageError(f"a parser of model {family.name} cannot have contexts")
    forests = own if isinstance(own, ForestOptions) else ForestOptions()
    learned: Judge = layer.load_learning()(data, family, contexts, options, forests, run)
    return learned


def _run(
    setting: Setting, recipe: Recipe[Any], score: Callable[[Any], Any] | None, model: Callable[[Any], Any], train: str,
    info: dict[str, Any], found: Found,
) -> Run:  # fmt: skip
    """The run of a recipe; it resumes from a checkpoint of the same data and options."""
    keep, checkpoint = setting.keep, setting.checkpoint
    key = {"train": train, "dev": info.get("dev_fingerprint"), "grammar": info["train_fingerprint"], **recipe.key}
    return Run(
        seed=recipe.task.seed,
        threads=setting.threads,
        report=setting.report,
        checkpoint=None if checkpoint is None else checkpoint.keyed(**key),
        score=score,
        keep=None if keep is None else lambda name, family: keep(name, model(family)),
        workers=setting.workers,
        fixed=found.rounds,
    )


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
