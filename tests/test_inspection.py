"""What a model learned: the numbers behind the page, and the page."""

from __future__ import annotations

from functools import cache
from html import escape
from typing import Any

import numpy as np
import pytest

from lveg.errors import UsageError
from lveg.families.insight import PLACES, RULES, WORDS, About, Insight, expected_uses, largest
from lveg.inspection import inspection_page, log_overlaps, plane_axes
from lveg.model import Parser, combine
from lveg.training import train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH


@cache
def parser(model: str) -> Parser:
    trees = [tree for tree in read_trees(ENGLISH.parent / "demo-train.mrg") if len(tree.words()) <= 9][:60]
    options: dict[str, Any] = {"gm": {"epochs": 1}, "split-merge": {"cycles": 2}}.get(model, {})
    return train_parser(trees[:50], trees[50:], model, **options)


def about(insight: Insight, name: str) -> About:
    return next(one for one in insight.symbols if one.name == name)


def test_counts_of_the_treebank() -> None:
    grammar = parser("pcfg").grammar
    (insight,) = parser("pcfg").family.insights(grammar)
    np_symbol = about(insight, "NP")
    rules = np.flatnonzero(
        grammar.rule_lhs == grammar.symbols.index(next(s for s in grammar.symbols if s.name == "NP"))
    )
    best = rules[np.argmax(grammar.count[rules])]
    first = np_symbol.lists[RULES][0]
    assert first.text == grammar.describe_rule(int(best)).replace("->", "→")
    assert first.share == pytest.approx(grammar.count[best] / grammar.count[rules].sum())
    assert any("[NP]" in use.text for use in np_symbol.lists[PLACES])
    assert WORDS not in np_symbol.lists
    assert WORDS in about(insight, "NN").lists


def test_expected_uses_follow_weights_from_the_root_down() -> None:
    """ROOT -> A, A -> w | v: subtype 0 of A has two thirds of the uses, and most of w."""
    count, first = np.array([30.0, 20.0, 10.0]), np.array([0, 2])
    rule, weight = np.array([0, 0, 1, 1, 2, 2]), np.array([2.0, 1.0, 0.9, 0.3, 0.1, 0.7])
    lhs, child = np.array([-1, -1, 0, 1, 0, 1]), np.array([0, 1, -1, -1, -1, -1])
    uses = expected_uses(count, first, rule, weight, lhs, [child])
    assert uses[:2] == pytest.approx([20.0, 10.0])
    assert uses[2:4] == pytest.approx([20 * 1.8 / 2.1, 20 * 0.3 / 2.1])
    assert np.bincount(rule, uses) == pytest.approx(count)


def test_the_largest_entries_of_each_owner() -> None:
    found = largest(np.array([1, 0, 1, -1, 1]), np.array([1.0, 5.0, 3.0, 9.0, 2.0]), 3, most=2)
    assert [one.tolist() for one in found] == [[1], [2, 4], []]


def test_overlaps_are_integrals_of_products() -> None:
    draw, x = np.random.default_rng(3), np.linspace(-20.0, 20.0, 4001)[:, None]
    mean, std = draw.normal(size=(2, 3)), draw.uniform(0.5, 2.0, (2, 3))
    one, other = (np.exp(-0.5 * ((x - m) / s) ** 2) / (s * np.sqrt(2 * np.pi)) for m, s in zip(mean, std, strict=True))
    integral = (one * other).sum(axis=0) * 0.01  # of each dimension
    found = log_overlaps(mean[:1], std[:1], mean[1:], std[1:])
    assert found[0, 0] == pytest.approx(np.log(integral).sum())


def test_the_plane_shows_the_directions_of_largest_variance() -> None:
    draw = np.random.default_rng(0)
    points = draw.normal(size=(500, 4)) * [0.1, 3.0, 0.2, 2.0]
    axes = plane_axes(points, np.ones(500))
    assert axes.T @ axes == pytest.approx(np.eye(2), abs=1e-9)
    assert abs(axes[1, 0]) > 0.99
    assert abs(axes[3, 1]) > 0.99
    assert plane_axes(points[:, :2], np.ones(500)) == pytest.approx(np.eye(2))
    assert plane_axes(points[:, :1], np.ones(500)).shape == (1, 2)


def test_pages_show_what_the_family_has() -> None:
    page = inspection_page(parser("pcfg"), "a <title>", ["NP"])
    assert "In the treebank" in page
    assert "Gaussians" not in page
    assert "subtypes" not in page
    assert escape("a <title>") in page
    assert page.count("<section") == 1
    vectors = inspection_page(parser("gm"), "gm", ["NN", "NP"])
    assert vectors.count("<svg xmlns") == vectors.count("<section") == 2
    assert "projected from 3 dimensions" in vectors
    assert "Split tree of" in inspection_page(parser("split-merge"), "subtypes", ["NP"])
    for made in (page, vectors):
        assert "http" not in made.replace("http://www.w3.org/2000/svg", "")


def test_products_have_a_part_for_each_grammar() -> None:
    both = combine([parser("gm"), parser("split-merge")])
    page = inspection_page(both, "both", ["NP"])
    assert page.count("<section") == 2
    assert "parser: gm × split-merge" in page
    assert "Gaussians in the plane" in page
    assert "Split tree" in page


def test_an_unknown_symbol_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no symbol 'NQ'; those with the same first letter: .*NP"):
        inspection_page(parser("pcfg"), "p", ["NQ"])
    with pytest.raises(UsageError, match=r"no symbol '\?'; those there are: .*NP"):
        inspection_page(parser("pcfg"), "p", ["?"])
