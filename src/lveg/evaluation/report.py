"""The results of an evaluation in one object, and the same as text and as JSON; `page` makes a page of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lveg.evaluation import brackets, tags
from lveg.evaluation.calibration import Calibration
from lveg.evaluation.comparison import Shown, bracket_tables, tag_tables, tagged_sentences, tree_sentences
from lveg.evaluation.details import bracket_details, tag_details
from lveg.evaluation.params import COLLINS, EvalbParams
from lveg.evaluation.significance import Score, bootstrap_interval, randomisation_test
from lveg.evaluation.tables import Table, table_json, table_text
from lveg.trees import Tree

MOST_ROWS = 20
"""Rows of a table that is printed without being asked for."""


@dataclass(frozen=True)
class Asked:
    """What a report contains besides the scores.

    details: the tables of errors. shown: number of sentences to show. per_sentence: one line for each sentence.
    """

    details: bool = False
    shown: int = 0
    per_sentence: bool = False


@dataclass(frozen=True)
class Report:
    """The results of an evaluation.

    measure: the main score's name, and its key in JSON. scores: the summary as in JSON. opening: what the text begins
    with. against: the difference to the other system and its p-value.
    """

    measure: tuple[str, str]
    scores: dict[str, Any]
    summary: Table
    opening: str
    interval: dict[str, float]
    against: dict[str, float] | None
    tables: list[Table]
    sentences: Sequence[Shown]
    signature: str
    calibrations: dict[str, Calibration] = field(default_factory=dict)


def bracket_report(
    gold: Sequence[Tree],
    system: Sequence[Tree],
    other: Sequence[Tree] | None,
    signature: str,
    params: EvalbParams = COLLINS,
    asked: Asked | None = None,
    calibrations: dict[str, Calibration] | None = None,
) -> Report:
    """The scores of a parser's trees. other: those of a second parser, to compare it with."""
    asked = asked or Asked()
    scores = brackets.score_pairs(gold, system, params)
    summary = brackets.summarise(scores, params)
    shown_summary = _bracket_summary(summary)
    counts = brackets.f1_counts(scores)
    other_counts = None if other is None else brackets.f1_counts(brackets.score_pairs(gold, other, params))
    tables: list[Table] = []
    sentences: Sequence[Shown] = []
    if asked.details:
        found = bracket_details(gold, system, params)
        rival = None if other is None else bracket_details(gold, other, params)
        tables = bracket_tables(found, rival)
        rival_trees = None if other is None or rival is None else (other, rival)
        sentences = tree_sentences(gold, (system, found), rival_trees, asked.shown)
    return Report(
        measure=("F1", "f1"),
        scores=brackets.summary_json(summary),
        summary=shown_summary,
        opening=brackets.evalb_report(scores, params) if asked.per_sentence else table_text(shown_summary),
        interval=_interval(counts, brackets.f1_from_counts),
        against=_against(counts, other_counts, brackets.f1_from_counts),
        tables=tables,
        sentences=sentences,
        signature=signature,
        calibrations=calibrations or {},
    )


def tag_report(
    gold: Sequence[Sequence[tuple[str, str]]],
    system: Sequence[Sequence[str]],
    other: Sequence[Sequence[str]] | None,
    signature: str,
    known: set[str] | None = None,
    asked: Asked | None = None,
    calibrations: dict[str, Calibration] | None = None,
) -> Report:
    """The scores of a tagger's tags. other: those of a second tagger, to compare it with."""
    asked = asked or Asked()
    words = [[word for word, _ in sentence] for sentence in gold]
    right = [[tag for _, tag in sentence] for sentence in gold]
    found = tag_details(words, right, system, known)
    rival = None if other is None else tag_details(words, right, other, known)
    counts = tags.accuracy_counts(right, system)
    summary = _tag_summary(found.counts)
    return Report(
        measure=("token accuracy", "accuracy"),
        scores=dict(tags.summary_json(found.counts)),
        summary=summary,
        opening=(_sentence_accuracies(counts) if asked.per_sentence else "") + table_text(summary),
        interval=_interval(counts, tags.accuracy_from_counts),
        against=_against(
            counts, None if other is None else tags.accuracy_counts(right, other), tags.accuracy_from_counts
        ),
        tables=tag_tables(found, rival, None if other is None else (right, system, other)),
        sentences=tagged_sentences(words, right, system, other, asked.shown),
        signature=signature,
        calibrations=calibrations or {},
    )


def report_text(report: Report, details: bool = False) -> str:
    """The report for a terminal. details: with all tables."""
    name = report.measure[0]
    basic = [_shortened(table) for table in report.tables if table.is_basic]
    parts = [report.opening, *(map(table_text, report.tables) if details else basic)]
    lines = [f"{name} 95 % interval: {report.interval['low']:.2f} to {report.interval['high']:.2f}"]
    if (against := report.against) is not None:
        lines.append(f"{name} against the other system: {against['difference']:+.2f}, p = {against['p_value']:.4f}")
    parts.append("\n".join(lines))
    parts += [table_text(calibration_table(kind, found)) for kind, found in report.calibrations.items()]
    compact = "\n" if len(parts) == 2 else "\n\n"
    return f"{compact.join(part.rstrip() for part in parts)}\nsignature: {report.signature}"


def _shortened(table: Table) -> str:
    """The table with its first rows, and how many more there are."""
    more = len(table.rows) - MOST_ROWS
    if more <= 0:
        return table_text(table)
    return f"{table_text(replace(table, rows=table.rows[:MOST_ROWS])).rstrip()}\n{more:,} more with --details"


def report_json(report: Report, details: bool = False) -> dict[str, Any]:
    """The report as a plain dict. details: with all tables."""
    made: dict[str, Any] = {**report.scores, "signature": report.signature}
    made[f"{report.measure[1]}_interval"] = report.interval
    if report.against is not None:
        made["against"] = report.against
    for kind, found in report.calibrations.items():
        made[f"{kind}_calibration_error"] = round(100 * found.error, 2)
    if report.calibrations:
        tables = (calibration_table(kind, found) for kind, found in report.calibrations.items())
        made["calibration"] = {table.name: table_json(table) for table in tables}
    if details:
        made["details"] = {table.name: table_json(table) for table in report.tables}
    return made


def calibration_table(kind: str, found: Calibration) -> Table:
    """The bins of a calibration, in percent."""
    return Table(
        kind,
        f"{kind} probabilities: expected calibration error {100 * found.error:.2f} %",
        ("from", "to", "number", "given", "right"),
        [
            (f"{part.low:.1f}", f"{part.high:.1f}", part.count, 100 * part.confidence, 100 * part.accuracy)
            for part in found.bins
        ],
    )


_ROWS = (
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


def _bracket_summary(summary: brackets.Summary) -> Table:
    scores: dict[str, Any] = brackets.summary_json(summary)
    rows = [(name, scores[key], scores["le40"][key]) for name, key in _ROWS]
    return Table("summary", "", ("", "all", f"<= {summary.cutoff_len} words"), rows)


def _tag_summary(counts: tags.TagCounts) -> Table:
    rows = [(name.replace("_", " "), value) for name, value in tags.summary_json(counts).items()]
    return Table("summary", "", ("", "all"), rows)


def _sentence_accuracies(counts: NDArray[np.float64]) -> str:
    rows = enumerate(counts.astype(int).tolist(), start=1)
    lines = [f"{number:8d}{all:8d}{right:8d}{100 * right / max(all, 1):9.2f}\n" for number, (right, all) in rows]
    return "".join(["sentence   words correct accuracy\n", *lines, "\n"])


def _interval(counts: NDArray[np.float64], score: Score) -> dict[str, float]:
    interval = bootstrap_interval(counts, score)
    return {"low": round(float(interval.low), 2), "high": round(float(interval.high), 2)}


def _against(counts: NDArray[np.float64], other: NDArray[np.float64] | None, score: Score) -> dict[str, float] | None:
    if other is None:
        return None
    result = randomisation_test(counts, other, score)
    return {"difference": round(float(result.difference), 2), "p_value": round(float(result.p_value), 4)}
