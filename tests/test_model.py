"""Results of parsers and taggers, beyond what the command line shows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from small import DATA, FAMILIES, quick_options, small_file, some_tagged, some_trees, train

import lveg
from lveg.errors import UsageError
from lveg.model import Parser, Tagger, words_of
from lveg.model_io import model_fingerprint
from lveg.training import train_parser, train_tagger
from lveg.treebank.penn import parse_tree, read_trees
from lveg.trees import EMPTY_TREE

SENTENCE = ["The", "dogs", "near", "the", "river", "saw", "a", "cat", "."]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return train_parser([str(DATA / "demo-train.mrg")], model="pcfg")


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return train_tagger([str(DATA / "demo-train.conllu")], model="hmm", smooth=10)


def test_probability_of_a_given_tree_is_that_of_the_k_best_list(parser: Parser) -> None:
    for candidate in parser.parse(SENTENCE, "viterbi", 5).trees:
        assert candidate.log_prob is not None
        assert parser.log_prob(candidate.tree) == pytest.approx(candidate.log_prob, abs=1e-9)


def test_gold_trees_have_a_probability(parser: Parser) -> None:
    for tree in list(read_trees(DATA / "demo-train.mrg"))[:50]:
        assert -math.inf < parser.log_prob(tree) <= 0


def test_a_tree_that_is_not_derived_has_no_probability(parser: Parser) -> None:
    assert parser.log_prob(parse_tree("(TOP (PP (NP (DT the)) (NP (DT the))))")) == -math.inf
    with pytest.raises(UsageError, match="no words"):
        parser.log_prob(parse_tree("(TOP (NP (-NONE- *)))"))


def test_samples_follow_the_probabilities(parser: Parser) -> None:
    best = parser.parse(SENTENCE, "viterbi").trees[0]
    drawn = Counter(map(str, parser.sample(SENTENCE, 2000, seed=3)))
    assert best.log_prob is not None
    expected = math.exp(best.log_prob)
    assert drawn[str(best.tree)] / 2000 == pytest.approx(expected, abs=5 * math.sqrt(expected / 2000))
    assert parser.sample(SENTENCE, 3, seed=3) == parser.sample(SENTENCE, 3, seed=3)


def test_tag_probabilities(tagger: Tagger) -> None:
    for decoder in ("posterior", "viterbi"):
        tagging = tagger.tag(SENTENCE, decoder)
        assert len(tagging.tags) == len(SENTENCE)
        assert all(0 < share <= 1 + 1e-12 for share in tagging.confidence)
        assert tagging.log_prob <= 1e-12
    assert tagger.tag([]).tags == []


def test_many_sentences_are_tagged_like_each_alone(tagger: Tagger) -> None:
    several = [SENTENCE, [], SENTENCE[:1], ["Zyx-9", *SENTENCE]]
    choices: tuple[dict[str, Any], ...] = ({}, {"decoder": "viterbi"}, {"count": 3}, {"posteriors": True})
    for options in choices:
        assert list(tagger.tag_all(several, **options)) == [tagger.tag(words, **options) for words in several]
    assert list(tagger.tag_all([])) == []


def test_tag_posteriors(tagger: Tagger) -> None:
    tagging = tagger.tag(["Zyx-9", *SENTENCE], posteriors=True)
    for tag, confidence, share in zip(tagging.tags, tagging.confidence, tagging.posteriors, strict=True):
        assert next(iter(share.items())) == (tag, confidence)
        assert sum(share.values()) == pytest.approx(1.0)
    assert len(tagging.posteriors[0]) > 2
    assert tagger.tag(SENTENCE).posteriors == []


def test_k_best_sequences(tagger: Tagger) -> None:
    sequences = tagger.tag(SENTENCE, count=5).sequences
    assert len({tuple(sequence.tags) for sequence in sequences}) == 5
    assert sequences[0] == tagger.tag(SENTENCE, "viterbi").sequences[0]
    for sequence in sequences:  # for an HMM the chain is the model
        assert sequence.score == pytest.approx(sequence.log_prob, abs=1e-9)
    with pytest.raises(UsageError, match="a single sequence"):
        tagger.tag(SENTENCE, "posterior", count=2)


class TestSentencesAsTexts:
    def test_words_are_separated_by_white_space(self, parser: Parser, tagger: Tagger) -> None:
        text = f"  {' '.join(SENTENCE[:4])}\t{chr(10).join(SENTENCE[4:])}\r\n"
        assert parser.parse(text) == parser.parse(SENTENCE)
        assert parser.sample(text, 2, seed=1) == parser.sample(SENTENCE, 2, seed=1)
        assert tagger.tag(text) == tagger.tag(SENTENCE)
        assert list(tagger.tag_all([text, SENTENCE])) == [tagger.tag(SENTENCE)] * 2

    def test_only_ascii_white_space_separates(self) -> None:
        assert words_of("¤\u2009 a\u200ab\x85c \v\fd") == ["¤\u2009", "a\u200ab\x85c", "d"]

    def test_an_empty_text_is_an_empty_sentence(self, parser: Parser, tagger: Tagger) -> None:
        sentences: tuple[str | Sequence[str], ...] = ("", " \n", [], ())
        for nothing in sentences:
            assert parser.parse(nothing).tree == EMPTY_TREE
            assert parser.sample(nothing, 3) == [EMPTY_TREE] * 3
            assert tagger.tag(nothing).tags == []

    def test_one_text_is_not_several_sentences(self, tagger: Tagger) -> None:
        with pytest.raises(UsageError, match="use tag for one"):
            tagger.tag_all("The dog saw a cat .")


ODD_CALLS: dict[str, tuple[Callable[[Parser, Tagger], object], str]] = {
    "parse count": (lambda parser, _: parser.parse(SENTENCE, count=0), "count 0: expected at least 1"),
    "tag count": (lambda _, tagger: tagger.tag(SENTENCE, count=-1), "count -1: expected at least 1"),
    "sample count": (lambda parser, _: parser.sample(SENTENCE, 0), "count 0: expected at least 1"),
    "parse p_min": (lambda parser, _: parser.parse(SENTENCE, p_min=1.5), "p_min 1.5: expected a probability"),
    "sample p_min": (lambda parser, _: parser.sample(SENTENCE, p_min=-0.1), "p_min -0.1: expected a probability"),
    "log_prob p_min": (lambda parser, _: parser.log_prob(EMPTY_TREE, math.nan), "p_min nan: expected a probability"),
    "seed": (lambda parser, _: parser.sample(SENTENCE, seed=-1), "seed -1: expected at least 0"),
    "empty word": (lambda parser, _: parser.parse(["a", ""]), "word 2 is empty"),
    "empty tagged word": (lambda _, tagger: tagger.tag([""]), "word 1 is empty"),
    "number": (lambda parser, _: parser.sample(["a", 3]), "word 2 is not a string: 3"),  # type: ignore[list-item]
    "nothing": (lambda _, tagger: tagger.tag(["a", None]), "word 2 is not a string: None"),  # type: ignore[list-item]
    "no words": (lambda parser, _: parser.parse(None), "expected the words of a sentence, not None"),  # type: ignore[arg-type]
    "bytes": (lambda _, tagger: tagger.tag(b"ab"), "word 1 is not a string: 97"),  # type: ignore[arg-type]
    "decoder": (lambda parser, _: parser.parse(SENTENCE, "best"), "'best' is not one of"),
    "tag decoder": (lambda _, tagger: tagger.tag(SENTENCE, "mbr"), "'mbr' is not one of"),
}


@pytest.mark.parametrize("name", list(ODD_CALLS))
def test_invalid_arguments_give_a_one_line_error(parser: Parser, tagger: Tagger, name: str) -> None:
    call, message = ODD_CALLS[name]
    with pytest.raises(UsageError) as caught:
        call(parser, tagger)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


class TestIdentity:
    def test_models_compare_and_hash_by_identity(self, parser: Parser, tagger: Tagger) -> None:
        other = train_parser(DATA / "demo-dev.mrg", model="pcfg")
        again = train_parser(DATA / "demo-dev.mrg", model="pcfg")
        assert other == other
        assert other != again
        assert len({parser, other, again, tagger, parser}) == 4

    def test_repr_is_short(self, parser: Parser, tagger: Tagger) -> None:
        assert repr(parser) == f"<Parser of model pcfg, {parser.grammar.n_rules:,} rules>"
        assert repr(tagger) == f"<Tagger of model hmm, {len(tagger.grammar.tags)} tags>"


READ: dict[str, Callable[[Path], list[Any]]] = {"parser": some_trees, "tagger": some_tagged}


class TestTrainingFromMemory:
    @pytest.mark.parametrize(("task", "model"), FAMILIES)
    def test_equals_training_from_files(self, task: str, model: str, tmp_path: Path) -> None:
        options = quick_options(task, model)
        files = small_file(tmp_path, task, 30), small_file(tmp_path, task, 10, "dev")
        from_files, from_memory = (
            train(task, *data, model=model, **options) for data in (files, map(READ[task], files))
        )
        assert model_fingerprint(from_files) == model_fingerprint(from_memory)

    @pytest.mark.parametrize(("task", "model"), [("parser", "pcfg"), ("tagger", "hmm")])
    def test_files_and_memory_in_any_collection(self, task: str, model: str, tmp_path: Path) -> None:
        file = small_file(tmp_path, task, 30)
        items = READ[task](file)
        sources = (file, str(file), [file], (str(file),), iter([file]), items, tuple(items), iter(items))
        assert len({model_fingerprint(train(task, source, model=model)) for source in sources}) == 1

    def test_options_are_keywords(self, tmp_path: Path) -> None:
        trees = some_trees(small_file(tmp_path, "parser", 20))
        parser = lveg.train_parser(trees, model="gm", components=2, dim=1, epochs=1, setting=lveg.Setting(threads=2))
        assert repr(parser).startswith("<Parser of model gm")
        assert parser.info["config"]["components"] == 2
        assert parser.parse("The dog saw a cat .").tree.words() == ["The", "dog", "saw", "a", "cat", "."]

    def test_invalid_training_data_is_refused(self) -> None:
        sources: tuple[Any, ...] = ([], (), iter(()))
        for source in sources:
            with pytest.raises(UsageError, match="no trees to learn from"):
                lveg.train_parser(source)
            with pytest.raises(UsageError, match="no sentences to learn from"):
                lveg.train_tagger(source)
        with pytest.raises(UsageError, match="no trees to score on"):
            lveg.train_parser([parse_tree("(S (A a))")], [EMPTY_TREE])
        odd: tuple[Any, ...] = ([("a",)], [("a", "")], [("", "X")], [("a", 1)], [("a", "X", "Y")], ["ab"])
        for sentence in odd:
            with pytest.raises(UsageError, match=r"sentence 2: expected \(word, tag\) pairs of texts, found"):
                lveg.train_tagger([[("a", "X")], sentence])
        mixed: list[Any] = [parse_tree("(S (A a))"), "a.mrg"]
        with pytest.raises(UsageError, match="expected either files or trees, found"):
            lveg.train_parser(mixed)
        with pytest.raises(UsageError, match="expected either files or sentences, found 3"):
            lveg.train_tagger([3])  # type: ignore[arg-type]
