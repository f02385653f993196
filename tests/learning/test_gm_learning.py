"""Learning a Gaussian mixture grammar on a small treebank: it gets better, and threads change nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lveg.errors import ModelError, UsageError
from lveg.families.gm import Gm, start
from lveg.forest.builders import tree_forest
from lveg.forest.forest import anchored_rules
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent, descend
from lveg.learning.examples import Examples
from lveg.learning.gm import SMALL as LEAST
from lveg.learning.gm import GmOptions, best_forest, halved, learn, weight_shares, weight_spread, without_small
from lveg.learning.train import ParserOptions, train_parser
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

DATA = ENGLISH.parent
SMALL = GmOptions(components=2, dim=2, descent=Descent(epochs=10, learning_rate=0.05, batch=32))


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    return [tree for tree in read_trees(DATA / "demo-train.mrg") if len(tree.words()) <= 12][:300]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, trees: list[Tree]) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("treebank")
    dev = [tree for tree in read_trees(DATA / "demo-dev.mrg") if len(tree.words()) <= 12][:60]
    for name, part in (("train.mrg", trees), ("dev.mrg", dev)):
        (folder / name).write_text("".join(f"{tree}\n" for tree in part), encoding="utf-8")
    return str(folder / "train.mrg"), str(folder / "dev.mrg")


@pytest.fixture(scope="module")
def trained(files: tuple[str, str]) -> tuple[Parser, list[dict[str, object]]]:
    epochs: list[dict[str, object]] = []

    def report(event: str, facts: dict[str, object]) -> None:
        if event == "epoch":
            epochs.append(facts)

    options = ParserOptions(model="gm", gm=SMALL)
    return train_parser([files[0]], [files[1]], options, threads=2, report=report), epochs


def test_objective_falls_and_the_best_epoch_beats_the_treebank_grammar(
    trained: tuple[Parser, list[dict[str, object]]], files: tuple[str, str]
) -> None:
    parser, epochs = trained
    objectives = [float(str(facts["objective"])) for facts in epochs]
    assert len(objectives) == SMALL.descent.epochs
    assert objectives == sorted(objectives, reverse=True)
    plain = train_parser([files[0]], [files[1]])
    assert parser.info["dev"]["f1"] > plain.info["dev"]["f1"] + 1.0
    assert parser.info["dev"]["f1"] == max(facts["dev_f1"] for facts in epochs)


def test_same_bits_on_any_number_of_threads(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, descent=replace(SMALL.descent, epochs=1))
    one, two = (learn(plain.coarse, plain.binarisation, trees[:100], options, 7, threads) for threads in (1, 2))
    for name in ("log_weight", "mean", "log_std"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
    other: Gm = learn(plain.coarse, plain.binarisation, trees[:100], options, 8, 2)
    assert not np.array_equal(one.mean, other.mean)


def test_probabilities_of_trees(trained: tuple[Parser, list[dict[str, object]]], files: tuple[str, str]) -> None:
    parser, _ = trained
    for tree in list(read_trees(files[1]))[:20]:
        parse = parser.parse(tree.words(), count=40, marginals=True)
        logs = [candidate.log_prob for candidate in parse.trees]
        assert all(log is not None and log <= 1e-9 for log in logs)
        assert sum(np.exp([log for log in logs if log is not None])) <= 1 + 1e-9
        assert all(0 <= share <= 1 for share in parse.constituents.values())
        assert parse.log_sentence is None  # the weights are not normalised


def test_model_file(trained: tuple[Parser, list[dict[str, object]]], files: tuple[str, str], tmp_path: Path) -> None:
    parser, _ = trained
    first, second = str(tmp_path / "a"), str(tmp_path / "b")
    save_model(parser, first)
    loaded = load_model(first)
    assert isinstance(loaded, Parser)
    save_model(loaded, second)
    assert Path(first).read_bytes() == Path(second).read_bytes()
    for tree in list(read_trees(files[1]))[:20]:
        assert loaded.parse(tree.words()) == parser.parse(tree.words())


def test_viterbi_is_refused(trained: tuple[Parser, list[dict[str, object]]]) -> None:
    parser, _ = trained
    with pytest.raises(UsageError, match="max-rule or mbr"):
        parser.parse(["The", "dog", "slept", "."], "viterbi")


class StopError(Exception):
    """Somebody pulled the plug."""


def test_a_run_that_was_stopped_goes_on_to_the_same_bits(
    files: tuple[str, str], trees: list[Tree], tmp_path: Path
) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, descent=replace(SMALL.descent, epochs=4))

    def run(checkpoint: Checkpoint | None, stop_after: int | None = None) -> Gm:
        def report(event: str, facts: dict[str, object]) -> None:
            if event == "progress" and facts["what"] == f"epoch {stop_after}" and facts["done"] != facts["total"]:
                raise StopError

        return learn(plain.coarse, plain.binarisation, trees[:100], options, 7, 2, report=report, checkpoint=checkpoint)

    whole = run(None)
    path = str(tmp_path / "run.checkpoint")
    for epoch in (3, 4):
        with pytest.raises(StopError):
            run(Checkpoint(path, resume=True), stop_after=epoch)
    resumed = run(Checkpoint(path, resume=True))
    for name in ("log_weight", "mean", "log_std"):
        assert np.array_equal(getattr(whole, name), getattr(resumed, name))
    other = replace(options, spread=0.1)
    with pytest.raises(UsageError, match="other data or options"):
        learn(plain.coarse, plain.binarisation, trees[:100], other, 7, checkpoint=Checkpoint(path, True))
    Checkpoint(path).remove()
    assert not Path(path).exists()


def test_a_damaged_checkpoint_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c"
    Checkpoint(str(path)).save({"epoch": 1}, {"value": np.zeros(3)})
    assert Checkpoint(str(path)).load() is None  # not asked for
    kept = Checkpoint(str(path), resume=True).load()
    assert kept is not None
    assert kept[0] == {"epoch": 1}
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ModelError, match=f"{path}: is damaged"):
        Checkpoint(str(path), resume=True).load()


def test_forests_on_disk_give_the_same_bits(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, descent=replace(SMALL.descent, epochs=1))
    facts: dict[str, object] = {}

    def report(event: str, said: dict[str, object]) -> None:
        if event == "forests":
            facts.update(said)

    learned = [
        learn(plain.coarse, plain.binarisation, trees[:100], replace(options, memory=size), 7, report=report)
        for size in (2**30, 2**18)
    ]
    assert float(str(facts["mib_on_disk"])) > 0
    assert np.array_equal(learned[0].mean, learned[1].mean)


def test_examples_come_back_whatever_holds_them() -> None:
    arrays = [np.arange(size, dtype=np.int32) for size in (5, 700, 3, 900, 1)]
    for limit in (0, 2820, 10**6):
        examples = Examples(limit)
        for array in arrays:
            examples.append(array)
        assert len(examples) == len(arrays)
        assert examples.held + examples.spilled == sum(array.nbytes for array in arrays)
        assert examples.held <= limit
        numbers = [3, 0, 4, 4, 1, 2]
        assert np.array_equal(examples.gather(numbers), np.concatenate([arrays[number] for number in numbers]))
        examples.close()


def test_forests_of_best_trees_hold_them_and_the_gold_tree(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    for tree in trees[:20]:
        forest, gold = plain.coarse.training_forest(tree, plain.binarisation, 1e-6)
        small = best_forest(plain.coarse, forest, gold, 5)
        assert gold.n_edges <= small.n_edges <= forest.n_edges
        held = set(map(tuple, anchored_rules(small).T.tolist()))
        assert set(map(tuple, anchored_rules(gold).T.tolist())) <= held
        best = plain.parse(tree.words(), "viterbi").tree
        assert set(map(tuple, anchored_rules(tree_forest(plain.grammar, best, plain.binarisation)).T.tolist())) <= held
    options = replace(SMALL, k_best=5, descent=replace(SMALL.descent, epochs=1))
    learned = learn(plain.coarse, plain.binarisation, trees[:60], options)
    assert np.isfinite(learned.mean).all()


def test_learning_with_component_pruning_tells_its_price(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    said: dict[str, object] = {}

    def report(event: str, facts: dict[str, object]) -> None:
        if event == "component pruning":
            said.update(facts)

    options = replace(SMALL, k_min=2, k_max=3, descent=replace(SMALL.descent, epochs=1))
    learned = learn(plain.coarse, plain.binarisation, trees[:60], options, report=report)
    assert learned.pruning is None
    assert 0 < int(str(said["cut"])) < int(str(said["components"]))
    assert float(str(said["log_weight_lost"])) > 0


def test_it_ends_when_the_score_no_longer_rises() -> None:
    class Flat:
        size = 4

        def model(self, value: np.ndarray) -> np.ndarray:
            return value

        def add(self, model: np.ndarray, numbers: np.ndarray, slope: np.ndarray) -> float:
            slope += 1.0
            return float(model.sum())

    scores = iter([1.0, 3.0, 2.0, 2.5, 2.9, 9.0])
    seen: list[np.ndarray] = []

    def score(value: np.ndarray) -> tuple[float, dict[str, object]]:
        seen.append(value.copy())
        return next(scores), {}

    best = descend(Flat(), np.zeros(2), Descent(epochs=6, patience=3), score=score)
    assert len(seen) == 5
    assert np.array_equal(best, seen[1])


def test_spread_of_weights_and_its_slope(trained: tuple[Parser, list[dict[str, object]]]) -> None:
    gm = trained[0].gm
    assert gm is not None
    value, slope = weight_spread(gm)
    shares = weight_shares(gm)
    assert np.add.reduceat(shares, gm.ptr[:-1]) == pytest.approx(np.ones(len(gm.ptr) - 1))
    assert value == pytest.approx(np.log(shares + LEAST).sum())
    for place in (0, 17, len(slope) - 1):
        moved = [gm.log_weight.copy() for _ in range(2)]
        moved[0][place] += 1e-5
        moved[1][place] -= 1e-5
        up, down = (weight_spread(replace(gm, log_weight=weights))[0] for weights in moved)
        assert slope[place] == pytest.approx((up - down) / 2e-5, abs=1e-5)


def test_sparse_weights_lose_components(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, sparsity=30.0, descent=replace(SMALL.descent, epochs=10, learning_rate=0.5))
    sparse = learn(plain.coarse, plain.binarisation, trees[:100], options)
    assert (np.diff(sparse.ptr) >= 1).all()
    assert len(sparse.log_weight) < 2 * plain.grammar.n_rules
    assert np.isfinite(replace(plain, gm=sparse).log_prob(trees[0]))


def test_removing_what_weighs_nothing_changes_nothing(trees: list[Tree]) -> None:
    plain = train_parser([str(DATA / "demo-train.mrg")])
    model = start(plain.grammar, plain.weight, 3, 2, spread=0.5)
    weights = model.log_weight.copy()
    weights[1::3] = -80.0
    model = replace(model, log_weight=weights)
    small = without_small(plain.grammar, model)
    assert (np.diff(small.ptr) == 2).all()
    for tree in trees[:10]:
        assert replace(plain, gm=small).log_prob(tree) == pytest.approx(replace(plain, gm=model).log_prob(tree))


def test_components_by_frequency(files: tuple[str, str], trees: list[Tree]) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, by_frequency=True, components=3, descent=replace(SMALL.descent, epochs=1))
    counts = np.diff(learn(plain.coarse, plain.binarisation, trees[:40], options).ptr)
    for least, most, number in ((0, 1, 1), (2, 3, 2), (4, np.inf, 3)):
        chosen = (plain.grammar.count >= least) & (plain.grammar.count <= most)
        assert (counts[chosen] == number).all()


def test_splitting_without_moving_changes_nothing(trees: list[Tree]) -> None:
    plain = train_parser([str(DATA / "demo-train.mrg")])
    model = start(plain.grammar, plain.weight, 2, 2, "diagonal", spread=0.5)
    both = halved(plain.grammar, model, 0.0, 1)
    assert (np.diff(both.ptr) == 4).all()
    for tree in trees[:10]:
        assert replace(plain, gm=both).log_prob(tree) == pytest.approx(replace(plain, gm=model).log_prob(tree))


def test_components_that_split_while_learning(files: tuple[str, str], trees: list[Tree], tmp_path: Path) -> None:
    plain = train_parser([files[0]])
    options = replace(SMALL, components=4, split=True, descent=replace(SMALL.descent, epochs=6))
    splits: list[object] = []

    def run(checkpoint: Checkpoint | None, stop: bool = False) -> Gm:
        splits.clear()

        def report(event: str, facts: dict[str, object]) -> None:
            if event == "split":
                splits.append(facts["components"])
                if stop and len(splits) == 2:
                    raise StopError

        return learn(plain.coarse, plain.binarisation, trees[:60], options, 3, report=report, checkpoint=checkpoint)

    whole = run(None)
    assert splits == [2 * plain.grammar.n_rules, 4 * plain.grammar.n_rules]
    assert (np.diff(whole.ptr) == 4).all()
    path = tmp_path / "run.checkpoint"
    with pytest.raises(StopError):
        run(Checkpoint(str(path)), stop=True)
    assert np.array_equal(run(Checkpoint(str(path), resume=True)).mean, whole.mean)
    Checkpoint(str(path)).remove()
    assert not list(tmp_path.iterdir())
    with pytest.raises(UsageError, match="2, 4, 8"):
        replace(options, components=3)
