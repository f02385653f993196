"""`lveg info`, `lveg sample`, `lveg --help` and the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lveg import __version__
from lveg.treebank.conllu import read_conllu
from lveg.treebank.penn import parse_tree

from .conftest import DATA, Samples

VERBS = ("train", "parse", "tag", "evaluate", "info", "sample", "demo")


def test_info_tells_of_making_and_scores(run, samples: Samples) -> None:
    for model, kind, score in ((samples.parser, "parser", "f1"), (samples.tagger, "tagger", "token_accuracy")):
        facts = json.loads(run("info", model, "--json").out)
        assert facts["kind"] == kind
        assert facts["train_sentences"] == 400
        assert facts["dev"][score] > 50
        assert facts["lveg"] == __version__
        shown = run("info", model).out
        assert f"kind: {kind}" in shown
        assert f"{facts['known_words']:,}" in shown
    assert "strip functions: True" in run("info", samples.parser).out


def test_info_of_what_is_no_model(run, samples: Samples) -> None:
    assert "is not a model file" in run("info", samples.dev_trees).refusal()
    assert "nowhere: cannot be opened" in run("info", "nowhere").refusal()


def test_samples_are_the_same_for_the_same_seed(run) -> None:
    first = run("sample", 20, "--seed", 4)
    assert first == run("sample", 20, "--seed", 4)
    assert first.out != run("sample", 20, "--seed", 5).out
    trees = [parse_tree(line) for line in first.out.splitlines()]
    assert len(trees) == 20
    run("sample", 20, "--seed", 4, "--format", "conllu", "--out", "a.conllu")
    assert [sentence.words() for sentence in read_conllu("a.conllu")] == [tree.words() for tree in trees]
    run("sample", 20, "--seed", 4, "--grammar", DATA / "english.grammar", "--out", "a.mrg")
    assert Path("a.mrg").read_text() == first.out


def test_sample_refusals(run) -> None:
    Path("a.grammar").write_text("nonsense\n")
    assert "lveg: a.grammar:1: " in run("sample", "--grammar", "a.grammar").refusal()
    assert "nowhere: cannot be opened" in run("sample", "--grammar", "nowhere").refusal()
    assert "allow longer ones" in run("sample", 3, "--max-words", 1).refusal()
    assert run("sample", "many").status == 2
    assert run("sample", 0) == (0, "", "")


@pytest.mark.parametrize("verb", [(), *((verb,) for verb in VERBS), ("train", "parser"), ("train", "tagger")])
def test_help(run, verb: tuple[str, ...]) -> None:
    for option in ("--help", "-h"):
        outcome = run(*verb, option)
        assert (outcome.status, outcome.err) == (0, "")
        assert "Usage: lveg" in outcome.out
        assert "[[" not in outcome.out
    if not verb:
        assert all(name in outcome.out for name in VERBS)


def test_version(run) -> None:
    assert run("--version") == (0, f"lveg {__version__}\n", "")


def test_a_verb_that_is_none(run) -> None:
    outcome = run("prase")
    assert outcome.status == 2
    assert "parse" in outcome.err
