"""Forests from trees, their unions and parts."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import anchored_of, edge_lists, random_cases, subject
from strategies import trees

from lveg.chart.coarse import CoarseParser
from lveg.decoding.derivations import tree_of
from lveg.errors import GrammarError
from lveg.families.pcfg.family import Pcfg
from lveg.forest.builders import tree_forest, union
from lveg.forest.constraints import Constraints, intersect
from lveg.forest.forest import Forest, anchored_rules, build_forest, part_of
from lveg.grammar.binarise import Binarisation
from lveg.grammar.estimate import pcfg_weights
from lveg.grammar.grammar import Grammar, tree_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.trees import Tree, with_root

SCHEMES = st.builds(Binarisation, st.sampled_from(["right", "left", "head"]), st.integers(0, 2), st.integers(1, 3))


def all_trees(grammar: Grammar, forest: Forest, words: list[str]) -> list[Tree]:
    """The tree of every derivation of the forest."""
    return [tree_of(grammar, forest, np.array(edges), words) for edges in edge_lists(forest)]


def returns(tree: Tree) -> bool:
    """Whether a unary chain ends in a phrase with the label that it began with."""
    below_one = {id(node.children[0]) for node in tree if node is not tree and len(node.children) == 1}
    for node in tree:
        bottom = node
        while len(bottom.children) == 1:
            bottom = bottom.children[0]
        is_chain = node is not tree and id(node) not in below_one and node is not bottom
        if is_chain and not bottom.is_leaf and node.label == bottom.label:
            return True
    return False


def assert_same(one: Forest, other: Forest) -> None:
    assert one.n_words == other.n_words
    for name in ("node_symbol", "node_start", "node_end", "node_level"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in ("edge_ptr", "edge_rule", "edge_left", "edge_right"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=60)
@given(st.lists(trees(8).map(with_root), min_size=1, max_size=4), SCHEMES, st.integers(1, 3))
def test_tree_forest_has_one_derivation_which_is_the_tree(
    drawn: list[Tree], scheme: Binarisation, threshold: int
) -> None:
    """Also: every training tree has a probability, so no unary chain is lost."""
    drawn = [tree for tree in drawn if not returns(tree)]
    assume(drawn)
    grammar = tree_grammar(drawn, scheme, LexiconOptions(threshold=threshold))
    weight = pcfg_weights(grammar)
    assert (weight > 0).all()
    for tree in drawn:
        forest = tree_forest(grammar, tree, scheme)
        assert all_trees(grammar, forest, tree.words()) == [tree]
        posterior = Pcfg(weight).posterior(forest)
        assert -math.inf < posterior.log_z < 1e-9
        np.testing.assert_allclose(posterior.edge, 1.0, rtol=1e-12)
        np.testing.assert_allclose(posterior.node, 1.0, rtol=1e-12)


def test_tree_forest_of_a_chain_that_returns_to_its_first_symbol() -> None:
    words = [Tree("A", (), "a"), Tree("B", (), "b")]
    tree = Tree("TOP", [Tree("X", [Tree("Y", [Tree("X", words)])])])
    grammar = tree_grammar([tree], Binarisation(), LexiconOptions())
    forest = tree_forest(grammar, tree, Binarisation())
    assert all_trees(grammar, forest, tree.words()) == [tree]


def test_tree_forest_of_any_chain_contains_the_tree() -> None:
    words = [Tree("A", (), "a"), Tree("B", (), "b")]
    for labels in ("XX", "XYX", "XYXYX", "YXX"):
        tree = Tree(labels[-1], words)
        for label in reversed(labels[:-1]):
            tree = Tree(label, [tree])
        tree = Tree("TOP", [tree])
        grammar = tree_grammar([tree], Binarisation(), LexiconOptions())
        forest = tree_forest(grammar, tree, Binarisation())
        assert tree in all_trees(grammar, forest, tree.words())
        assert Pcfg(pcfg_weights(grammar)).log_z(forest) > -math.inf


@settings(max_examples=40)
@given(st.lists(trees(8).map(with_root), min_size=1, max_size=3), SCHEMES)
def test_training_trees_are_in_the_chart(drawn: list[Tree], scheme: Binarisation) -> None:
    grammar = tree_grammar(drawn, scheme, LexiconOptions(threshold=1, smooth=0))
    weight = pcfg_weights(grammar)
    for tree in drawn:
        log_z, forest = CoarseParser(grammar, weight).prune(tree.words(), 0.0, 0.0)
        alone = tree_forest(grammar, tree, scheme)
        mine = {tuple(rule) for rule in anchored_rules(alone).T.tolist()}
        assert mine <= {tuple(rule) for rule in anchored_rules(forest).T.tolist()}
        assert log_z >= Pcfg(weight).log_z(alone) - 1e-9


def test_rules_that_are_missing_are_named() -> None:
    small = Tree("TOP", [Tree("S", [Tree("N", (), "a"), Tree("V", (), "b")])])
    scheme = Binarisation()
    grammar = tree_grammar([small], scheme, LexiconOptions(smooth=0))
    with pytest.raises(GrammarError, match="no symbol NP"):
        tree_forest(grammar, Tree("TOP", [Tree("NP", [Tree("N", (), "a"), Tree("V", (), "b")])]), scheme)
    with pytest.raises(GrammarError, match="no rule for S over 'b a'"):
        tree_forest(grammar, Tree("TOP", [Tree("S", [Tree("V", (), "b"), Tree("N", (), "a")])]), scheme)
    with pytest.raises(GrammarError, match="no rule ROOT -> N"):
        tree_forest(grammar, Tree("TOP", [Tree("N", (), "a")]), scheme)


def test_a_union_of_trees_contains_each_of_them() -> None:
    leaves = [Tree(tag, (), word) for tag, word in zip("DNVN", ["the", "dog", "saw", "men"], strict=True)]
    d, n, v, m = leaves
    several = [
        Tree("TOP", [Tree("S", [Tree("NP", [d, n]), Tree("VP", [v, Tree("NP", [m])])])]),
        Tree("TOP", [Tree("S", [Tree("NP", [d, n]), Tree("VP", [v, m])])]),
        Tree("TOP", [Tree("S", [Tree("NP", [d, n]), v, m])]),
        Tree("TOP", [Tree("S", [Tree("S", [Tree("NP", [d, n]), Tree("VP", [v])]), m])]),
        Tree("TOP", [Tree("NP", [d, n]), Tree("VP", [Tree("NP", [v, m])])]),
    ]
    for scheme in (Binarisation(), Binarisation("left", 1, 2)):
        grammar = tree_grammar(several, scheme, LexiconOptions())
        forests = [tree_forest(grammar, tree, scheme) for tree in several]
        forest = union(grammar, forests)
        found = all_trees(grammar, forest, several[0].words())
        assert set(found) >= set(several)
        assert len(found) == len(edge_lists(forest))
        # Shared parts are packed, and a tree given twice changes nothing.
        assert forest.n_nodes < sum(one.n_nodes for one in forests)
        assert_same(forest, union(grammar, [*forests, forests[1]]))


def test_forests_over_different_words_cannot_be_joined() -> None:
    one = Tree("TOP", [Tree("S", [Tree("N", (), "a"), Tree("V", (), "b")])])
    two = Tree("TOP", [Tree("N", (), "a")])
    grammar = tree_grammar([one, two], Binarisation(), LexiconOptions())
    with pytest.raises(GrammarError, match="same words"):
        union(grammar, [tree_forest(grammar, tree, Binarisation()) for tree in (one, two)])


def test_union_of_derivations_contains_them_and_only_their_rules() -> None:
    dice = random.Random(61)
    for case in random_cases(60, seed=61, least=3, most=80):
        grammar, _ = subject(case.toy)
        chosen = dice.sample(case.found, 2)
        forests = []
        for one in chosen:
            items = np.array(one.rules, dtype=np.int32).T.copy()
            forest = build_forest(grammar, case.words, items)
            found = {anchored_of(forest, edges) for edges in edge_lists(forest)}
            assert found == {other.rules for other in case.found if set(other.rules) <= set(one.rules)}
            forests.append(forest)
        joined = union(grammar, forests)
        found = {anchored_of(joined, edges) for edges in edge_lists(joined)}
        allowed = set(chosen[0].rules) | set(chosen[1].rules)
        assert found == {one.rules for one in case.found if set(one.rules) <= allowed}


def test_forest_of_any_rules_contains_what_they_allow() -> None:
    """Rules that no derivation uses are left out, whatever order they come in."""
    dice = random.Random(62)
    partial = 0
    for case in random_cases(150, seed=62, least=2, most=80):
        grammar, _ = subject(case.toy)
        everything = sorted({rule for one in case.found for rule in one.rules})
        kept = [rule for rule in everything if dice.random() < 0.9]
        dice.shuffle(kept)
        items = np.array(kept, dtype=np.int32).reshape(-1, 4).T.copy()
        forest = build_forest(grammar, case.words, items)
        expected = sorted(one.rules for one in case.found if set(one.rules) <= set(kept))
        assert sorted(anchored_of(forest, edges) for edges in edge_lists(forest)) == expected
        assert forest.is_empty == (not expected)
        used = {rule for rules in expected for rule in rules}
        assert {tuple(rule) for rule in anchored_rules(forest).T.tolist()} == used
        partial += 0 < len(expected) < len(case.found)
    assert partial > 30


def test_anchored_rules_rebuild_the_forest() -> None:
    for case in random_cases(80, seed=63):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.0, 0.0)
        assert_same(forest, build_forest(grammar, forest.words, anchored_rules(forest)))
        assert_same(forest, intersect(grammar, forest, Constraints()))
        joined = union(grammar, [forest, forest])
        np.testing.assert_array_equal(joined.node_symbol, forest.node_symbol)
        assert sorted(anchored_rules(joined).T.tolist()) == sorted(anchored_rules(forest).T.tolist())


def test_anchored_rules_of_a_pruned_forest_rebuild_its_derivations() -> None:
    for case in random_cases(80, seed=63):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.05, 0.05)
        again = build_forest(grammar, forest.words, anchored_rules(forest))
        found = [sorted(anchored_of(one, edges) for edges in edge_lists(one)) for one in (forest, again)]
        assert found[0] == found[1]


def test_a_symbol_that_takes_no_unary_has_one_node() -> None:
    for case in random_cases(80, seed=63):
        grammar, weight = subject(case.toy)
        _, forest = CoarseParser(grammar, weight).prune(case.words, 0.05, 0.05)
        assert_same(forest, build_forest(grammar, forest.words, anchored_rules(forest)))


def test_nodes_come_children_first_with_root_last() -> None:
    for case in random_cases(80, seed=64):
        _, forest = CoarseParser(*subject(case.toy)).prune(case.words, 0.0, 0.0)
        assert forest.node_symbol[-1] == -1
        assert (forest.node_start[-1], forest.node_end[-1]) == (0, len(case.words))
        assert (np.diff(forest.edge_ptr) > 0).all()
        assert (forest.edge_left < forest.edge_head).all()
        assert (forest.edge_right < forest.edge_head).all()
        keys = zip(forest.node_symbol, forest.node_start, forest.node_end, forest.node_level, strict=True)
        assert len(set(keys)) == forest.n_nodes


def test_gold_joined_to_a_pruned_forest_stays() -> None:
    dice = random.Random(65)
    lost = 0
    for case in random_cases(80, seed=65, least=5, most=100):
        grammar, weight = subject(case.toy)
        gold = dice.choice(case.found)
        alone = build_forest(grammar, case.words, np.array(gold.rules, dtype=np.int32).T.copy())
        _, pruned = CoarseParser(grammar, weight).prune(case.words, 0.2, 0.2)
        before = {anchored_of(pruned, edges) for edges in edge_lists(pruned)}
        joined = union(grammar, [pruned, alone])
        after = {anchored_of(joined, edges) for edges in edge_lists(joined)}
        assert after >= before | {gold.rules}
        lost += gold.rules not in before
    assert lost > 20


def test_a_part_of_a_forest_has_the_derivations_with_its_edges() -> None:
    random = np.random.default_rng(0)
    for case in random_cases(80, seed=64, least=2, most=80):
        grammar, _ = subject(case.toy)
        items = np.array(sorted({rule for one in case.found for rule in one.rules}), np.int32).T.copy()
        forest = build_forest(grammar, case.words, items)
        for share in (0.7, 0.9, 1.0):
            is_kept = random.random(forest.n_edges) < share
            part, nodes, edges = part_of(forest, is_kept)
            found = sorted(tuple(edges[list(derivation)]) for derivation in edge_lists(part))
            assert found == sorted(one for one in edge_lists(forest) if is_kept[list(one)].all())
            assert part.is_empty == (not found)
            assert set(edges) == {edge for one in found for edge in one}
            for name in ("node_symbol", "node_start", "node_end", "node_level"):
                np.testing.assert_array_equal(getattr(part, name), getattr(forest, name)[nodes])
            np.testing.assert_array_equal(part.edge_rule, forest.edge_rule[edges])
