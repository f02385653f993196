"""Compositional vector grammars against slow reference implementations."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from oracles import central_difference, edge_lists

from lveg.contexts.inputs import learn_inputs
from lveg.contexts.vectors import Vectors
from lveg.decoding.derivations import decode, tree_of
from lveg.errors import UsageError
from lveg.families.cvg.family import Cvg, Form, Trees, pack_list, units_of
from lveg.families.cvg.learning import dropout_mask, first_value, foreign_units, knowledge, phrase_counts, tree_slopes
from lveg.families.cvg.listing import best_trees
from lveg.families.cvg.options import OBJECTIVES
from lveg.families.forest import ForestFamily
from lveg.forest.best import best_derivations
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats
from lveg.kernels.assemble import STAY
from lveg.learning.data import TreeData
from lveg.model import Parser
from lveg.training import train_parser
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

pytestmark = pytest.mark.xdist_group("cvg")


@cache
def trees() -> list[Tree]:
    return [tree for tree in read_trees(ENGLISH.parent / "demo-train.mrg") if len(tree.words()) <= 10][:60]


@cache
def parser() -> Parser:
    return train_parser(trees(), model="lvg", subtypes=2, epochs=2, held_out=0.0)


@cache
def model(count: int = 200) -> Cvg:
    """A grammar with random parameters, and pretrained vectors for some of the words."""
    words = sorted({word for tree in trees() for word in tree.words()})[::2]
    rows = np.random.default_rng(3).normal(0.0, 1.0, (len(words), 5)).astype(np.float16)
    inputs = learn_inputs((tree.words() for tree in trees()), Vectors(tuple(words), rows))
    form = Form(inputs, units_of(parser().grammar), 3)
    value = first_value(form, 0) + np.random.default_rng(4).normal(0.0, 0.3, form.size)
    form.net(value).scale[:] = 0.7
    base = parser().family
    assert isinstance(base, ForestFamily)
    return Cvg(base, form, value, count)


@cache
def forests() -> list[Forest]:
    found = [parser().coarse.training_forest(tree, parser().binarisation, 1e-3)[0] for tree in trees()]
    chosen = [forest for forest in found if 2 < len(edge_lists(forest)) < 200]
    chosen.sort(key=lambda forest: -int((forest.edge_rule == STAY).sum()))
    return chosen[:4]


def composed(grammar: Cvg, forest: Forest, edge: int, children: Sequence[Floats]) -> tuple[Floats, float]:
    """The vector of a step given its children's, and the step's own score; parameters are looked up by symbol."""
    rules, net = parser().grammar, grammar.form.net(grammar.value)
    rule, n_tags = int(forest.edge_rule[edge]), len(rules.tags)
    if rule >= rules.lexical_start:
        found = word_vector(grammar, forest.words[forest.node_start[forest.edge_head[edge]]])
        unit = int(rules.rule_lhs[rule]) - rules.n_nonterminals
    elif len(children) == 1:
        found = children[0]
        if rule == STAY or rule >= rules.root_start:
            return found, 0.0
        unit = n_tags + rule - rules.unary_start
    else:
        pair = symbol_pairs().index((rules.rule_left[rule], rules.rule_right[rule]))
        found = np.tanh(net.matrix[pair] @ np.concatenate([*children, [1.0]]))
        unit = n_tags + rules.n_unary + pair
    return found, float(net.score[unit] @ np.append(found, 1.0))


@cache
def symbol_pairs() -> list[tuple[int, int]]:
    """The pairs of children's symbols, in order."""
    rules = parser().grammar
    return sorted({(rules.rule_left[rule], rules.rule_right[rule]) for rule in range(rules.unary_start)})


def word_vector(grammar: Cvg, word: str) -> Floats:
    """The sum of the vectors of a word's parts, and its pretrained vector if there is one."""
    inputs, net = grammar.form.inputs, grammar.form.net(grammar.value)
    found = np.zeros(grammar.form.dim)
    for name in inputs.parts.names(word):
        if name in inputs.numbers:
            found = found + net.embed[inputs.numbers[name]]
    given = [text for text in (word, word.lower()) if text in inputs.vectors.words]
    if given:
        found = found + inputs.vectors.rows[inputs.vectors.words.index(given[0])].astype(float) @ net.project
    return found


def children_of(forest: Forest, edge: int) -> list[int]:
    """The child nodes of an edge."""
    return [int(side[edge]) for side in (forest.edge_left, forest.edge_right) if side[edge] >= 0]


def slow_score(grammar: Cvg, forest: Forest, edges: tuple[int, ...], seen: list[set[bytes]] | None = None) -> float:
    """The score of a derivation, by recursion over its tree. seen: receives the vector of each node."""
    own, total = {int(forest.edge_head[edge]): edge for edge in edges}, 0.0

    def vector(node: int) -> Floats:
        nonlocal total
        below = [] if own_word(forest, own[node]) else [vector(child) for child in children_of(forest, own[node])]
        found, score = composed(grammar, forest, own[node], below)
        total += score
        if seen is not None:
            seen[node].add(found.tobytes())
        return found

    vector(forest.n_nodes - 1)
    return base_score(grammar, forest, edges) + total


def own_word(forest: Forest, edge: int) -> bool:
    """Whether an edge makes a word."""
    return int(forest.edge_rule[edge]) >= parser().grammar.lexical_start


def base_score(grammar: Cvg, forest: Forest, edges: tuple[int, ...]) -> float:
    """What the base contributes to the score of a derivation."""
    log_weight = grammar.base.log_derivation(parser().grammar, forest, np.array(edges, np.int32))
    return float(grammar.form.net(grammar.value).scale[0]) * log_weight


def vector_inside(grammar: Cvg, forest: Forest, edges: tuple[int, ...], points: list[list[Floats]]) -> list[Floats]:
    """The inside score of every point at every node of a derivation, as of any latent vector grammar.

    The weight function of a step is zero except where the vector of the node is the composition of its children's.
    points: the part of the vector space over which is summed, for each node.
    """
    inside = [np.zeros(len(some)) for some in points]
    for edge in sorted(edges, key=lambda edge: int(forest.edge_head[edge])):  # children first
        node, below = int(forest.edge_head[edge]), [] if own_word(forest, edge) else children_of(forest, edge)
        for chosen in product(*(range(len(points[child])) for child in below)):
            sums = math.prod(inside[child][number] for child, number in zip(below, chosen, strict=True))
            if sums == 0.0:
                continue
            vectors = [points[child][number] for child, number in zip(below, chosen, strict=True)]
            found, score = composed(grammar, forest, edge, vectors)
            for number, point in enumerate(points[node]):
                inside[node][number] += math.exp(score) * sums * np.array_equal(point, found)
    return inside


def test_it_is_a_latent_vector_grammar_whose_weights_are_zero_but_at_compositions() -> None:
    grammar, rules, rng, n_shared = model(), parser().grammar, np.random.default_rng(0), 0
    for forest in sorted(forests(), key=lambda forest: len(edge_lists(forest)))[:2]:
        seen: list[set[bytes]] = [set() for _ in range(forest.n_nodes)]
        derivations = edge_lists(forest)
        for edges in derivations:
            slow_score(grammar, forest, edges, seen)
        points = [[*map(np.frombuffer, sorted(found)), rng.normal(size=grammar.form.dim)] for found in seen]
        n_shared += sum(len(found) > 1 for found in seen)
        weights = []
        for edges in derivations:
            inside = vector_inside(grammar, forest, edges, points)
            used = {int(forest.edge_head[edge]) for edge in edges}
            assert all(np.count_nonzero(inside[node]) == 1 for node in used)  # one point has all the weight
            weights.append(math.log(inside[-1].sum()) + base_score(grammar, forest, edges))
            found = grammar.log_derivation(rules, forest, np.array(edges, np.int32))
            assert found == pytest.approx(weights[-1], abs=1e-9)
        best = decode(rules, forest, grammar.posterior(forest), "viterbi", 1)[0][1]
        assert tuple(best.tolist()) == derivations[int(np.argmax(weights))]
    assert n_shared > 0  # trees differ in the vector of the same node, so nodes cannot be packed


def test_scores_and_best_trees_equal_enumeration() -> None:
    grammar, rules = model(), parser().grammar
    for forest in forests():
        found = {edges: slow_score(grammar, forest, edges) for edges in edge_lists(forest)}
        for edges, score in found.items():
            assert grammar.log_derivation(rules, forest, np.array(edges, np.int32)) == pytest.approx(score, abs=1e-9)
        ranked = sorted(found, key=lambda edges: -found[edges])
        best = decode(rules, forest, grammar.posterior(forest), "viterbi", 5)
        assert [tuple(edges.tolist()) for _, edges in best] == ranked[:5]
        assert [score for score, _ in best] == pytest.approx([found[edges] for edges in ranked[:5]], abs=1e-9)


def test_trees_outside_a_short_list_are_as_probable_as_by_the_base() -> None:
    grammar, base, rules = model(count=4), model().base, parser().grammar
    for number, forest in enumerate(forests()):
        scores = np.log(np.maximum(base.posterior(forest).edge, 1e-300))
        scores[forest.edge_rule == STAY] = 0.0
        listed = {tuple(edges.tolist()) for _, edges in best_derivations(forest, scores, 4)}
        posterior, found = grammar.posterior(forest), edge_lists(forest)
        assert posterior.best is not None
        assert {tuple(edges.tolist()) for _, edges in posterior.best(10)} == listed
        arrays = [np.array(edges, np.int32) for edges in found]
        plain = np.exp([base.log_derivation(rules, forest, edges) - base.log_z(forest) for edges in arrays])
        is_listed = np.array([edges in listed for edges in found])
        weight = np.exp([slow_score(grammar, forest, edges) if edges in listed else -np.inf for edges in found])
        share = np.where(is_listed, plain[is_listed].sum() * weight / weight.sum(), plain)
        assert share.sum() == pytest.approx(1.0)
        edge = np.zeros(forest.n_edges)
        for edges, one in zip(found, share, strict=True):
            edge[list(edges)] += one
        np.testing.assert_allclose(posterior.edge, edge, atol=1e-9)
        np.testing.assert_allclose(grammar.log_probs(rules, forest, arrays, posterior), np.log(share), atol=1e-9)
        drawn = Counter(tuple(edges.tolist()) for edges in grammar.samples(forest, 2000, number))
        for edges, one in zip(found, share.tolist(), strict=True):
            assert abs(drawn[edges] / 2000 - one) < 5 * math.sqrt(one * (1 - one) / 2000) + 2e-3


def test_it_begins_with_the_base() -> None:
    form = model().form
    grammar = model().with_value(first_value(form, 1))
    for forest in forests():
        np.testing.assert_allclose(grammar.posterior(forest).edge, grammar.base.posterior(forest).edge, atol=1e-9)
    net, dim = form.net(grammar.value), form.dim
    both = np.random.default_rng(0).normal(0.0, 0.1, (2, dim))
    np.testing.assert_allclose(net.matrix[0] @ np.array([*both.ravel(), 1.0]), both.mean(axis=0), atol=0.1)


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_gradient_of_every_kind_of_parameter_equals_differences(objective: str, dropout: float) -> None:
    grammar, form = model(), model().form
    packed = []
    for forest in forests():
        listing = best_trees(grammar.base, forest, grammar.base.posterior(forest), 200)
        assert listing is not None
        gold = next(tree for tree in trees() if tuple(tree.words()) == forest.words)
        known = knowledge(parser().grammar, listing, gold)
        packed.append(pack_list(form.inputs, form.units.of_rule, forest, listing, known))
    examples, slope = np.concatenate(packed), np.zeros(form.size)

    def lists(value: Floats) -> Iterator[Trees]:
        masks = (dropout_mask(form.dim, dropout, number) for number in range(len(packed)))
        return grammar.with_value(value).trees(examples, masks=masks)

    def value_at(value: Floats) -> float:
        return sum(tree_slopes(one, objective, 5.0)[0] for one in lists(value))

    for one in lists(grammar.value):
        grammar.add_slope(one, tree_slopes(one, objective, 5.0)[1], slope)
    places = form.net(np.arange(form.size).astype(float))
    for part in places:
        moving = [int(place) for place in part.ravel() if slope[int(place)] != 0.0]
        assert moving
        for place in np.random.default_rng(0).permutation(moving)[:25]:
            expected = central_difference(value_at, grammar.value, int(place))
            assert slope[place] == pytest.approx(expected, abs=1e-7, rel=1e-5)


def test_what_learning_knows_of_trees() -> None:
    rules = parser().grammar
    for forest in forests():
        listing = best_trees(model().base, forest, model().base.posterior(forest), 200)
        assert listing is not None
        gold = next(tree for tree in trees() if tuple(tree.words()) == forest.words)
        made, right, n_gold = phrase_counts(rules, listing, gold)
        known = knowledge(rules, listing, gold)
        (lists,) = model().trees(pack_list(model().form.inputs, model().form.units.of_rule, forest, listing, known))
        for rank in range(listing.n_trees):
            tree = tree_of(rules, forest, lists.edges_of(rank), gold.words())
            spans = [(node.label, *span) for node, *span in tree.spans()[1:] if node.word is None]
            golds = [(node.label, *span) for node, *span in gold.spans()[1:] if node.word is None]
            assert (made[rank], n_gold) == (len(spans), len(golds))
            assert right[rank] == len(set(spans) & set(golds))
            assert lists.known[rank] // 2 == len(spans) - right[rank]
            assert (lists.known[rank] % 2 == 1) == (sorted(spans) == sorted(golds))


def test_units_of_a_part_of_the_trees_are_those_of_all() -> None:
    grammar, scheme = parser().grammar, parser().binarisation
    part = TreeData(parser().coarse, scheme, trees()).part(trees()[::3]).grammar
    units = units_of(grammar)
    of_rule = foreign_units(units, grammar, part)
    texts = {grammar.describe_rule(rule): int(units.of_rule[rule]) for rule in range(grammar.root_start)}
    assert part.n_binary < grammar.n_binary
    for rule in range(part.root_start):
        assert of_rule[rule] == texts[part.describe_rule(rule)]
    lexical = part.kind_slice("lexical")
    tags = [part.symbols[symbol].label for symbol in part.rule_lhs[lexical]]
    assert [grammar.tags[unit] for unit in of_rule[lexical]] == tags


def test_options_of_the_base_are_given_to_it() -> None:
    quick: dict[str, Any] = {"list_size": 20, "folds": 0, "dimensions": 2, "phrase_epochs": 1, "held_out": 0.0}
    found = train_parser(trees()[:40], trees()[40:], "cvg", base="lvg", subtypes=3, epochs=1, **quick)
    assert isinstance(found.family, Cvg)
    assert found.family.base.name == "lvg"
    assert found.info["config"]["subtypes"] == 3
    assert found.info["config"]["objective"] in OBJECTIVES
    with pytest.raises(UsageError, match="cycles: not an option of a parser of model cvg"):
        train_parser(trees()[:40], (), "cvg", base="lvg", cycles=2)
    with pytest.raises(UsageError, match="--base cvg: a parser of model cvg needs a base itself"):
        train_parser(trees()[:40], (), "cvg", base="cvg")
    with pytest.raises(UsageError, match="no parser model 'nothing'"):
        train_parser(trees()[:40], (), "cvg", base="nothing")
