"""EM, splitting and merging: the likelihood never falls, merging undoes splits, and runs are bit-identical."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracles import central_difference

from lveg.errors import UsageError
from lveg.families.forest import pack
from lveg.families.lvg import learning as lvg_learning
from lveg.families.lvg.em import TreeEm, tree_em
from lveg.families.lvg.family import Lvg, from_pcfg
from lveg.families.lvg.options import LvgOptions, SmoothingOptions
from lveg.families.pcfg.family import Pcfg
from lveg.families.split_merge.family import SplitMerge
from lveg.families.split_merge.learning import State, learn, least_useful, merge, split
from lveg.families.split_merge.options import SplitMergeOptions
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.data import TreeData
from lveg.learning.run import Run
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.training import Setting, train_parser
from lveg.trees import Tree

SHORT: dict[str, Any] = {"cycles": 2, "split_iterations": 4, "merge_iterations": 2, "smooth_iterations": 2}
UNSMOOTHED = SmoothingOptions(smooth_rules=0.0, smooth_words=0.0, class_tokens=0.0)


class StopError(Exception):
    """An interruption."""


@pytest.fixture(scope="module")
def plain(trees: list[Tree]) -> Parser:
    """The treebank grammar, with unsmoothed word counts."""
    return train_parser(trees, model="pcfg", smooth=0)


@pytest.fixture(scope="module")
def baseline(trees: list[Tree], dev: list[Tree]) -> float:
    """The F1 of the treebank grammar."""
    f1: float = train_parser(trees, dev, "pcfg").info["dev"]["f1"]
    return f1


@pytest.fixture(scope="module")
def data(plain: Parser, trees: list[Tree]) -> TreeData:
    return TreeData(plain.coarse, plain.binarisation, trees)


@pytest.fixture(scope="module")
def em(data: TreeData) -> TreeEm:
    return tree_em(data, Run())


def first_state(parser: Parser) -> State:
    model = from_pcfg(parser.grammar, parser.weight)
    return State(model, np.empty((0, model.shape.n_subtypes), np.int32))


def likelihood(em: TreeEm, model: Lvg) -> float:
    return em.expect(model).log_likelihood


def test_the_likelihood_is_that_of_the_trees(plain: Parser, em: TreeEm, trees: list[Tree]) -> None:
    expected = math.fsum(
        Pcfg(plain.weight).log_derivation(plain.grammar, forest, np.arange(forest.n_edges, dtype=np.int32)[::-1])
        for forest in (plain.coarse.training_forest(tree, plain.binarisation, 0.1)[1] for tree in trees)
    )
    assert likelihood(em, first_state(plain).model) == pytest.approx(expected, rel=1e-12)


def test_em_never_lowers_the_likelihood(plain: Parser, em: TreeEm) -> None:
    """Including the prior: a tenth of a token per symbol for taking no unary step, shared among subtypes."""

    def with_prior(model: Lvg, value: float) -> float:
        stay, shape = model._stays()[:-1], model.shape
        has_rules = (stay > 0.0) & ~shape.is_tag[:-1]
        return value + float(
            (0.1 / np.repeat(shape.subtypes, shape.subtypes) * np.log(np.where(has_rules, stay, 1))).sum()
        )

    state = first_state(plain)
    for cycle in (1, 2):
        state = split(state, 0.3, cycle)
        model, values = state.model, []
        for _ in range(15):
            uses = em.expect(model)
            values.append(with_prior(model, uses.log_likelihood))
            model = em.maximise(model.shape, uses, UNSMOOTHED)
            assert model.is_probability
        assert all(b >= a - 1e-7 for a, b in pairwise(values))
        assert values[-1] > values[0] + 10
        state = State(model, state.groups)


def test_a_falling_likelihood_ends_the_run(data: TreeData, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    maximise, seen = TreeEm.maximise, [0]

    def worse(self: TreeEm, shape: Any, uses: Any, smoothing: SmoothingOptions) -> Lvg:
        """In the second cycle, all weights are equal and small."""
        seen[0] += 1
        model = maximise(self, shape, uses, smoothing)
        return model if seen[0] < 10 else Lvg(shape, np.full_like(model.weight, 1e-9))

    monkeypatch.setattr(TreeEm, "maximise", worse)
    told = r"training failed in cycle 2: the log likelihood fell from .*, or get the model before with .* --cycles 1"
    with pytest.raises(UsageError, match=told):
        learn(data, SplitMergeOptions(**SHORT), Run(checkpoint=Checkpoint(str(tmp_path / "c"))))
    monkeypatch.undo()
    again = learn(
        data, SplitMergeOptions(**SHORT | {"cycles": 1}), Run(checkpoint=Checkpoint(str(tmp_path / "c"), True))
    )
    assert len(again[1]["cycles"]) == 1


def test_one_subtype_converges_at_once(plain: Parser, em: TreeEm) -> None:
    model = first_state(plain).model
    again = em.maximise(model.shape, em.expect(model), SmoothingOptions(0.01, 0.1, 0.5))
    np.testing.assert_allclose(again.weight, plain.weight, rtol=1e-9)


def test_split_without_noise_and_merge_restore_the_grammar(plain: Parser, em: TreeEm) -> None:
    state = split(first_state(plain), 0.3, 1)
    state = State(em.maximise(state.model.shape, em.expect(state.model), UNSMOOTHED), state.groups)
    before = likelihood(em, state.model)
    twice = split(state, 0.0, 2)
    assert likelihood(em, twice.model) == pytest.approx(before, rel=1e-12)
    uses = em.expect(twice.model)
    loss = em.losses(twice.model, uses.subtypes)
    np.testing.assert_allclose(loss, 0.0, atol=1e-7)
    back = merge(twice, least_useful(twice.model, loss, 0.999), uses.subtypes)
    undone = np.zeros(twice.model.shape.n_subtypes, np.int32) + twice.groups[-1]
    whole = merge(twice, undone, uses.subtypes)
    np.testing.assert_allclose(whole.model.weight, state.model.weight, rtol=1e-10, atol=1e-300)
    assert likelihood(em, back.model) == pytest.approx(before, rel=1e-9)


def test_noise_keeps_probabilities(plain: Parser) -> None:
    state = split(split(first_state(plain), 0.5, 1), 0.5, 2)
    assert state.model.is_probability
    assert (state.model.shape.subtypes == 4).all()


def test_the_estimated_loss_of_a_merge_is_close_to_the_real_one(plain: Parser, em: TreeEm) -> None:
    """For a subtype that occurs at most once in a tree, the approximation of Petrov et al. is exact."""
    state = split(first_state(plain), 0.5, 4)
    for _ in range(6):
        state = State(em.maximise(state.model.shape, em.expect(state.model), UNSMOOTHED), state.groups)
    uses = em.expect(state.model)
    loss, shape = em.losses(state.model, uses.subtypes), state.model.shape
    per_tree = np.zeros(len(shape.subtypes))
    for number in range(len(em.trees)):
        tree = em.trees.gather([number])
        symbols = tree[3 : 3 + tree[1]]
        per_tree = np.maximum(per_tree, np.bincount(symbols[symbols >= 0], minlength=len(per_tree)))
    checked = 0
    for symbol in np.flatnonzero(per_tree == 1):
        group = np.arange(shape.n_subtypes) - np.repeat(shape.first[:-1], shape.subtypes)
        group[shape.first[symbol] : shape.first[symbol + 1]] = 0
        found = uses.log_likelihood - likelihood(em, merge(state, group.astype(np.int32), uses.subtypes).model)
        # If a symbol takes both kinds of steps, the division in unary rules makes the mixture differ.
        assert loss[shape.first[symbol]] == pytest.approx(found, rel=1e-6, abs=1e-6)
        checked += 1
    assert checked > 3


def test_least_useful_pairs_are_merged(plain: Parser) -> None:
    model = split(first_state(plain), 0.1, 1).model
    loss = np.zeros(model.shape.n_subtypes)
    loss[::2] = np.random.default_rng(1).permutation(len(loss) // 2)
    group = least_useful(model, loss, 0.5)
    merged = [group[at + 1] == group[at] for at in range(0, len(group), 2)]
    assert sum(merged) == len(merged) // 2
    assert max(loss[::2][merged]) < min(loss[::2][np.logical_not(merged)])


def test_threads_do_not_change_the_result(data: TreeData) -> None:
    one, other = (learn(data, SplitMergeOptions(**SHORT), Run(threads=threads))[0] for threads in (1, 3))
    assert np.array_equal(one.finest.weight, other.finest.weight)
    assert np.array_equal(one.groups, other.groups)


def test_numbers_of_subtypes_after_merging(plain: Parser, data: TreeData) -> None:
    learned, facts = learn(data, SplitMergeOptions(**SHORT), Run())
    n_symbols, n_subtypes = len(plain.grammar.symbols), learned.finest.shape.n_subtypes
    assert [item["subtypes"] for item in facts["cycles"]] == [2 * n_symbols - n_symbols // 2, n_subtypes]
    assert learned.groups.shape == (1, n_subtypes)
    assert len(set(learned.finest.shape.subtypes.tolist())) > 2
    for group in learned.groups:
        assert learned.finest.project(group, learned.usage).is_probability


def test_an_interrupted_run_resumes_to_the_same_grammar(trees: list[Tree], tmp_path: Path) -> None:
    path = str(tmp_path / "run.checkpoint")

    def run(checkpoint: Checkpoint | None, stop: int = 99, **changed: Any) -> Parser:
        """stop: the phases that are done before an interruption."""
        seen: list[str] = []

        def report(event: str, facts: dict[str, Any]) -> None:
            if event == "progress" and facts["done"] == 1:
                seen.append(facts["what"])
                if len(seen) > stop:
                    raise StopError

        setting = Setting(report=report, checkpoint=checkpoint)
        return train_parser(trees, (), "split-merge", setting, **SHORT | {"seed": 3} | changed)

    whole = run(None)
    for stop in (2, 3, 5):
        with pytest.raises(StopError):
            run(Checkpoint(path), stop)
        again = run(Checkpoint(path, resume=True))
        assert again.info == whole.info
        for name, array in whole.family.arrays().items():
            assert np.array_equal(again.family.arrays()[name], array)
    for changed in ({"seed": 4}, {"noise": 0.2}, {"horizontal": 1}):
        with pytest.raises(UsageError, match="other data or options"):
            run(Checkpoint(path, resume=True), **changed)


def test_the_best_cycle_is_kept(data: TreeData) -> None:
    scores = iter((80.0, 70.0))

    def score(_: SplitMerge) -> tuple[float, dict[str, Any]]:
        f1 = next(scores)
        return f1, {"dev_f1": f1}

    learned, facts = learn(data, SplitMergeOptions(**SHORT), Run(score=score))
    assert [item["dev_f1"] for item in facts["cycles"]] == [80.0, 70.0]
    assert learned.finest.shape.n_subtypes == facts["cycles"][0]["subtypes"]


def test_a_parser_is_trained_saved_and_better(
    trees: list[Tree], dev: list[Tree], baseline: float, tmp_path: Path
) -> None:
    parser = train_parser(trees, dev, "split-merge", cycles=2)
    assert parser.info["dev"]["f1"] > baseline + 2
    assert [item["cycle"] for item in parser.info["cycles"]] == [1, 2]
    save_model(parser, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert isinstance(loaded, Parser)
    assert isinstance(loaded.family, SplitMerge)
    words = ["The", "dog", "saw", "a", "cat", "with", "a", "telescope", "."]
    assert loaded.parse(words, count=3, marginals=True) == parser.parse(words, count=3, marginals=True)
    assert loaded.sample(words, 3) == parser.sample(words, 3)
    assert np.isfinite(parser.log_prob(parser.parse(words).tree))


@pytest.mark.parametrize(("objective", "epochs"), [("generative", 25), ("discriminative", 6)])
def test_a_fixed_number_of_subtypes(
    trees: list[Tree], dev: list[Tree], baseline: float, objective: str, epochs: int, tmp_path: Path
) -> None:
    parser = train_parser(
        trees, dev, "lvg", subtypes=3, objective=objective, epochs=epochs, batch=16, learning_rate=0.05
    )
    assert parser.info["dev"]["f1"] > baseline + 1
    save_model(parser, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert isinstance(loaded, Parser)
    assert isinstance(loaded.family, Lvg)
    assert loaded.parse(["The", "dog", "slept", "."]) == parser.parse(["The", "dog", "slept", "."])


def test_the_gradient_of_the_conditional_likelihood(data: TreeData) -> None:
    some = TreeData(data.coarse, data.scheme, data.trees[:3])
    examples = some.examples(pack, LvgOptions(p_min=1e-3), Run()).gather(range(3))
    model = lvg_learning.first_grammar(some, 2, 0.5, 1)
    slope = np.zeros_like(model.value)
    assert model.add(examples, slope) > 0
    order = np.argsort(-np.abs(slope)).tolist()
    for at in (*order[:20], *order[100:110]):
        expected = central_difference(
            lambda value: model.with_value(value).add(examples, np.zeros_like(value)), model.value, at
        )
        assert slope[at] == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_training_resumes_after_an_interruption(data: TreeData, tmp_path: Path) -> None:
    some = TreeData(data.coarse, data.scheme, data.trees[:60])

    def run(checkpoint: Checkpoint | None, stop: bool = False) -> Lvg:
        def report(event: str, facts: dict[str, Any]) -> None:
            if stop and event == "epoch" and facts["epoch"] == 3:
                raise StopError

        options = LvgOptions(subtypes=2, epochs=4)
        return lvg_learning.learn(some, options, Run(report=report, checkpoint=checkpoint))[0]

    path = str(tmp_path / "run.checkpoint")
    with pytest.raises(StopError):
        run(Checkpoint(path), stop=True)
    assert np.array_equal(run(Checkpoint(path, resume=True)).weight, run(None).weight)


def test_invalid_options_are_refused() -> None:
    wrong: dict[str, Any]
    for wrong in ({"cycles": 0}, {"split_iterations": 0}, {"merged": 1.0}, {"noise": -0.1}):
        with pytest.raises(UsageError):
            SplitMergeOptions(**wrong)
    with pytest.raises(UsageError, match="generative"):
        LvgOptions(objective="both")
    with pytest.raises(UsageError, match="at least 1"):
        LvgOptions(subtypes=0)
