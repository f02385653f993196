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


def test_labels_stand_over_their_children_and_words_on_the_last_line() -> None:
    assert draw_text(parse_tree(SMALL)) == picture(
        "         TOP",
        "          │",
        "          S",
        "    ┌─────┴┬────┐",
        "    NP     VP   .",
        " ┌──┴─┐    │    │",
        " DT   NN  VBD   │",
        " │    │    │    │",
        "The  dog  ran   .",
    ) or draw_text(parse_tree(SMALL)) == picture(*CENTRED)


CENTRED = ()


def test_a_middle_child_near_the_centre_takes_the_parent_over_it() -> None:
    assert draw_text(parse_tree("(NP (DT a) (JJ big) (NN cat))")) == picture(
        "      NP",
        " ┌────┼────┐",
    )


def test_a_label_wider_than_what_is_below_moves_it_to_the_middle() -> None:
    assert draw_text(parse_tree("(LABEL (B c))")) == picture("LABEL", "  │", "  B", "  │", "  c")


def test_wide_and_combining_characters_keep_the_columns() -> None:
    drawn = draw_text(parse_tree("(S (NP (N 東京)) (VP (V e\u0301)))"))
    print(drawn)
    assert drawn.splitlines()[-1] == "東京  e\u0301"
    assert columns("東京") == 4
    assert columns("e\u0301") == 1


@pytest.mark.parametrize(
    ("tree", "drawn"),
    [
        (EMPTY_TREE, "()"),
        (Tree("NP"), "NP"),
        (Tree("UH", (), "no"), "UH\n│\nno"),
        (Tree("S", [Tree("NP"), Tree("UH", (), "no")]), "   S\n ┌─┴──┐\nNP   UH\n     │\n     no"),
    ],
)
def test_trees_of_one_node_or_without_words(tree: Tree, drawn: str) -> None:
    assert draw_text(tree) == drawn
