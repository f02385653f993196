"""Training taggers: likelihoods rise, one subtype is the HMM, threads and interruptions change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import central_difference

from lveg.errors import UsageError
from lveg.families.chain import ChainFamily, Chains
from lveg.families.registry import find
from lveg.families.tag_gm.family import start_gm
from lveg.families.tag_lvg.em import TagEm
from lveg.families.tag_lvg.family import TagLvg, start_lvg
from lveg.grammar.estimate import hmm_weights
from lveg.grammar.grammar import Floats, Grammar, tag_grammar
from lveg.grammar.lexicon import LexiconOptions
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TagData
from lveg.learning.run import Run
from lveg.model import Tagger
from lveg.model_io import load_model, save_model
from lveg.training import Setting, train_tagger
from lveg.treebank.conllu import read_tagged
from lveg.treebank.synthetic import ENGLISH

DATA = ENGLISH.parent
FAST = {"epochs": 4, "learning_rate": 0.05, "batch": 32, "patience": 5}
OPTIONS: dict[str, dict[str, Any]] = {
    "generative": {"model": "lvg", "subtypes": 3, **FAST, "epochs": 12},
    "discriminative": {"model": "lvg", "subtypes": 3, "objective": "discriminative", **FAST},
    "spherical": {"model": "gm", "components": 2, "dim": 2, "covariance": "spherical", **FAST},
    "diagonal": {"model": "gm", "components": 2, "dim": 2, "covariance": "diagonal", **FAST},
    "forms": {"model": "forms", "context": "forms", "subtypes": 2, **FAST},
}

PLAIN = Run()

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


def learn(grammar: Grammar, tagged: Tagged, options: dict[str, Any], run: Run = PLAIN) -> Chains:
    """A family trained with these options."""
    rest = dict(options)
    kind = find("tagger", rest.pop("model"))
    own = kind.load_options()(**rest)
    family, _ = kind.load_learning()(TagData(grammar, hmm_weights(grammar), tagged), own, run)
    assert isinstance(family, Chains)
    return family


@pytest.mark.parametrize("subtypes", [1, 2, 4])
@pytest.mark.parametrize("smoothing", [0.0, 10.0])
def test_em_never_lowers_the_likelihood(grammar: Grammar, tagged: Tagged, subtypes: int, smoothing: float) -> None:
    """Including the prior; without a prior, the likelihood itself never falls."""
    weight = hmm_weights(grammar)
    model = start_lvg(grammar, weight, subtypes)
    em = TagEm(model, grammar, weight, model.examples(grammar, tagged), smoothing, PLAIN)
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
    em = TagEm(model, grammar, weight, model.examples(grammar, tagged), 0.0, PLAIN)
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
    learned = learn(grammar, tagged, OPTIONS["generative"] | {"subtypes": 1})
    expected = start_lvg(grammar, weight, 1, noise=0.0)
    np.testing.assert_allclose(np.exp(learned.value), np.exp(expected.value), atol=1e-12)


@pytest.mark.parametrize("name", ["discriminative", "spherical", "diagonal"])
def test_the_objective_is_the_negative_conditional_likelihood(grammar: Grammar, tagged: Tagged, name: str) -> None:
    weight = hmm_weights(grammar)
    first: ChainFamily = (
        start_lvg(grammar, weight, 2) if name == "discriminative" else start_gm(grammar, weight, 2, 2, name, 0.5)
    )
    examples = first.examples(grammar, tagged[:5]).gather(range(5))
    slope = np.zeros_like(first.value)
    value = first.add(examples, slope)
    assert value == pytest.approx(first.log_z(examples) - first.log_z(examples, True), abs=1e-9)
    assert value > 0

    def objective(value: Floats) -> float:
        return first.with_value(value).add(examples, np.zeros_like(value))

    dice = np.random.default_rng(1)
    for place in dice.choice(np.flatnonzero(slope), 40, replace=False):
        expected = central_difference(objective, first.value, int(place))
        assert slope[place] == pytest.approx(expected, rel=1e-6, abs=3e-9)


@pytest.mark.parametrize("name", list(OPTIONS))
def test_trained_taggers_beat_the_hmm_and_can_be_saved_and_loaded(
    files: tuple[str, str], tmp_path: Path, name: str
) -> None:
    epochs: list[dict[str, Any]] = []

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch":
            epochs.append(facts)

    setting = Setting(threads=2, report=report)
    tagger = train_tagger(*files, unknown="single", setting=setting, **OPTIONS[name])
    plain = train_tagger(*files, model="hmm", unknown="single")
    objectives = [facts["objective"] for facts in epochs]
    assert objectives[-1] < objectives[0]
    if name == "generative":
        assert objectives == sorted(objectives, reverse=True)
    best = max(facts.get("dev_token_accuracy", 0.0) for facts in epochs)  # a network alone is not scored
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
    options = OPTIONS[name] | {"epochs": 2}
    one, two, three = (learn(grammar, tagged, options, Run(7, threads)) for threads in (1, 2, 3))
    other = learn(grammar, tagged, options, Run(8, 2))
    assert np.array_equal(one.value, two.value)
    assert np.array_equal(one.value, three.value)
    assert not np.array_equal(one.value, other.value)


class StopError(Exception):
    """An interruption."""


@pytest.mark.parametrize("name", list(OPTIONS))
def test_an_interrupted_run_resumes_to_the_same_bits(
    grammar: Grammar, tagged: Tagged, tmp_path: Path, name: str
) -> None:
    options = OPTIONS[name] | {"epochs": 5}
    stop_at = [2, 4]

    def score(family: Chains) -> tuple[float, dict[str, Any]]:
        return float(np.abs(family.value).sum()), {}

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and stop_at and facts["epoch"] == stop_at[0]:
            stop_at.pop(0)
            raise StopError

    whole = learn(grammar, tagged, options, Run(score=score))
    run = Run(score=score, checkpoint=Checkpoint(str(tmp_path / "run.checkpoint"), True))
    for _ in range(2):
        with pytest.raises(StopError):
            learn(grammar, tagged, options, replace(run, report=report))
    assert not stop_at
    resumed = learn(grammar, tagged, options, run)
    assert np.array_equal(whole.value, resumed.value)


def test_a_checkpoint_needs_the_same_data_and_options(files: tuple[str, str], tmp_path: Path) -> None:
    setting = Setting(checkpoint=Checkpoint(str(tmp_path / "run.checkpoint"), True))
    options = OPTIONS["generative"] | {"epochs": 1}
    train_tagger(*files, setting=setting, **options)
    train_tagger(*files, setting=setting, **options | {"epochs": 2})
    for other in (
        {"seed": 3},
        {"smooth": 5},
        {"subtypes": 2},
        {"noise": 0.2},
        {"model": "forms", "context": "forms"},
        {"max_length": 9},
    ):
        with pytest.raises(UsageError, match="other data or options"):
            train_tagger(*files, setting=setting, **{"epochs": 1, **(other if "model" in other else options | other)})
    with pytest.raises(UsageError, match="other data or options"):
        train_tagger(files[0], setting=setting, **options)


def test_em_stops_when_the_score_no_longer_rises(grammar: Grammar, tagged: Tagged) -> None:
    scores = iter([1.0, 3.0, 2.0, 2.5, 2.9, 9.0])
    seen: list[Chains] = []

    def score(family: Chains) -> tuple[float, dict[str, Any]]:
        seen.append(family)
        return next(scores), {}

    options = {"model": "lvg", "subtypes": 2, "epochs": 6, "patience": 3}
    best = learn(grammar, tagged[:50], options, Run(score=score))
    assert len(seen) == 5
    assert isinstance(best, TagLvg)
    assert np.array_equal(best.value, seen[1].value)


def test_refusals(files: tuple[str, str]) -> None:
    with pytest.raises(UsageError, match="no tagger model 'crf'; there are hmm, forms, gm, lvg"):
        train_tagger(files[0], model="crf")
    with pytest.raises(UsageError, match="--objective 'other': expected one of generative, discriminative"):
        train_tagger(files[0], model="lvg", objective="other")
