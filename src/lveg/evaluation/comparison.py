"""The tables and sentences that a report shows, of one system or of two side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lveg.evaluation.brackets import OK, Alignment, BracketCounts
from lveg.evaluation.details import BracketDetails, TagDetails, Tags, n_lost
from lveg.evaluation.errors import WrongBracket
from lveg.evaluation.tables import Cell, Table
from lveg.evaluation.tags import LabelScore, per_tag, top_confusions
from lveg.trees import Tree

N_CONFUSIONS, N_WORDS = 20, 20
"""Numbers of rows of the tables of confusions and of words."""

GOLD, SYSTEM, OTHER = "gold", "system", "other"
"""The sides of a comparison; the second system is `other` in headings too."""


@dataclass(frozen=True)
class TreePane:
    """The tree of one side, with a note on it; marked: the indices of the nodes that differ, parents first."""

    side: str
    note: str
    tree: Tree
    marked: frozenset[int]


@dataclass(frozen=True)
class TreeSentence:
    """A sentence with the gold tree and the tree of each system, marked against each other.

    wrong: the first system's wrong brackets.
    """

    number: int
    words: list[str]
    panes: list[tuple[TreePane, TreePane]]
    wrong: list[WrongBracket]
    title: str


@dataclass(frozen=True)
class TagSentence:
    """A sentence with its gold tags and the systems' tags, by side."""

    number: int
    words: list[str]
    tags: dict[str, list[str]]
    title: str


Shown = TreeSentence | TagSentence


def bracket_tables(found: BracketDetails, other: BracketDetails | None) -> list[Table]:
    """All tables of a parser's errors."""
    tables = [
        _error_table(found, other),
        _label_table("labels", "Scores by label", found.labels, None if other is None else other.labels),
        _length_table(found, other),
        _confusion_table(
            "label_confusions",
            "Most frequent confusions of labels",
            "Brackets whose span is right and whose label is wrong.",
            found.label_confusions,
            None if other is None else other.label_confusions,
        ),
        _confusion_table(
            "tag_confusions",
            "Most frequent confusions of tags",
            "Words with a wrong tag.",
            found.tag_confusions,
            None if other is None else other.tag_confusions,
        ),
    ]
    if other is not None:
        lost = [[n_lost(one) for one in side.alignments] for side in (found, other)]
        tables.append(_outcome_table(lost[0], lost[1], "missing and extra brackets"))
    return tables


def tag_tables(found: TagDetails, other: TagDetails | None, all_tags: tuple[Tags, Tags, Tags] | None) -> list[Table]:
    """All tables of a tagger's errors. all_tags: gold, system and other tags, to compare sentences."""
    lengths: list[tuple[Cell, ...]] = [
        (
            name,
            counts.sentences,
            counts.tokens,
            counts.token_accuracy,
            *([] if other is None else [other.lengths[name].token_accuracy]),
        )
        for name, counts in found.lengths.items()
    ]
    rivals = None if other is None else per_tag(other.counts)
    tables = [
        replace(_label_table("tags", "Scores by tag", per_tag(found.counts), rivals), is_basic=True),
        replace(
            _confusion_table(
                "tag_confusions",
                "Most frequent confusions",
                "Words with a wrong tag.",
                found.counts.confusions,
                None if other is None else other.counts.confusions,
            ),
            is_basic=True,
        ),
        Table(
            "lengths",
            "Scores by length of the sentence",
            ("words", "sentences", "tokens", *_both("accuracy", other)),
            lengths,
            bars=_both("accuracy", other),
            top=100.0,
        ),
        Table(
            "words",
            "Words with the most wrong tags",
            ("word", "tokens", "wrong", "gold", "system"),
            [(one.word, one.tokens, one.wrong, one.gold_tag, one.system_tag) for one in found.words[:N_WORDS]],
            "With the most frequent of its confusions.",
            bars=("wrong",),
        ),
    ]
    if all_tags is not None:
        gold, system, rival_tags = all_tags
        tables.append(_outcome_table(_wrong_tags(gold, system), _wrong_tags(gold, rival_tags), "wrong tags"))
    return tables


def _both(name: str, other: object | None) -> tuple[str, ...]:
    return (name,) if other is None else (name, f"{OTHER} {name}")


def _error_table(found: BracketDetails, other: BracketDetails | None) -> Table:
    lost = max(1, sum(one.missing + one.extra for one in found.errors))
    rivals = {} if other is None else {one.kind: one for one in other.errors}
    rows: list[tuple[Cell, ...]] = []
    for one in found.errors:
        brackets = one.missing + one.extra
        mended = _mended(found.all, one.missing, one.extra)
        rival = rivals.get(one.kind)
        counts = [] if rival is None else [rival.missing + rival.extra]
        rows.append(
            (one.kind.value, one.errors, one.missing, one.extra, brackets, *counts, 100 * brackets / lost, mended.f1)
        )
    rows.sort(key=lambda row: -int(row[4] or 0))
    return Table(
        "errors",
        "Classes of errors",
        ("class", "errors", "missing", "extra", *_both("brackets", other), "share", "F1 if mended"),
        rows,
        "Each missing and each extra bracket is in one class; brackets of one class that are about the same words form "
        "one error. Share: percentage of all wrong brackets. F1 if mended: the F1 without the errors of this class.",
        bars=_both("brackets", other),
    )


def _mended(counts: BracketCounts, missing: int, extra: int) -> BracketCounts:
    """The counts if these brackets were right."""
    return replace(counts, matched=counts.matched + missing, test=counts.test - extra + missing)


def _label_table(name: str, title: str, found: list[LabelScore], other: list[LabelScore] | None) -> Table:
    rivals = {one.label: one.f1 for one in other or []}
    rows: list[tuple[Cell, ...]] = []
    for one in found:
        row = (one.label, one.gold, one.system, one.precision, one.recall, one.f1)
        rows.append(row if other is None else (*row, rivals.get(one.label, 0.0)))
    kind = "tag" if name == "tags" else "label"
    columns = (kind, "gold", "system", "precision", "recall", *_both("F1", other))
    return Table(name, title, columns, rows, bars=_both("F1", other), top=100.0)


def _length_table(found: BracketDetails, other: BracketDetails | None) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, counts in found.lengths.items():
        rivals = [] if other is None else [other.lengths[name].f1]
        rows.append((name, counts.sentences, counts.precision, counts.recall, counts.f1, *rivals, counts.exact_match))
    columns = ("words", "sentences", "precision", "recall", *_both("F1", other), "exact match")
    title = "Scores by length of the sentence"
    return Table("lengths", title, columns, rows, bars=_both("F1", other), top=100.0)


def _confusion_table(
    name: str,
    title: str,
    note: str,
    found: Counter[tuple[str, str]],
    other: Counter[tuple[str, str]] | None,
) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for gold, system, count in top_confusions(found, N_CONFUSIONS):
        rows.append((gold, system, count) if other is None else (gold, system, count, other[gold, system]))
    return Table(name, title, ("gold", "system", *_both("number", other)), rows, note, bars=_both("number", other))


def _outcome_table(lost: Sequence[int], other: Sequence[int], what: str) -> Table:
    """How many sentences are better, equal or worse than the other system's."""
    signs = Counter((a > b) - (a < b) for a, b in zip(lost, other, strict=True))
    rows: list[tuple[Cell, ...]] = [("better", signs[-1]), ("equal", signs[0]), ("worse", signs[1])]
    note = f"Sentences with fewer, as many, or more {what} than the other system has."
    return Table("outcomes", "Sentence by sentence", ("outcome", "sentences"), rows, note, bars=("sentences",))


def _wrong_tags(gold: Tags, system: Tags) -> list[int]:
    return [sum(map(str.__ne__, right, found)) for right, found in zip(gold, system, strict=True)]


def _most_telling(lost: Sequence[int], other: Sequence[int] | None, count: int) -> list[int]:
    """The sentences to show: the worst, or with a second system those where the two differ most."""
    rival = lost if other is None else other
    rank = [(abs(b - a), a + b) if other is not None else (0, a) for a, b in zip(lost, rival, strict=True)]
    ranked = sorted(range(len(lost)), key=lambda number: (-rank[number][0], -rank[number][1], number))
    return [number for number in ranked if lost[number] or rival[number]][:count]


def tree_sentences(
    gold: Sequence[Tree],
    system: tuple[Sequence[Tree], BracketDetails],
    other: tuple[Sequence[Tree], BracketDetails] | None,
    count: int,
) -> list[TreeSentence]:
    """The sentences with the most wrong brackets, or with a second system those where the two differ most."""
    sides = [system] if other is None else [system, other]
    lost = [[n_lost(found) for found in details.alignments] for _, details in sides]
    shown = []
    for number in _most_telling(lost[0], None if other is None else lost[1], count):
        panes = []
        for side, (trees, details) in zip((SYSTEM, OTHER), sides, strict=False):
            found, tree = details.alignments[number], trees[number]
            missed = {found.gold_nodes[index] for index in found.missing}.union(_other_tags(gold[number], tree))
            extra = {found.system_nodes[index] for index in found.extra}.union(_other_tags(tree, gold[number]))
            panes.append((
                TreePane(GOLD, "", gold[number], frozenset(missed)),
                TreePane(side, _note(found), tree, frozenset(extra)),
            ))  # fmt: skip
        title = _title([counts[number] for counts in lost], "bracket")
        shown.append(TreeSentence(number + 1, gold[number].words(), panes, system[1].wrong[number], title))
    return shown


def _note(found: Alignment) -> str:
    if found.status != OK:
        return "could not be scored"
    return f"{len(found.missing)} missing, {len(found.extra)} extra"


def _title(lost: Sequence[int], what: str) -> str:
    """How many brackets or tags are wrong, of the system and of the other one, if there is one."""
    texts = [f"{count} wrong {what}{'' if count == 1 else 's'}" for count in lost]
    return ", the other system ".join(texts)


def _other_tags(tree: Tree, reference: Tree) -> Iterable[int]:
    """The leaves whose tags differ from the reference, as indices of nodes."""
    leaves = [index for index, node in enumerate(tree) if node.word is not None]
    tags = reference.tags()
    if len(tags) != len(leaves):
        return []
    return [index for index, mine, tag in zip(leaves, tree.tags(), tags, strict=True) if mine != tag]


def tagged_sentences(words: Tags, gold: Tags, system: Tags, other: Tags | None, count: int) -> list[TagSentence]:
    """The sentences with the most wrong tags, or with a second system those where the two differ most."""
    lost = _wrong_tags(gold, system)
    rival = None if other is None else _wrong_tags(gold, other)
    sides = {GOLD: gold, SYSTEM: system} | ({} if other is None else {OTHER: other})
    return [
        TagSentence(
            number + 1,
            list(words[number]),
            {side: list(tags[number]) for side, tags in sides.items()},
            _title([counts[number] for counts in (lost, rival) if counts is not None], "tag"),
        )
        for number in _most_telling(lost, rival, count)
    ]
