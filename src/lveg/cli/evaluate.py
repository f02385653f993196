"""`lveg evaluate`: score analyses against gold data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lveg.cli.options import (
    STANDARD,
    CutTags,
    EmptyElements,
    InputFormatOption,
    KeepFunctions,
    KeepTraces,
    Quiet,
    Threads,
    WithModels,
    check_outputs,
    thread_count,
)
from lveg.task_options import Column, ParserOptions

if TYPE_CHECKING:
    from lveg.cli.analyses import Analyses
    from lveg.evaluation.report import Asked, Report
    from lveg.treebank.source import InputFormat

Gold = Annotated[Path, typer.Argument(metavar="GOLD", help="Gold analyses: bracketed trees or CoNLL-U.")]
System = Annotated[
    Path | None, typer.Argument(metavar="SYSTEM", help="Analyses of the same sentences, in the same order.")
]
ModelOption = Annotated[
    Path | None, typer.Option(metavar="MODEL", help="Analyse GOLD's sentences with this model and score the result.")
]
Against = Annotated[
    Path | None,
    typer.Option(
        metavar="OTHER",
        help="A second model, or the analyses of a second system: tests the difference for significance, and compares "
        "the two in the tables and the report.",
    ),
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
    bool, typer.Option("--calibration", help="Also report how well the model's probabilities are calibrated.")
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Also show where the errors are: scores by label, tag and length, confusions and, for trees, classes of "
        "errors such as PP attachment. With --json they are in `details`.",
    ),
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a page for the browser: all tables with charts, and the sentences with the most errors.",
    ),
]
SentenceCount = Annotated[
    int, typer.Option("--sentences", min=0, help="With --report: number of sentences to show.", show_default=True)
]


def evaluate(
    gold: Gold,
    system: System = None,
    model: ModelOption = None,
    others: WithModels = None,
    against: Against = None,
    as_json: AsJson = False,
    details: Details = False,
    report: ReportFile = None,
    sentences: SentenceCount = 20,
    params: Params = None,
    per_sentence: PerSentence = False,
    decoder: DecoderOption = None,
    column: TagColumn = "upos",
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
    is scored by tag or, with --tokens or if the model is a tokeniser, by tokens,
    words and sentences. Confidence intervals are 95 %, by bootstrap over sentences;
    --against OTHER tests the difference of two systems by approximate
    randomisation.

        lveg evaluate dev.mrg parsed.mrg

        lveg evaluate dev.mrg --model my.model --calibration --report report.html
    """
    from lveg.cli.analyses import Analyses
    from lveg.cli.console import announce_faults
    from lveg.evaluation.report import Asked

    needing = {"--with": bool(others), "--calibration": calibration}
    _check_options(gold, system, model, needing, {"--per-sentence": per_sentence, "--json": as_json})
    check_outputs([STANDARD, report], [gold, system, model, *(others or []), against, params, *(train or [])])
    kept = ParserOptions(
        keep_functions=keep_functions, cut_tags=cut_tags, keep_traces=keep_traces, keep_unaries=True, empty=empty
    )
    work = Analyses(gold, system, model, others, against, decoder, thread_count(threads), quiet or as_json)
    asked = Asked(details or report is not None, sentences if report else 0, per_sentence)
    is_conllu = _is_conllu(gold, input_format)
    if tokens or work.is_tokeniser:
        unfit = {"--against": against, "--per-sentence": per_sentence, "--report": report, "--details": details}
        _evaluate_tokens(work, as_json, is_conllu, [name for name, given in unfit.items() if given])
    elif is_conllu:
        _show(_tag_report(work, column, train or [], calibration, asked), report, work, as_json, details, quiet)
    else:
        _show(_bracket_report(work, kept, params, calibration, asked), report, work, as_json, details, quiet)
    announce_faults(work.faults.messages)


def _check_options(
    gold: Path, system: Path | None, model: Path | None, needing: dict[str, bool], rivals: dict[str, bool]
) -> None:
    """Refuse what cannot be done. needing: options that need a model; rivals: options of which one can be given."""
    from lveg.errors import UsageError
    from lveg.model_io import is_model_file

    for path in (gold, system):
        if path is not None and is_model_file(path):
            raise UsageError(f"{path} is a model; to score it: lveg evaluate GOLD --model {path}")
    if (system is None) == (model is None):
        raise UsageError("give either SYSTEM, a file of analyses, or --model MODEL")
    for name, is_given in needing.items():
        if is_given and model is None:
            raise UsageError(f"{name} needs a --model")
    if all(rivals.values()):
        raise UsageError(f"{' and '.join(rivals)} cannot be used together")


def _is_conllu(gold: Path, input_format: InputFormat | None) -> bool:
    """Whether GOLD is CoNLL-U rather than brackets."""
    from lveg.errors import UsageError
    from lveg.treebank.source import guess_format

    kind = input_format or guess_format(gold)
    if kind == "jsonl" or input_format == "text":
        raise UsageError(f"{gold}: scoring needs brackets or CoNLL-U, not {kind}")
    return kind == "conllu"


def _bracket_report(
    work: Analyses, kept: ParserOptions, params_path: Path | None, calibration: bool, asked: Asked
) -> Report:
    from lveg.evaluation.calibration import constituent_calibration, tree_calibration
    from lveg.evaluation.params import COLLINS, read_params
    from lveg.evaluation.report import bracket_report
    from lveg.evaluation.signature import signature
    from lveg.trees import trees_fingerprint

    params = read_params(str(params_path)) if params_path else COLLINS
    settings = {"params": params_path.name if params_path else "COLLINS.prm"}
    found = work.trees(kept.cleaning, calibration)
    note = signature(gold=trees_fingerprint(found.gold), **settings, **found.settings)
    calibrations = {}
    if calibration:
        calibrations["constituent"] = constituent_calibration(found.parses, found.gold)
        calibrations["tree"] = tree_calibration(found.parses, found.gold)
    return bracket_report(found.gold, found.system, found.other, note, params, asked, calibrations)


def _tag_report(work: Analyses, column: str, train: list[Path], calibration: bool, asked: Asked) -> Report:
    from lveg.evaluation.calibration import sequence_calibration, tag_calibration
    from lveg.evaluation.report import tag_report
    from lveg.evaluation.signature import signature
    from lveg.grammar.grammar import fingerprint

    found = work.tags(column, train)
    note = signature(gold=fingerprint(found.gold), column=found.column, **found.settings)
    calibrations = {}
    if calibration:
        right = [[tag for _, tag in sentence] for sentence in found.gold]
        calibrations["tag"] = tag_calibration(found.taggings, right)
        calibrations["sequence"] = sequence_calibration(found.taggings, right)
    return tag_report(found.gold, found.system, found.other, note, found.known, asked, calibrations)


def _evaluate_tokens(work: Analyses, as_json: bool, is_conllu: bool, unfit: list[str]) -> None:
    """Score tokens. unfit: given options that are not for tokens."""
    import msgspec

    from lveg.errors import UsageError
    from lveg.evaluation.signature import signature
    from lveg.evaluation.tokens import score_tokens, tokens_fingerprint

    if not is_conllu:
        raise UsageError("--tokens needs CoNLL-U")
    if unfit:
        raise UsageError(f"{unfit[0]} is not for tokens")
    gold, system, settings = work.tokens()
    scores = score_tokens(gold, system)
    note = signature(gold=tokens_fingerprint(gold), units="tokens", **settings)
    if as_json:
        typer.echo(msgspec.json.encode({**scores.summary(), "signature": note}))
        return
    typer.echo(f"{'':12}{'gold':>10}{'system':>10}{'precision':>11}{'recall':>9}{'F1':>9}")
    for name, row in scores.rows().items():
        typer.echo(f"{name:12}{row.gold:10,d}{row.system:10,d}{row.precision:11.2f}{row.recall:9.2f}{row.f1:9.2f}")
    typer.echo(f"signature: {note}")


def _announce_errors(errors: int, sentences: int) -> None:
    """Report on stderr how many sentences could not be scored, and why."""
    from lveg.progress import say

    if errors:
        say(
            f"lveg: {errors:,} of {sentences:,} sentences are errors and not in the scores: their words in the "
            "analysis are not those of the gold tree, for example because only one of them has traces"
        )


def _show(found: Report, page: Path | None, work: Analyses, as_json: bool, details: bool, quiet: bool) -> None:
    """Write the page, if one is wanted, print the report, and say on stderr what could not be scored."""
    import msgspec

    from lveg.evaluation.report import report_json, report_text

    if page is not None:
        from lveg.evaluation.page import Names, report_page
        from lveg.treebank.source import open_output

        system = work.system or work.model
        other = None if work.against is None else work.against.name
        with open_output(str(page)) as stream:
            stream.write(report_page(found, Names(work.gold.name, "" if system is None else system.name, other)))
    typer.echo(msgspec.json.encode(report_json(found, details)) if as_json else report_text(found, details))
    if not quiet:
        _announce_errors(found.scores.get("errors", 0), found.scores["sentences"])
