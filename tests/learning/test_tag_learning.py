"""Learning taggers: likelihoods rise, one subtype is the HMM, threads and interruptions change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import central_difference

from lveg.errors import UsageError
from lveg.families.estimate import hmm_weights
from lveg.families.tag_forms import TagForms
from lveg.families.tag_gm import start_gm
from lveg.families.tag_lvg import TagLvg, start_lvg
from lveg.families.tags import TagFamily
from lveg.grammar.grammar import Grammar, tag_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent
from lveg.learning.em import Em
from lveg.learning.tags import (
    TagFormsOptions,
    TagGmOptions,
    TagLvgOptions,
    TagObjective,
    TagOptions,
    learn_tags,
    tag_examples,
)
from lveg.learning.train import TaggerOptions, read_tagged, train_tagger
from lveg.model import Tagger
from lveg.model_io import load_model, save_model
from lveg.treebank.synthetic import ENGLISH

DATA = ENGLISH.parent
FAST = Descent(epochs=4, learning_rate=0.05, batch=32)
OPTIONS: dict[str, TagOptions] = {
    "generative": TagLvgOptions(3, "generative", descent=replace(FAST, epochs=12)),
    "discriminative": TagLvgOptions(3, "discriminative", descent=FAST),
    "spherical": TagGmOptions(2, 2, "spherical", descent=FAST),
    "diagonal": TagGmOptions(2, 2, "diagonal", descent=FAST),
    "forms": TagFormsOptions(2, descent=FAST),
}

Tagged = list[list[tuple[str, str]]]


@pytest.fixture(scope="module")
def tagged() -> Tagged:
    return read_tagged([str(DATA / "demo-train.conllu")], "upos")[:300]


@pytest.fixture(scope="module")
def grammar(tagged: Tagged) -> Grammar:
    return tag_grammar(tagged, LexiconOptions("single", 2, 0))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tagged")
    for name, count in (("train", 300), ("dev", 60)):
        blocks = (DATA / f"demo-{name}.conllu").read_text(encoding="utf-8").split("\n\n")[:count]
        (folder / name).write_text("".join(f"{block}\n\n" for block in blocks), encoding="utf-8")
    return str(folder / "train"), str(folder / "dev")


def tagger_options(options: TagOptions) -> TaggerOptions:
    lexicon = LexiconOptions("single", 2, 0)
    if isinstance(options, TagFormsOptions):
        return TaggerOptions("forms", lexicon, forms=options)
    if isinstance(options, TagGmOptions):
        return TaggerOptions("gm", lexicon, gm=options)
    return TaggerOptions("lvg", lexicon, lvg=options)


@pytest.mark.parametrize("subtypes", [1, 2, 4])
@pytest.mark.parametrize("smoothing", [0.0, 10.0])
def test_em_never_lowers_the_likelihood(grammar: Grammar, tagged: Tagged, subtypes: int, smoothing: float) -> None:
    """With the prior's part; without a prior, of the likelihood itself."""
    weight = hmm_weights(grammar)
    model = start_lvg(grammar, weight, subtypes)
    em = Em(model, grammar, weight, tag_examples(grammar, tagged), smoothing)
    objectives = []
    for _ in range(25):
        model, objective = em.step(model)
        objectives.append(objective)
        assert model.is_probability
    assert (np.diff(objectives) >= -1e-9 * abs(objectives[0])).all()
    if subtypes > 1:
        assert objectives[-1] > objectives[0] + 50


def test_em_without_a_prior_never_lowers_the_likelihood(grammar: Grammar, tagged: Tagged) -> None:
    weight = hmm_weights(grammar)
    model = start_lvg(grammar, weight, 3)
    em = Em(model, grammar, weight, tag_examples(grammar, tagged))
    em.prior[:] = 0.0
    packed = em.examples.gather(range(len(tagged)))
    likelihoods = [model.log_z(packed, True)]
    for _ in range(25):
        model, objective = em.step(model)
        assert objective == pytest.approx(likelihoods[-1], rel=1e-12)
        likelihoods.append(model.log_z(packed, True))
    assert (np.diff(likelihoods) >= -1e-9 * abs(likelihoods[0])).all()


@pytest.mark.parametrize("smooth", [0, 10])
def test_one_subtype_learns_the_hmm(tagged: Tagged, smooth: int) -> None:
    grammar = tag_grammar(tagged, LexiconOptions("auto", 2, smooth))
    weight = hmm_weights(grammar)
    learned = learn_tags(grammar, tagged, replace(OPTIONS["generative"], subtypes=1))
    expected = start_lvg(grammar, weight, 1, noise=0.0)
    np.testing.assert_allclose(np.exp(learned.value), np.exp(expected.value), atol=1e-12)


@pytest.mark.parametrize("name", ["discriminative", "spherical", "diagonal"])
def test_the_objective_is_minus_the_conditional_likelihood(grammar: Grammar, tagged: Tagged, name: str) -> None:
    weight = hmm_weights(grammar)
    first: TagFamily = (
        start_lvg(grammar, weight, 2) if name == "discriminative" else start_gm(grammar, weight, 2, 2, name, 0.5)
    )
    objective = TagObjective(first, tag_examples(grammar, tagged[:5]))
    numbers = np.arange(5, dtype=np.int32)
    slope = np.zeros_like(first.value)
    value = objective.add(first, numbers, slope)
    assert value > 0
    dice = np.random.default_rng(1)
    for place in dice.choice(np.flatnonzero(slope), 40, replace=False):
        expected = central_difference(
            lambda moved: objective.add(objective.model(moved), numbers, np.zeros_like(slope)), first.value, place
        )
        assert slope[place] == pytest.approx(expected, rel=1e-6, abs=3e-9)


@pytest.mark.parametrize("name", list(OPTIONS))
def test_learned_taggers_beat_the_hmm_and_come_back_from_disk(
    files: tuple[str, str], tmp_path: Path, name: str
) -> None:
    epochs: list[dict[str, Any]] = []

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            epochs.append(facts)

    options = tagger_options(OPTIONS[name])
    tagger = train_tagger([files[0]], [files[1]], options, threads=2, report=report)
    plain = train_tagger([files[0]], [files[1]], TaggerOptions("hmm", options.lexicon))
    objectives = [facts["objective"] for facts in epochs]
    assert objectives[-1] < objectives[0]
    if name == "generative":
        assert objectives == sorted(objectives, reverse=True)
    best = max(facts["dev_token_accuracy"] for facts in epochs)
    assert tagger.info["dev"]["token_accuracy"] == pytest.approx(best, abs=0.3 if name == "forms" else 0.0)
    assert tagger.info["dev"]["token_accuracy"] >= plain.info["dev"]["token_accuracy"]
    first, second = tmp_path / "a", tmp_path / "b"
    save_model(tagger, str(first))
    loaded = load_model(str(first))
    assert isinstance(loaded, Tagger)
    save_model(loaded, str(second))
    assert first.read_bytes() == second.read_bytes()
    for sentence in read_tagged([files[1]], "upos")[:20]:
        words = [word for word, _ in sentence]
        for decoder in ("posterior", "viterbi"):
            tagging = tagger.tag(words, decoder)
            assert loaded.tag(words, decoder) == tagging
            assert tagging.log_prob <= 1e-9
            assert all(0 < share <= 1 + 1e-9 for share in tagging.confidence)
            assert (tagging.log_sentence is not None) == (name == "generative")


@pytest.mark.parametrize("name", list(OPTIONS))
def test_same_bits_on_any_number_of_threads(grammar: Grammar, tagged: Tagged, name: str) -> None:
    options = replace(OPTIONS[name], descent=replace(FAST, epochs=2))
    one, two, three = (learn_tags(grammar, tagged, options, 7, threads) for threads in (1, 2, 3))
    other = learn_tags(grammar, tagged, options, 8, 2)
    assert np.array_equal(one.value, two.value)
    assert np.array_equal(one.value, three.value)
    assert not np.array_equal(one.value, other.value)


class StopError(Exception):
    """A run is interrupted."""


@pytest.mark.parametrize("name", list(OPTIONS))
def test_a_run_that_was_interrupted_goes_on_to_the_same_bits(
    grammar: Grammar, tagged: Tagged, tmp_path: Path, name: str
) -> None:
    options = replace(OPTIONS[name], descent=replace(FAST, epochs=5))
    stop_at = [2, 4]

    def score(family: TagFamily | TagForms) -> tuple[float, dict[str, Any]]:
        return float(np.abs(family.value).sum()), {}

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and stop_at and facts["epoch"] == stop_at[0]:
            stop_at.pop(0)
            raise StopError

    whole = learn_tags(grammar, tagged, options, score=score)
    path = str(tmp_path / "run.checkpoint")
    for _ in range(2):
        with pytest.raises(StopError):
            learn_tags(grammar, tagged, options, score=score, report=report, checkpoint=Checkpoint(path, True))
    resumed = learn_tags(grammar, tagged, options, score=score, checkpoint=Checkpoint(path, True))
    assert np.array_equal(whole.value, resumed.value)
    with pytest.raises(UsageError, match="other data or options"):
        learn_tags(grammar, tagged, options, 3, score=score, checkpoint=Checkpoint(path, True))


def test_em_ends_when_the_score_no_longer_rises(grammar: Grammar, tagged: Tagged) -> None:
    scores = iter([1.0, 3.0, 2.0, 2.5, 2.9, 9.0])
    seen: list[TagFamily | TagForms] = []

    def score(family: TagFamily | TagForms) -> tuple[float, dict[str, Any]]:
        seen.append(family)
        return next(scores), {}

    options = TagLvgOptions(2, descent=Descent(epochs=6, patience=3))
    best = learn_tags(grammar, tagged[:50], options, score=score)
    assert len(seen) == 5
    assert isinstance(best, TagLvg)
    assert np.array_equal(best.value, seen[1].value)


def test_refusals(files: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match="there are forms, hmm, lvg and gm"):
        train_tagger([files[0]], options=TaggerOptions("crf"))
    with pytest.raises(UsageError, match="not one of generative, discriminative"):
        TagLvgOptions(objective="other")
