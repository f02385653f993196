"""Taggers with word forms: names of forms, sums against enumeration, gradients against finite differences."""

from __future__ import annotations

import math
import random
from itertools import chain, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import central_difference

from lveg.contexts.forms import properties
from lveg.contexts.forms.context import GRID, Forms, start_forms
from lveg.contexts.forms.properties import PLACES, Properties, learn_properties, near_name, own_names, pair_names, shape
from lveg.errors import GrammarError
from lveg.families.chain import lattices, open_table, word_tags
from lveg.families.tag_forms.family import TagForms, start_chain
from lveg.families.tag_lvg.family import TagLvg
from lveg.grammar.grammar import Floats, tag_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.kernels.chain import each_sentence, narrow_lattices
from lveg.model import Tagger
from lveg.model_io import load_model, save_model
from lveg.training import train_tagger
from lveg.treebank.conllu import read_tagged
from lveg.treebank.synthetic import ENGLISH

SENTENCES = (["The", "dog", "barks"], ["Dogs", "bark", "at", "the", "dog"], ["2-1"], ["bark", "the", "dog"])
TAGS = 3
GRAMMAR = tag_grammar([[("a", "X"), ("a", "Y"), ("a", "Z")]], LexiconOptions("single", 1, 0))


def random_forms(subtypes: int, seed: int) -> TagForms:
    """A tagger with random weights."""
    first = TagForms(start_chain(TAGS, subtypes, 0.1, seed), (start_forms(SENTENCES, TAGS, subtypes),))
    return first.with_value(np.random.default_rng(seed).normal(0, 0.7, first.value.shape))


def parts_of(model: TagForms) -> tuple[TagLvg, Forms]:
    """The chain and the forms."""
    (forms,) = model.contexts
    assert isinstance(model.family, TagLvg)
    assert isinstance(forms, Forms)
    return model.family, forms


def weigh(model: TagForms, words: list[str], tags: tuple[int, ...]) -> float:
    """The weight of a tag sequence, from the names of forms, summed over all sequences of subtypes."""
    chain, forms = parts_of(model)
    start, transition, end, _ = (np.exp(part) for part in chain.parts(chain.value))
    weight, known = forms.value.reshape(-1, TAGS, chain.subtypes), forms.properties.names
    lowered = ["", "", *(word.lower() for word in words), "", ""]
    emission = np.ones((len(words), TAGS, chain.subtypes))
    for i, word in enumerate(words):
        names = own_names(word, i == 0)
        names += [f"{place:+d} {lowered[i + 2 + place]}" for place in (-2, -1, 1, 2)]
        names += [f"pair- {lowered[i + 1]}\t{lowered[i + 2]}", f"pair+ {lowered[i + 2]}\t{lowered[i + 3]}"]
        for name in names:
            if name in known:
                emission[i] *= np.exp(weight[known.index(name)])
    total = 0.0
    for subtypes in product(range(chain.subtypes), repeat=len(tags)):
        states = list(zip(tags, subtypes, strict=True))
        value = start[states[0]] * end[states[-1]]
        for i, state in enumerate(states):
            value *= emission[(i, *state)]
        for one, other in pairwise(states):
            value *= transition[(*one, *other)]
        total += float(value)
    return total


def test_names_of_forms() -> None:
    assert shape("McDonald's-12") == "XxXx'x-d"
    assert shape("") == ""
    names = own_names("Unseen-4", True)
    assert {"word Unseen-4", "lower unseen-4", "prefix unse", "suffix een-4", "capital first", "digit", "dash"} <= {
        *names
    }
    assert "capital" in own_names("Dog", False)
    assert "capitals" in own_names("USA", False)
    assert own_names("a", False) == ["word a", "lower a", "shape x"]


def test_neighbours_need_to_be_seen_twice() -> None:
    forms = learn_properties(SENTENCES)
    assert "+1 dog" in forms.names
    assert "pair+ the\tdog" in forms.names
    assert "pair- the\tdog" in forms.names
    assert "-1 at" not in forms.names
    assert len({*forms.names}) == len(forms.names)


def expected_rows(forms: Properties, words: list[str]) -> list[list[str]]:
    """The properties of each word that have rows, from their definition."""
    low = ["", "", *(word.lower() for word in words), "", ""]
    return [
        [
            name
            for name in (
                *own_names(word, i == 0),
                *(near_name(place, low[i + 2 + place]) for place in PLACES),
                *pair_names(*low[i + 1 : i + 4]),
            )
            if name in forms.names
        ]
        for i, word in enumerate(words)
    ]


def test_rows_name_what_a_word_has() -> None:
    forms = learn_properties(SENTENCES)
    cases = [*SENTENCES, ["zzz"], ["The", "new", "Dog"], [], ["dog"], ["the", "dog", "the", "dog"], ["New", "dog"]]
    for sentences in ([words] for words in cases), [cases], [cases[::-1]]:
        for group in sentences:
            packed = forms.rows(group).tolist()
            for words in group:
                size, counts = packed[0], packed[1 : 1 + len(words)]
                rows, found = iter(packed[1 + len(words) : size]), []
                for count in counts:
                    found.append([forms.names[next(rows)] for _ in range(count)])
                assert found == expected_rows(forms, words)
                assert next(rows, None) is None
                packed = packed[size:]
            assert not packed


def test_many_words_are_kept_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """More words than the initial arrays hold, and more than the cache holds, so that it is cleared."""
    monkeypatch.setattr(properties, "_MOST_CACHED", 4000)
    sentences = [[f"w{number}", f"W{number % 50}"] for number in range(3000)]
    forms = learn_properties(sentences)
    for first in range(0, 3000, 500):
        for words in sentences[first : first + 500 : 50]:
            packed = forms.rows([words, *sentences[first : first + 500]])
            rows = packed[3 : packed[0]]
            assert [forms.names[row] for row in rows] == [*chain.from_iterable(expected_rows(forms, words))]


@pytest.mark.parametrize("subtypes", [1, 2])
def test_sums_equal_enumeration(subtypes: int) -> None:
    for seed in range(6):
        model = random_forms(subtypes, seed)
        dice = random.Random(seed)
        sentences = [[dice.choice(["The", "dog", "new", "BARK", "3"]) for _ in range(n)] for n in (3, 1, 2)]
        total = 0.0
        for words in sentences:
            family, packed, factors = model.lattices(GRAMMAR, [words])
            found = {tags: weigh(model, words, tags) for tags in product(range(TAGS), repeat=len(words))}
            assert family.log_z(packed, factors=factors) == pytest.approx(math.log(sum(found.values())), abs=1e-9)
            total += math.log(sum(found.values()))
            for tags, value in found.items():
                given = lattices(open_table(TAGS), [[0] * len(words)], [tags])
                assert family.log_z(given, True, factors) == pytest.approx(math.log(value), abs=1e-9)
        family, packed, factors = model.lattices(GRAMMAR, sentences)
        assert family.log_z(packed, factors=factors) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("subtypes", [1, 2, 3])
def test_gradients_equal_central_differences(subtypes: int) -> None:
    model = random_forms(subtypes, 7)
    dice = random.Random(7)
    tagged = [[(word, dice.choice("XYZ")) for word in words] for words in (*SENTENCES, ["zzz", "Dog"])]
    examples = np.concatenate(list(model.pack(GRAMMAR, tagged)))
    slope = np.zeros_like(model.value)
    assert model.add(examples, slope) > 0

    def objective(value: Floats) -> float:
        return model.with_value(value).add(examples, np.zeros_like(value))

    for place in range(len(slope)):
        expected = central_difference(objective, model.value, place)
        assert slope[place] == pytest.approx(expected, rel=1e-6, abs=1e-8)


def test_rounding_keeps_what_weighs() -> None:
    model = random_forms(2, 1)
    chain, forms = parts_of(model)
    forms.table(forms.value)[::2] *= 0.01
    same, rounded = parts_of(TagForms(chain, (forms,)).rounded())
    assert same is chain
    assert rounded.properties.names == forms.properties.names[1::2]
    np.testing.assert_allclose(rounded.table(rounded.value), forms.table(forms.value)[1::2], atol=GRID / 2)
    again = Forms.restore(GRAMMAR, np.empty(0), rounded.arrays(), rounded.facts())
    np.testing.assert_array_equal(again.value, rounded.value)
    assert rounded.rounded().properties == rounded.properties


def test_numbers_that_do_not_fit_are_refused() -> None:
    _, forms = parts_of(random_forms(2, 1).rounded())
    names, steps = list(forms.properties.names), forms.arrays()["steps"]
    for width, others, weights in (
        (2, names, steps[:, 1:]),
        (2, names, steps[1:]),
        (2, ["a"] * len(names), steps),
        (2, [*names[1:], 3], steps),
        (1, names, steps),
        (0, names, steps[:, :0]),
        (-2, names, steps),
        (2**70, names, steps),
    ):
        with pytest.raises(GrammarError):
            Forms.restore(GRAMMAR, np.empty(0), {"steps": weights}, {"width": width, "names": others})
    model = random_forms(2, 1)
    with pytest.raises(GrammarError):
        model.with_value(np.full_like(model.value, np.nan))
    with pytest.raises(GrammarError):
        Forms(TAGS, 2, Properties(("a",)), np.zeros(5))


def test_a_gaussian_chain_with_forms_goes_over_the_tags_that_a_discrete_one_leaves(tmp_path: Path) -> None:
    lines = read_tagged([str(ENGLISH.parent / "demo-train.conllu")], "upos")
    options: dict[str, Any] = {"chain": "gaussian", "epochs": 2, "batch": 16, "tag_min": 0.05}
    tagger = train_tagger(lines[:120], lines[120:160], "forms", **options)
    family = tagger.family
    assert isinstance(family, TagForms)
    assert isinstance(family.pruner, TagForms)
    assert tagger.info["dev"]["token_accuracy"] > 85
    chain, lattice, factors = family.lattices(tagger.grammar, [[word for word, _ in lines[125]]])
    found = chain.posteriors(lattice, True, factors)
    n = len(lines[125])
    assert n <= lattice[2] < n * len(tagger.grammar.tags)
    begin = lattice[3 + n : 4 + 2 * n]
    np.testing.assert_allclose(np.add.reduceat(found.share, begin[:-1]), 1.0, atol=1e-9)
    examples = np.concatenate(list(family.pack(tagger.grammar, lines[:3])))
    slope = np.zeros_like(family.value)
    family.add(examples, slope)
    for place in np.random.default_rng(0).choice(np.flatnonzero(np.abs(slope) > 1e-6), 12):
        expected = central_difference(
            lambda value: family.with_value(value).add(examples, np.zeros_like(value)), family.value, int(place)
        )
        assert slope[place] == pytest.approx(expected, abs=1e-7, rel=1e-5)
    save_model(tagger, str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    assert isinstance(again, Tagger)
    assert again.tag("The old dog saw a cat .") == tagger.tag("The old dog saw a cat .")


def test_narrow_lattices_keep_what_is_probable_the_best_and_what_is_given() -> None:
    dice = np.random.default_rng(3)
    for _ in range(50):
        lengths = dice.integers(0, 4, 3)
        tags = [[int(dice.integers(-1, TAGS)) for _ in range(n)] for n in lengths]
        whole = lattices(open_table(TAGS, with_emissions=True), [[0] * n for n in lengths], tags)
        share = dice.random(TAGS * int(lengths.sum()))
        narrow, first = narrow_lattices(whole, share, 0.5), 0
        for sentence, given in zip(each_sentence(narrow), tags, strict=True):
            n, m = int(sentence[1]), int(sentence[2])
            assert sentence[4 + 2 * n : 4 + 2 * n + m].tolist() == sentence[4 + 2 * n + m :].tolist()
            for i, kept in enumerate(word_tags(sentence)):
                own = share[first : first + TAGS]
                first += TAGS
                wanted = {int(own.argmax()), *np.flatnonzero(own >= 0.5).tolist()} | ({given[i]} - {-1})
                assert kept == sorted(wanted)
                assert sentence[3 + i] == (-1 if given[i] < 0 else kept.index(given[i]))
