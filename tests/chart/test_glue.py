"""Every sentence gets a forest: all fallbacks, and glue for any words with any tags."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import (
    Rule,
    Toy,
    anchored_of,
    count_derivations,
    derivations,
    edge_lists,
    random_toy,
    subject,
    total,
    toy_of,
)

from lveg.chart.coarse import CoarseParser, relax
from lveg.decoding.derivations import decode, tree_of
from lveg.families.pcfg.family import Pcfg
from lveg.forest.constraints import Constraints, intersect
from lveg.grammar.binarise import Binarisation
from lveg.grammar.estimate import pcfg_weights
from lveg.grammar.grammar import tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.trees import Tree, escape_word


def _leaf(tag: str, word: str) -> Tree:
    return Tree(tag, (), word)


TREES = [
    Tree("TOP", [Tree("S", [Tree("NP", [_leaf("D", "the"), _leaf("N", "dog")]), Tree("VP", [_leaf("V", "barks")])])]),
    Tree("TOP", [Tree("S", [Tree("NP", [_leaf("N", "dogs")]), Tree("VP", [_leaf("V", "bark"), _leaf("R", "on")])])]),
    Tree("TOP", [_leaf("N", "dogs"), _leaf(".", "."), _leaf(".", "!")]),
]
GRAMMAR = tree_grammar(TREES, Binarisation(), LexiconOptions(threshold=1, smooth=0))
PARSER = CoarseParser(GRAMMAR, pcfg_weights(GRAMMAR))


@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=5), st.sampled_from([None, *GRAMMAR.tags])), min_size=1, max_size=8)
)
def test_any_words_with_any_tags_have_a_forest(tagged: list[tuple[str, str | None]]) -> None:
    words = [word for word, _ in tagged]
    given_tags = tuple(tag for _, tag in tagged)
    parses = PARSER.parses(words, 1e-5, constraints=Constraints(tags=given_tags))
    assert parses.forest is not None
    assert not parses.forest.is_empty
    assert parses.fallback in (None, "glue")
    posterior = Pcfg(parses.weight).posterior(parses.forest)
    assert math.isfinite(posterior.log_z)
    ((_, edges),) = decode(parses.grammar, parses.forest, posterior, "max-rule")
    tree = tree_of(parses.grammar, parses.forest, edges, words)
    assert tree.words() == [escape_word(word) for word in words]
    assert all(want in (None, got) for want, got in zip(given_tags, tree.tags(), strict=True))


def test_random_grammars_with_any_tags_have_a_forest() -> None:
    dice = random.Random(51)
    glued = 0
    for _ in range(150):
        toy = random_toy(dice)
        grammar, weight = subject(toy)
        words = [dice.choice([*toy.words, "?"]) for _ in range(dice.randint(1, 6))]
        given_tags = tuple(dice.choice([None, *grammar.tags]) for _ in words)
        parses = CoarseParser(grammar, weight).parses(words, 1e-4, constraints=Constraints(tags=given_tags))
        assert parses.forest is not None
        glued += parses.fallback == "glue"
    assert glued > 30


def test_relaxed_grammar_equals_enumeration() -> None:
    """Glue is a grammar like any other: the chart and the forest agree with enumeration on it."""
    dice = random.Random(52)
    for _ in range(25):
        toy = random_toy(dice)
        grammar, weight = relax(*subject(toy), [0])
        larger = toy_of(grammar, weight)
        assert {rule.weight for rule in larger.rules} >= {1e-9}
        terminals = [0] * dice.randint(1, 3)
        if count_derivations(larger, terminals) > 1500:
            terminals = [0, 0]
        found = derivations(larger, terminals)
        log_z, forest = CoarseParser(grammar, weight).prune([toy.words[0]] * len(terminals), 0.0, 0.0)
        assert math.isclose(log_z, math.log(total(found)), rel_tol=1e-9, abs_tol=1e-9)
        assert sorted(anchored_of(forest, edges) for edges in edge_lists(forest)) == sorted(one.rules for one in found)


def test_relaxing_keeps_old_rules_and_weights() -> None:
    grammar, weight = relax(GRAMMAR, PARSER.weight, [GRAMMAR.lexicon.terminal("dog")])
    old = {
        GRAMMAR.describe_rule(rule): value for rule, value in enumerate(PARSER.weight) if rule < GRAMMAR.lexical_start
    }
    new = {grammar.describe_rule(rule): value for rule, value in enumerate(weight)}
    assert old.items() <= new.items()
    assert len(set(new) - set(old)) > 10
    for kind in ("binary", "unary", "root", "lexical"):
        part = grammar.kind_slice(kind)
        rows = list(zip(grammar.rule_lhs[part], grammar.rule_left[part], grammar.rule_right[part], strict=True))
        assert rows == sorted(rows)


def test_ordinary_sentence_has_no_fallback() -> None:
    parses = PARSER.parses(["the", "dog", "barks"], 1e-5)
    assert parses.fallback is None
    assert parses.grammar is GRAMMAR
    assert parses.log_z == pytest.approx(PARSER.prune(["the", "dog", "barks"], 0.0, 0.0)[0], rel=1e-12)


def _many_ways(count: int) -> CoarseParser:
    """One word with `count` equally likely analyses."""
    rules = [Rule("unary", symbol, (count,), (), 1.0) for symbol in range(count)]
    rules += [Rule("root", -1, (symbol,), (), 1.0) for symbol in range(count)]
    rules += [Rule("lexical", count, (0,), (), 1.0)]
    symbols = [("phrase", f"P{symbol}", ()) for symbol in range(count)]
    return CoarseParser(*subject(Toy([*symbols, ("tag", "t", ())], count, ["a"], rules)))


@pytest.mark.parametrize(("count", "fallback"), [(1, None), (3, "wide"), (10_100, "unpruned")])
def test_pruning_is_loosened_then_turned_off(count: int, fallback: str | None) -> None:
    parses = _many_ways(count).parses(["a"], 0.999)
    assert parses.fallback == fallback
    assert parses.forest is not None
    assert parses.forest.n_nodes == count + 2
    assert parses.log_z == pytest.approx(math.log(count), abs=1e-9)


def test_glue_is_reported() -> None:
    parses = PARSER.parses(["barks", "the"], 1e-5)
    assert parses.fallback == "glue"
    assert parses.log_z is None
    assert len(parses.grammar.symbols) == len(GRAMMAR.symbols) + 1


def test_flat_is_reported_for_long_sentences_and_impossible_constraints() -> None:
    parses = PARSER.parses(["dog"] * 6, 1e-5, max_words=5)
    assert (parses.fallback, parses.forest) == ("flat", None)
    crossing = Constraints(spans=((0, 2), (1, 3)))
    parses = PARSER.parses(["the", "dog", "barks"], 1e-5, constraints=crossing)
    assert (parses.fallback, parses.forest) == ("flat", None)


@given(st.integers(2, 7).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 2), st.integers(2, n))))
def test_glue_respects_a_constituent(drawn: tuple[int, int, int]) -> None:
    n, start, width = drawn
    span = start, min(start + width, n)
    words = ["the"] * n
    parses = PARSER.parses(words, 1e-5, constraints=Constraints(spans=(span,)))
    assert parses.fallback == "glue"
    assert parses.forest is not None
    for _, edges in decode(parses.grammar, parses.forest, Pcfg(parses.weight).posterior(parses.forest), "viterbi", 3):
        tree = tree_of(parses.grammar, parses.forest, edges, words)
        assert span in {(first, last) for node, first, last in tree.spans() if node is not tree and not node.is_leaf}


def test_glue_respects_a_word_that_is_not_a_constituent() -> None:
    for word in range(4):
        parses = PARSER.parses(["the"] * 4, 1e-5, constraints=Constraints(not_spans=((word, word + 1),)))
        assert parses.fallback == "glue"


def test_glue_without_nonterminals() -> None:
    """If every tree is a single tag, there is no phrase to glue with."""
    grammar = tree_grammar([Tree("TOP", [_leaf("N", "dogs")])], Binarisation(), LexiconOptions())
    parses = CoarseParser(grammar, pcfg_weights(grammar)).parses(["dogs", "cats", "x"], 1e-5)
    assert parses.fallback == "glue"
    assert parses.forest is not None
    ((_, edges),) = decode(parses.grammar, parses.forest, Pcfg(parses.weight).posterior(parses.forest), "viterbi")
    tree = tree_of(parses.grammar, parses.forest, edges, ["dogs", "cats", "x"])
    assert str(tree) == "(TOP (X (N dogs) (N cats) (N x)))"


def test_relaxing_twice_gives_the_same_bytes() -> None:
    one, other = (relax(GRAMMAR, PARSER.weight, [0, 2]) for _ in range(2))
    np.testing.assert_array_equal(one[1], other[1])
    assert one[0].rule_lhs.tobytes() == other[0].rule_lhs.tobytes()
    assert one[0].rule_left.tobytes() == other[0].rule_left.tobytes()


def _glue_alone() -> CoarseParser:
    """A grammar of one tag and no phrase: everything longer than one word is derived by glue."""
    grammar = tree_grammar([Tree("TOP", [_leaf("N", "dogs")])], Binarisation(), LexiconOptions())
    return CoarseParser(grammar, pcfg_weights(grammar))


@pytest.mark.parametrize("word", [0, 1, 2])
def test_glue_alone_respects_a_word_that_is_not_a_constituent(word: int) -> None:
    constraints = Constraints(not_spans=((word, word + 1),))
    assert _glue_alone().parses(["dogs"] * 3, 1e-5, constraints=constraints).fallback == "glue"


@pytest.mark.parametrize(
    "constraints",
    [Constraints(((1, 3),)), Constraints(((0, 2),)), Constraints((), ((1, 3),))],
)
def test_chart_and_intersect_agree_on_glue(constraints: Constraints) -> None:
    words = ["dogs"] * 3
    parser = _glue_alone().relaxed(words)
    everything = parser.prune(words, 0.0, 0.0)[1]
    charted = parser.prune(words, 0.0, 0.0, constraints)[1]
    cut = intersect(parser.grammar, everything, constraints)
    found = [sorted(anchored_of(one, edges) for edges in edge_lists(one)) for one in (charted, cut)]
    assert found[0]
    assert found[0] == found[1]
