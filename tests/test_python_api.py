"""Streaming, constraints, evaluation and logging, as Python users see them."""

from __future__ import annotations

import json
import logging
import math
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from cli.conftest import run_main

import lveg
from lveg import progress
from lveg.errors import GrammarError, ModelError, UsageError
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import EMPTY_TREE

DATA = ENGLISH.parent
SENTENCE = "The old dog saw a cat ."
GOLD = list(lveg.read_trees(DATA / "demo-dev.mrg"))
WORDS = [tree.words() for tree in GOLD[:30]]


@pytest.fixture(scope="module")
def parser() -> lveg.Parser:
    return lveg.train_parser(DATA / "demo-train.mrg", model="pcfg")


@pytest.fixture(scope="module")
def tagger() -> lveg.Tagger:
    return lveg.train_tagger(DATA / "demo-train.conllu", model="hmm")


class TestStreaming:
    def test_parses_are_those_of_each_sentence(self, parser: lveg.Parser) -> None:
        expected = [parser.parse(words, count=2, marginals=True) for words in WORDS]
        for threads in (1, 3):
            assert list(parser.parse_all(iter(WORDS), count=2, marginals=True, threads=threads)) == expected

    def test_tags_are_those_of_each_sentence(self, tagger: lveg.Tagger) -> None:
        expected = [tagger.tag(words, posteriors=True) for words in WORDS]
        for threads in (1, 3):
            found = tagger.tag_all(iter(WORDS), posteriors=True, threads=threads, chunk_size=4)
            assert list(found) == expected

    @pytest.mark.parametrize("threads", [1, 2])
    def test_few_sentences_are_read_ahead(self, parser: lveg.Parser, tagger: lveg.Tagger, threads: int) -> None:
        """An endless source is no problem."""
        read = 0

        def endless() -> Iterator[list[str]]:
            nonlocal read
            while True:
                read += 1
                yield ["The", "dog", "saw", "a", "cat", "."]

        parses = parser.parse_all(endless(), threads=threads)
        assert [next(parses).tree.words()[1] for _ in range(50)] == ["dog"] * 50
        assert read <= 50 + 16 * threads
        read = 0
        taggings = tagger.tag_all(endless(), threads=threads, chunk_size=5)
        assert [next(taggings).tags[1] for _ in range(50)] == ["NOUN"] * 50
        assert read <= 50 + 5 * 2 * threads + 5

    def test_results_before_an_error_are_given(self, parser: lveg.Parser) -> None:
        parses = parser.parse_all([WORDS[0], ["a", ""]])
        assert next(parses).words == WORDS[0]
        with pytest.raises(UsageError, match="word 2 is empty"):
            next(parses)

    def test_progress(
        self,
        parser: lveg.Parser,
        tagger: lveg.Tagger,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(progress, "_EVERY", -1.0)
        list(parser.parse_all(WORDS[:3], progress=True))
        list(tagger.tag_all(iter(WORDS[:2]), progress=True))
        assert capsys.readouterr().err.splitlines() == [
            "parsing: 1 of 3", "parsing: 2 of 3", "parsing: 3 of 3", "tagging: 1", "tagging: 2",
        ]  # fmt: skip
        events: list[Any] = []
        list(parser.parse_all(WORDS[:1], progress=lambda event, facts: events.append((event, facts))))
        assert events == [("progress", {"what": "parsing", "done": 1, "total": 1})]
        list(parser.parse_all(WORDS[:1]))
        assert capsys.readouterr().err == ""

    def test_one_text_is_refused(self, parser: lveg.Parser) -> None:
        with pytest.raises(UsageError, match="parse_all takes several sentences: use parse for one"):
            parser.parse_all("The dog saw a cat .")


class TestConstraints:
    constraints = lveg.Constraints(spans=[(4, 6, "NP")], not_spans=[(0, 3, "NP")], tags={5: "NN"})

    def test_everything_respects_them(self, parser: lveg.Parser) -> None:
        parse = parser.parse(SENTENCE, count=5, constraints=self.constraints)
        assert parse.log_sentence is None
        trees = [candidate.tree for candidate in parse.trees]
        assert [one.tree for one in parser.kbest(SENTENCE, 5, constraints=self.constraints)] == trees
        for tree in [*trees, *parser.sample(SENTENCE, 20, constraints=self.constraints)]:
            found = {(start, end, node.label) for node, start, end in tree.spans() if node.word is None}
            assert (4, 6, "NP") in found
            assert (0, 3, "NP") not in found
            assert tree.tags()[5] == "NN"
        shares = parser.marginals(SENTENCE, self.constraints)
        assert shares["NP", 4, 6] == pytest.approx(1.0)
        assert ("NP", 0, 3) not in shares

    def test_probabilities_are_conditional(self, parser: lveg.Parser) -> None:
        """P(tree | constraint) is P(tree) / P(constraint), here without pruning."""
        words = "The dog saw a cat ."
        share = parser.marginals(words, p_min=0.0)["NP", 0, 2]
        free = {one.tree: one.log_prob for one in parser.kbest(words, 50, p_min=0.0)}
        constraints = lveg.Constraints([(0, 2, "NP")])
        for one in parser.kbest(words, 5, constraints=constraints, p_min=0.0):
            assert one.log_prob is not None
            (expected,) = (log for tree, log in free.items() if tree == one.tree and log is not None)
            assert one.log_prob == pytest.approx(expected - math.log(share), abs=1e-6)

    def test_a_label_that_the_grammar_cannot_derive_there_is_glued(self, parser: lveg.Parser) -> None:
        for span in ((2, 5, "PP"), (6, 7, "WHNP"), (0, 1, "VP")):
            parse = parser.parse(SENTENCE, constraints=lveg.Constraints([span]))
            assert parse.fallback in ("wide", "unpruned", "glue")
            assert span in {(start, end, node.label) for node, start, end in parse.tree.spans()}

    def test_crossing_spans_give_a_flat_tree(self, parser: lveg.Parser) -> None:
        constraints = lveg.Constraints([(0, 2, "NP"), (1, 3, "NP")], tags={0: "DT"})
        parse = parser.parse(SENTENCE, constraints=constraints)
        assert parse.fallback == "flat"
        assert parse.tree.tags()[0] == "DT"
        assert parser.sample(SENTENCE, 2, constraints=constraints) == [parse.tree] * 2

    def test_unknown_labels_are_errors(self, parser: lveg.Parser) -> None:
        with pytest.raises(GrammarError, match="no phrase label 'NX'"):
            parser.parse(SENTENCE, constraints=lveg.Constraints([(0, 2, "NX")]))


class TestEvaluation:
    def test_a_parser_has_the_numbers_of_the_command(self, parser: lveg.Parser, tmp_path: Any) -> None:
        lveg.save(parser, tmp_path / "m")
        printed = json.loads(run_main("evaluate", DATA / "demo-dev.mrg", "--model", tmp_path / "m", "--json").out)
        for gold in (DATA / "demo-dev.mrg", GOLD):
            result = lveg.evaluate(parser, gold)
            names = ("precision", "recall", "f1", "exact_match", "tag_accuracy")
            assert {name: round(getattr(result, name), 2) for name in names} == {name: printed[name] for name in names}
            assert round(result.short.f1, 2) == printed["le40"]["f1"]
            assert (round(result.interval.low, 2), round(result.interval.high, 2)) == (
                printed["f1_interval"]["low"],
                printed["f1_interval"]["high"],
            )
            assert result.signature == printed["signature"]
            assert len(result.system) == len(result.sentences) == len(GOLD)
            assert repr(result).startswith(f"<F1 {result.f1:.2f} (")

    def test_a_result_says_what_could_not_be_scored(self) -> None:
        other = lveg.parse_tree("(TOP (NP (NN dogs)))")
        assert repr(lveg.evaluate([*GOLD[1:], other], [*GOLD[1:], other])).endswith(f", {len(GOLD)} sentences>")
        assert repr(lveg.evaluate([other, *GOLD[1:]], GOLD)).endswith(f", {len(GOLD)} sentences, errors 1>")
        empty = lveg.Tree("TOP", [])
        assert repr(lveg.evaluate([other, empty, *GOLD[2:]], GOLD)).endswith(" sentences, errors 1, skipped 1>")

    def test_a_tagger_has_the_numbers_of_the_command(self, tagger: lveg.Tagger, tmp_path: Any) -> None:
        lveg.save(tagger, tmp_path / "m")
        file = DATA / "demo-dev.conllu"
        printed = json.loads(run_main("evaluate", file, "--model", tmp_path / "m", "--json").out)
        result = lveg.evaluate(tagger, file)
        assert round(result.token_accuracy, 2) == printed["token_accuracy"]
        assert round(result.sentence_accuracy, 2) == printed["sentence_accuracy"]
        assert round(result.counts.unknown_accuracy or 0.0, 2) == printed["unknown_accuracy"]
        assert result.signature == printed["signature"]
        assert result.per_tag[0].label == "NOUN"
        assert repr(result).startswith(f"<accuracy {result.token_accuracy:.2f} (")

    def test_analyses_from_elsewhere(self, parser: lveg.Parser, tagger: lveg.Tagger, tmp_path: Any) -> None:
        trees = [parse.tree for parse in parser.parse_all(tree.words() for tree in GOLD)]
        (tmp_path / "trees.mrg").write_text("\n".join(map(str, trees)))
        expected = lveg.evaluate(parser, GOLD).counts
        for system in (trees, tmp_path / "trees.mrg"):
            assert lveg.evaluate(system, DATA / "demo-dev.mrg").counts == expected
        gold = [list(zip(tree.words(), tree.tags(), strict=True)) for tree in GOLD]
        found = [list(zip(tree.words(), tree.tags(), strict=True)) for tree in trees]
        assert lveg.evaluate(found, gold).token_accuracy == pytest.approx(expected.tag_accuracy, abs=2.0)
        assert lveg.evaluate(gold, gold).token_accuracy == 100.0

    def test_what_cannot_be_scored(self, parser: lveg.Parser, tagger: lveg.Tagger) -> None:
        wrong: Any = [[("a", "X")]]
        trees: Any = GOLD
        with pytest.raises(ModelError, match="the model is a parser"):
            lveg.evaluate(parser, wrong)
        with pytest.raises(ModelError, match="the model is a tagger"):
            lveg.evaluate(tagger, trees)
        with pytest.raises(UsageError, match="there are 1 analyses, and 300 in the gold data"):
            lveg.evaluate(GOLD[:1], GOLD)
        with pytest.raises(UsageError, match="sentence 1 has other words"):
            lveg.evaluate([[("b", "X")]], [[("a", "X")]])
        with pytest.raises(UsageError, match="no gold data"):
            lveg.evaluate(parser, [])
        with pytest.raises(UsageError, match="a gold tree has no words"):
            lveg.evaluate(parser, [EMPTY_TREE])


class TestLogging:
    def test_training_is_logged(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, "lveg")
        lveg.train_parser(GOLD[:20], GOLD[20:25], model="pcfg")
        assert {record.name for record in caplog.records} == {"lveg"}
        messages = [record.getMessage() for record in caplog.records]
        assert messages[0] == f"read: sentences 20, words {sum(len(tree.words()) for tree in GOLD[:20])}"
        assert any(message.startswith("dev: sentences 5, ") for message in messages)
        assert not any(message.startswith("progress") for message in messages)
        caplog.clear()
        lveg.train_parser(GOLD[:20], model="pcfg", setting=lveg.Setting(report=lambda *_: None))
        assert not caplog.records

    def test_nothing_is_printed_by_default(self) -> None:
        code = (
            "import lveg, logging; lveg.train_tagger([[('a', 'X'), ('b', 'Y')]] * 3, model='hmm');"
            "assert [type(one).__name__ for one in logging.getLogger('lveg').handlers] == ['NullHandler']"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == ("", "")
