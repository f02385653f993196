"""Bracket scores: hand-counted cases, laws, and EVALB's own figures."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lveg.errors import UsageError
from lveg.evaluation.brackets import (
    ERROR,
    OK,
    SKIP,
    BracketCounts,
    SentenceScore,
    brackets,
    evalb_report,
    f1_counts,
    f1_from_counts,
    score_pair,
    score_pairs,
    summarise,
    summary_json,
    total,
)
from lveg.evaluation.params import COLLINS, EvalbParams, read_params
from lveg.treebank.penn import parse_tree, read_trees
from lveg.trees import EMPTY_TREE, Tree

DATA = Path(__file__).parents[2] / os.environ.get("LVEG_DATA", "../shared/data")
EVALB = DATA.resolve().parent / "evalb"

QUOTING = replace(COLLINS, quote_labels=frozenset({"``", "''", "POS", "NN"}))

GOLD = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT a) (NN dog))) (. .)))"
# Of S(0,5) NP(0,2) VP(2,4) NP(3,4) NP(4,5) the first two are correct, VP crosses NP(3,5); one tag is wrong.
WRONG = "(TOP (S (NP (DT The) (NN cat)) (VP (VBD saw) (NP (DT a))) (NP (NNP dog)) (. .)))"


def score(gold: str, system: str, params: EvalbParams = COLLINS) -> SentenceScore:
    return score_pair(parse_tree(gold), parse_tree(system), params)


def test_hand_counted_pair() -> None:
    found = score(GOLD, WRONG)
    assert found == SentenceScore(1, 6, OK, 2, 4, 5, crossing=1, words=5, correct_tags=4)
    assert (found.recall, found.precision, found.tag_accuracy) == (50.0, 40.0, 80.0)


def test_crossing_counts_brackets_of_the_system() -> None:
    gold = "(TOP (S (A (X a) (X b)) (B (X c) (X d))))"
    system = "(TOP (S (X a) (A (B (X b) (X c))) (X d)))"
    assert score(gold, system).crossing == 2  # (1,3) twice, each crossing both gold phrases
    assert score(gold, "(TOP (S (X a) (A (X b) (X c)) (X d)))").crossing == 1


@pytest.mark.parametrize(
    ("gold", "system", "matched"),
    [
        ("(TOP (NP (NP (NN x))))", "(TOP (NP (NN x)))", (1, 2, 1)),
        ("(TOP (NP (NN x)))", "(TOP (NP (NP (NP (NN x)))))", (1, 1, 3)),
        ("(TOP (NP (VP (NN x))))", "(TOP (VP (NP (NN x))))", (2, 2, 2)),
    ],
)
def test_unary_chains_are_multisets(gold: str, system: str, matched: tuple[int, int, int]) -> None:
    found = score(gold, system)
    assert (found.matched, found.gold, found.test) == matched


def test_labels_of_phrases_are_cut_and_those_of_tags_are_not() -> None:
    found = score("(TOP-1 (NP-SBJ=2 (NN x)))", "(TOP (NP=2-SBJ (NN-A x)))")
    assert (found.matched, found.gold, found.test, found.correct_tags) == (1, 1, 1, 0)
    # The label of a phrase -NONE- is cut to nothing, so that DELETE_LABEL does not see it.
    assert brackets(parse_tree("(TOP (-NONE- (NN x)))")) == {("", 0, 1): 1}


def test_deleted_tags_lose_their_words_and_empty_brackets_do_not_count() -> None:
    tree = parse_tree("(TOP (S (PRN (, ,) (: -)) (NP) (VP (VB go) (-NONE- *)) (NP (-NONE- *))))")
    assert brackets(tree) == {("S", 0, 1): 1, ("VP", 0, 1): 1}
    found = score_pair(tree, tree)
    assert (found.length, found.words, found.gold) == (3, 1, 2)


def test_unwrapped_bracket_without_label_counts() -> None:
    assert brackets(parse_tree("( (S (NN x)))")) == {("", 0, 1): 1, ("S", 0, 1): 1}


def test_equivalent_labels_apply_to_phrases_tags_and_deletion() -> None:
    found = score("(TOP (ADVP (PRT x)))", "(TOP (PRT (ADVP x)))")
    assert (found.matched, found.correct_tags) == (1, 1)
    params = replace(COLLINS, eq_labels=(("TOP", "ROOT"),))
    assert brackets(parse_tree("(ROOT (S (NN x)))"), params) == {("S", 0, 1): 1}
    assert brackets(parse_tree("(TOP (PRT (RP x)))")) == brackets(parse_tree("(TOP (ADVP (RP x)))"))


def test_equivalence_is_not_transitive_and_matching_is_in_order() -> None:
    params = replace(COLLINS, eq_labels=(("A", "B"), ("B", "C")))
    assert score("(TOP (A (NN x)))", "(TOP (C (NN x)))", params).matched == 0
    # Gold B is matched with the system's A; gold A is left with the system's C, to which it is not equal.
    assert score("(TOP (B (A (NN x))))", "(TOP (A (C (NN x))))", params).matched == 1
    assert score("(TOP (A (B (NN x))))", "(TOP (A (C (NN x))))", params).matched == 2


def test_unlabelled_brackets() -> None:
    params = replace(COLLINS, labeled=False)
    gold, system = parse_tree("(TOP (S (NP (NN x)) (VB y)))"), parse_tree("(TOP (X (VP (NN x)) (NN y)))")
    found = score_pair(gold, system, params)
    assert (found.matched, found.correct_tags) == (2, 1)
    assert brackets(gold, params) == brackets(system, params) == {("", 0, 2): 1, ("", 0, 1): 1}


@pytest.mark.parametrize(
    ("gold", "system", "status", "length"),
    [
        (GOLD, "(())", SKIP, 6),
        (GOLD, "(TOP (S (. .)))", SKIP, 6),
        ("(())", "(())", SKIP, 0),
        ("(())", GOLD, ERROR, 0),
        (GOLD, "(TOP (S (NN cat)))", ERROR, 6),
        ("(TOP (S (NN a)))", "(TOP (S (NN b)))", ERROR, 1),
        ("(TOP (S (NN a) (. .)))", "(TOP (S (NN a) (NN .)))", ERROR, 2),
        ("(TOP (S (NN a) (. .)))", "(TOP (S (NN a)))", OK, 2),
    ],
)
def test_status(gold: str, system: str, status: int, length: int) -> None:
    found = score(gold, system)
    assert (found.status, found.length) == (status, length)
    if status != OK:
        assert found == SentenceScore(1, length, status)


def test_equivalent_words() -> None:
    params = replace(COLLINS, eq_words=(("Example", "example"),))
    assert score("(TOP (S (NN example)))", "(TOP (S (NN Example)))", params).status == OK
    assert score("(TOP (S (NN example)))", "(TOP (S (NN Example)))").status == ERROR


def test_misread_quotes_are_restored_on_either_side() -> None:
    deleted, kept = "(TOP (S (`` ') (A (NN a))))", "(TOP (S (POS ') (A (NN a))))"
    expected = SentenceScore(1, 2, OK, 2, 2, 2, crossing=0, words=2, correct_tags=1)
    assert score(deleted, kept, QUOTING) == expected
    assert score(kept, deleted, QUOTING) == expected
    assert score(deleted, kept).status == ERROR
    assert score(deleted.replace("'", "x"), kept.replace("'", "x"), QUOTING).status == ERROR


def test_the_same_quote_can_be_restored_twice() -> None:
    # EVALB moves a mark that it has put back on to where the next one is looked for, so that the gold's
    # A begins after two copies of the first mark instead of before the second.
    found = score("(TOP (S (`` ') (A (`` ') (NN a))))", "(TOP (S (NN ') (A (NN ') (NN a))))", QUOTING)
    assert (found.status, found.matched, found.gold, found.test) == (OK, 1, 2, 2)


def test_numbers_of_trees_must_agree() -> None:
    one = [parse_tree(GOLD)]
    with pytest.raises(UsageError, match="the system side ends after 1 trees"):
        score_pairs(one * 2, one)
    with pytest.raises(UsageError, match="the gold side ends after 0 trees"):
        score_pairs([], one)


def small_corpus() -> list[SentenceScore]:
    gold = [GOLD, GOLD, GOLD, "(TOP (S (NN a) (NN b)))"]
    system = [WRONG, GOLD, "(())", "(TOP (S (NN a)))"]
    return score_pairs(map(parse_tree, gold), map(parse_tree, system))


def test_summary_counts_only_valid_sentences() -> None:
    summary = summarise(small_corpus(), replace(COLLINS, cutoff_len=5))
    assert summary.all == BracketCounts(4, 1, 1, 6, 8, 9, 1, 1, 1, 2, 10, 9)
    assert summary.short == BracketCounts(sentences=1, errors=1)
    assert summary_json(summary) == {
        "sentences": 4,
        "errors": 1,
        "skipped": 1,
        "precision": 66.67,
        "recall": 75.0,
        "f1": 70.59,
        "exact_match": 50.0,
        "crossing": 0.5,
        "tag_accuracy": 90.0,
        "le40": {
            "sentences": 1,
            "errors": 1,
            "skipped": 0,
            "precision": 0.0,
            "recall": 0.0,
            "f1": 0.0,
            "exact_match": 0.0,
            "crossing": 0.0,
            "tag_accuracy": 0.0,
        },
    }


def test_sentences_as_long_as_the_cutoff_are_short() -> None:
    scores = [SentenceScore(1, 6), SentenceScore(2, 7)]
    assert summarise(scores, replace(COLLINS, cutoff_len=6)).short.sentences == 1


def test_few_crossings_are_up_to_two() -> None:
    counts = total(SentenceScore(1, 9, crossing=crossing).counts for crossing in range(4))
    assert (counts.crossing, counts.no_crossing, counts.few_crossing) == (6, 1, 3)
    assert (counts.average_crossing, counts.no_crossing_rate, counts.few_crossing_rate) == (1.5, 25.0, 75.0)


def test_report_has_the_layout_of_evalb() -> None:
    lines = evalb_report(small_corpus()).splitlines()
    assert lines[3] == "   1    6    0   50.00  40.00     2      4    5      1      5     4    80.00"
    assert lines[5] == "   3    6    2    0.00   0.00     0      0    0      0      0     0     0.00"
    assert lines[8] == "                 75.00  66.67      6     8     9      1     10     9    90.00"
    assert lines[11] == "-- All --"
    assert lines[18] == "Bracketing FMeasure       =  70.59"
    assert lines[25] == "-- len<=40 --"
    assert len(lines) == 38


def test_report_without_any_bracket_has_a_short_sum() -> None:
    lines = evalb_report(score_pairs([parse_tree(GOLD)], [EMPTY_TREE])).splitlines()
    assert lines[5] == "      0     0     0.00"


def test_f1_from_counts_is_that_of_the_summary() -> None:
    scores = small_corpus()
    counts = f1_counts(scores)
    assert counts.shape == (4, 3)
    assert float(f1_from_counts(counts.sum(axis=0))) == pytest.approx(summarise(scores).all.f1, rel=1e-12)
    assert f1_from_counts(np.zeros((2, 3))).tolist() == [0.0, 0.0]


LABELS = st.sampled_from(["S", "NP", "NP-SBJ", "ADVP", "PRT", "TOP", "VP=1"])
TAGS = st.sampled_from(["NN", "VB", ",", "ADVP", "PRT"])


@st.composite
def analyses(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two random trees over the same words with the same deletions."""
    deleted = draw(st.lists(st.booleans(), min_size=1, max_size=9))
    return draw(tree_over(deleted)), draw(tree_over(deleted))


@st.composite
def tree_over(draw: st.DrawFn, deleted: list[bool]) -> Tree:
    nodes = [
        Tree("," if gone else draw(TAGS.filter(lambda tag: tag != ",")), (), f"w{index}")
        for index, gone in enumerate(deleted)
    ]
    for _ in range(draw(st.integers(0, 12))):
        start = draw(st.integers(0, len(nodes) - 1))
        end = draw(st.integers(start + 1, len(nodes)))
        nodes[start:end] = [Tree(draw(LABELS), nodes[start:end])]
    return Tree("TOP", nodes)


@given(analyses())
def test_exchanging_the_sides_exchanges_precision_and_recall(pair: tuple[Tree, Tree]) -> None:
    there, back = score_pair(pair[0], pair[1]), score_pair(pair[1], pair[0])
    assert there.status == back.status
    assert (there.matched, there.gold, there.test) == (back.matched, back.test, back.gold)
    assert there.correct_tags == back.correct_tags


@given(analyses())
def test_a_tree_scored_against_itself_is_correct(pair: tuple[Tree, Tree]) -> None:
    found = score_pair(pair[0], pair[0])
    if found.status == OK:
        assert found.matched == found.gold == found.test
        assert (found.crossing, found.correct_tags) == (0, found.words)
    else:
        assert found.status == SKIP


@given(analyses(), st.booleans())
def test_counted_brackets_give_the_same_matches(pair: tuple[Tree, Tree], labeled: bool) -> None:
    params = replace(COLLINS, labeled=labeled)
    found = score_pair(*pair, params)
    gold, system = brackets(pair[0], params), brackets(pair[1], params)
    if found.status == OK:
        assert (found.matched, found.gold, found.test) == (
            (gold & system).total(),
            gold.total(),
            system.total(),
        )
        crossing = [any(a < c < b < d or c < a < d < b for _, a, b in gold) for _, c, d in system.elements()]
        assert found.crossing == sum(crossing)


@given(st.lists(analyses(), max_size=5))
def test_counts_add(pairs: list[tuple[Tree, Tree]]) -> None:
    scores = [score_pair(*pair) for pair in pairs]
    added: BracketCounts = sum((score.counts for score in scores), BracketCounts())
    assert added == total(score.counts for score in scores) == summarise(scores).all


needs_evalb = pytest.mark.skipif(not EVALB.is_dir(), reason=f"no EVALB figures in {EVALB}")


@pytest.fixture(scope="module")
def evalb_trees() -> tuple[list[Tree], list[Tree]]:
    def read(name: str) -> list[Tree]:
        return list(read_trees(EVALB / name, allow_empty=True))

    return read("gold.mrg.gz"), read("system.mrg.gz")


@needs_evalb
@pytest.mark.parametrize(("prm", "printed"), [("COLLINS.prm", "evalb.collins.txt"), ("new.prm", "evalb.new.txt")])
def test_evalb_prints_the_same(evalb_trees: tuple[list[Tree], list[Tree]], prm: str, printed: str) -> None:
    """EVALB 2013: `evalb -p COLLINS.prm gold.mrg system.mrg`, 1,260 pairs, every line."""
    params = read_params(EVALB / prm)
    ours = evalb_report(score_pairs(*evalb_trees, params), params).splitlines()
    assert ours == (EVALB / printed).read_text(encoding="utf-8").splitlines()


@needs_evalb
def test_summary_has_evalb_figures(evalb_trees: tuple[list[Tree], list[Tree]]) -> None:
    found = summary_json(summarise(score_pairs(*evalb_trees)))
    short = found.pop("le40")
    assert found == {
        "sentences": 1260,
        "errors": 35,
        "skipped": 17,
        "precision": 87.15,
        "recall": 84.35,
        "f1": 85.72,
        "exact_match": 38.0,
        "crossing": 0.06,
        "tag_accuracy": 98.65,
    }
    assert isinstance(short, dict)
    assert (short["sentences"], short["f1"], short["tag_accuracy"]) == (1151, 84.78, 98.59)
