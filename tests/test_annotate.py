"""Annotating many sentences, and their output as text."""

from __future__ import annotations

import json

import pytest

from lveg.annotate import ParseSettings, TagSettings, parse_all, tag_all
from lveg.decoding.explain import Explanation
from lveg.errors import UsageError
from lveg.forest.reasons import Part, Reason
from lveg.model import Candidate, Parse, Parser, Tagger, Tagging, TagSequence
from lveg.output import parse_brackets, parse_explanation, parse_json, tags_conllu, tags_json, tags_tsv
from lveg.training import train_parser, train_tagger
from lveg.treebank.conllu import Sentence
from lveg.treebank.penn import parse_tree, read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.treebank.text import Input
from lveg.trees import EMPTY_TREE

DATA = ENGLISH.parent
TREES = list(read_trees(DATA / "demo-dev.mrg"))[:40]
INPUTS = [Input(tree.words(), tree.tags(), number) for number, tree in enumerate(TREES)] + [Input([])]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return train_parser([str(DATA / "demo-train.mrg")], model="pcfg")


@pytest.fixture(scope="module")
def tagger() -> Tagger:
    return train_tagger([str(DATA / "demo-train.conllu")], model="hmm")


class TestParsing:
    def test_parses_are_in_order_for_any_number_of_threads(self, parser: Parser) -> None:
        expected = [parser.parse(sentence.words).tree for sentence in INPUTS]
        for threads in (1, 3):
            pairs = list(parse_all(parser, iter(INPUTS), threads=threads))
            assert [sentence for sentence, _ in pairs] == INPUTS
            assert [parse.tree for _, parse in pairs] == expected

    def test_settings_reach_the_parser(self, parser: Parser) -> None:
        settings = ParseSettings("viterbi", 3, marginals=True, keep_tags=True)
        for sentence, parse in parse_all(parser, INPUTS[:5], settings):
            assert len(parse.trees) == 3
            assert parse.constituents
            assert all(candidate.tree.tags() == sentence.tags for candidate in parse.trees)
        (long,) = parse_all(parser, INPUTS[:1], ParseSettings(max_words=2))
        assert long[1].fallback == "flat"

    def test_explanations_respect_given_tags(self, parser: Parser) -> None:
        settings = ParseSettings(keep_tags=True, explained=True)
        for sentence, parse in parse_all(parser, INPUTS[:5], settings):
            rivals = [one.rival for one in parse.explanations if one.rival is not None]
            assert rivals
            assert all(rival.tags() == sentence.tags for rival in rivals)
        assert parser.explain(INPUTS[0].words) == parser.parse(INPUTS[0].words, explained=True).explanations != []
        assert parser.explain("") == []
        assert parser.parse(INPUTS[0].words).explanations == []

    def test_parsing_restricted_to_trees(self, parser: Parser) -> None:
        best = [parser.parse(sentence.words, count=5).trees[-1].tree for sentence in INPUTS[:5]]
        kept = [Input(tree.words(), within=[tree]) for tree in best]
        assert [parse.tree for _, parse in parse_all(parser, kept)] == best
        pruned = parse_all(parser, INPUTS[:5], ParseSettings(pruner=parser, prune_count=1))
        assert [parse.tree for _, parse in pruned] == [parser.parse(one.words).tree for one in INPUTS[:5]]

    def test_a_fault_names_its_position_after_earlier_results(self, parser: Parser) -> None:
        bad = Input(["a"], ["NOTAG"], file="dev.conllu", line=7)
        answers = parse_all(parser, [*INPUTS[:2], bad], ParseSettings(keep_tags=True), threads=2)
        assert [next(answers)[0].id for _ in range(2)] == [0, 1]
        with pytest.raises(UsageError, match=r"^dev\.conllu:7: word 1 was given the tag 'NOTAG'"):
            next(answers)


@pytest.mark.parametrize("chunk_size", [1, 7, 128])
def test_tags_are_in_order_for_any_chunk_size(tagger: Tagger, chunk_size: int) -> None:
    expected = [tagger.tag(sentence.words, count=2, posteriors=True) for sentence in INPUTS]
    for threads in (1, 3):
        pairs = list(tag_all(tagger, iter(INPUTS), TagSettings(None, 2, True), threads, chunk_size))
        assert [sentence for sentence, _ in pairs] == INPUTS
        assert [tagging for _, tagging in pairs] == expected


EXPLAINED = """\
NP 0-2 "a b", X 0-2 "a b"
  +1.75 against (S (A a) (A b))
  +2.00 rules
    +3.00 rival: S -> A A
    -2.00 S -> NP X
    +0.50 NP -> A A
    +0.50 2 others
  -0.25 latent
S 0-6 "a ... f"
  without any rival

"""


def test_explanations_as_text() -> None:
    tree = parse_tree("(TOP (T (S (NP (A a) (A b))) (B c) (B d) (B e) (B f)))")
    rival = parse_tree("(TOP (T (S (A a) (A b)) (B c) (B d) (B e) (B f)))")
    values = {"S -> A A": (3.0, -1), "S -> NP X": (-2.0, 1), "NP -> A A": (0.5, 1), "x": (0.3, 1), "y": (0.2, 0)}
    reasons = tuple(Reason(text, value, count) for text, (value, count) in values.items())
    small = Part("small", 0.001, (Reason("z", 0.001, 1),))
    parts = (Part("rules", 2.0, reasons), Part("latent", -0.25), small)
    found = [Explanation((("S", 0, 6),)), Explanation((("NP", 0, 2), ("X", 0, 2)), rival, 1.751, parts)]
    parse = Parse(list("abcdef"), [Candidate(tree, 0.0, 0.0)], None, None, explanations=found)
    assert parse_explanation(parse) == EXPLAINED
    first, second = json.loads(parse_json(Input(parse.words), parse))["explanations"]
    assert (first["rival"], first["difference"], first["parts"]) == (None, None, [])
    assert second["parts"][2] == {
        "name": "small",
        "value": 0.001,
        "reasons": [{"text": "z", "value": 0.001, "count": 1}],
    }


class TestOutput:
    tree = parse_tree("(TOP (S (NP (NN a)) (VP (VB b))))")
    parse = Parse(["a", "b"], [Candidate(tree, -1.5, -0.5), Candidate(tree, -2.0, None)], -9.0, "wide",
                  {("S", 0, 2): 1.0, ("NP", 0, 1): 0.5})  # fmt: skip
    tagging = Tagging(["a\tb", "c"], [TagSequence(["X", "Y"], [0.9, 0.8], 1.7, -0.3)], None)

    def test_trees(self) -> None:
        assert parse_brackets(self.parse) == f"{self.tree}\n"
        assert parse_brackets(self.parse, several=True) == f"{self.tree}\n{self.tree}\n\n"

    def test_json_of_trees(self) -> None:
        line = parse_json(Input(["a", "b"], id=3, file="f"), self.parse)
        assert line.count("\n") == 1
        assert json.loads(line) == {
            "id": 3,
            "words": ["a", "b"],
            "log_sentence": -9.0,
            "fallback": "wide",
            "tree": str(self.tree),
            "score": -1.5,
            "log_prob": -0.5,
            "constituents": [
                {"label": "S", "start": 0, "end": 2, "probability": 1.0},
                {"label": "NP", "start": 0, "end": 1, "probability": 0.5},
                {"label": "VP", "start": 1, "end": 2, "probability": None},
            ],
        }
        both = json.loads(parse_json(Input(["a", "b"], file="-"), self.parse, several=True, name_file=True))
        assert both["file"] == "<stdin>"
        assert [tree["score"] for tree in both["trees"]] == [-1.5, None]
        empty = Parse([], [Candidate(EMPTY_TREE, 0.0, 0.0)], 0.0, None)
        assert json.loads(parse_json(Input([]), empty))["constituents"] == []

    def test_json_of_tags(self) -> None:
        assert json.loads(tags_json(Input(["a\tb", "c"], id="x"), self.tagging)) == {
            "id": "x",
            "words": ["a\tb", "c"],
            "log_sentence": None,
            "fallback": None,
            "tags": ["X", "Y"],
            "probabilities": [0.9, 0.8],
            "score": 1.7,
            "log_prob": -0.3,
        }
        shares = [{"X": 0.9995, "Y": 0.0005}, {"Y": 1.0}]
        tagging = Tagging(["a", "b"], self.tagging.sequences, None, shares)
        line = json.loads(tags_json(Input(["a", "b"], file="f"), tagging, several=True, name_file=True))
        assert (line["file"], line["posteriors"]) == ("f", [{"X": 0.9995}, {"Y": 1.0}])
        assert [sequence["tags"] for sequence in line["sequences"]] == [["X", "Y"]]

    def test_columns(self) -> None:
        assert tags_tsv(self.tagging) == "a_b\tX\t0.9000\nc\tY\t0.8000\n\n"
        blank = "\t_" * 6
        assert tags_conllu(Input(["a\tb", "c"]), self.tagging, "upos") == (
            f"1\ta_b\t_\tX{blank}\n2\tc\t_\tY{blank}\n\n"
        )
        empty = Tagging([], [TagSequence([], [], 0.0, 0.0)], None)
        assert tags_conllu(Input([]), empty, "upos") == ""
        assert tags_tsv(empty) == "\n"
        comment = Sentence(["# a\n"], [], "\n")
        assert tags_conllu(Input([], sentence=comment), empty, "upos") == "# a\n\n"
