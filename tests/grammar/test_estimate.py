"""Rule probabilities and their sums."""

from __future__ import annotations

import math
import random
from collections import defaultdict

import pytest
from oracles import toy_of, tree_mass

from lveg.grammar.binarise import Binarisation
from lveg.grammar.estimate import hmm_weights, pcfg_weights
from lveg.grammar.grammar import Floats, Grammar, tag_grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.treebank.penn import parse_tree

FINITE = [
    "(TOP (S (NP (D the) (N dog)) (VP (V barks) (NP (D a) (N dog)))))",
    "(TOP (S (NP (D the) (N dog)) (VP (V barks) (NP (D a) (J big) (J old) (N dog)))))",
    "(TOP (VP (V barks) (NP (D the) (N dog))))",
    "(TOP (NP (QP (D the) (N dog))))",
    "(TOP (S (NP (D the) (N dog))))",  # a chain above a symbol that has chains itself
    "(TOP (D the))",
]
"""No symbol derives itself, and every phrase branches somewhere."""

UNARY_ONLY = ["(TOP (S (NP (N dogs)) (VP (V bark))))"]
"""NP and VP never branch."""

RECURSIVE = [
    *FINITE,
    "(TOP (S (NP (NP (D the) (N dog)) (PP (P of) (NP (N man)))) (VP (S (VP (V runs) (VP (V go) (R on)))))))",
    "(TOP (S (S (NP (N dogs)) (VP (V bark) (R on))) (C and) (S (VP (V run) (R off)))))",
]


def weighted(texts: list[str], scheme: Binarisation) -> tuple[Grammar, Floats]:
    """The grammar of trees, and its probabilities."""
    grammar = tree_grammar([parse_tree(text) for text in texts], scheme, LexiconOptions(threshold=1))
    return grammar, pcfg_weights(grammar)


@pytest.mark.parametrize("horizontal", [0, 2])
def test_finite_language_sums_to_one(horizontal: int) -> None:
    # With horizontal=0 a PART may repeat itself, so the language is not finite: the sum only approaches one.
    mass = tree_mass(toy_of(*weighted(FINITE, Binarisation(horizontal=horizontal))), 60)
    assert math.isclose(mass, 1.0, abs_tol=1e-9)


def test_language_with_phrases_that_never_branch_sums_to_one() -> None:
    assert math.isclose(tree_mass(toy_of(*weighted(UNARY_ONLY, Binarisation())), 10), 1.0, abs_tol=1e-9)


@pytest.mark.parametrize("scheme", [Binarisation(), Binarisation(vertical=2), Binarisation("left", horizontal=1)])
def test_the_weight_of_trees_never_exceeds_one(scheme: Binarisation) -> None:
    toy = toy_of(*weighted(RECURSIVE, scheme))
    masses = [tree_mass(toy, size) for size in (3, 10, 40)]
    assert masses == sorted(masses)
    assert 0.5 < masses[-1] <= 1 + 1e-9


def test_every_rule_has_weight() -> None:
    _, weight = weighted(RECURSIVE, Binarisation())
    assert (weight > 0).all()


def test_hmm_weights_are_normalised() -> None:
    dice = random.Random(1)
    tagged = [
        [(dice.choice("abcde"), dice.choice(["N", "V", "D", "X"])) for _ in range(dice.randint(1, 6))]
        for _ in range(30)
    ]
    grammar = tag_grammar([*tagged, []], LexiconOptions())
    weight = hmm_weights(grammar)
    sums: dict[tuple[int, bool], float] = defaultdict(float)
    for rule in range(grammar.n_rules):
        sums[int(grammar.rule_lhs[rule]), rule >= grammar.lexical_start] += weight[rule]
    assert len(sums) == 1 + 4 + 4  # ROOT, states, tags
    assert all(math.isclose(value, 1.0, abs_tol=1e-9) for value in sums.values())
    assert (weight > 0).all()
