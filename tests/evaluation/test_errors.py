"""Classes of parsing errors: one small pair of trees per rule, and that every wrong bracket is counted once."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lveg.evaluation.brackets import align
from lveg.evaluation.errors import ErrorClass, classify, count_errors, label_confusions
from lveg.treebank.penn import parse_tree, read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree, rebuild

SEEN_HIGH = "(S (NP (PRP I)) (VP (VBD saw) (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN hat)))))"
SEEN_LOW = "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN with) (NP (DT a) (NN hat))))))"
PARK_LOW = (
    "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN in) (NP (NP (DT the) (NN park))"
    " (PP (IN with) (NP (DT a) (NN hat))))))))"
)
PARK_HIGH = (
    "(S (NP (PRP I)) (VP (VBD saw) (NP (NP (DT a) (NN man)) (PP (IN in) (NP (DT the) (NN park))))"
    " (PP (IN with) (NP (DT a) (NN hat)))))"
)
LEFT_LOW = "(S (NP (PRP I)) (VP (VP (VBD ate)) (CC and) (VP (VBD left) (PP (IN on) (NP (NNP Monday))))))"
LEFT_HIGH = "(S (NP (PRP I)) (VP (VP (VBD ate)) (CC and) (VP (VBD left)) (PP (IN on) (NP (NNP Monday)))))"
AND_HIGH = "(S (NP (NP (NP (NN man)) (PP (IN with) (NP (NN hat)))) (CC and) (NP (NN dog))) (VP (VBD left)))"
AND_LOW = "(S (NP (NP (NN man)) (PP (IN with) (NP (NP (NN hat)) (CC and) (NP (NN dog))))) (VP (VBD left)))"
OWNER = "(S (NP (NP (DT the) (NN king) (POS 's)) (JJ old) (NN hat)) (VP (VBD fell)))"
FLAT = "(S (NP (DT the) (NN king) (POS 's) (JJ old) (NN hat)) (VP (VBD fell)))"
THAT_HIGH = "(S (NP (PRP I)) (VP (VBD hit) (NP (DT the) (NN man)) (SBAR (IN as) (S (NP (PRP he)) (VP (VBD slept))))))"
THAT_LOW = (
    "(S (NP (PRP I)) (VP (VBD hit) (NP (NP (DT the) (NN man)) (SBAR (IN as) (S (NP (PRP he)) (VP (VBD slept)))))))"
)
SOON_LOW = "(S (NP (PRP I)) (VP (VBD hoped) (S (VP (TO to) (VP (VB go) (ADVP (RB very) (RB soon)))))))"
SOON_HIGH = "(S (NP (PRP I)) (VP (VBD hoped) (S (VP (TO to) (VP (VB go)))) (ADVP (RB very) (RB soon))))"
DAY_LOW = "(S (NP (PRP I)) (VP (VBD hoped) (S (VP (TO to) (VP (VB go) (NP (DT that) (NN day)))))))"
DAY_HIGH = "(S (NP (PRP I)) (VP (VBD hoped) (S (VP (TO to) (VP (VB go)))) (NP (DT that) (NN day))))"
PHRASE = "(S (NP (PRP I)) (VP (VBD saw) (PP (IN in) (NP (DT the) (NN park)))))"
NO_PHRASE = "(S (NP (PRP I)) (VP (VBD saw) (IN in) (NP (DT the) (NN park))))"


def kinds(gold: str, system: str) -> Counter[str]:
    """The classes of the wrong brackets."""
    return Counter(wrong.kind.value for wrong in classify(align(parse_tree(gold), parse_tree(system))))


@pytest.mark.parametrize(
    ("gold", "system", "kind", "count"),
    [
        (SEEN_HIGH, SEEN_LOW, ErrorClass.pp, 1),
        (PARK_LOW, PARK_HIGH, ErrorClass.pp, 5),
        (LEFT_LOW, LEFT_HIGH, ErrorClass.pp, 2),
        (AND_HIGH, AND_LOW, ErrorClass.coordination, 4),
        (OWNER, FLAT, ErrorClass.inside_noun, 1),
        (THAT_HIGH, THAT_LOW, ErrorClass.clause, 1),
        (SOON_LOW, SOON_HIGH, ErrorClass.modifier, 6),
        (DAY_LOW, DAY_HIGH, ErrorClass.noun, 6),
        (PHRASE, NO_PHRASE, ErrorClass.span, 1),
        (SEEN_HIGH, SEEN_HIGH.replace("(PP", "(ADVP"), ErrorClass.label, 2),
        (SEEN_HIGH, SEEN_HIGH.replace("(NP (PRP I))", "(PRP I)"), ErrorClass.unary, 1),
        (SEEN_HIGH, f"(S {SEEN_HIGH})", ErrorClass.unary, 1),
    ],
)
def test_one_rule_each_in_both_directions(gold: str, system: str, kind: ErrorClass, count: int) -> None:
    assert kinds(gold, system) == {kind.value: count}
    assert kinds(system, gold) == {kind.value: count}


def test_brackets_about_the_same_words_are_one_error() -> None:
    sentences = [classify(align(parse_tree(PARK_LOW), parse_tree(PARK_HIGH)))]
    first = count_errors(sentences)[0]
    assert (first.kind, first.errors, first.missing, first.extra) == (ErrorClass.pp, 1, 3, 2)
    assert count_errors(sentences * 2)[0].errors == 2
    assert all(count.errors == count.missing == count.extra == 0 for count in count_errors(sentences)[1:])


def test_confusions_pair_brackets_of_one_span_from_the_top() -> None:
    gold, system = parse_tree("(S (VP (NP (A a) (B b))))"), parse_tree("(S (X (NP (Y (A a) (B b)))))")
    assert label_confusions(align(gold, system)) == [("VP", "X")]
    assert label_confusions(align(system, gold)) == [("X", "VP")]
    assert kinds(str(gold), str(system)) == {"label only": 2, "unary": 1}


SPANISH_HIGH = "(S (sn (nc Eva)) (grup.verb (vm vio)) (sn (grup.nom (nc gatos))) (sp (prep (sps en)) (sn (np Madrid))))"
SPANISH_LOW = "(S (sn (nc Eva)) (grup.verb (vm vio)) (sn (grup.nom (nc gatos) (sp (prep (sps en)) (sn (np Madrid))))))"


def test_labels_of_another_treebank() -> None:
    assert kinds(SPANISH_HIGH, SPANISH_LOW) == {"PP attachment": 4}


TREES = list(read_trees(ENGLISH.parent / "demo-dev.mrg"))


@given(st.integers(0, len(TREES) - 1), st.randoms(use_true_random=False))
def test_every_wrong_bracket_is_counted_once(number: int, random: Random) -> None:
    gold = TREES[number]
    found = align(gold, _damaged(gold, random))
    wrong = classify(found)
    assert [one.place for one in wrong if one.is_missing] == found.missing
    assert [one.place for one in wrong if not one.is_missing] == found.extra
    counts = count_errors([wrong])
    assert sum(count.missing for count in counts) == len(found.missing)
    assert sum(count.extra for count in counts) == len(found.extra)
    assert all(count.errors <= count.missing + count.extra for count in counts)


def _damaged(tree: Tree, random: Random) -> Tree:
    """The tree with random brackets removed, renamed and added."""

    def make(node: Tree, children: list[Tree]) -> Tree:
        if node.word is not None:
            return node
        choice = random.random()
        flat = [
            inner for child in children for inner in (child.children if choice < 0.2 and child.children else [child])
        ]
        if choice > 0.9 and len(flat) > 2:
            flat = [Tree("NP", flat[:2]), *flat[2:]]
        return Tree("PP" if 0.2 < choice < 0.3 else node.label, flat)

    made = rebuild(tree, make)
    assert made is not None
    return made
