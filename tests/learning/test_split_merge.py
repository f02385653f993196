"""EM, splitting and merging: what must never fall, what must be restored, and runs that are the same in every bit."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lveg.errors import UsageError
from lveg.families.lvg import Lvg, from_pcfg
from lveg.families.split_lvg import SplitLvg
from lveg.grammar.lexicon import LexiconOptions
from lveg.learning.checkpoint import Checkpoint
from lveg.learning.descent import Descent
from lveg.learning.lvg import LvgObjective, LvgOptions, learn_lvg, start_lvg
from lveg.learning.split_merge import SplitMerge, SplitMergeOptions, State, least_useful, merge, split
from lveg.learning.train import ParserOptions, train_parser
from lveg.learning.tree_em import Smoothing, TreeEm, tree_em
from lveg.model import Parser
from lveg.model_io import load_model, save_model
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

DATA = ENGLISH.parent
SHORT = SplitMergeOptions(cycles=2, iterations=(4, 2, 2))


class StopError(Exception):
    """An interruption."""


@pytest.fixture(scope="module")
def plain(files: tuple[str, str]) -> Parser:
    """The treebank grammar, with words as they are counted."""
    return train_parser([files[0]], options=ParserOptions(lexicon=LexiconOptions(smooth=0)))


@pytest.fixture(scope="module")
def em(plain: Parser, trees: list[Tree]) -> TreeEm:
    return tree_em(plain.grammar, plain.binarisation, trees[:100])


def first_state(parser: Parser) -> State:
    model = from_pcfg(parser.grammar, parser.weight)
    return State(model, np.empty((0, model.shape.n_subtypes), np.int32))


def likelihood(em: TreeEm, model: Lvg) -> float:
    return em.expect(model).log_likelihood


def test_the_likelihood_is_that_of_the_trees(plain: Parser, em: TreeEm, trees: list[Tree]) -> None:
    expected = math.fsum(
        plain.family.log_derivation(plain.grammar, forest, np.arange(forest.n_edges)[::-1])
        for forest in (plain.coarse.training_forest(tree, plain.binarisation, 0.1)[1] for tree in trees[:100])
    )
    assert likelihood(em, first_state(plain).model) == pytest.approx(expected, rel=1e-12)


def test_em_never_lowers_the_likelihood(plain: Parser, em: TreeEm) -> None:
    """With its prior: a tenth of a token for every symbol that it takes no unary step, parted among subtypes."""

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
            model = em.maximise(model.shape, uses, Smoothing())
            assert model.is_probability
        assert all(b >= a - 1e-7 for a, b in pairwise(values))
        assert values[-1] > values[0] + 10
        state = State(model, state.groups)


def test_one_subtype_is_at_its_best_at_once(plain: Parser, em: TreeEm) -> None:
    model = first_state(plain).model
    again = em.maximise(model.shape, em.expect(model), Smoothing(0.01, 0.1, 0.5))
    np.testing.assert_allclose(again.weight, plain.weight, rtol=1e-9)


def test_split_without_noise_and_merge_restore_the_grammar(plain: Parser, em: TreeEm) -> None:
    state = split(first_state(plain), 0.3, 1)
    state = State(em.maximise(state.model.shape, em.expect(state.model), Smoothing()), state.groups)
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


def test_the_loss_of_one_merge_is_about_what_is_lost(plain: Parser, em: TreeEm) -> None:
    """For a subtype that occurs once a tree at most, the approximation of Petrov et al. is exact."""
    state = split(first_state(plain), 0.5, 4)
    for _ in range(6):
        state = State(em.maximise(state.model.shape, em.expect(state.model), Smoothing()), state.groups)
    uses = em.expect(state.model)
    loss, shape = em.losses(state.model, uses.subtypes), state.model.shape
    per_tree = np.zeros(len(shape.subtypes))
    for part in em.parts:
        at = 0
        while at < len(part):
            symbols = part[at + 3 : at + 3 + part[at + 1]]
            per_tree = np.maximum(per_tree, np.bincount(symbols[symbols >= 0], minlength=len(per_tree)))
            at += part[at]
    checked = 0
    for symbol in np.flatnonzero(per_tree == 1):
        group = np.arange(shape.n_subtypes) - np.repeat(shape.first[:-1], shape.subtypes)
        group[shape.first[symbol] : shape.first[symbol + 1]] = 0
        found = uses.log_likelihood - likelihood(em, merge(state, group.astype(np.int32), uses.subtypes).model)
        # A unary step's division by what is left of its child mixes otherwise where the symbol takes both.
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


def test_threads_change_no_bit(plain: Parser, trees: list[Tree]) -> None:
    results = []
    for threads in (1, 3):
        em = tree_em(plain.grammar, plain.binarisation, trees[:100], threads)
        results.append(SplitMerge(em, SHORT).learn(plain.weight)[0])
    assert np.array_equal(results[0].finest.weight, results[1].finest.weight)
    assert np.array_equal(results[0].groups, results[1].groups)


def test_subtypes_are_as_many_as_merging_leaves(plain: Parser, em: TreeEm) -> None:
    learned, history = SplitMerge(em, SHORT).learn(plain.weight)
    n_symbols = len(plain.grammar.symbols)
    assert [item["subtypes"] for item in history] == [2 * n_symbols - n_symbols // 2, learned.finest.shape.n_subtypes]
    assert learned.groups.shape == (1, learned.finest.shape.n_subtypes)
    assert len(set(learned.finest.shape.subtypes.tolist())) > 2
    for group in learned.groups:
        assert learned.finest.project(group, learned.usage).is_probability


def test_an_interrupted_run_goes_on_to_the_same_grammar(plain: Parser, em: TreeEm, tmp_path: Path) -> None:
    whole, history = SplitMerge(em, SHORT, 3).learn(plain.weight)
    path = str(tmp_path / "run.checkpoint")
    for stop in (2, 3, 5):  # phases that are done before the interruption
        seen: list[str] = []

        def report(event: str, facts: dict[str, Any], seen: list[str] = seen, stop: int = stop) -> None:
            if event == "progress" and facts["done"] == 1:
                seen.append(facts["what"])
                if len(seen) > stop:
                    raise StopError

        with pytest.raises(StopError):
            SplitMerge(em, SHORT, 3, report).learn(plain.weight, checkpoint=Checkpoint(path))
        again, told = SplitMerge(em, SHORT, 3).learn(plain.weight, checkpoint=Checkpoint(path, resume=True))
        assert np.array_equal(again.finest.weight, whole.finest.weight)
        assert [item["log_likelihood"] for item in told] == [item["log_likelihood"] for item in history]
    with pytest.raises(UsageError, match="other data or options"):
        SplitMerge(em, SHORT, 4).learn(plain.weight, checkpoint=Checkpoint(path, resume=True))


def test_the_best_cycle_is_kept(plain: Parser, em: TreeEm) -> None:
    scores = iter((80.0, 70.0))

    def score(_: SplitLvg) -> dict[str, Any]:
        return dict.fromkeys(("precision", "recall", "f1", "exact_match", "tag_accuracy"), next(scores))

    learned, history = SplitMerge(em, SHORT).learn(plain.weight, score)
    assert [item["dev_f1"] for item in history] == [80.0, 70.0]
    assert learned.finest.shape.n_subtypes == history[0]["subtypes"]


def test_a_parser_is_trained_saved_and_better(files: tuple[str, str], tmp_path: Path) -> None:
    baseline = train_parser([files[0]], [files[1]])
    options = ParserOptions("split-merge", split_merge=SplitMergeOptions(cycles=2))
    parser = train_parser([files[0]], [files[1]], options)
    assert parser.info["dev"]["f1"] > baseline.info["dev"]["f1"] + 2
    assert [item["cycle"] for item in parser.info["cycles"]] == [1, 2]
    save_model(parser, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert isinstance(loaded, Parser)
    assert loaded.family_name == "split-merge"
    words = ["The", "dog", "saw", "a", "cat", "with", "a", "telescope", "."]
    assert loaded.parse(words, count=3, marginals=True) == parser.parse(words, count=3, marginals=True)
    assert loaded.sample(words, 3) == parser.sample(words, 3)
    assert np.isfinite(parser.log_prob(parser.parse(words).tree))


@pytest.mark.parametrize("objective", ["generative", "discriminative"])
def test_a_fixed_number_of_subtypes(files: tuple[str, str], objective: str, tmp_path: Path) -> None:
    baseline = train_parser([files[0]], [files[1]])
    descent = Descent(epochs=25 if objective == "generative" else 6, batch=16, learning_rate=0.05)
    options = ParserOptions("lvg", lvg=LvgOptions(3, objective, descent=descent))
    parser = train_parser([files[0]], [files[1]], options)
    assert parser.info["dev"]["f1"] > baseline.info["dev"]["f1"] + 1
    save_model(parser, str(tmp_path / "model"))
    loaded = load_model(str(tmp_path / "model"))
    assert isinstance(loaded, Parser)
    assert loaded.family_name == "lvg"
    assert loaded.parse(["The", "dog", "slept", "."]) == parser.parse(["The", "dog", "slept", "."])


def test_the_gradient_of_the_conditional_likelihood(plain: Parser, trees: list[Tree]) -> None:
    from lveg.families.lvg import pack
    from lveg.learning.examples import Examples

    examples = Examples(2**30)
    for tree in trees[:3]:
        forests = plain.coarse.training_forest(tree, plain.binarisation, 1e-3)
        examples.append(np.concatenate([pack(forest) for forest in forests]))
    start = start_lvg(plain.coarse, 2, 0.5, 1)
    objective, value = LvgObjective(start, examples), np.log(start.weight)
    slope, numbers = np.zeros_like(value), np.arange(3, dtype=np.int32)
    assert objective.add(objective.model(value), numbers, slope) > 0
    order = np.argsort(-np.abs(slope))
    for at in (*order[:20], *order[100:110]):
        values = []
        for step in (1e-5, -1e-5):
            moved = value.copy()
            moved[at] += step
            values.append(objective.add(objective.model(moved), numbers, np.zeros_like(value)))
        assert slope[at] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-6, abs=1e-7)


def test_learning_goes_on_after_an_interruption(plain: Parser, trees: list[Tree], tmp_path: Path) -> None:
    options = LvgOptions(2, descent=Descent(epochs=4))

    def run(checkpoint: Checkpoint | None, stop: bool = False) -> Lvg:
        def report(event: str, facts: dict[str, Any]) -> None:
            if stop and event == "epoch" and facts["epoch"] == 3:
                raise StopError

        return learn_lvg(plain.coarse, plain.binarisation, trees[:60], options, report=report, checkpoint=checkpoint)

    path = str(tmp_path / "run.checkpoint")
    with pytest.raises(StopError):
        run(Checkpoint(path), stop=True)
    assert np.array_equal(run(Checkpoint(path, resume=True)).weight, run(None).weight)


def test_options_that_make_no_sense_are_refused() -> None:
    for wrong in ({"cycles": 0}, {"iterations": (0, 1, 1)}, {"merged": 1.0}, {"noise": -0.1}):
        with pytest.raises(UsageError):
            SplitMergeOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="generative"):
        LvgOptions(objective="both")
    with pytest.raises(UsageError, match="at least one"):
        LvgOptions(subtypes=0)
