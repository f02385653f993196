"""The tables and sentences that a report shows, of one system or of two side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lveg.evaluation.brackets import OK, Alignment, BracketCounts
from lveg.evaluation.details import BracketDetails, TagDetails, Tags
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


def bracket_tables(systems: Sequence[BracketDetails]) -> list[Table]:
    """All tables of the errors of a parser, or of two."""
    tables = [
        _error_table(systems),
        _label_table("labels", "Scores by label", [one.labels for one in systems]),
        _length_table(systems),
        _confusion_table(
            "label_confusions",
            "Most frequent confusions of labels",
            "Brackets whose span is right and whose label is wrong.",
            [one.label_confusions for one in systems],
        ),
        _confusion_table(
            "tag_confusions",
            "Most frequent confusions of tags",
            "Words with a wrong tag.",
            [one.tag_confusions for one in systems],
        ),
    ]
    if len(systems) > 1:
        tables.append(_outcome_table([one.lost for one in systems], "missing and extra brackets"))
    return tables


def tag_tables(systems: Sequence[TagDetails], lost: Sequence[Sequence[int]]) -> list[Table]:
    """All tables of the errors of a tagger, or of two. lost: each one's number of wrong tags in each sentence."""
    lengths: list[tuple[Cell, ...]] = [
        (name, counts.sentences, counts.tokens, *(one.lengths[name].token_accuracy for one in systems))
        for name, counts in systems[0].lengths.items()
    ]
    tables = [
        replace(_label_table("tags", "Scores by tag", [per_tag(one.counts) for one in systems]), is_basic=True),
        replace(
            _confusion_table(
                "tag_confusions",
                "Most frequent confusions",
                "Words with a wrong tag.",
                [one.counts.confusions for one in systems],
            ),
            is_basic=True,
        ),
        Table(
            "lengths",
            "Scores by length of the sentence",
            ("words", "sentences", "tokens", *_each("accuracy", systems)),
            lengths,
            bars=_each("accuracy", systems),
            top=100.0,
        ),
        Table(
            "words",
            "Words with the most wrong tags",
            ("word", "tokens", "wrong", "gold", "system"),
            [(one.word, one.tokens, one.wrong, one.gold_tag, one.system_tag) for one in systems[0].words[:N_WORDS]],
            "With the most frequent of its confusions.",
            bars=("wrong",),
        ),
    ]
    return [*tables, _outcome_table(lost, "wrong tags")] if len(systems) > 1 else tables


def _each(name: str, systems: Sequence[object]) -> tuple[str, ...]:
    """The headings of a measure, one for each system."""
    return (name, f"{OTHER} {name}")[: len(systems)]


def _error_table(systems: Sequence[BracketDetails]) -> Table:
    found, counts = systems[0], [{one.kind: one.missing + one.extra for one in side.errors} for side in systems]
    lost = max(1, sum(counts[0].values()))
    rows: list[tuple[Cell, ...]] = []
    for one in sorted(found.errors, key=lambda one: -counts[0][one.kind]):
        brackets = [side[one.kind] for side in counts]
        mended = _mended(found.all, one.missing, one.extra)
        rows.append(
            (one.kind.value, one.errors, one.missing, one.extra, *brackets, 100 * brackets[0] / lost, mended.f1)
        )
    return Table(
        "errors",
        "Classes of errors",
        ("class", "errors", "missing", "extra", *_each("brackets", systems), "share", "F1 if mended"),
        rows,
        "Each missing and each extra bracket is in one class; brackets of one class that are about the same words form "
        "one error. Share: percentage of all wrong brackets. F1 if mended: the F1 without the errors of this class.",
        bars=_each("brackets", systems),
    )


def _mended(counts: BracketCounts, missing: int, extra: int) -> BracketCounts:
    """The counts if these brackets were right."""
    return replace(counts, matched=counts.matched + missing, test=counts.test - extra + missing)


def _label_table(name: str, title: str, systems: Sequence[list[LabelScore]]) -> Table:
    f1 = [{one.label: one.f1 for one in scores} for scores in systems]
    rows: list[tuple[Cell, ...]] = [
        (one.label, one.gold, one.system, one.precision, one.recall, *(side.get(one.label, 0.0) for side in f1))
        for one in systems[0]
    ]
    kind = "tag" if name == "tags" else "label"
    columns = (kind, "gold", "system", "precision", "recall", *_each("F1", systems))
    return Table(name, title, columns, rows, bars=_each("F1", systems), top=100.0)


def _length_table(systems: Sequence[BracketDetails]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, counts in systems[0].lengths.items():
        f1 = [one.lengths[name].f1 for one in systems]
        rows.append((name, counts.sentences, counts.precision, counts.recall, *f1, counts.exact_match))
    columns = ("words", "sentences", "precision", "recall", *_each("F1", systems), "exact match")
    title = "Scores by length of the sentence"
    return Table("lengths", title, columns, rows, bars=_each("F1", systems), top=100.0)


def _confusion_table(name: str, title: str, note: str, systems: Sequence[Counter[tuple[str, str]]]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (gold, system, *(one[gold, system] for one in systems))
        for gold, system, _ in top_confusions(systems[0], N_CONFUSIONS)
    ]
    columns = _each("number", systems)
    return Table(name, title, ("gold", "system", *columns), rows, note, bars=columns)


def _outcome_table(lost: Sequence[Sequence[int]], what: str) -> Table:
    """How many sentences are better, equal or worse than the other system's."""
    signs = Counter((a > b) - (a < b) for a, b in zip(*lost, strict=True))
    rows: list[tuple[Cell, ...]] = [("better", signs[-1]), ("equal", signs[0]), ("worse", signs[1])]
    note = f"Sentences with fewer, as many, or more {what} than the other system has."
    return Table("outcomes", "Sentence by sentence", ("outcome", "sentences"), rows, note, bars=("sentences",))


def wrong_tags(gold: Tags, system: Tags) -> list[int]:
    """The number of wrong tags of each sentence."""
    return [sum(map(str.__ne__, right, found)) for right, found in zip(gold, system, strict=True)]


def _most_telling(lost: Sequence[Sequence[int]], count: int) -> list[int]:
    """The sentences to show: the worst, or with a second system those where the two differ most."""
    both = list(zip(*lost, strict=True))
    ranked = sorted(range(len(both)), key=lambda number: (min(both[number]) - max(both[number]), -sum(both[number])))
    return [number for number in ranked if any(both[number])][:count]


def tree_sentences(
    gold: Sequence[Tree], systems: Sequence[Sequence[Tree]], errors: Sequence[BracketDetails], count: int
) -> list[TreeSentence]:
    """The sentences with the most wrong brackets, or with a second system those where the two differ most."""
    lost = [one.lost for one in errors]
    shown = []
    for number in _most_telling(lost, count):
        panes = []
        for side, trees, details in zip((SYSTEM, OTHER), systems, errors, strict=False):
            found, tree = details.alignments[number], trees[number]
            missed = {found.gold_nodes[index] for index in found.missing}.union(_other_tags(gold[number], tree))
            extra = {found.system_nodes[index] for index in found.extra}.union(_other_tags(tree, gold[number]))
            panes.append((
                TreePane(GOLD, "", gold[number], frozenset(missed)),
                TreePane(side, _note(found), tree, frozenset(extra)),
            ))  # fmt: skip
        title = _title([counts[number] for counts in lost], "bracket")
        shown.append(TreeSentence(number + 1, gold[number].words(), panes, errors[0].wrong[number], title))
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


def tagged_sentences(
    words: Tags, gold: Tags, systems: Sequence[Tags], lost: Sequence[Sequence[int]], count: int
) -> list[TagSentence]:
    """The sentences with the most wrong tags, or with a second system those where the two differ most."""
    sides = dict(zip((GOLD, SYSTEM, OTHER), (gold, *systems), strict=False))
    return [
        TagSentence(
            number + 1,
            list(words[number]),
            {side: list(tags[number]) for side, tags in sides.items()},
            _title([counts[number] for counts in lost], "tag"),
        )
        for number in _most_telling(lost, count)
    ]
