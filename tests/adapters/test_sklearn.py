"""Estimators in scikit-learn's own tools."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from lveg.errors import UsageError
from lveg.evaluation.evaluate import evaluate
from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH

pytest.importorskip("sklearn", reason="needs the package scikit-learn")

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.utils import estimator_checks

from lveg.adapters.sklearn import ParserEstimator, TaggerEstimator

TREES = list(read_trees(ENGLISH.parent / "demo-dev.mrg"))[:60]
WORDS = [tree.words() for tree in TREES]
TAGS = [tree.tags() for tree in TREES]


@pytest.fixture(scope="module")
def tagger() -> Any:
    return TaggerEstimator("hmm").fit(WORDS[:50], TAGS[:50])


@pytest.fixture(scope="module")
def parser() -> Any:
    return ParserEstimator("pcfg").fit(WORDS[:50], TREES[:50])


CHECKS = (
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
)
"""The checks that do not train on matrices of numbers."""


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("kind", [TaggerEstimator, ParserEstimator])
def test_estimator_checks(kind: Any, check: str) -> None:
    getattr(estimator_checks, check)(kind.__name__, kind())


def test_predictions_are_those_of_the_tagger(tagger: Any) -> None:
    expected = [tagging.tags for tagging in tagger.tagger_.tag_all(WORDS[50:])]
    assert tagger.predict(WORDS[50:]) == expected
    gold = [list(zip(*pair, strict=True)) for pair in zip(WORDS[50:], TAGS[50:], strict=True)]
    assert tagger.score(WORDS[50:], TAGS[50:]) == evaluate(tagger.tagger_, gold).token_accuracy / 100
    for words, tags, shares in zip(WORDS[50:], expected, tagger.predict_proba(WORDS[50:]), strict=True):
        assert shares.shape == (len(words), len(tagger.classes_))
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        assert tagger.classes_[shares.argmax(axis=1)].tolist() == tags
    assert tagger.predict_proba([[]])[0].shape == (0, len(tagger.classes_))


def test_predictions_are_those_of_the_parser(parser: Any) -> None:
    assert parser.predict(WORDS[50:53]) == [parser.parser_.parse(words).tree for words in WORDS[50:53]]
    assert parser.predict_proba(WORDS[50:53]) == [parser.parser_.marginals(words) for words in WORDS[50:53]]
    assert parser.score(WORDS[50:], TREES[50:]) == evaluate(parser.parser_, TREES[50:]).f1 / 100


def test_cross_validation() -> None:
    scores = cross_val_score(TaggerEstimator("hmm"), WORDS, TAGS, cv=3)
    folds = [
        TaggerEstimator("hmm").fit([WORDS[i] for i in train], [TAGS[i] for i in train]).score(
            [WORDS[i] for i in test], [TAGS[i] for i in test]
        )
        for train, test in KFold(3).split(WORDS)
    ]  # fmt: skip
    np.testing.assert_allclose(scores, folds)
    assert cross_val_score(ParserEstimator("pcfg"), WORDS, TREES, cv=2).min() > 0.3


def test_grid_search() -> None:
    grid = {"options": [{"subtypes": 1, "epochs": 1}, {"subtypes": 2, "epochs": 1}]}
    search = GridSearchCV(TaggerEstimator("lvg"), grid, cv=2).fit(WORDS, TAGS)
    assert search.best_params_["options"] in grid["options"]
    assert search.best_estimator_.tagger_.family.subtypes == search.best_params_["options"]["subtypes"]
    assert len(search.predict(WORDS[:2])) == 2


def test_cross_validated_predictions() -> None:
    found = cross_val_predict(ParserEstimator("pcfg"), WORDS, TREES, cv=2)
    assert [tree.words() for tree in found] == WORDS


def test_clones_and_pickles(tagger: Any) -> None:
    assert clone(tagger).get_params() == tagger.get_params()
    with pytest.raises(NotFittedError):
        clone(tagger).predict(WORDS)
    assert pickle.loads(pickle.dumps(tagger)).predict(WORDS[:3]) == tagger.predict(WORDS[:3])


def test_sizes_that_differ_are_refused() -> None:
    with pytest.raises(UsageError, match="same numbers of sentences and words"):
        TaggerEstimator("hmm").fit(WORDS, TAGS[:3])
    with pytest.raises(UsageError, match="60 sentences and 3 trees"):
        ParserEstimator("pcfg").fit(WORDS, TREES[:3])
