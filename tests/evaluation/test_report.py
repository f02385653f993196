"""Details, reports and their page: hand-counted tables, and that all forms show the same numbers."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from lveg.evaluation.brackets import align
from lveg.evaluation.calibration import calibrate
from lveg.evaluation.charts import bar_chart, reliability_diagram
from lveg.evaluation.comparison import TreeSentence
from lveg.evaluation.details import bracket_details, by_length, tag_details
from lveg.evaluation.page import Names, draw_tree, report_page
from lveg.evaluation.report import Asked, Report, bracket_report, report_json, report_text, tag_report
from lveg.evaluation.tables import Table, table_json, table_text
from lveg.evaluation.tags import LabelScore
from lveg.treebank.penn import parse_tree

GOLD = [
    parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN hat))))))"),
    parse_tree("(TOP (S (NP (NN <Dogs>)) (VP (VBP sleep))))"),
]
SYSTEM = [
    parse_tree("(TOP (S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN hat)))))))"),
    parse_tree("(TOP (S (NP (NN <Dogs>)) (VP (VB sleep))))"),
]
TAGGED = [[("Dogs", "NOUN"), ("sleep", "VERB")], [("Watch", "VERB"), ("dogs", "NOUN"), ("sleep", "NOUN")]]
TAGS = [["NOUN", "VERB"], ["NOUN", "NOUN", "VERB"]]
NAMES = Names("gold.mrg", "a & b", "c.mrg")


def rows(report: Report, name: str) -> list[dict[str, Any]]:
    """A table of the details, by column."""
    found: list[dict[str, Any]] = report_json(report, details=True)["details"][name]
    return found


def test_bracket_details() -> None:
    found = bracket_details(GOLD, SYSTEM)
    assert found.labels[0] == LabelScore("NP", 4, 5, 4)
    assert [score.label for score in found.labels] == ["NP", "S", "VP", "PP"]
    assert (found.all.matched, found.all.gold, found.all.test) == (9, 9, 10)
    assert found.tag_confusions == {("VBP", "VB"): 1}
    assert not found.label_confusions
    assert [*found.lengths] == ["1-10"]
    assert align(GOLD[0], SYSTEM[0]).extra == [3]


def test_equivalent_labels_are_not_confused() -> None:
    gold, system = parse_tree("(S (ADVP (A a) (B b)) (C c))"), parse_tree("(S (PRT (A a) (B b)) (C c))")
    found = bracket_details([gold], [system])
    assert not found.label_confusions
    assert found.labels == [LabelScore("ADVP", 1, 1, 1), LabelScore("S", 1, 1, 1)]


def test_tag_details() -> None:
    words = [[word for word, _ in sentence] for sentence in TAGGED]
    right = [[tag for _, tag in sentence] for sentence in TAGGED]
    found = tag_details(words, right, TAGS)
    assert [(one.word, one.tokens, one.wrong, one.gold_tag, one.system_tag) for one in found.words] == [
        ("Watch", 1, 1, "VERB", "NOUN"),
        ("sleep", 2, 1, "NOUN", "VERB"),
    ]
    assert found.lengths["1-10"] == found.counts


def test_groups_of_lengths() -> None:
    assert by_length([1, 10, 11, 99]) == {"1-10": [0, 1], "11-20": [2], "over 40": [3]}


def test_the_report_of_trees() -> None:
    report = bracket_report(GOLD, SYSTEM, None, "sig", asked=Asked(details=True, shown=5))
    assert rows(report, "errors")[0] == {
        "class": "PP attachment",
        "errors": 1,
        "missing": 0,
        "extra": 1,
        "brackets": 1,
        "share": 100,
        "f1_if_mended": 100,
    }
    text = report_text(report, details=True)
    for part in ("PP attachment", "Scores by label", "1-10", "VBP", "F1 95 % interval", "signature: sig"):
        assert part in text
    assert "PP attachment" not in report_text(report)
    assert "details" not in report_json(report)
    assert [one.number for one in report.sentences] == [1]


def test_two_systems_side_by_side() -> None:
    report = bracket_report(GOLD, SYSTEM, GOLD, "sig", asked=Asked(details=True, shown=5))
    assert rows(report, "outcomes") == [
        {"outcome": "better", "sentences": 0},
        {"outcome": "equal", "sentences": 1},
        {"outcome": "worse", "sentences": 1},
    ]
    assert rows(report, "errors")[0]["other_brackets"] == 0
    assert rows(report, "labels")[0]["other_f1"] == 100
    tags = tag_report(TAGGED, TAGS, [[tag for _, tag in one] for one in TAGGED], "sig", asked=Asked(True, 5))
    assert rows(tags, "outcomes")[2] == {"outcome": "worse", "sentences": 1}
    assert rows(tags, "tags")[0]["other_f1"] == 100
    assert [one.title for one in tags.sentences] == ["2 wrong tags, the other system 0 wrong tags"]


def test_sentences_that_cannot_be_scored_are_left_out() -> None:
    other_words = parse_tree("(TOP (S (NP (NN Cats)) (VP (VB sleep) (RB well))))")
    report = bracket_report(GOLD, [SYSTEM[0], other_words], None, "sig", asked=Asked(True, 5))
    assert report.scores["errors"] == 1
    assert [one.number for one in report.sentences] == [1]


def test_the_gold_tree_is_marked_for_each_system() -> None:
    report = bracket_report(SYSTEM, GOLD, SYSTEM, "sig", asked=Asked(True, 5))
    shown = report.sentences[0]
    assert isinstance(shown, TreeSentence)
    (gold, found), (same, right) = shown.panes
    assert gold.marked
    assert not found.marked
    assert (same.tree, right.tree) == (gold.tree, gold.tree)
    assert same.marked == right.marked == frozenset()


class _Checker(HTMLParser):
    """Collects the elements, and checks that they are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag in {"meta"}:
            self.open.pop()

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("other", [None, GOLD])
def test_the_page_is_whole_and_needs_nothing_else(other: list[Any] | None) -> None:
    calibrations = {"tree": calibrate([(0.95, True), (0.5, False), (0.5, True)])}
    report = bracket_report(GOLD, SYSTEM, other, "sig", asked=Asked(True, 5), calibrations=calibrations)
    page = report_page(report, NAMES)
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    assert not {tag for tag, _ in checker.seen} & {"script", "img", "link", "iframe"}
    assert not [attrs for _, attrs in checker.seen if {"src", "href"} & {*attrs}]
    assert "://" not in page
    assert "a &amp; b" in page
    assert len(re.findall("<mark>NP</mark>", page)) == 1
    for svg in re.findall(r"<svg.*?</svg>", page):
        ElementTree.fromstring(svg)


def test_many_tags_are_printed_only_with_details() -> None:
    tagged = [[("word", f"T{number:02}")] * (40 - number) for number in range(30)]
    report = tag_report(tagged, [[tag for _, tag in one] for one in tagged], None, "sig", asked=Asked())
    short, long = report_text(report), report_text(report, details=True)
    assert [tag for tag in ("T00", "T19", "T20", "T29") if tag in short] == ["T00", "T19"]
    assert "\n10 more with --details\n" in short
    assert "T29" in long
    assert "more with" not in long


def test_the_page_of_tags() -> None:
    page = report_page(tag_report(TAGGED, TAGS, None, "sig", asked=Asked(True, 5)), NAMES)
    assert page.count("<mark>") == 2
    assert "<b>Watch</b><span>VERB</span><mark>NOUN</mark>" in page


def test_words_of_trees_are_escaped() -> None:
    assert "NN &lt;Dogs&gt;" in draw_tree(GOLD[1], frozenset(), "gold")
    drawn = draw_tree(GOLD[1], frozenset({2}), "gold")
    assert "├─ <mark>NP</mark>\n" in drawn
    assert drawn.count("<mark>") == 1


def test_tables() -> None:
    table = Table("x", "Title", ("word", "n", "last tag"), [("a", 1000, "B"), ("long", None, "C")], bars=("n",))
    assert table_text(table) == "Title\nword      n  last tag\na     1,000  B\nlong      -  C"
    assert table_json(table)[1] == {"word": "long", "n": None, "last_tag": "C"}
    chart = ElementTree.fromstring(bar_chart(table))
    assert [float(bar.attrib["width"]) > 0 for bar in chart.iter("rect")] == [True, False]
    assert table_text(Table("x", "Empty", ("word", "n"), [])) == "Empty\nword  n"


def test_a_reliability_diagram_has_a_point_per_bin() -> None:
    found = calibrate([(0.05, False), (0.95, True), (0.95, False)])
    points = [*ElementTree.fromstring(reliability_diagram("tag", found)).iter("circle")]
    assert len(points) == len(found.bins) == 2
    assert float(points[1].attrib["r"]) > float(points[0].attrib["r"])
    assert ElementTree.fromstring(reliability_diagram("tag", calibrate([]))) is not None
