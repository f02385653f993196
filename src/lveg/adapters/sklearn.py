"""Estimators for scikit-learn: sentences in, tags or trees out; for `cross_val_score`, `GridSearchCV` and the like.

X is a list of sentences, each a list of words. The options of a model are one parameter, a dictionary, so that a grid
can list several of them: `{"options": [{"subtypes": 1}, {"subtypes": 2}]}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from lveg.errors import UsageError
from lveg.evaluation.evaluate import evaluate
from lveg.grammar.grammar import Floats
from lveg.model import Parser, Tagger
from lveg.training import Setting, train_parser, train_tagger
from lveg.trees import Tree

Words = Sequence[str]


class _Estimator(BaseEstimator):
    """Parameters: model, the name of a family, or None for the default; its options; the number of threads."""

    def __init__(self, model: str | None = None, options: dict[str, Any] | None = None, threads: int = 1) -> None:
        self.model = model
        self.options = options
        self.threads = threads

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        return tags

    def _train(self, learn: Any, gold: list[Any]) -> Any:
        return learn(gold, model=self.model, setting=Setting(threads=self.threads), **(self.options or {}))


class TaggerEstimator(_Estimator):
    """Learns and predicts the tags of words; y is a list of lists of tags.

    After `fit`: tagger_, the trained tagger, and classes_, its tags in alphabetical order.
    """

    def fit(self, X: Sequence[Words], y: Sequence[Sequence[str]]) -> Self:  # noqa: N803 (scikit-learn's name)
        """Train a tagger."""
        self.tagger_: Tagger = self._train(train_tagger, _pairs(X, y))
        self.classes_ = np.array(self.tagger_.grammar.tags)
        return self

    def predict(self, X: Sequence[Words]) -> list[list[str]]:  # noqa: N803
        """The tags of each word of each sentence."""
        check_is_fitted(self)
        return [tagging.tags for tagging in self.tagger_.tag_all(X, threads=self.threads)]

    def predict_proba(self, X: Sequence[Words]) -> list[Floats]:  # noqa: N803
        """For each sentence, P(tag of word | sentence): (words, classes)."""
        check_is_fitted(self)
        taggings = self.tagger_.tag_all(X, posteriors=True, threads=self.threads)
        return [
            np.array([[share.get(tag, 0.0) for tag in self.classes_] for share in tagging.posteriors]).reshape(
                -1, len(self.classes_)
            )
            for tagging in taggings
        ]

    def score(self, X: Sequence[Words], y: Sequence[Sequence[str]]) -> float:  # noqa: N803
        """The share of words with the right tag."""
        check_is_fitted(self)
        return evaluate(self.tagger_, _pairs(X, y), threads=self.threads).token_accuracy / 100.0


class ParserEstimator(_Estimator):
    """Learns and predicts trees; y is a list of `lveg.Tree` over the words in X.

    After `fit`: parser_, the trained parser.
    """

    def fit(self, X: Sequence[Words], y: Sequence[Tree]) -> Self:  # noqa: N803
        """Train a parser."""
        if len(X) != len(y):
            raise UsageError(f"there are {len(X)} sentences and {len(y)} trees")
        self.parser_: Parser = self._train(train_parser, list(y))
        return self

    def predict(self, X: Sequence[Words]) -> list[Tree]:  # noqa: N803
        """The best tree of each sentence."""
        check_is_fitted(self)
        return [parse.tree for parse in self.parser_.parse_all(X, threads=self.threads)]

    def predict_proba(self, X: Sequence[Words]) -> list[dict[tuple[str, int, int], float]]:  # noqa: N803
        """For each sentence, P(constituent | sentence) of each (label, start, end)."""
        check_is_fitted(self)
        parses = self.parser_.parse_all(X, marginals=True, threads=self.threads)
        return [parse.constituents for parse in parses]

    def score(self, X: Sequence[Words], y: Sequence[Tree]) -> float:  # noqa: N803
        """Labelled F1, from 0 to 1."""
        check_is_fitted(self)
        return evaluate(self.parser_, list(y), threads=self.threads).f1 / 100.0


def _pairs(sentences: Sequence[Words], tags: Sequence[Sequence[str]]) -> list[list[tuple[str, str]]]:
    """The words with their tags."""
    if [len(sentence) for sentence in sentences] != [len(row) for row in tags]:
        raise UsageError("X and y must have the same numbers of sentences and words")
    return [list(zip(*pair, strict=True)) for pair in zip(sentences, tags, strict=True)]
