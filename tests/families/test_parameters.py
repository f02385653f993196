"""Parameters as users look at them, against inference."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from small import quick_options

from lveg.errors import GrammarError
from lveg.families.gm.family import Gm
from lveg.families.gm.mixture import Mixture
from lveg.families.lvg.family import Subtyped
from lveg.families.tag_gm.family import TagGm
from lveg.forest.builders import tree_forest
from lveg.grammar.grammar import Grammar
from lveg.model import Parser
from lveg.training import train_parser, train_tagger
from lveg.treebank.penn import parse_tree
from lveg.trees import Tree

TREES = [
    parse_tree("(TOP (S (NP (DT the) (NN dog)) (VP (VB runs))))"),
    parse_tree("(TOP (NP (DT the) (NN dog)))"),
    parse_tree("(TOP (S (NP (NN dog)) (VP (VB runs) (NP (DT the) (NN dog)))))"),
] * 4


def _overlap(one: np.ndarray, var_one: np.ndarray, other: np.ndarray, var_other: np.ndarray) -> float:
    """The integral of the product of two Gaussians."""
    var = var_one + var_other
    return float(np.exp(-0.5 * ((one - other) ** 2 / var + np.log(2 * np.pi * var)).sum()))


def _triple(parts: list[tuple[Mixture, int, int]]) -> float:
    """The integral of the product of three Gaussians."""
    (one, v), (other, w), (third, u) = ((x.mean[i][k], x.variance[i][k]) for x, i, k in parts)
    var = v * w / (v + w)
    return _overlap(one, v, other, w) * _overlap(var * (one / v + other / w), var, third, u)


def _parser(model: str, **options: Any) -> Parser:
    return train_parser(TREES, model=model, held_out=0.0, **quick_options("parser", model) | options)


def _log_weight(parser: Parser, tree: Tree) -> float:
    family = parser.family
    assert isinstance(family, Gm | Subtyped)
    cleaned = parser.cleaning(tree)
    assert cleaned is not None
    return family.log_z(tree_forest(parser.grammar, cleaned, parser.binarisation))


@pytest.mark.parametrize("covariance", ["spherical", "diagonal"])
def test_the_weight_of_a_tree_is_made_of_mixtures(covariance: str) -> None:
    parser = _parser("gm", components=2, dim=3, covariance=covariance)
    grammar, family = parser.grammar, parser.family
    assert isinstance(family, Gm)
    rules = ("ROOT -> NP", "NP -> DT NN", "DT -> the", "NN -> dog")
    root, phrase, first, second = (family.mixture(grammar.rule(text)) for text in rules)
    assert [len(one.mean) for one in (root, phrase, first, second)] == [2, 3, 1, 1]
    assert {array.shape for array in (*phrase.mean, *phrase.variance)} == {(2, 3)}
    total = 0.0
    for a, b, c, d in itertools.product(range(2), repeat=4):
        joints = [((root, 1, a), (phrase, 0, b)), ((phrase, 1, b), (first, 0, c)), ((phrase, 2, b), (second, 0, d))]
        weight = root.weight[a] * phrase.weight[b] * first.weight[c] * second.weight[d]
        total += weight * math.prod(
            _overlap(x.mean[i][k], x.variance[i][k], y.mean[j][m], y.variance[j][m]) for (x, i, k), (y, j, m) in joints
        )
    assert _log_weight(parser, TREES[1]) == pytest.approx(math.log(total), abs=1e-9)


@pytest.mark.parametrize("model", ["lvg", "split-merge", "multi-scale"])
def test_the_weight_of_a_tree_is_made_of_weights_between_subtypes(model: str) -> None:
    parser = _parser(model)
    grammar, family = parser.grammar, parser.family
    assert isinstance(family, Subtyped)
    rules = [grammar.rule(text) for text in ("ROOT -> NP", "NP -> DT NN", "DT -> the", "NN -> dog")]
    root, phrase, first, second = map(family.rule_weights, rules)
    assert phrase.shape == tuple(family.subtypes[[grammar.symbol(name) for name in ("NP", "DT", "NN")]])
    total = np.einsum("xay,abc,bxy,cxy->", root, phrase, first, second)
    assert _log_weight(parser, TREES[1]) == pytest.approx(math.log(total), abs=1e-9)
    of_subtype = family.subtype_rule_weights(grammar.symbol("NP"), 0)
    assert of_subtype[rules[1]] == pytest.approx(phrase[0].sum())
    assert list(of_subtype.values()) == sorted(of_subtype.values(), reverse=True)
    assert {grammar.rule_lhs[rule] for rule in of_subtype} == {grammar.symbol("NP")}


def test_the_weight_of_tags_is_made_of_mixtures() -> None:
    tagged = [[("the", "D"), ("dog", "N")], [("dog", "N")]] * 4
    tagger = train_tagger(tagged, model="gm", components=2, dim=2, held_out=0.0, epochs=1)
    grammar, family = tagger.grammar, tagger.family
    assert isinstance(family, TagGm)

    def mixture(text: str) -> Mixture:
        return family.mixture(grammar.rule(text))

    start, step, end, the, dog = map(mixture, ("ROOT -> D", "D -> D N", "N -> N", "D -> the", "N -> dog"))
    assert [len(one.mean) for one in (start, step, end, the, dog)] == [1, 2, 1, 1, 1]
    total = 0.0
    for a, b, c, d, e in itertools.product(range(2), repeat=5):
        first = [(start, 0, a), (the, 0, d), (step, 0, b)]
        last = [(step, 1, b), (dog, 0, e), (end, 0, c)]
        weight = start.weight[a] * step.weight[b] * end.weight[c] * the.weight[d] * dog.weight[e]
        total += weight * _triple(first) * _triple(last)
    (packed,) = family.pack(grammar, [tagged[0]])
    assert family.log_z(packed, is_given=True) == pytest.approx(math.log(total), abs=1e-9)


def test_rules_and_symbols_by_name() -> None:
    grammar: Grammar = _parser("pcfg").grammar
    for rule in range(grammar.n_rules):
        assert grammar.rule(grammar.describe_rule(rule)) == rule
    assert grammar.symbols[grammar.symbol("NP")].name == "NP"
    for text in ("NP -> NN DT", "NP -> a b c", "XX -> NN", "NN -> cat", "NP"):
        with pytest.raises(GrammarError, match="the grammar has no rule"):
            grammar.rule(text)
    with pytest.raises(GrammarError, match="no symbol XX"):
        grammar.symbol("XX")
