"""Contexts over attributes of tags, and taggers for large tag sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from oracles import central_difference

from lveg.contexts.factored.context import Factored, attributes_of
from lveg.contexts.forms.context import start_forms
from lveg.contexts.network.options import NetworkOptions
from lveg.contexts.tag_network.context import start_network
from lveg.errors import GrammarError
from lveg.families.chain import lattices, open_table, tag_table, with_lexicon, word_tags
from lveg.families.tag_forms.family import TagForms, start_chain
from lveg.families.tag_gm.family import start_open_gm
from lveg.grammar.grammar import tag_grammar
from lveg.grammar.lexicon import MANY_TAGS, SMOOTH_MANY, LexiconOptions
from lveg.kernels.chain import NO_RULE, narrow_lattices
from lveg.model import Tagger
from lveg.model_io import load_model, save_model
from lveg.training import train_tagger

TAGS = ("N Case=Nom|Number=Sing", "N Case=Nom|Number=Plur", "V _", "N _")
SENTENCES = [["dogs", "bark"], ["the", "dog", "barks", "."]]


def test_attributes_are_the_parts_of_columns_and_features() -> None:
    names, of_tag = attributes_of(TAGS)
    assert names == ["0 N", "0 V", "1 Case=Nom", "1 Number=Plur", "1 Number=Sing", "1 _"]
    listed = [[names[number] for number in row if number < len(names)] for row in of_tag]
    assert listed == [
        ["0 N", "1 Case=Nom", "1 Number=Sing"],
        ["0 N", "1 Case=Nom", "1 Number=Plur"],
        ["0 V", "1 _"],
        ["0 N", "1 _"],
    ]


def random_context(kind: str, width: int) -> Factored:
    """A factored context with random parameters."""
    names, of_tag = attributes_of(TAGS)
    inner = (
        start_forms(SENTENCES, len(names), width)
        if kind == "forms"
        else start_network(SENTENCES, len(names), width, NetworkOptions(units=3, embedding=2), 1)
    )
    return Factored(inner.with_value(np.random.default_rng(3).normal(0, 0.7, inner.value.size)), of_tag)


def narrow() -> tuple[np.ndarray, np.ndarray]:
    """Lattices in which words may have some of the tags, and which entries of all they have."""
    packed = lattices(open_table(len(TAGS)), [[0] * len(words) for words in SENTENCES])
    share = np.random.default_rng(1).random(len(TAGS) * sum(map(len, SENTENCES)))
    return narrow_lattices(packed, share, 0.4), share


@pytest.mark.parametrize("kind", ["forms", "network"])
@pytest.mark.parametrize("width", [1, 2])
def test_the_score_of_a_tag_is_the_sum_of_its_attributes(kind: str, width: int) -> None:
    context = random_context(kind, width)
    rows, (packed, _) = context.rows(SENTENCES), narrow()
    names = attributes_of(TAGS)[0]
    all_attributes = lattices(open_table(len(names)), [[0] * len(words) for words in SENTENCES])
    inner = context.inner.score(all_attributes, rows).reshape(-1, len(names), width)
    expected = [
        sum(inner[word, names.index(f"{column} {part}")] for column, value in enumerate(TAGS[tag].split(" "))
            for part in value.split("|"))
        for word, tags in enumerate(word_tags(packed)) for tag in tags
    ]  # fmt: skip
    np.testing.assert_allclose(context.score(packed, rows), expected, atol=1e-12)


@pytest.mark.parametrize("kind", ["forms", "network"])
@pytest.mark.parametrize("width", [1, 2])
def test_gradients_are_finite_differences(kind: str, width: int) -> None:
    context = random_context(kind, width)
    rows, (packed, _) = context.rows(SENTENCES), narrow()
    weights = np.random.default_rng(5).normal(0, 1, context.score(packed, rows).shape)
    slope = np.zeros_like(context.value)
    context.add(packed, rows, weights, slope)

    def objective(value: np.ndarray) -> float:
        return float((context.with_value(value).score(packed, rows) * weights).sum())

    for place in np.random.default_rng(7).choice(len(slope), 30, replace=False):
        assert slope[place] == pytest.approx(central_difference(objective, context.value, int(place)), abs=1e-6)


def inflected(count: int) -> list[list[tuple[str, str]]]:
    """Sentences of words whose tag follows from their letters: more than MANY_TAGS tags, a third of them rare."""
    random = np.random.default_rng(0)
    stems, first, last = ("ta", "ke", "mo"), "bcdfghklmn", "aeiouxyzrs"
    found = []
    for _ in range(count):
        letters = [(int(random.integers(10)), int(random.integers(10)), stems[random.integers(3)]) for _ in range(6)]
        found.append([(stem + first[one] + last[other], f"N A={one}|B={other}") for one, other, stem in letters])
    return found


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return train_tagger(
        inflected(300), inflected(320)[300:], epochs=4, network_epochs=1, units=8, embedding=8, subtypes=1
    )  # fmt: skip


def test_large_tag_sets_are_factored_and_limited_to_the_lexicon(tagger: Tagger, tmp_path: Path) -> None:
    assert len(tagger.grammar.tags) > MANY_TAGS
    family = tagger.family
    assert isinstance(family, TagForms)
    assert family.is_lexical
    assert all(isinstance(context, Factored) for context in family.contexts)
    assert tagger.info["config"]["smooth"] == SMOOTH_MANY
    assert tagger.info["dev"]["token_accuracy"] > 85.0
    save_model(tagger, str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    assert isinstance(again, Tagger)
    words = [[word for word, _ in sentence] for sentence in inflected(10)] + [["unseen", "wordba"]]
    assert [(one.tags, one.confidence) for one in again.tag_all(words)] == [
        (one.tags, one.confidence) for one in tagger.tag_all(words)
    ]
    assert next(again.tag_all(words, count=2, decoder="viterbi")).sequences


def test_a_context_for_other_tags_is_refused() -> None:
    context = random_context("forms", 1)
    with pytest.raises(GrammarError, match="one tag for each attribute"):
        Factored(context.inner, np.full((2, 1), 99, np.int32))


def test_a_family_limited_to_the_lexicon_keeps_its_own_emissions() -> None:
    grammar = tag_grammar([[("a", "X"), ("b", "Y"), ("a", "Z")]], LexiconOptions("single", 1, 0))
    for family, emissions in ((start_chain(3, 1, 0.1), [NO_RULE] * 3), (start_open_gm(3, 2, 2), [0, 1, 2])):
        table, own = with_lexicon(family, grammar).table, tag_table(grammar)
        assert (table.ptr.tolist(), table.tag.tolist()) == (own.ptr.tolist(), own.tag.tolist())
        assert table.rule.tolist() == [emissions[tag] for tag in own.tag]
