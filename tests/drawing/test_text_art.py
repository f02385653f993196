"""Drawings: exact pictures of small trees, and laws of the layout for sampled ones."""

from __future__ import annotations

import pytest

from lveg.drawing import columns, draw_text, outline_text
from lveg.treebank.penn import parse_tree
from lveg.treebank.synthetic import read_grammar, sample_trees
from lveg.trees import EMPTY_TREE, Tree

SMALL = "(TOP (S (NP (DT The) (NN dog)) (VP (VBD ran)) (. .)))"


def picture(*lines: str) -> str:
    return "\n".join(lines)


def test_labels_are_over_their_children_and_words_on_the_last_line() -> None:
    assert draw_text(parse_tree(SMALL)) == picture(
        "        TOP",
        "         │",
        "         S",
        "   ┌─────┴─┬───┐",
        "   NP      VP  .",
        " ┌─┴──┐    │   │",
        " DT   NN  VBD  │",
        " │    │    │   │",
        "The  dog  ran  .",
    )


def test_a_child_in_the_middle_is_under_its_parent() -> None:
    assert draw_text(parse_tree("(NP (DT a) (JJ big) (NN cat))")) == picture(
        "     NP",
        "┌────┼────┐",
        "DT   JJ   NN",
        "│    │    │",
        "a   big  cat",
    )


def test_a_parent_is_over_a_child_one_column_off_the_middle() -> None:
    assert draw_text(parse_tree("(NP (DT each) (JJ heavy) (NN box))")).splitlines()[:2] == [
        "        NP",
        " ┌──────┼─────┐",
    ]


def test_children_are_centred_under_a_wider_label() -> None:
    assert draw_text(parse_tree("(LABEL (B c))")) == picture("LABEL", "  │", "  B", "  │", "  c")


def test_wide_and_combining_characters_keep_the_columns() -> None:
    assert draw_text(parse_tree("(S (NP (N 東京)) (VP (V e\u0301)))")) == picture(
        "   S",
        " ┌─┴──┐",
        " NP   VP",
        " │    │",
        " N    V",
        " │    │",
        "東京  e\u0301",
    )
    assert columns("東京") == 4
    assert columns("e\u0301") == 1


@pytest.mark.parametrize(
    ("tree", "drawn"),
    [
        (EMPTY_TREE, "()"),
        (Tree("NP"), "NP"),
        (Tree("UH", (), "no"), "UH\n│\nno"),
        (Tree("S", [Tree("NP"), Tree("UH", (), "no")]), "  S\n┌─┴─┐\nNP  UH\n    │\n    no"),
    ],
)
def test_trees_of_one_node_or_without_words(tree: Tree, drawn: str) -> None:
    assert draw_text(tree) == drawn


def test_a_tree_too_wide_becomes_an_outline() -> None:
    tree = parse_tree(SMALL)
    widest = max(map(columns, draw_text(tree).splitlines()))
    assert draw_text(tree, widest) == draw_text(tree)
    assert draw_text(tree, widest - 1) == outline_text(tree)
    assert outline_text(tree) == picture(
        "TOP",
        "└─ S",
        "   ├─ NP",
        "   │  ├─ DT The",
        "   │  └─ NN dog",
        "   ├─ VP",
        "   │  └─ VBD ran",
        "   └─ . .",
    )


def test_sampled_trees_are_drawn_completely_and_connected() -> None:
    for tree in sample_trees(read_grammar(), 60, seed=11):
        lines = draw_text(tree).splitlines()
        assert lines[-1].split() == tree.words()
        labels = [label for line in lines[:-1:2] for label in line.replace("│", " ").split()]
        assert sorted(labels) == sorted(node.label for node in tree)
        joined = "".join(lines)
        branching = [node for node in tree if len(node.children) > 1]
        assert joined.count("┌") == joined.count("┐") == len(branching)
        assert joined.count("┴") + joined.count("┼") == len(branching)


def test_deep_trees_are_drawn() -> None:
    tree = Tree("NN", (), "deep")
    for _ in range(5000):
        tree = Tree("X", [tree])
    assert draw_text(tree).count("X") == 5000
    assert draw_text(tree, 3).count("X") == 5000
