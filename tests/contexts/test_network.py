"""Networks over word vectors against NumPy implementations, and gradients against finite differences."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from oracles import central_difference

from lveg.contexts.inputs import Inputs, learn_inputs
from lveg.contexts.layers import Layers
from lveg.contexts.network.context import Network, sizes
from lveg.contexts.network.options import NetworkOptions
from lveg.contexts.tag_network import projections
from lveg.contexts.tag_network.context import TagNetwork, start_network
from lveg.contexts.tag_network.projections import Projections
from lveg.contexts.vectors import Vectors
from lveg.families.chain import lattices, open_table
from lveg.families.tag_forms.family import TagForms, start_chain
from lveg.forest.forest import Forest
from lveg.grammar.grammar import Floats, tag_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.chain import each_sentence
from lveg.kernels.features import bucket
from lveg.kernels.network import add_product
from lveg.model import Parser
from lveg.training import train_parser, train_tagger
from lveg.treebank.conllu import read_tagged
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH

SENTENCES = (["The", "dog", "barks"], ["Dogs", "bark", "at", "the", "dog"], ["2-1"], ["bark", "the", "dog"])
VECTORS = Vectors(("the", "dog", "cat"), np.array([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]], np.float16))
TAGS = 3


@cache
def parser() -> Parser:
    trees = [tree for tree in read_trees(ENGLISH.parent / "demo-train.mrg") if len(tree.words()) <= 9][:30]
    return train_parser(trees, model="pcfg")


def forest_of(words: list[str]) -> Forest:
    forest = parser().coarse.parses(words, 1e-9).forest
    assert forest is not None
    return forest


def random_network() -> Network:
    grammar = parser().grammar
    inputs = learn_inputs([["the", "dog", "the", "dog"], ["cats", "cats"]], VECTORS)
    layers = Layers(inputs, sizes(grammar), 3, 5)
    value = np.random.default_rng(0).normal(0.0, 0.5, layers.size)
    return Network(layers, value, grammar=grammar)


def vector(inputs: Inputs, embed: Floats, word: str | None) -> Floats:
    """The input vector of a word; None is the edge of the sentence."""
    given, learned = np.zeros(2), np.zeros(embed.shape[1])
    if word is not None and word.lower() in inputs.vectors.words:
        given = inputs.vectors.rows[inputs.vectors.words.index(word.lower())].astype(float)
    for name in ["edge"] if word is None else inputs.parts.names(word):
        if name in inputs.names:
            learned = learned + embed[inputs.names.index(name)]
    return np.concatenate([given, learned])


def test_products_of_matrices() -> None:
    random = np.random.default_rng(0)
    for n, depth, width in ((1, 1, 1), (3, 6, 7), (2, 9, 1100)):
        left, right, total = random.normal(size=(n, depth)), random.normal(size=(depth, width)), np.ones((n, width))
        add_product(left, right, total)
        assert total == pytest.approx(1.0 + left @ right)


def test_scores_of_rules_are_those_of_the_formula() -> None:
    network, grammar = random_network(), parser().grammar
    net, units = network.layers.net(network.value), network.layers.units
    project = net.project.reshape(net.project.shape[0], 12, units)
    for words in (["the", "dog", "saw", "a", "cat"], ["Cats", "sleep"]):
        forest = forest_of(words)
        padded = [None, None, *words, None, None]
        scores = network.score(network.rows(forest))
        assert np.ptp(scores) > 0.1
        for edge in range(forest.n_edges):
            rule, head = int(forest.edge_rule[edge]), forest.edge_head[edge]
            if rule < 0:
                assert scores[edge] == 0.0
                continue
            start, end, right = int(forest.node_start[head]), int(forest.node_end[head]), forest.edge_right[edge]
            split = int(forest.node_start[right]) if right >= 0 else None
            kind = 0 if rule >= grammar.lexical_start else 1 if split is None else 2
            hidden = net.shape[kind] + net.shape[3 + bucket(end - start)]
            anchors = [start, end]
            if split is not None:
                hidden = hidden + net.shape[14 + bucket(split - start)] + net.shape[25 + bucket(end - split)]
                anchors.append(split)
            for part, anchor in enumerate(anchors):
                for offset in range(4):
                    word = vector(network.layers.inputs, net.embed, padded[anchor + offset])
                    hidden = hidden + word @ project[:, 4 * part + offset]
            out = net.out[grammar.lexical_start + grammar.rule_lhs[rule]].copy()
            if kind > 0:
                out += net.out[rule]
            assert scores[edge] == pytest.approx(np.maximum(hidden, 0.0) @ out)


def test_dropout_keeps_the_mean() -> None:
    network = replace(random_network(), dropout=0.5)
    rows = network.rows(forest_of(["the", "dog", "saw", "a", "cat"]))
    exact, scores = network.score(rows), [network.score(rows, noise) for noise in range(1, 3000)]
    error = np.std(scores, axis=0) / np.sqrt(len(scores))
    assert (np.abs(np.mean(scores, axis=0) - exact) <= 5.0 * error + 1e-9).all()


def random_tagger(width: int, seed: int = 0) -> TagForms:
    options = NetworkOptions(units=6, embedding=3)
    network = start_network(SENTENCES, TAGS, width, options, seed)
    layers = replace(network.layers, inputs=replace(network.layers.inputs, vectors=VECTORS))
    value = np.random.default_rng(seed).normal(0.0, 0.5, layers.size)
    first = TagForms(start_chain(TAGS, width, 0.1, seed), (replace(network, layers=layers, value=value),))
    return first.with_value(np.random.default_rng(seed).normal(0.0, 0.5, first.value.shape))


def network_of(tagger: TagForms) -> TagNetwork:
    (network,) = tagger.contexts
    assert isinstance(network, TagNetwork)
    return network


@pytest.mark.parametrize("width", [1, 2])
def test_scores_of_tags_are_those_of_the_formula(width: int) -> None:
    network = network_of(random_tagger(width))
    net, units = network.layers.net(network.value), network.layers.units
    project = net.project.reshape(net.project.shape[0], 5, units)
    packed = lattices(open_table(TAGS), [[0] * len(words) for words in SENTENCES], None)
    scores = network.score(packed, network.rows(SENTENCES))
    expected = []
    for words in SENTENCES:
        padded = [None, None, *words, None, None]
        for i in range(len(words)):
            hidden = net.shape[0].copy()
            for place in range(5):
                hidden += vector(network.layers.inputs, net.embed, padded[i + place]) @ project[:, place]
            expected.append((net.out @ np.maximum(hidden, 0.0)).reshape(TAGS, width))
    assert scores == pytest.approx(np.concatenate(expected))
    assert network.factors(packed, SENTENCES) == pytest.approx(scores, rel=1e-12)


def test_the_projection_of_a_word_does_not_depend_on_when_it_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(projections, "_MOST_CACHED", 4)
    network = network_of(random_tagger(2))
    words = [[f"{letter}{letter}og", "the", "dog", letter] for letter in "abcdefghijk"]
    known = Projections(network.layers, network.layers.net(network.value))
    parts: list[list[list[str]]] = [words[:1], words, words[3:], words[-2:], [], [[]], words]
    for part in parts:
        table, near = known.look_up(part)
        alone = [Projections(network.layers, known.net).look_up([sentence]) for sentence in part]
        expected = np.concatenate([np.empty((0, 5, table.shape[1])), *(own[numbers] for own, numbers in alone)])
        np.testing.assert_array_equal(table[near], expected)
    copy = pickle.loads(pickle.dumps(known))
    assert not copy._numbers
    np.testing.assert_array_equal(
        copy.look_up(words)[0][:20], Projections(network.layers, known.net).look_up(words)[0][:20]
    )


@pytest.mark.parametrize("width", [1, 2])
def test_gradient_of_a_tagger_equals_differences(width: int) -> None:
    tagger = random_tagger(width, seed=1)
    grammar = tag_grammar([[("a", "X"), ("a", "Y"), ("a", "Z")]], LexiconOptions("single", 1, 0))
    random = np.random.default_rng(0)
    tagged = [[(word, "XYZ"[random.integers(3)]) for word in words] for words in SENTENCES]
    examples = np.concatenate(list(tagger.pack(grammar, tagged)))
    slope = np.zeros_like(tagger.value)
    tagger.add(examples, slope)
    moving = np.flatnonzero(np.abs(slope) > 1e-9)
    for place in random.choice(moving, 30):
        expected = central_difference(
            lambda value: tagger.with_value(value).add(examples, np.zeros_like(value)), tagger.value, int(place)
        )
        assert slope[place] == pytest.approx(expected, abs=1e-7, rel=1e-5)


def test_widened_states_are_alike() -> None:
    network = network_of(random_tagger(1))
    packed = lattices(open_table(TAGS), [[0] * len(words) for words in SENTENCES], None)
    rows = network.rows(SENTENCES)
    wide = network.widened(3)
    assert wide.score(packed, rows) == pytest.approx(np.repeat(network.score(packed, rows), 3, axis=1))
    assert len(list(each_sentence(packed))) == len(SENTENCES)


def test_taggers_with_networks_learn() -> None:
    tagged = read_tagged([ENGLISH.parent / "demo-train.conllu"], "upos", None)[:120]
    small: dict[str, Any] = {"units": 16, "embedding": 8, "network_rate": 0.02, "network_epochs": 3, "batch": 16}
    for context in ("network", "forms,network"):
        tagger = train_tagger(tagged, tagged, context=context, epochs=12, **small)
        assert tagger.info["dev"]["token_accuracy"] > 85.0
        assert [part["context"] for part in tagger.family.describe()["contexts"]] == context.split(",")


def test_gradient_with_dropout_equals_differences() -> None:
    random, noise = np.random.default_rng(3), 11
    parser_network = replace(random_network(), dropout=0.4, input_dropout=0.3)
    rows = parser_network.rows(forest_of(["the", "dog", "saw", "a", "cat"]))
    tag_network = replace(network_of(random_tagger(2)), dropout=0.4, input_dropout=0.3)
    packed = lattices(open_table(TAGS), [[0] * len(words) for words in SENTENCES], None)
    tag_rows = tag_network.rows(SENTENCES)

    def check(value: Floats, score: Callable[[Floats], Floats], add: Callable[[Floats, Floats], object]) -> None:
        pull, slope = random.normal(size=score(value).shape), np.zeros_like(value)
        add(pull, slope)
        for place in random.choice(np.flatnonzero(np.abs(slope) > 1e-9), 40):
            expected = central_difference(lambda moved: float((pull * score(moved)).sum()), value, int(place))
            assert slope[place] == pytest.approx(expected, abs=1e-6, rel=1e-5)

    check(
        parser_network.value,
        lambda value: parser_network.with_value(value).score(rows, noise),
        lambda pull, slope: parser_network.add(rows, pull, slope, noise),
    )
    check(
        tag_network.value,
        lambda value: tag_network.with_value(value).score(packed, tag_rows, noise),
        lambda pull, slope: tag_network.add(packed, tag_rows, pull, slope, noise),
    )
