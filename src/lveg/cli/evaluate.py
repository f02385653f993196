"""`lveg evaluate`: score analyses against gold data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lveg.cli.options import (
    STANDARD,
    Column,
    CutTags,
    EmptyElements,
    InputFormatOption,
    InputFormats,
    KeepFunctions,
    KeepTraces,
    Quiet,
    Threads,
    WithModels,
    check_outputs,
    load_parser,
    thread_count,
)
from lveg.task_options import ParserOptions

if TYPE_CHECKING:
    import numpy as np

    from lveg.evaluation.brackets import SentenceScore
    from lveg.evaluation.calibration import Calibration
    from lveg.evaluation.params import EvalbParams
    from lveg.evaluation.tags import TagCounts
    from lveg.model import Parse
    from lveg.model_io import Loaded
    from lveg.treebank.source import Faults
    from lveg.trees import Cleaning, Tree

Gold = Annotated[Path, typer.Argument(metavar="GOLD", help="Gold analyses: bracketed trees or CoNLL-U.")]
System = Annotated[
    Path | None, typer.Argument(metavar="SYSTEM", help="Analyses of the same sentences, in the same order.")
]
ModelOption = Annotated[
    Path | None, typer.Option(metavar="MODEL", help="Analyse GOLD's sentences with this model and score the result.")
]
Against = Annotated[
    Path | None,
    typer.Option(metavar="OTHER", help="Analyses of a second system, to test the difference for significance."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Params = Annotated[
    Path | None,
    typer.Option(metavar="FILE.prm", help="EVALB parameter file; the default is COLLINS.prm, which is built in."),
]
PerSentence = Annotated[bool, typer.Option(help="Also print one line per sentence.")]
DecoderOption = Annotated[
    str | None, typer.Option(help="With --model: max-rule, viterbi or mbr; for taggers posterior or viterbi.")
]
TagColumn = Annotated[Column, typer.Option(help="CoNLL-U: the column that holds the tags.")]
KnownFrom = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE", help="CoNLL-U: words in these files count as known; if not given, those of the model's lexicon."
    ),
]
Tokens = Annotated[
    bool,
    typer.Option(
        "--tokens", help="CoNLL-U: score tokens, words and sentences found in the same text, as CoNLL 2018, not tags."
    ),
]
CalibrationOption = Annotated[
    bool, typer.Option("--calibration", help="Parsers: also report how well the model's probabilities are calibrated.")
]


@dataclass(frozen=True)
class Task:
    """What is scored, and how the scores are shown."""

    gold: Path
    system: Path | None
    model: Loaded | None
    against: Path | None
    decoder: str | None
    as_json: bool
    per_sentence: bool
    threads: int
    quiet: bool
    faults: Faults


def evaluate(
    gold: Gold,
    system: System = None,
    model: ModelOption = None,
    others: WithModels = None,
    against: Against = None,
    as_json: AsJson = False,
    params: Params = None,
    per_sentence: PerSentence = False,
    decoder: DecoderOption = None,
    column: TagColumn = Column.upos,
    train: KnownFrom = None,
    tokens: Tokens = False,
    input_format: InputFormatOption = None,
    keep_functions: KeepFunctions = False,
    cut_tags: CutTags = False,
    keep_traces: KeepTraces = False,
    empty: EmptyElements = None,
    calibration: CalibrationOption = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Score analyses against gold analyses.

    Bracketed trees are scored exactly as by EVALB. Function tags and traces are
    removed from both sides first, and the outer bracket is renamed to TOP. CoNLL-U
    is scored by tag or, with --tokens or if the model is a tokeniser, by tokens, words
    and sentences. Confidence intervals are 95 %, by bootstrap over sentences;
    --against OTHER tests the difference of two systems by approximate
    randomisation.

        lveg evaluate dev.mrg parsed.mrg

        lveg evaluate dev.mrg --model my.model --json
    """
    from lveg.cli.console import announce_faults
    from lveg.errors import UsageError
    from lveg.model_io import load_model
    from lveg.treebank.source import Faults

    if (system is None) == (model is None):
        raise UsageError("give either SYSTEM, a file of analyses, or --model MODEL")
    if (others or calibration) and model is None:
        raise UsageError(f"{'--with' if others else '--calibration'} needs a --model")
    if per_sentence and as_json:
        raise UsageError("--per-sentence and --json cannot be used together")
    check_outputs([STANDARD], [gold, system, model, *(others or []), against, params, *(train or [])])
    is_tags = _is_conllu(gold, input_format)
    if calibration and is_tags:
        raise UsageError("--calibration is for parsers")
    if tokens and not is_tags:
        raise UsageError("--tokens needs CoNLL-U")
    loaded = None if model is None else load_parser(model, others) if others else load_model(str(model))
    n_threads, faults = thread_count(threads), Faults()
    task = Task(gold, system, loaded, against, decoder, as_json, per_sentence, n_threads, quiet or as_json, faults)
    if tokens or (loaded is not None and loaded.task == "tokeniser"):
        _evaluate_tokens(task)
    elif is_tags:
        _evaluate_tags(task, column.value, train or [])
    else:
        kept = ParserOptions(
            keep_functions=keep_functions, cut_tags=cut_tags, keep_traces=keep_traces, keep_unaries=True, empty=empty
        )
        _evaluate_brackets(task, params, kept.cleaning, calibration)
    announce_faults(faults.messages)


def _is_conllu(gold: Path, input_format: InputFormats | None) -> bool:
    """Whether GOLD is CoNLL-U rather than brackets."""
    from lveg.errors import UsageError
    from lveg.treebank.source import guess_format

    kind = input_format.value if input_format else guess_format(gold)
    if kind == "jsonl" or input_format is InputFormats.text:
        raise UsageError(f"{gold}: scoring needs brackets or CoNLL-U, not {kind}")
    return kind == "conllu"


def _evaluate_brackets(task: Task, params_path: Path | None, cleaning: Cleaning, calibration: bool) -> None:
    from lveg.evaluation import brackets
    from lveg.evaluation.params import COLLINS, read_params
    from lveg.evaluation.signature import signature
    from lveg.model_io import model_fingerprint
    from lveg.trees import trees_fingerprint

    params = read_params(str(params_path)) if params_path else COLLINS
    settings = {"params": params_path.name if params_path else "COLLINS.prm"}
    parses: list[Parse] = []
    if task.model is not None:
        cleaning, decoder, gold, parses = _parse_gold(task, calibration)
        settings |= {"model": model_fingerprint(task.model), "decoder": decoder}
        scores = brackets.score_pairs(gold, [parse.tree for parse in parses], params)
    else:
        gold = _trees(task.gold, cleaning, task.faults, allow_empty=True)
        scores = _pair_scores(task, gold, task.system, cleaning, params)
    other = _pair_scores(task, gold, task.against, cleaning, params) if task.against else None
    summary = brackets.summarise(scores, params)
    note = signature(gold=trees_fingerprint(gold), **settings)
    counts = brackets.f1_counts(scores)
    doubt: dict[str, Any] = {"f1_interval": _interval(counts, brackets.f1_from_counts)}
    if other is not None:
        doubt["against"] = _comparison(counts, brackets.f1_counts(other), brackets.f1_from_counts)
    calibrations = _calibrations(parses, gold) if calibration else {}
    if task.as_json:
        errors = {f"{name}_calibration_error": round(100 * found.error, 2) for name, found in calibrations.items()}
        _print_json({**brackets.summary_json(summary), "signature": note, **doubt, **errors})
        return
    if task.per_sentence:
        typer.echo(brackets.evalb_report(scores, params))
    else:
        _bracket_table(brackets.summary_json(summary), summary.cutoff_len)
    _print_doubt("F1", doubt["f1_interval"], doubt.get("against"))
    for name, found in calibrations.items():
        _calibration_table(name, found)
    typer.echo(f"signature: {note}")


def _parse_gold(task: Task, marginals: bool) -> tuple[Cleaning, str, list[Tree], list[Parse]]:
    """The model's cleaning for scoring, the decoder, the gold trees and the model's parses of their words."""
    from dataclasses import replace

    from lveg.annotate import ParseSettings, parse_all
    from lveg.cli.console import console_report
    from lveg.errors import ModelError, UsageError
    from lveg.model import Parser
    from lveg.report import counted
    from lveg.treebank.text import Input

    assert task.model is not None
    if not isinstance(task.model, Parser):
        raise ModelError(f"the model is a {task.model.task}; evaluate it on CoNLL-U")
    cleaning = replace(task.model.cleaning, collapse_unaries=False)
    gold = _trees(task.gold, cleaning, task.faults, allow_empty=False)
    if any(not tree.children for tree in gold):
        raise UsageError(f"{task.gold}: a gold tree has no words")
    decoder = task.decoder or task.model.decoder
    settings = ParseSettings(decoder, marginals=marginals)
    with console_report(quiet=task.quiet) as report:
        found = parse_all(task.model, (Input(tree.words()) for tree in gold), settings, task.threads)
        return cleaning, decoder, gold, [parse for _, parse in counted(found, report, "parsing", len(gold))]


def _calibrations(parses: list[Parse], gold: list[Tree]) -> dict[str, Calibration]:
    """How well the probabilities of constituents and of trees are calibrated."""
    from lveg.evaluation.calibration import constituent_calibration, tree_calibration

    return {"constituent": constituent_calibration(parses, gold), "tree": tree_calibration(parses, gold)}


def _calibration_table(name: str, found: Calibration) -> None:
    typer.echo(f"\n{name} probabilities: expected calibration error {100 * found.error:.2f} %")
    typer.echo(f"{'from':>8}{'to':>6}{'number':>9}{'given':>9}{'right':>9}")
    for part in found.bins:
        typer.echo(
            f"{part.low:8.1f}{part.high:6.1f}{part.count:9,d}{100 * part.confidence:9.2f}{100 * part.accuracy:9.2f}"
        )
    typer.echo("")


def _trees(path: Path | None, cleaning: Cleaning, faults: Faults, allow_empty: bool) -> list[Tree]:
    from lveg.errors import UsageError
    from lveg.treebank.penn import read_trees
    from lveg.trees import EMPTY_TREE

    trees = [cleaning(tree) or EMPTY_TREE for tree in read_trees(str(path), faults, allow_empty)]
    if not trees:
        raise UsageError(f"{path}: holds no trees")
    return trees


def _pair_scores(
    task: Task, gold: list[Tree], path: Path | None, cleaning: Cleaning, params: EvalbParams
) -> list[SentenceScore]:
    """The scores of a system's trees; there must be one for each gold tree."""
    from lveg.errors import UsageError
    from lveg.evaluation.brackets import score_pairs

    system = _trees(path, cleaning, task.faults, allow_empty=True)
    if len(system) != len(gold):
        raise UsageError(f"{path}: has {len(system):,} trees, {task.gold} has {len(gold):,}")
    return score_pairs(gold, system, params)


def _bracket_table(summary: dict[str, Any], cutoff: int) -> None:
    short = summary["le40"]
    typer.echo(f"{'':22}{'all':>10}{f'<= {cutoff} words':>14}")
    rows = (
        ("sentences", "sentences"),
        ("errors", "errors"),
        ("skipped", "skipped"),
        ("labelled precision", "precision"),
        ("labelled recall", "recall"),
        ("labelled F1", "f1"),
        ("exact match", "exact_match"),
        ("average crossing", "crossing"),
        ("tagging accuracy", "tag_accuracy"),
    )
    for name, key in rows:
        form = ",d" if isinstance(summary[key], int) else ".2f"
        typer.echo(f"{name:22}{summary[key]:>10{form}}{short[key]:>14{form}}")


def _print_doubt(name: str, interval: dict[str, float], against: dict[str, float] | None) -> None:
    typer.echo(f"{name} 95 % interval: {interval['low']:.2f} to {interval['high']:.2f}")
    if against is not None:
        typer.echo(f"{name} against the other system: {against['difference']:+.2f}, p = {against['p_value']:.4f}")


def _interval(counts: np.ndarray, score: Any) -> dict[str, float]:
    from lveg.evaluation.significance import bootstrap_interval

    interval = bootstrap_interval(counts, score)
    return {"low": round(float(interval.low), 2), "high": round(float(interval.high), 2)}


def _comparison(counts: np.ndarray, other: np.ndarray, score: Any) -> dict[str, float]:
    from lveg.evaluation.significance import randomisation_test

    result = randomisation_test(counts, other, score)
    return {"difference": round(float(result.difference), 2), "p_value": round(float(result.p_value), 4)}


def _print_json(result: dict[str, Any]) -> None:
    import msgspec

    typer.echo(msgspec.json.encode(result).decode())


def _evaluate_tags(task: Task, column: str, train: list[Path]) -> None:
    from lveg.evaluation import tags
    from lveg.evaluation.signature import signature
    from lveg.grammar.grammar import fingerprint
    from lveg.model import Tagger
    from lveg.model_io import model_fingerprint
    from lveg.treebank.conllu import read_tagged

    column = task.model.column if isinstance(task.model, Tagger) else column
    known = {word for sentence in read_tagged(train, column, task.faults) for word, _ in sentence} if train else None
    settings = {"column": column}
    gold = _tagged(task.gold, column, task.faults)
    if task.model is not None:
        system, words_of_model = _tag_gold(task, gold)
        known = words_of_model if known is None else known
        settings |= {"model": model_fingerprint(task.model), "decoder": task.decoder or "posterior"}
    else:
        system = _system_tags(task, gold, task.system, column)
    words = [[word for word, _ in sentence] for sentence in gold]
    right = [[tag for _, tag in sentence] for sentence in gold]
    counts = tags.score_tags(words, right, system, known)
    note = signature(gold=fingerprint(gold), **settings)
    per_item = tags.accuracy_counts(right, system)
    doubt: dict[str, Any] = {"accuracy_interval": _interval(per_item, tags.accuracy_from_counts)}
    if task.against is not None:
        other = tags.accuracy_counts(right, _system_tags(task, gold, task.against, column))
        doubt["against"] = _comparison(per_item, other, tags.accuracy_from_counts)
    if task.as_json:
        _print_json({**tags.summary_json(counts), "signature": note, **doubt})
        return
    if task.per_sentence:
        typer.echo("sentence   words correct accuracy")
        for number, (correct, total) in enumerate(per_item.astype(int).tolist(), start=1):
            typer.echo(f"{number:8d}{total:8d}{correct:8d}{100 * correct / max(total, 1):9.2f}")
    _tag_tables(counts)
    _print_doubt("token accuracy", doubt["accuracy_interval"], doubt.get("against"))
    typer.echo(f"signature: {note}")


def _evaluate_tokens(task: Task) -> None:
    from lveg.errors import UsageError
    from lveg.evaluation.signature import signature
    from lveg.evaluation.tokens import score_tokens, tokens_fingerprint
    from lveg.model import Tagger
    from lveg.model_io import model_fingerprint
    from lveg.text.learned import LearnedTokeniser
    from lveg.text.tokens import text_of
    from lveg.treebank.raw import read_tokens

    if task.against is not None or task.per_sentence:
        raise UsageError(f"{'--against' if task.against else '--per-sentence'} is not for tokens")
    gold = read_tokens(str(task.gold), task.faults)
    if not gold:
        raise UsageError(f"{task.gold}: holds no sentences")
    settings = {"units": "tokens"}
    if task.model is None:
        system = read_tokens(str(task.system), task.faults)
    else:
        tokeniser = task.model.tokeniser if isinstance(task.model, Tagger) else task.model
        if not isinstance(tokeniser, LearnedTokeniser):
            raise UsageError("the model has no tokeniser; --tokens scores a tokeniser, or a tagger with one")
        system = list(tokeniser.sentences(text_of(gold)))
        settings["model"] = model_fingerprint(task.model)
    scores = score_tokens(gold, system)
    note = signature(gold=tokens_fingerprint(gold), **settings)
    if task.as_json:
        _print_json({**scores.summary(), "signature": note})
        return
    typer.echo(f"{'':12}{'gold':>10}{'system':>10}{'precision':>11}{'recall':>9}{'F1':>9}")
    for name, row in scores.rows().items():
        typer.echo(f"{name:12}{row.gold:10,d}{row.system:10,d}{row.precision:11.2f}{row.recall:9.2f}{row.f1:9.2f}")
    typer.echo(f"signature: {note}")


def _tag_gold(task: Task, gold: list[list[tuple[str, str]]]) -> tuple[list[list[str]], set[str]]:
    """The model's tags for the words of the gold sentences, and the words that it knows."""
    from lveg.cli.console import console_report
    from lveg.errors import ModelError, UsageError
    from lveg.evaluation.models import score_tagger
    from lveg.model import Tagger

    assert task.model is not None
    if not isinstance(task.model, Tagger):
        raise ModelError(f"the model is a {task.model.task}; evaluate it on bracketed trees")
    if task.decoder not in (None, "posterior", "viterbi"):
        raise UsageError(f"decoder {task.decoder!r} is not one of posterior, viterbi")
    with console_report(quiet=task.quiet) as report:
        result = score_tagger(task.model, gold, task.decoder or "posterior", task.threads, report)
    return [tagging.tags for tagging in result.taggings], set(task.model.grammar.lexicon.words)


def _tagged(path: Path | None, column: str, faults: Faults) -> list[list[tuple[str, str]]]:
    from lveg.errors import UsageError
    from lveg.treebank.conllu import read_tagged

    tagged = read_tagged(str(path), column, faults)
    if not tagged:
        raise UsageError(f"{path}: holds no sentences")
    return tagged


def _system_tags(task: Task, gold: list[list[tuple[str, str]]], path: Path | None, column: str) -> list[list[str]]:
    """A system's tags; its words must be the gold ones."""
    from lveg.errors import UsageError

    system = _tagged(path, column, task.faults)
    if len(system) != len(gold):
        raise UsageError(f"{path}: has {len(system):,} sentences, {task.gold} has {len(gold):,}")
    for number, (right, found) in enumerate(zip(gold, system, strict=True), start=1):
        if [word for word, _ in right] != [word for word, _ in found]:
            raise UsageError(f"{path}: sentence {number} has other words than in {task.gold}")
    return [[tag for _, tag in sentence] for sentence in system]


def _tag_tables(counts: TagCounts) -> None:
    from lveg.evaluation import tags

    for name, value in tags.summary_json(counts).items():
        shown = "-" if value is None else f"{value:,d}" if isinstance(value, int) else f"{value:.2f}"
        typer.echo(f"{name.replace('_', ' '):20}{shown:>10}")
    typer.echo(f"\n{'tag':10}{'gold':>8}{'precision':>11}{'recall':>9}{'F1':>9}")
    for row in tags.per_tag(counts):
        typer.echo(f"{row.tag:10}{row.gold:8,d}{row.precision:11.2f}{row.recall:9.2f}{row.f1:9.2f}")
    typer.echo("\nmost frequent confusions (gold, system, tokens)")
    for gold, system, number in tags.top_confusions(counts):
        typer.echo(f"  {gold:10}{system:10}{number:6,d}")
    typer.echo("")
