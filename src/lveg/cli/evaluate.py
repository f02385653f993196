"""`lveg evaluate`: how good are these analyses?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lveg.cli.options import (
    Column,
    EmptyElements,
    InputFormatOption,
    KeepFunctions,
    KeepTraces,
    Quiet,
    Threads,
    WithModels,
    cleaning_of,
    load_parser,
    thread_count,
)

if TYPE_CHECKING:
    import numpy as np

    from lveg.evaluation.brackets import SentenceScore
    from lveg.evaluation.calibration import Calibration
    from lveg.evaluation.params import EvalbParams
    from lveg.evaluation.tags import TagCounts
    from lveg.model import Model, Parse
    from lveg.trees import Cleaning, Tree


def evaluate(
    gold: Annotated[Path, typer.Argument(metavar="GOLD", help="The right analyses: bracketed trees or CoNLL-U.")],
    system: Annotated[
        Path | None,
        typer.Argument(metavar="SYSTEM", help="Analyses of the same sentences, in the same order."),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="MODEL", help="Analyse GOLD's sentences with this model and score that."),
    ] = None,
    others: WithModels = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="OTHER", help="A second system's analyses: is the difference significant?"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object, for machines.")] = False,
    params: Annotated[
        Path | None, typer.Option(metavar="FILE.prm", help="EVALB's parameters; COLLINS.prm is built in.")
    ] = None,
    per_sentence: Annotated[bool, typer.Option(help="A line for each sentence as well.")] = False,
    decoder: Annotated[
        str | None,
        typer.Option(help="With --model: max-rule, viterbi or mbr; for taggers posterior or viterbi."),
    ] = None,
    column: Annotated[Column, typer.Option(help="CoNLL-U: the column that holds the tags.")] = Column.upos,
    train: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="CoNLL-U: words in these files count as known; otherwise the model's do."),
    ] = None,
    input_format: InputFormatOption = None,
    keep_functions: KeepFunctions = False,
    keep_traces: KeepTraces = False,
    empty: EmptyElements = None,
    calibration: Annotated[
        bool, typer.Option("--calibration", help="Parsers: whether the model's probabilities mean what they say.")
    ] = False,
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Score analyses against the right ones.

    Bracketed trees are scored as EVALB does, to the digit. Function tags and
    traces are removed from both sides first, and the outer bracket is TOP,
    whatever it is called. CoNLL-U is scored by tag. Confidence intervals are
    95 %, by bootstrap over sentences; --against OTHER tests the difference of
    two systems by approximate randomisation.

        lveg evaluate dev.mrg parsed.mrg

        lveg evaluate dev.mrg --model my.model --json
    """
    from lveg.errors import UsageError
    from lveg.treebank.text import guess_format

    if (system is None) == (model is None):
        raise UsageError("give either SYSTEM, a file of analyses, or --model MODEL")
    if others and model is None:
        raise UsageError("--with needs a --model that it goes with")
    if calibration and model is None:
        raise UsageError("--calibration needs the probabilities of a --model")
    if per_sentence and as_json:
        raise UsageError("--per-sentence and --json exclude each other")
    kind = input_format.value if input_format else guess_format(gold)
    if kind not in ("brackets", "conllu"):
        if kind == "jsonl" or input_format:
            raise UsageError(f"{gold}: scoring needs brackets or CoNLL-U, not {kind}")
        kind = "brackets"
    loaded = load_parser(model, others) if model and others else _load(model)
    if kind == "conllu":
        if calibration:
            raise UsageError("--calibration is for parsers")
        _evaluate_tags(
            gold, system, loaded, against, as_json, per_sentence, decoder, column.value, train, threads, quiet
        )
    else:
        cleaning: Any = cleaning_of(keep_functions, keep_traces, empty, keep_unaries=True)
        _evaluate_brackets(
            gold, system, loaded, against, as_json, per_sentence, decoder, params, cleaning, calibration, threads, quiet
        )


def _load(path: Path | None) -> Model | None:
    from lveg.model_io import load_model

    return None if path is None else load_model(str(path))


def _evaluate_brackets(
    gold_path: Path,
    system_path: Path | None,
    model: Model | None,
    against: Path | None,
    as_json: bool,
    per_sentence: bool,
    decoder: str | None,
    params_path: Path | None,
    cleaning: Cleaning,
    calibration: bool,
    threads: int | None,
    quiet: bool,
) -> None:
    from dataclasses import replace

    from lveg.cli.console import console_report
    from lveg.errors import ModelError, UsageError
    from lveg.evaluation import brackets
    from lveg.evaluation.models import score_parser
    from lveg.evaluation.params import COLLINS, read_params
    from lveg.evaluation.signature import signature
    from lveg.model import Parser
    from lveg.model_io import model_fingerprint
    from lveg.training import trees_fingerprint

    params = read_params(str(params_path)) if params_path else COLLINS
    parses: list[Parse] = []
    settings: dict[str, Any] = {"params": params_path.name if params_path else "COLLINS.prm"}
    if model is not None:
        if not isinstance(model, Parser):
            raise ModelError("the model is a tagger; score it on CoNLL-U")
        cleaning = replace(model.cleaning, collapse_unaries=False)
        gold = _trees(gold_path, cleaning, allow_empty=False)
        if any(not tree.children for tree in gold):
            raise UsageError(f"{gold_path}: a gold tree has no words")
        with console_report(quiet=quiet or as_json) as report:
            result = score_parser(
                model, gold, decoder or "max-rule", params, thread_count(threads), report, marginals=calibration
            )
        scores = result.sentences
        parses = result.parses
        settings |= {"model": model_fingerprint(model), "decoder": decoder or "max-rule"}
    else:
        gold = _trees(gold_path, cleaning, allow_empty=True)
        scores = _pair_scores(gold, gold_path, system_path, cleaning, params)
    summary = brackets.summarise(scores, params)
    note = signature(gold=trees_fingerprint(gold), **settings)
    other = None
    if against is not None:
        other = _pair_scores(gold, gold_path, against, cleaning, params)
    if as_json:
        facts: dict[str, Any] = {**brackets.summary_json(summary), "signature": note}
        facts["f1_interval"] = _interval(brackets.f1_counts(scores), brackets.f1_from_counts)
        if other is not None:
            facts["against"] = _comparison(
                brackets.f1_counts(scores), brackets.f1_counts(other), brackets.f1_from_counts
            )
        for name, found in _calibrations(parses, gold).items():
            facts[f"{name}_calibration_error"] = round(100 * found.error, 2)
        _print_json(facts)
        return
    if per_sentence:
        typer.echo(brackets.evalb_report(scores, params))
    else:
        _bracket_table(brackets.summary_json(summary), summary.cutoff_len)
    _bracket_doubt(scores, other, params)
    for name, found in _calibrations(parses, gold).items():
        _calibration_table(name, found)
    typer.echo(f"signature: {note}")


def _calibrations(parses: list[Parse], gold: list[Tree]) -> dict[str, Calibration]:
    """How well the probabilities of constituents and of trees are calibrated; nothing where there are no marginals."""
    from lveg.evaluation.calibration import constituent_calibration, tree_calibration

    if not any(parse.constituents for parse in parses):
        return {}
    return {"constituent": constituent_calibration(parses, gold), "tree": tree_calibration(parses, gold)}


def _calibration_table(name: str, found: Calibration) -> None:
    typer.echo(f"\n{name} probabilities: expected calibration error {100 * found.error:.2f} %")
    typer.echo(f"{'from':>8}{'to':>6}{'number':>9}{'given':>9}{'right':>9}")
    for part in found.bins:
        typer.echo(
            f"{part.low:8.1f}{part.high:6.1f}{part.count:9,d}{100 * part.confidence:9.2f}{100 * part.accuracy:9.2f}"
        )
    typer.echo("")


def _trees(path: Path | None, cleaning: Cleaning, allow_empty: bool) -> list[Tree]:
    from lveg.errors import UsageError
    from lveg.treebank.penn import read_trees
    from lveg.trees import EMPTY_TREE

    trees = [cleaning(tree) or EMPTY_TREE for tree in read_trees(str(path), allow_empty=allow_empty)]
    if not trees:
        raise UsageError(f"{path}: holds no trees")
    return trees


def _pair_scores(
    gold: list[Tree], gold_path: Path, path: Path | None, cleaning: Cleaning, params: EvalbParams
) -> list[SentenceScore]:
    """The scores of a system's trees, which must be as many as the gold ones."""
    from lveg.errors import UsageError
    from lveg.evaluation.brackets import score_pairs

    system = _trees(path, cleaning, allow_empty=True)
    if len(system) != len(gold):
        raise UsageError(f"{path}: has {len(system):,} trees, {gold_path} has {len(gold):,}")
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


def _bracket_doubt(scores: list[SentenceScore], other: list[SentenceScore] | None, params: EvalbParams) -> None:
    from lveg.evaluation import brackets

    counts = brackets.f1_counts(scores)
    interval = _interval(counts, brackets.f1_from_counts)
    typer.echo(f"F1 95 % interval: {interval['low']:.2f} to {interval['high']:.2f}")
    if other is not None:
        found = _comparison(counts, brackets.f1_counts(other), brackets.f1_from_counts)
        typer.echo(f"F1 against the other system: {found['difference']:+.2f}, p = {found['p_value']:.4f}")


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


def _evaluate_tags(
    gold_path: Path,
    system_path: Path | None,
    model: Model | None,
    against: Path | None,
    as_json: bool,
    per_sentence: bool,
    decoder: str | None,
    column: str,
    train: list[Path] | None,
    threads: int | None,
    quiet: bool,
) -> None:
    from lveg.cli.console import console_report
    from lveg.errors import ModelError, UsageError
    from lveg.evaluation import tags
    from lveg.evaluation.models import score_tagger
    from lveg.evaluation.signature import signature
    from lveg.grammar.grammar import fingerprint
    from lveg.model import Tagger
    from lveg.model_io import model_fingerprint
    from lveg.training import read_tagged

    settings: dict[str, Any] = {"column": column}
    known = {word for path in train for s in read_tagged([str(path)], column) for word, _ in s} if train else None
    if model is not None:
        if not isinstance(model, Tagger):
            raise ModelError("the model is a parser; score it on bracketed trees")
        if decoder not in (None, "posterior", "viterbi"):
            raise UsageError(f"decoder {decoder!r} is not one of posterior, viterbi")
        gold = _tagged(gold_path, model.column)
        with console_report(quiet=quiet or as_json) as report:
            result = score_tagger(model, gold, decoder or "posterior", thread_count(threads), report)
        system = [tagging.tags for tagging in result.taggings]
        known = set(model.grammar.lexicon.words) if known is None else known
        settings |= {
            "model": model_fingerprint(model),
            "decoder": decoder or "posterior",
            "column": model.column,
        }
        column = model.column
    else:
        gold = _tagged(gold_path, column)
        system = _system_tags(gold, system_path, column)
    words = [[word for word, _ in sentence] for sentence in gold]
    right = [[tag for _, tag in sentence] for sentence in gold]
    counts = tags.score_tags(words, right, system, known)
    note = signature(gold=fingerprint(gold), **settings)
    per_item = tags.accuracy_counts(right, system)
    facts: dict[str, Any] = {"accuracy_interval": _interval(per_item, tags.accuracy_from_counts)}
    if against is not None:
        other = tags.accuracy_counts(right, _system_tags(gold, against, column))
        facts["against"] = _comparison(per_item, other, tags.accuracy_from_counts)
    if as_json:
        _print_json({**tags.summary_json(counts), "signature": note, **facts})
        return
    if per_sentence:
        typer.echo("sentence   words correct accuracy")
        for number, (total, correct) in enumerate(_totals(right, system), start=1):
            typer.echo(f"{number:8d}{total:8d}{correct:8d}{100 * correct / max(total, 1):9.2f}")
    _tag_tables(counts)
    interval = facts["accuracy_interval"]
    typer.echo(f"token accuracy 95 % interval: {interval['low']:.2f} to {interval['high']:.2f}")
    if against is not None:
        found = facts["against"]
        typer.echo(f"against the other system: {found['difference']:+.2f}, p = {found['p_value']:.4f}")
    typer.echo(f"signature: {note}")


def _tagged(path: Path, column: str) -> list[list[tuple[str, str]]]:
    from lveg.errors import UsageError
    from lveg.training import read_tagged

    tagged = read_tagged([str(path)], column)
    if not tagged:
        raise UsageError(f"{path}: holds no sentences")
    return tagged


def _system_tags(gold: list[list[tuple[str, str]]], path: Path | None, column: str) -> list[list[str]]:
    """The system's tags, after checking that its words are the gold ones."""
    from lveg.errors import UsageError
    from lveg.training import read_tagged

    system = read_tagged([str(path)], column)
    if len(system) != len(gold):
        raise UsageError(f"{path}: has {len(system)} sentences, the gold file {len(gold)}")
    for number, (right, found) in enumerate(zip(gold, system, strict=True), start=1):
        if [word for word, _ in right] != [word for word, _ in found]:
            raise UsageError(f"{path}: sentence {number} has other words than the gold file")
    return [[tag for _, tag in sentence] for sentence in system]


def _totals(right: list[list[str]], system: list[list[str]]) -> list[tuple[int, int]]:
    return [
        (len(gold), sum(a == b for a, b in zip(gold, found, strict=True)))
        for gold, found in zip(right, system, strict=True)
    ]


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
