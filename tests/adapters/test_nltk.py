"""Parsers, taggers and trees in NLTK."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pytest

from lveg.errors import UsageError
from lveg.training import train_parser, train_tagger
from lveg.treebank.penn import parse_tree, read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import EMPTY_TREE, Tree

nltk = pytest.importorskip("nltk", reason="needs the package nltk")

TREES = list(read_trees(ENGLISH.parent / "demo-dev.mrg"))[:60]
TAGGED = [list(zip(tree.words(), tree.tags(), strict=True)) for tree in TREES]
WORDS = [tree.words() for tree in TREES[:5]]


def test_trees_there_and_back() -> None:
    for tree in [*TREES, EMPTY_TREE]:
        other = tree.to_nltk()
        assert isinstance(other, nltk.Tree)
        assert Tree.from_nltk(other) == tree
    assert TREES[0].to_nltk() == nltk.Tree.fromstring(str(TREES[0]))
    assert TREES[0].to_nltk().pos() == TAGGED[0]
    assert Tree.from_nltk(nltk.Tree("A", [nltk.Tree("B", ["("])])) == parse_tree("(A (B -LRB-))")


def test_deep_trees_are_converted() -> None:
    deep = Tree("X", (), "a")
    for _ in range(20_000):
        deep = Tree("X", [deep])
    assert Tree.from_nltk(deep.to_nltk()) == deep


@pytest.mark.parametrize("text", ["(NP the dog)", "(NP the (NN dog))"])
def test_words_without_tags_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="the word 'the' has no tag"):
        Tree.from_nltk(nltk.Tree.fromstring(text))


def test_a_parser() -> None:
    from lveg.adapters.nltk import NltkParser

    parser = train_parser(TREES, model="pcfg")
    ours = NltkParser(parser, count=3)
    assert isinstance(ours, nltk.ParserI)
    for words, trees in zip(WORDS, ours.parse_sents(WORDS), strict=True):
        expected = [candidate.tree.to_nltk() for candidate in parser.kbest(words, 3)]
        assert list(trees) == list(ours.parse(words)) == ours.parse_all(words) == expected
        assert ours.parse_one(words) == expected[0]
    nltk.Tree.fromstring(str(ours.parse_one(WORDS[0])))


def test_a_tagger() -> None:
    from lveg.adapters.nltk import NltkTagger

    tagger = train_tagger(TAGGED, model="hmm")
    ours = NltkTagger(tagger)
    assert isinstance(ours, nltk.TaggerI)
    assert ours.tag(WORDS[0]) == list(zip(WORDS[0], tagger.tag(WORDS[0]).tags, strict=True))
    assert ours.tag_sents(WORDS) == [ours.tag(words) for words in WORDS]
    right = [mine == gold for words, pairs in zip(WORDS, TAGGED, strict=False) for mine, gold in
             zip(ours.tag(words), pairs, strict=True)]  # fmt: skip
    assert ours.accuracy(TAGGED[:5]) == pytest.approx(sum(right) / len(right))
    with redirect_stdout(io.StringIO()):
        assert ours.confusion(TAGGED[:5])["NN", "NN"] > 0
