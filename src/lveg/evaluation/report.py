"""The results of an evaluation in one object, and the same as text and as JSON; `page` makes a page of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lveg.evaluation import brackets, tags
from lveg.evaluation.calibration import Calibration
from lveg.evaluation.comparison import (
    Shown,
    bracket_tables,
    tag_tables,
    tagged_sentences,
    tree_sentences,
    wrong_tags,
)
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
    systems = [system] if other is None else [system, other]
    scores = [brackets.score_pairs(gold, trees, params) for trees in systems]
    counts = list(map(brackets.f1_counts, scores))
    summary = brackets.summarise(scores[0], params)
    shown_summary = _bracket_summary(summary)
    errors = [bracket_details(gold, trees, params) for trees in systems] if asked.details else []
    return Report(
        measure=("F1", "f1"),
        scores=brackets.summary_json(summary),
        summary=shown_summary,
        opening=brackets.evalb_report(scores[0], params) if asked.per_sentence else table_text(shown_summary),
        interval=_interval(counts[0], brackets.f1_from_counts),
        against=_against(counts, brackets.f1_from_counts),
        tables=bracket_tables(errors) if errors else [],
        sentences=tree_sentences(gold, systems, errors, asked.shown) if errors else [],
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
    systems = [system] if other is None else [system, other]
    words = [[word for word, _ in sentence] for sentence in gold]
    right = [[tag for _, tag in sentence] for sentence in gold]
    errors = [tag_details(words, right, found, known) for found in systems]
    counts = [tags.accuracy_counts(right, found) for found in systems]
    lost = [wrong_tags(right, found) for found in systems]
    summary = _tag_summary(errors[0].counts)
    return Report(
        measure=("token accuracy", "accuracy"),
        scores=dict(tags.summary_json(errors[0].counts)),
        summary=summary,
        opening=(_sentence_accuracies(counts[0]) if asked.per_sentence else "") + table_text(summary),
        interval=_interval(counts[0], tags.accuracy_from_counts),
        against=_against(counts, tags.accuracy_from_counts),
        tables=tag_tables(errors, lost),
        sentences=tagged_sentences(words, right, systems, lost, asked.shown),
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


def _against(counts: Sequence[NDArray[np.float64]], score: Score) -> dict[str, float] | None:
    """The difference to the second system, if there is one."""
    if len(counts) == 1:
        return None
    system, other = counts
    result = randomisation_test(system, other, score)
    return {"difference": round(float(result.difference), 2), "p_value": round(float(result.p_value), 4)}
