"""What training does beyond a single family: options by size, ensembles, the decoder that it records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import lveg
from lveg.contexts.features.options import FeatureOptions
from lveg.decoding.marginals import Sharpness
from lveg.errors import UsageError
from lveg.evaluation.calibration import best_sharpness
from lveg.evaluation.models import score_parser
from lveg.families.contextual.family import Contextual
from lveg.families.contextual.options import ContextOptions
from lveg.families.gm.options import GmOptions
from lveg.families.lvg.options import LvgOptions
from lveg.families.product.family import Product
from lveg.families.split_merge.options import SplitMergeOptions
from lveg.families.tag_forms.options import TagFormsOptions
from lveg.learning.checkpoint import Checkpoint
from lveg.model import Model, Parser
from lveg.task_options import ParserOptions, TaggerOptions
from lveg.training import FEW, MOST_HELD_OUT, Setting, hold_out, train_parser, train_tagger
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

QUICK: dict[str, Any] = {
    "epochs": 1, "components": 2, "dim": 2, "context_epochs": 1, "units": 8, "embedding": 4, "network_epochs": 1
}  # fmt: skip


def trees() -> list[Tree]:
    return [tree for tree in read_trees(ENGLISH.parent / "demo-train.mrg") if len(tree.words()) <= 9][:80]


@pytest.mark.parametrize(
    ("sentences", "batch", "epochs", "patience"),
    [(1, 8, 45, 15), (200, 8, 45, 15), (1000, 25, 26, 9), (2999, 64, 15, 5), (3000, 64, 15, 5), (10**6, 64, 15, 5)],
)
def test_few_sentences_get_smaller_batches_and_more_epochs(
    sentences: int, batch: int, epochs: int, patience: int
) -> None:
    found = GmOptions().for_size(sentences, ())
    assert (found.batch, found.epochs, found.patience) == (batch, epochs, patience)


def test_given_options_do_not_depend_on_the_size() -> None:
    given = GmOptions(batch=100, epochs=3)
    assert given.for_size(200, {"batch", "epochs", "patience"}) == given
    assert given.for_size(200, {"batch", "epochs"}) == replace(given, patience=15)
    assert TagFormsOptions(batch=4).for_size(200, ()).batch == 4
    assert ContextOptions().for_size(200, ()).context_batch == 8
    assert ContextOptions().for_size(200, {"context_batch"}).context_batch == 32


@pytest.mark.parametrize(
    ("sentences", "iterations", "smoothing", "epochs", "rate", "threshold"),
    [
        (100, 7, 0.2, 12, 0.058, 1),
        (500, 8, 0.18, 10, 0.064, 1),
        (1000, 12, 0.09, 7, 0.076, 2),
        (3000, 20, 0.03, 4, 0.1, 2),
    ],
)
def test_few_sentences_get_more_smoothing_and_more_epochs_of_contexts(
    sentences: int, iterations: int, smoothing: float, epochs: int, rate: float, threshold: int
) -> None:
    subtypes, contexts = SplitMergeOptions().for_size(sentences, ()), ContextOptions().for_size(sentences, ())
    assert (subtypes.split_iterations, subtypes.smooth_rules) == (iterations, smoothing)
    assert (contexts.context_epochs, FeatureOptions().for_size(sentences, ()).feature_rate) == (epochs, rate)
    assert ParserOptions().for_size(sentences, ()).unknown_threshold == threshold
    assert ParserOptions().for_size(sentences, {"unknown_threshold"}) == ParserOptions()
    assert TaggerOptions().for_size(sentences, ()) == TaggerOptions()


def test_a_family_with_contexts_gets_no_more_epochs() -> None:
    assert GmOptions().as_base(200, ()) == GmOptions(batch=8)
    assert LvgOptions().as_base(200, ()) == LvgOptions().for_size(200, ()) == LvgOptions()
    assert LvgOptions(objective="discriminative").for_size(200, ()).epochs == 45
    assert SplitMergeOptions().as_base(200, ()) == SplitMergeOptions().for_size(200, ())


def test_the_default_is_a_gaussian_grammar_with_contexts() -> None:
    parser = train_parser(trees()[:60], trees()[60:], **QUICK)
    assert isinstance(parser.family, Contextual)
    assert (parser.info["config"]["model"], parser.info["config"]["context"]) == ("gm", "features,network")
    assert train_parser(trees()[:60], model="gm", epochs=1).info["config"]["context"] == "none"


def test_an_option_of_a_context_turns_it_on() -> None:
    parser = train_parser(trees()[:60], model="pcfg", units=4, network_epochs=1, context_epochs=1, held_out=0.0)
    assert parser.info["config"]["context"] == "network"
    with pytest.raises(UsageError, match="units: not an option of a parser of model pcfg"):
        train_parser(trees()[:60], model="pcfg", units=4, context="none")


def test_unreadable_vectors_are_reported_before_training() -> None:
    seen: list[str] = []
    setting = Setting(report=lambda event, facts: seen.append(event))
    with pytest.raises(UsageError, match="nowhere: cannot be read"):
        train_parser(trees()[:60], trees()[60:], setting=setting, vectors="nowhere", **QUICK)
    assert "grammar" in seen
    assert "epoch" not in seen


def test_constituent_probabilities_are_calibrated_on_the_development_trees() -> None:
    parser = train_parser(trees()[:60], trees()[60:], **QUICK)
    plain, gold = replace(parser, info={}), trees()[60:]
    raw = [plain.parse(tree.words(), parser.decoder, marginals=True) for tree in gold]
    found = [parser.parse(tree.words(), marginals=True) for tree in gold]
    assert plain.sharpness == Sharpness() == (1.0, 0.0)
    assert parser.sharpness == tuple(parser.info["sharpness"]) == best_sharpness(raw, gold)
    for before, after in zip(raw, found, strict=True):
        assert before.tree == after.tree
        for span, share in before.constituents.items():
            assert after.constituents[span] == pytest.approx(parser.sharpness.of(share))
    for sharpness in (None, 1, -1.0, float("nan"), [], [1.0], [-1.0, 0.0], [1.0, 1e9], [1.0, None]):
        assert replace(parser, info={"sharpness": sharpness}).sharpness == Sharpness()
    assert replace(parser, info={"sharpness": 0.5}).sharpness == (0.5, 0.0)
    assert Sharpness(99.0, 99.0).of(1.0) == 1.0


def test_the_decoder_that_scores_best_is_recorded() -> None:
    parser = train_parser(trees()[:60], trees()[60:], **QUICK)
    assert parser.decoder == parser.info["decoder"]
    f1 = {decoder: score_parser(parser, trees()[60:], decoder).summary["f1"] for decoder in ("max-rule", "mbr")}
    assert f1[parser.decoder] == max(f1.values()) == parser.info["dev"]["f1"]
    for decoder in (None, 3, "best"):
        assert replace(parser, info={"decoder": decoder}).decoder == "max-rule"


def test_every_trained_parser_has_a_decoder_and_words_seen_once() -> None:
    parser = train_parser(trees()[:60], trees()[60:], "lvg", subtypes=2, epochs=2)
    assert parser.info["decoder"] in ("max-rule", "mbr")
    assert parser.info["config"]["unknown_threshold"] == 1
    assert {word for tree in trees()[:60] for word in tree.words()} == set(parser.grammar.lexicon.words)
    assert "decoder" not in train_parser(trees()[:60], trees()[60:], "pcfg").info


def test_an_ensemble_needs_a_partner() -> None:
    with pytest.raises(UsageError, match="no partner for --model split-merge"):
        train_parser(trees()[:60], model="split-merge", ensemble=True)


def test_an_ensemble_is_one_model_file(tmp_path: Path) -> None:
    parser = train_parser(trees()[:60], trees()[60:], ensemble=True, **QUICK)
    assert isinstance(parser.family, Product)
    first, *partners = parser.family.members
    assert isinstance(first, Contextual)
    assert [partner.name for partner in partners] == ["split-merge"]
    lveg.save(parser, str(tmp_path / "m"))
    again = lveg.load(str(tmp_path / "m"))
    assert isinstance(again, Parser)
    words = trees()[61].words()
    assert again.parse(words).trees == parser.parse(words).trees
    same = train_parser(trees()[:60], trees()[60:], **parser.info["config"])
    lveg.save(same, str(tmp_path / "n"))
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()


def tagged() -> list[list[tuple[str, str]]]:
    return [list(zip(tree.words(), tree.tags(), strict=True)) for tree in trees()]


HELD_OUT: list[tuple[str, str | None, dict[str, Any]]] = [
    ("parser", None, QUICK | {"epochs": 3, "context_epochs": 2}),
    ("parser", "lvg", {"subtypes": 2, "epochs": 7, "patience": 3}),
    ("parser", "split-merge", {"cycles": 3, "split_iterations": 3, "merge_iterations": 1, "smooth_iterations": 1}),
    ("parser", "multi-scale", {"cycles": 1, "epochs": 6}),
    ("tagger", None, {"epochs": 3}),
    ("tagger", "lvg", {"subtypes": 2, "epochs": 6}),
]
"""Task, model and options of runs without development data."""


def train(task: str, data: Any, dev: Any = (), setting: Setting | None = None, **options: Any) -> Model:
    learn = train_parser if task == "parser" else train_tagger
    return learn(data, dev, setting=setting or Setting(), **options)


def gold(task: str) -> list[Any]:
    return trees() if task == "parser" else tagged()


@pytest.mark.parametrize(("task", "model", "options"), HELD_OUT, ids=lambda value: str(value)[:12])
def test_without_dev_a_held_out_part_determines_the_number_of_epochs(
    task: str, model: str | None, options: dict[str, Any]
) -> None:
    told: list[str] = []
    data = gold(task)
    found = train(task, data, model=model, setting=Setting(report=lambda event, _: told.append(event)), **options)
    assert told.count("grammar") == 2
    assert {"held out", "all sentences"} <= set(told)
    rest, held = hold_out(data, 0.1, 0)
    assert (found.info["train_sentences"], found.info["held_out"]["sentences"]) == (len(data), len(held))
    searched = train(task, rest, held, model=model, **options)
    assert found.info["held_out"]["scores"] == searched.info["dev"]
    rounds = found.info["held_out"]["rounds"]
    if list(rounds) == ["run"]:
        name = "cycles" if "cycles" in options else "epochs"
        assert rounds["run"] <= options[name]
        same = train(task, data, model=model, held_out=0.0, **options | {name: rounds["run"]})
        assert arrays_of(same) == arrays_of(found)


def arrays_of(model: Model) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in model.family.arrays().items()}


def test_the_best_epoch_on_the_held_out_part_is_found() -> None:
    scores: list[float] = []

    def report(event: str, facts: dict[str, Any]) -> None:
        if event == "epoch" and "dev_f1" in facts:
            scores.append(facts["dev_f1"])

    options: dict[str, Any] = {"model": "lvg", "subtypes": 2, "epochs": 12, "patience": 0, "noise": 0.9}
    parser = train("parser", trees(), setting=Setting(report=report), **options)
    assert len(scores) == 12
    assert parser.info["held_out"]["rounds"] == {"run": 1 + scores.index(max(scores))}


class StopError(Exception):
    """What ends a run in the middle."""


@pytest.mark.parametrize(("task", "model", "options"), HELD_OUT[::2], ids=lambda value: str(value)[:12])
def test_a_run_with_a_held_out_part_resumes_to_the_same_bytes(
    task: str, model: str | None, options: dict[str, Any], tmp_path: Path
) -> None:
    file, path = tmp_path / "model", str(tmp_path / "checkpoint")

    def run(checkpoint: Checkpoint | None, most: int = 1000) -> tuple[bytes, int]:
        rounds: list[str] = []

        def report(event: str, facts: dict[str, Any]) -> None:
            if event in ("epoch", "cycle", "all sentences"):
                rounds.append(event)
                if len(rounds) > most:
                    raise StopError

        model_ = train(task, gold(task), setting=Setting(report=report, checkpoint=checkpoint), model=model, **options)
        lveg.save(model_, str(file))
        return file.read_bytes(), len(rounds)

    whole, count = run(None)
    for most in (1, count // 2, count - 1):
        with pytest.raises(StopError):
            run(Checkpoint(path), most)
        again, rest = run(Checkpoint(path, resume=True))
        assert again == whole
        assert rest <= count - most + 1
    Checkpoint(path).remove()
    assert [item.name for item in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(("count", "share"), [(FEW - 1, 0.1), (FEW, 0.0)])
def test_nothing_is_held_out_with_few_sentences_or_if_turned_off(count: int, share: float) -> None:
    parser = train("parser", trees()[:count], model="lvg", subtypes=2, epochs=2, held_out=share)
    assert "held_out" not in parser.info
    assert "held_out" not in train("parser", trees(), model="pcfg").info


def test_a_held_out_part_depends_on_the_seed() -> None:
    items = list(range(100))
    rest, held = map(list, hold_out(items, 0.1, 0))
    assert (len(held), sorted(rest + held)) == (10, items)
    assert held == sorted(held)
    assert held == list(hold_out(items, 0.1, 0)[1]) != list(hold_out(items, 0.1, 1)[1])


def test_of_many_sentences_few_are_held_out() -> None:
    rest, held = hold_out(range(100_000), 0.1, 0)
    assert (len(rest), len(held)) == (97_000, MOST_HELD_OUT)
