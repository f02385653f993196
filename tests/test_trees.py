"""Trees in memory: writing, spans and cleaning."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import trees

from lveg.treebank.penn import parse_tree, read_trees
from lveg.trees import EMPTY_TREE, Cleaning, Tree, bare_label, escape_word, with_root

AS_IT_IS = Cleaning(strip_functions=False, empty_elements="", collapse_unaries=False)


def cleaned(text: str, cleaning: Cleaning | None = None) -> str | None:
    tree = (cleaning or Cleaning())(parse_tree(text))
    return None if tree is None else str(tree)


@pytest.mark.parametrize(
    ("label", "bare"),
    [
        ("NP-SBJ-3", "NP"),
        ("NP=2", "NP"),
        ("NP-SBJ=1", "NP"),
        ("ADVP|PRT", "ADVP"),
        ("-LRB-", "-LRB-"),
        ("-NONE-", "-NONE-"),
        ("S.NF.C*", "S.NF.C*"),
        ("sn.e-SUJ", "sn.e"),
        ("PRP$", "PRP$"),
        ("=", "="),
        ("|", "|"),
        ("", ""),
    ],
)
def test_bare_label(label: str, bare: str) -> None:
    assert bare_label(label) == bare


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("( (S (NP-SBJ-1 (NN a)) (VP (VB b))))", "(TOP (S (NP (NN a)) (VP (VB b))))"),
        ("( (S (NP=2 (NN a)) (ADVP|PRT (RB b))))", "(TOP (S (NP (NN a)) (ADVP (RB b))))"),
        ("( (S (-LRB- -LRB-) (-RRB- -RRB-)))", "(TOP (S (-LRB- -LRB-) (-RRB- -RRB-)))"),
        ("( (S (NP-SBJ (-NONE- *T*-1)) (VP (VB b))))", "(TOP (S (VP (VB b))))"),
        ("( (S (SBAR (-NONE- 0) (S (NP (-NONE- *))) ) (VP (VB b))))", "(TOP (S (VP (VB b))))"),
        ("( (S (sn.e-SUJ *0*) (grup.verb (vmip3s0 va))))", "(TOP (S (grup.verb (vmip3s0 va))))"),
        ("( (S (SYM *) (Fz *) (CD 0) (NN *T*-1)))", "(TOP (S (SYM *) (Fz *) (CD 0) (NN *T*-1)))"),
        ("( (S (sn.x *) (grup *0*)))", "(TOP (S (sn.x *) (grup *0*)))"),
        ("(NP (NP-SBJ (NP (NN a))))", "(TOP (NP (NN a)))"),
        # Removing a trace next to the only other child gives X over X.
        ("(VP (VP-1 (VB a)) (NP (-NONE- *)))", "(TOP (VP (VB a)))"),
        # A phrase and its tag may share a name; both stay.
        ("(ROOT (NN (NN a)))", "(TOP (NN (NN a)))"),
        ("(ROOT (NNP Thurs.))", "(TOP (NNP Thurs.))"),
    ],
)
def test_cleaning(text: str, expected: str) -> None:
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "text", ["(S a)", "( (S a))", "(ROOT (S a))", "(TOP (S a))", "(S1 (S a))", "(ROOT ( (TOP (S a))))"]
)
def test_every_wrapper_becomes_one_root(text: str) -> None:
    assert str(with_root(parse_tree(text))) == "(TOP (S a))"
    assert cleaned(text, AS_IT_IS) == "(TOP (S a))"


def test_a_wrapper_over_two_trees_keeps_both() -> None:
    assert cleaned("( (S a) (S b))") == "(TOP (S a) (S b))"


def test_each_step_can_be_switched_off() -> None:
    text = "( (NP-1 (NP-1 (NP-2 (NN a) (-NONE- *)))))"
    assert cleaned(text) == "(TOP (NP (NN a)))"
    assert cleaned(text, Cleaning(strip_functions=False)) == "(TOP (NP-1 (NP-2 (NN a))))"
    assert cleaned(text, Cleaning(empty_elements="")) == "(TOP (NP (NN a) (-NONE- *)))"
    assert cleaned(text, Cleaning(collapse_unaries=False)) == "(TOP (NP (NP (NP (NN a)))))"
    assert cleaned(text, AS_IT_IS) == "(TOP (NP-1 (NP-1 (NP-2 (NN a) (-NONE- *)))))"


def test_tags_are_kept_whole_unless_they_are_to_be_cut() -> None:
    text = "( (NP-SBJ (D-A the) (N|NPR-D=1 cat) (-LRB- x)))"
    assert cleaned(text) == "(TOP (NP (D-A the) (N|NPR-D=1 cat) (-LRB- x)))"
    assert cleaned(text, Cleaning(strip_tags=True)) == "(TOP (NP (D the) (N cat) (-LRB- x)))"
    whole = Cleaning(strip_functions=False, strip_tags=True)
    assert cleaned(text, whole) == "(TOP (NP-SBJ (D the) (N cat) (-LRB- x)))"


def test_the_pattern_for_empty_elements_can_be_changed() -> None:
    assert cleaned("(S (X e) (Y e))", Cleaning(empty_elements="X .*")) == "(TOP (S (Y e)))"


@pytest.mark.parametrize("text", ["( (S (NP (-NONE- *))))", "(())", "(TOP (S ))"])
def test_a_tree_without_words_left_is_none(text: str) -> None:
    assert cleaned(text) is None


def test_cleaning_keeps_lemmas() -> None:
    tree = Cleaning()(parse_tree("( (sn (da0ms0 El el)))"))
    assert tree is not None
    assert str(tree) == "(TOP (sn (da0ms0 El el)))"
    assert tree.leaves()[0].lemma == "el"


@given(trees())
def test_cleaning_twice_changes_nothing_more(tree: Tree) -> None:
    once = Cleaning()(tree)
    assert once is None or Cleaning()(once) == once


@given(trees())
def test_cleaning_without_steps_keeps_the_words(tree: Tree) -> None:
    kept = AS_IT_IS(tree)
    assert kept is not None
    assert kept.words() == tree.words()
    assert kept.tags() == tree.tags()


@given(trees())
def test_written_trees_read_back(tree: Tree) -> None:
    assert parse_tree(str(tree)) == tree


@given(trees())
def test_spans_cover_the_words_below(tree: Tree) -> None:
    words = tree.words()
    spans = tree.spans()
    assert [node for node, _, _ in spans] == list(tree)
    for node, start, end in spans:
        assert node.words() == words[start:end]


def test_spans_of_empty_phrases_are_empty() -> None:
    tree = parse_tree("(S (A a) (X ) (B b))")
    assert [(node.label, start, end) for node, start, end in tree.spans()] == [
        ("S", 0, 2), ("A", 0, 1), ("X", 1, 1), ("B", 1, 2),
    ]  # fmt: skip


def test_words_that_cannot_be_written_are_escaped() -> None:
    assert escape_word("f(x)\ty\u2009z") == "f-LRB-x-RRB-_y\u2009z"
    assert escape_word("") == ""
    leaf = Tree("NN", (), "a b", "(")
    assert (leaf.word, leaf.lemma, str(leaf)) == ("a_b", "-LRB-", "(NN a_b -LRB-)")
    assert parse_tree(str(leaf)).words() == leaf.words()


@given(st.text())
def test_escaping_is_done_once(word: str) -> None:
    escaped = escape_word(word)
    assert not set(escaped) & set("() \t\n\r\v\f")
    assert escape_word(escaped) == escaped
    assert escaped == word.translate(
        {ord("("): "-LRB-", ord(")"): "-RRB-", **dict.fromkeys(map(ord, " \t\n\r\v\f"), "_")}
    )


def test_the_empty_tree() -> None:
    assert str(EMPTY_TREE) == "(())"
    assert parse_tree("(())") == EMPTY_TREE
    assert EMPTY_TREE.words() == []


def test_equality_sees_shape_label_and_word() -> None:
    tree = parse_tree("(S (A a) (B b))")
    assert tree == parse_tree("(S\n(A a)(B  b) )")
    assert hash(tree) == hash(parse_tree("(S (A a)(B b))"))
    for other in [
        "(S (A a) (C b))",
        "(S (A a) (B c))",
        "(S (A a))",
        "(S (S (A a) (B b)))",
        "(X (A a) (B b))",
    ]:
        assert tree != parse_tree(other)
    assert tree != "(S (A a) (B b))"


def test_a_long_tree_has_a_short_repr() -> None:
    assert repr(parse_tree("(NN a)")) == "Tree('(NN a)')"
    assert len(repr(Tree("S", [parse_tree("(NN a)")] * 100))) < 100


@given(trees())
def test_copies_and_pickles_are_the_same_tree(tree: Tree) -> None:
    for other in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert other == tree
        assert other is not tree
        assert [node.lemma for node in other] == [node.lemma for node in tree]


def test_deep_trees_are_copied_and_pickled() -> None:
    depth = 100_000
    tree = parse_tree("(S (A a x) " * depth + "(B b)" + ")" * depth)
    for other in (copy.copy(tree), copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert str(other) == str(tree)
        assert hash(other) == hash(tree)


def test_depth_is_limited_only_by_memory(tmp_path) -> None:  # type: ignore[no-untyped-def]
    depth = 50_000
    text = "(S (A a) " * depth + "(B b)" + ")" * depth
    path = tmp_path / "deep.mrg"
    path.write_text(text + "\n")
    (tree,) = read_trees(path)
    assert str(tree) == text
    assert tree.spans()[0] == (tree, 0, depth + 1)
    assert repr(tree).endswith("...')")
    clean = Cleaning()(tree)
    assert clean is not None
    assert str(clean) == f"(TOP {text})"
    assert Cleaning()(parse_tree("(X " * depth + "(B b)" + ")" * depth)) == parse_tree("(TOP (X (B b)))")
