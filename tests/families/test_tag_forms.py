"""Taggers that see the forms of words: which forms there are, sums by enumeration, gradients by differences."""

from __future__ import annotations

import math
import random
from itertools import pairwise, product

import numpy as np
import pytest

from lveg.errors import GrammarError
from lveg.families.tag_forms import GRID, TagForms, of_steps, start_forms
from lveg.grammar.forms import Forms, learn_forms, own_names, shape

SENTENCES = (["The", "dog", "barks"], ["Dogs", "bark", "at", "the", "dog"], ["2-1"], ["bark", "the", "dog"])
TAGS = 3


def random_forms(subtypes: int, seed: int) -> TagForms:
    """Weights that mean nothing in particular."""
    first = start_forms(TAGS, subtypes, learn_forms(SENTENCES), noise=0.1, seed=seed)
    return first.with_value(np.random.default_rng(seed).normal(0, 0.7, first.value.shape))


def weigh(model: TagForms, words: list[str], tags: tuple[int, ...]) -> float:
    """The weight of a tag sequence, from the names of forms: the sum over all sequences of subtypes."""
    plain = model.over_words([words])
    start, transition, end, _ = (np.exp(part) for part in plain.parts(plain.value))
    weight = model.of_forms(model.value).reshape(-1, TAGS, model.subtypes)
    lowered = ["", "", *(word.lower() for word in words), "", ""]
    emission = np.ones((len(words), TAGS, model.subtypes))
    for i, word in enumerate(words):
        names = own_names(word, i == 0)
        names += [f"{place:+d} {lowered[i + 2 + place]}" for place in (-2, -1, 1, 2)]
        names += [f"pair- {lowered[i + 1]}\t{lowered[i + 2]}", f"pair+ {lowered[i + 2]}\t{lowered[i + 3]}"]
        for name in names:
            if name in model.forms.names:
                emission[i] *= np.exp(weight[model.forms.names.index(name)])
        emission[i] /= emission[i].max()  # what the family leaves out, equal for all tags
    total = 0.0
    for subtypes in product(range(model.subtypes), repeat=len(tags)):
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
    forms = learn_forms(SENTENCES)
    assert "+1 dog" in forms.names
    assert "pair+ the\tdog" in forms.names
    assert "pair- the\tdog" in forms.names
    assert "-1 at" not in forms.names
    assert len({*forms.names}) == len(forms.names)


def test_rows_name_what_a_word_has() -> None:
    forms = learn_forms(SENTENCES)
    for words in (*SENTENCES, ["zzz"], ["The", "new", "Dog"], []):
        counts, rows = forms.rows(words)
        assert (counts, rows) == forms.rows(words)
        assert len(counts) == len(words)
        assert sum(counts) == len(rows)
        assert all(0 <= row < len(forms.names) for row in rows)
    counts, rows = forms.rows(["New", "dog"])
    last = [forms.names[row] for row in rows[counts[0] :]]
    assert "word dog" in last
    assert "+1 " in last
    assert "-1 new" not in last


@pytest.mark.parametrize("subtypes", [1, 2])
def test_sums_equal_enumeration(subtypes: int) -> None:
    for seed in range(6):
        model = random_forms(subtypes, seed)
        dice = random.Random(seed)
        sentences = [[dice.choice(["The", "dog", "new", "BARK", "3"]) for _ in range(n)] for n in (3, 1, 2)]
        family = model.over_words(sentences)
        first = 0
        for words in sentences:
            terminals = range(first, first + len(words))
            first += len(words)
            found = {tags: weigh(model, words, tags) for tags in product(range(TAGS), repeat=len(words))}
            assert family.log_z(family.lattices([terminals])) == pytest.approx(math.log(sum(found.values())), abs=1e-9)
            for tags, value in found.items():
                assert family.log_z(family.lattices([terminals], [tags]), True) == pytest.approx(
                    math.log(value), abs=1e-9
                )


@pytest.mark.parametrize("subtypes", [1, 2, 3])
def test_gradients_equal_central_differences(subtypes: int) -> None:
    model = random_forms(subtypes, 7)
    dice = np.random.default_rng(7)
    examples = []
    for words in (*SENTENCES, ["zzz", "Dog"]):
        counts, rows = model.forms.rows(words)
        examples.append([len(words), len(rows), *dice.integers(0, TAGS, len(words)), *counts, *rows])
    packed = np.concatenate(examples).astype(np.int32)
    slope = np.zeros_like(model.value)
    assert model.add(packed, slope) > 0
    for place in range(len(slope)):
        values = []
        for step in (1e-4, -1e-4):
            moved = model.value.copy()
            moved[place] += step
            values.append(model.with_value(moved).add(packed, np.zeros_like(slope)))
        assert slope[place] == pytest.approx((values[0] - values[1]) / 2e-4, rel=1e-6, abs=1e-7)


def test_rounding_keeps_what_weighs() -> None:
    model = random_forms(2, 1)
    value = model.value.copy()
    weight = model.of_forms(value)
    weight[::2] *= 0.01
    rounded = model.with_value(value).rounded()
    assert rounded.forms.names == model.forms.names[1::2]
    np.testing.assert_allclose(rounded.of_forms(rounded.value), weight[1::2], atol=GRID / 2)
    again = of_steps(TAGS, 2, rounded.forms, rounded.value[: rounded.cut], rounded.steps)
    np.testing.assert_array_equal(again.value, rounded.value)
    assert rounded.rounded().forms == rounded.forms


def test_numbers_that_do_not_fit_are_refused() -> None:
    model = random_forms(2, 1).rounded()
    plain, steps = model.value[: model.cut], model.steps
    for forms, numbers, weights in (
        (model.forms, plain[1:], steps),
        (model.forms, plain, steps[1:]),
        (Forms(("a",) * len(steps)), plain, steps),
    ):
        with pytest.raises(GrammarError):
            of_steps(TAGS, 2, forms, numbers, weights)
    with pytest.raises(GrammarError):
        model.with_value(np.full_like(model.value, np.nan))
