"""Training a parser or a tagger from files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lveg._version import __version__
from lveg.chart.coarse import CoarseParser, Parses
from lveg.errors import UsageError
from lveg.evaluation.models import score_parser, score_tagger
from lveg.families.estimate import hmm_weights, pcfg_weights
from lveg.families.gm import Gm
from lveg.families.lvg import Lvg
from lveg.families.multi_scale import MultiScale
from lveg.families.split_lvg import SplitLvg
from lveg.families.tag_forms import TagForms
from lveg.families.tags import TagFamily
from lveg.grammar.binarise import Binarisation, learn_heads
from lveg.grammar.grammar import fingerprint, tag_grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.gm import GmOptions, learn
from lveg.learning.lvg import LvgOptions, learn_lvg
from lveg.learning.multi_scale import MultiScaleOptions, learn_multi_scale
from lveg.learning.split_merge import SplitMerge, SplitMergeOptions
from lveg.learning.tags import TagFormsOptions, TagGmOptions, TagLvgOptions, TagOptions, learn_tags
from lveg.learning.tree_em import tree_em
from lveg.model import P_MIN, Parser, Tagger
from lveg.parallel import ordered_map
from lveg.report import Report, silent
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_gold_trees
from lveg.treebank.source import Faults
from lveg.trees import Cleaning, Tree, trees_fingerprint


@dataclass(frozen=True)
class ParserOptions:
    """How a parser is trained; everything here is recorded in the model."""

    model: str = "pcfg"
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    cleaning: Cleaning = field(default_factory=Cleaning)
    binarisation: Binarisation = field(default_factory=Binarisation)
    max_length: int | None = None
    seed: int = 0
    gm: GmOptions | None = None
    lvg: LvgOptions | None = None
    split_merge: SplitMergeOptions | None = None
    multi_scale: MultiScaleOptions | None = None


@dataclass(frozen=True)
class TaggerOptions:
    """How a tagger is trained; everything here is recorded in the model."""

    model: str = "forms"
    lexicon: LexiconOptions = field(default_factory=LexiconOptions)
    column: str = "upos"
    max_length: int | None = None
    seed: int = 0
    lvg: TagLvgOptions | None = None
    gm: TagGmOptions | None = None
    forms: TagFormsOptions | None = None


def train_parser(
    train: Sequence[str],
    dev: Sequence[str] = (),
    options: ParserOptions | None = None,
    threads: int = 1,
    faults: Faults | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
    keep: Callable[[str, Parser], None] | None = None,
) -> Parser:
    """The parser of the training files, with its scores on the development files in `info`.

    checkpoint: where the state of a long run is kept; it is the caller's to remove once the model is safe. keep: gets a
    name and the parser of every cycle of split-merge.
    """
    options = options or ParserOptions()
    if options.model not in P_MIN:
        raise UsageError(f"a parser of model {options.model!r} is not known; there are {', '.join(P_MIN)}")
    begun = time.perf_counter()
    trees = read_gold_trees(train, options.cleaning, faults)
    report("read", {"sentences": len(trees), "words": sum(len(tree.words()) for tree in trees)})
    if options.max_length is not None:
        trees = [tree for tree in trees if len(tree.words()) <= options.max_length]
        report("filter", {"sentences": len(trees), "max_length": options.max_length})
    if not trees:
        raise UsageError(f"{train[0]}: there are no trees to learn from" + _too_long(options.max_length))
    binarisation = options.binarisation
    if binarisation.direction == "head":
        binarisation = replace(binarisation, heads=learn_heads(trees))
    grammar = tree_grammar(trees, binarisation, options.lexicon)
    report(
        "grammar",
        {
            "symbols": len(grammar.symbols),
            "binary": grammar.n_binary,
            "unary": grammar.n_unary,
            "lexical": grammar.n_rules - grammar.lexical_start,
            "words": len(grammar.lexicon.words),
            "classes": len(grammar.lexicon.classes),
        },
    )
    info = _info("parser", options, grammar.fingerprint, len(trees))
    parser = Parser(grammar, pcfg_weights(grammar), options.cleaning, binarisation, info)
    gold: list[Tree] = []
    if dev:
        gold = read_gold_trees(dev, replace(options.cleaning, collapse_unaries=False), faults)
        if not gold:
            raise UsageError(f"{dev[0]}: there are no trees to score on")
        info["dev_fingerprint"] = trees_fingerprint(gold)
    prepared: list[Parses] | None = None
    if options.model != "pcfg":
        if gold:
            coarse = replace(parser.coarse, is_exact=False)
            prepared = coarse_parses(coarse, gold, P_MIN[options.model], threads, report)
        parser = _learn_parser(parser, trees, gold, prepared, options, threads, report, checkpoint, keep)
    if gold:
        info["dev"] = score_parser(parser, gold, threads=threads, report=report, prepared=prepared).summary
        report("dev", info["dev"])
    report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return parser


def _learn_parser(
    parser: Parser,
    trees: Sequence[Tree],
    gold: Sequence[Tree],
    prepared: list[Parses] | None,
    options: ParserOptions,
    threads: int,
    report: Report,
    checkpoint: Checkpoint | None,
    keep: Callable[[str, Parser], None] | None,
) -> Parser:
    """The parser with the grammar with latent subtypes that has the best F1 on the development trees."""
    coarse, scheme, seed = parser.coarse, parser.binarisation, options.seed

    def score(**latent: Gm | Lvg | SplitLvg | MultiScale) -> dict[str, Any]:
        learned = replace(parser, **latent)  # type: ignore[arg-type]
        return score_parser(learned, gold, threads=threads, report=report, prepared=prepared).summary

    if checkpoint is not None:
        own = ("gm", "lvg", "split_merge", "multi_scale")
        rest = {name: value for name, value in parser.info["settings"].items() if name not in own}
        checkpoint = checkpoint.keyed(train=trees_fingerprint(trees), dev=parser.info.get("dev_fingerprint"), rest=rest)
    if options.model == "split-merge":
        em = tree_em(parser.grammar, scheme, trees, threads)
        learner = SplitMerge(em, options.split_merge or SplitMergeOptions(), seed, report)
        split_lvg, parser.info["cycles"] = learner.learn(
            parser.weight,
            (lambda lvg: score(lvg=lvg)) if gold else None,
            checkpoint,
            None if keep is None else lambda cycle, lvg: keep(f"cycle{cycle}", replace(parser, lvg=lvg)),
        )
        return replace(parser, lvg=split_lvg)
    if options.model == "multi-scale":
        multi_scale = learn_multi_scale(
            coarse, scheme, trees, options.multi_scale or MultiScaleOptions(), seed, threads,
            (lambda lvg: score(lvg=lvg)) if gold else None, report, checkpoint,
        )  # fmt: skip
        return replace(parser, lvg=multi_scale)
    if options.model == "lvg":
        lvg = learn_lvg(
            coarse, scheme, trees, options.lvg or LvgOptions(), seed, threads,
            (lambda lvg: score(lvg=lvg)) if gold else None, report, checkpoint,
        )  # fmt: skip
        return replace(parser, lvg=lvg)
    gm = learn(
        coarse, scheme, trees, options.gm or GmOptions(), seed, threads,
        (lambda gm: score(gm=gm)) if gold else None, report, checkpoint,
    )  # fmt: skip
    return replace(parser, gm=gm)


def coarse_parses(
    coarse: CoarseParser, gold: Sequence[Tree], p_min: float, threads: int = 1, report: Report = silent
) -> list[Parses]:
    """What the coarse grammar leaves of each development sentence; learning changes nothing in it."""
    prepared: list[Parses] = []
    words = [tree.words() for tree in gold]
    for parses in ordered_map(lambda sentence: coarse.parses(sentence, p_min), words, threads):
        prepared.append(parses)
        report("progress", {"what": "development forests", "done": len(prepared), "total": len(gold)})
    return prepared


def train_tagger(
    train: Sequence[str],
    dev: Sequence[str] = (),
    options: TaggerOptions | None = None,
    threads: int = 1,
    faults: Faults | None = None,
    report: Report = silent,
    checkpoint: Checkpoint | None = None,
) -> Tagger:
    """The tagger of the training files, with its scores on the development files in `info`.

    checkpoint: where the state of a long run is kept; it is the caller's to remove once the model is safe.
    """
    options = options or TaggerOptions()
    if options.model not in ("forms", "hmm", "lvg", "gm"):
        raise UsageError(f"a tagger of model {options.model!r} is not known; there are forms, hmm, lvg and gm")
    begun = time.perf_counter()
    tagged = read_tagged(train, options.column, faults)
    report("read", {"sentences": len(tagged), "words": sum(map(len, tagged))})
    if options.max_length is not None:
        tagged = [sentence for sentence in tagged if len(sentence) <= options.max_length]
        report("filter", {"sentences": len(tagged), "max_length": options.max_length})
    if not tagged:
        raise UsageError(f"{train[0]}: there are no sentences to learn from" + _too_long(options.max_length))
    grammar = tag_grammar(tagged, options.lexicon)
    report(
        "grammar",
        {
            "tags": len(grammar.tags),
            "emissions": grammar.n_rules - grammar.lexical_start,
            "words": len(grammar.lexicon.words),
            "classes": len(grammar.lexicon.classes),
        },
    )
    info = _info("tagger", options, grammar.fingerprint, len(tagged))
    tagger = Tagger(grammar, hmm_weights(grammar), options.column, info)
    gold: list[list[tuple[str, str]]] = []
    if dev:
        gold = read_tagged(dev, options.column, faults)
        if not gold:
            raise UsageError(f"{dev[0]}: there are no sentences to score on")
        info["dev_fingerprint"] = fingerprint(gold)
    if options.model != "hmm":
        tagger = _learn_latent(tagger, tagged, gold, options, threads, report, checkpoint)
    if gold:
        info["dev"] = score_tagger(tagger, gold, threads=threads, report=report).summary
        report("dev", info["dev"])
    report("done", {"seconds": round(time.perf_counter() - begun, 2)})
    return tagger


def _learn_latent(
    tagger: Tagger,
    tagged: Sequence[Sequence[tuple[str, str]]],
    gold: Sequence[Sequence[tuple[str, str]]],
    options: TaggerOptions,
    threads: int,
    report: Report,
    checkpoint: Checkpoint | None,
) -> Tagger:
    """The tagger with the latent family that has the best token accuracy on the development sentences."""

    def score(family: TagFamily | TagForms) -> tuple[float, dict[str, Any]]:
        scores = score_tagger(replace(tagger, latent=family), gold, threads=threads, report=report)
        facts = {f"dev_{name}": scores.summary[name] for name in ("token_accuracy", "sentence_accuracy")}
        return scores.counts.token_accuracy, facts

    if checkpoint is not None:
        rest = {name: value for name, value in tagger.info["settings"].items() if name not in ("lvg", "gm", "forms")}
        checkpoint = checkpoint.keyed(train=fingerprint(tagged), dev=tagger.info.get("dev_fingerprint"), rest=rest)
    settings: TagOptions
    if options.model == "forms":
        settings = options.forms or TagFormsOptions()
    else:
        settings = (options.lvg or TagLvgOptions()) if options.model == "lvg" else (options.gm or TagGmOptions())
    family = learn_tags(
        tagger.grammar, tagged, settings, options.seed, threads, score if gold else None, report, checkpoint
    )  # fmt: skip
    return replace(tagger, latent=family)


def _too_long(max_length: int | None) -> str:
    return "" if max_length is None else f" of at most {max_length} words"


def _info(kind: str, options: ParserOptions | TaggerOptions, data: str, sentences: int) -> dict[str, Any]:
    return {
        "lveg": __version__,
        "kind": kind,
        "settings": asdict(options),
        "train_fingerprint": data,
        "train_sentences": sentences,
    }
