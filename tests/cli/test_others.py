"""`lveg info`, `lveg sample`, `lveg --help` and the rest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lveg import __version__, progress
from lveg.cli.options import check_outputs
from lveg.errors import UsageError
from lveg.treebank.conllu import read_conllu
from lveg.treebank.penn import parse_tree

from .conftest import DATA, DOG, Run, Samples

VERBS = ("train", "parse", "tag", "evaluate", "draw", "plot", "inspect", "info", "sample", "demo")


def test_info_shows_options_and_scores(run: Run, samples: Samples) -> None:
    for model, kind, score in ((samples.parser, "parser", "f1"), (samples.tagger, "tagger", "token_accuracy")):
        facts = json.loads(run("info", model, "--json").out)
        assert facts["task"] == kind
        assert facts["train_sentences"] == 400
        assert facts["dev"][score] > 50
        assert facts["lveg"] == __version__
        shown = run("info", model).out
        assert f"task: {kind}" in shown
        assert f"{facts['known_words']:,}" in shown
    assert "keep functions: False" in run("info", samples.parser).out


def test_info_of_a_file_that_is_not_a_model(run: Run, samples: Samples) -> None:
    assert "is not a model file" in run("info", samples.dev_trees).refusal()
    assert "nowhere: cannot be opened" in run("info", "nowhere").refusal()


def test_samples_are_the_same_for_the_same_seed(run: Run) -> None:
    first = run("sample", 20, "--seed", 4)
    assert first == run("sample", 20, "--seed", 4)
    assert first.out != run("sample", 20, "--seed", 5).out
    trees = [parse_tree(line) for line in first.out.splitlines()]
    assert len(trees) == 20
    run("sample", 20, "--seed", 4, "--format", "conllu", "--out", "a.conllu")
    assert [sentence.words() for sentence in read_conllu("a.conllu")] == [tree.words() for tree in trees]
    run("sample", 20, "--seed", 4, "--grammar", DATA / "english.grammar", "--out", "a.mrg")
    assert Path("a.mrg").read_text() == first.out


def test_sample_refusals(run: Run) -> None:
    Path("a.grammar").write_text("nonsense\n")
    assert "lveg: a.grammar:1: " in run("sample", "--grammar", "a.grammar").refusal()
    assert "nowhere: cannot be opened" in run("sample", "--grammar", "nowhere").refusal()
    assert "allow longer ones" in run("sample", 3, "--max-words", 1).refusal()
    assert "lveg: the seed is -1; it must not be negative" in run("sample", 3, "--seed", -1).refusal()
    assert run("sample", "many").status == 2
    assert run("sample", 0) == (0, "", "")


def test_an_output_that_is_an_input_is_refused(run: Run, samples: Samples) -> None:
    """Models, treebanks, grammars and lists of trees are not overwritten, even under another name."""
    for source, name in ((samples.parser, "p"), (samples.tagger, "t"), (samples.dev_trees, "trees.mrg")):
        Path(name).write_bytes(source.read_bytes())
    Path("p2").write_bytes(Path("p").read_bytes())
    Path("a.grammar").write_bytes((DATA / "english.grammar").read_bytes())
    Path("lists.mrg").write_text("(TOP (S (NN a)))\n")
    Path("s.txt").write_text("a\n")
    Path("folder").mkdir()
    Path("folder/link").symlink_to("../p")
    Path("hard").hardlink_to("s.txt")
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for arguments in (
        ("parse", "p", "s.txt", "--out", "p"),
        ("parse", "p", "s.txt", "--out", "folder/../folder/link"),
        ("parse", "p", "s.txt", "--out", "hard"),
        ("parse", "p", "trees.mrg", "s.txt", "--out", "./s.txt"),
        ("parse", "p", "s.txt", "--with", "p2", "--out", "p2"),
        ("parse", "p", "s.txt", "--prune-with", "p2", "--out", "p2"),
        ("parse", "p", "s.txt", "--constraints", "lists.mrg", "--out", "lists.mrg"),
        ("tag", "t", "s.txt", "--out", Path("t").absolute()),
        ("sample", "--grammar", "a.grammar", "--out", "a.grammar"),
    ):
        assert "it is an input; choose another file" in run(*arguments).refusal()
    assert {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before


def test_checks_of_outputs(tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    (inputs / "a.mrg").write_text("(A a)")
    (tmp_path / "b").write_text("b")
    check_outputs([tmp_path / "new", None, tmp_path / "b", Path("-"), Path("/dev/null")], [inputs, None, Path("-")])
    check_outputs([Path("/dev/null"), Path("/dev/null")], [Path("/dev/null")])  # a device may be both
    for outputs, what in (
        ([inputs / "a.mrg"], "it is an input"),
        ([tmp_path / "new", inputs / ".." / "new"], "it is another output"),
        ([tmp_path / "b", tmp_path / "b"], "it is another output"),
        ([tmp_path], "it is a directory"),
        ([tmp_path / "none" / "x"], "there is no directory"),
    ):
        with pytest.raises(UsageError, match=what):
            check_outputs(outputs, [inputs])


def test_an_error_leaves_the_old_output(run: Run, samples: Samples) -> None:
    Path("bad.jsonl").write_text('["a"]\n' * 200 + "{}\n")
    Path("old").write_text("old")
    Path("old").chmod(0o600)
    for command in (
        ("parse", samples.parser, "bad.jsonl"),
        ("tag", samples.tagger, "bad.jsonl"),
        ("sample", 3, "--max-words", 1),
    ):
        for name in ("old", "new.gz"):
            outcome = run(*command, "--out", name, "--quiet" if command[0] != "sample" else "--seed=1")
            assert outcome.refusal()
            assert [path.name for path in sorted(Path().iterdir())] == ["bad.jsonl", "old"]
            assert Path("old").read_text() == "old"
    Path("good.txt").write_text(f"{DOG}\n")
    assert run("parse", samples.parser, "good.txt", "--out", "old").status == 0
    assert Path("old").read_text().startswith("(TOP ")
    assert Path("old").stat().st_mode & 0o777 == 0o600


def test_progress_has_a_total(run: Run, samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_EVERY", -1.0)
    for verb, what, model in (("parse", "parsing", samples.parser), ("tag", "tagging", samples.tagger)):
        lines = run(verb, model, samples.dev_trees, samples.dev_tags, "--out", "out").err.splitlines()
        assert lines == [f"{what}: {number} of 80" for number in range(1, 81)]
        assert run(verb, model, "--out", "out", stdin=DOG.encode()).err == f"{what}: 1\n"


@pytest.mark.parametrize("verb", [(), *((verb,) for verb in VERBS), ("train", "parser"), ("train", "tagger")])
def test_help(run: Run, verb: tuple[str, ...]) -> None:
    for option in ("--help", "-h"):
        outcome = run(*verb, option)
        assert (outcome.status, outcome.err) == (0, "")
        assert "Usage: lveg" in outcome.out
        assert "[[" not in outcome.out
    if not verb:
        assert all(name in outcome.out for name in VERBS)
        assert "Exit status: 0" in outcome.out


def test_version(run: Run) -> None:
    assert run("--version") == (0, f"lveg {__version__}\n", "")


def test_an_unknown_command(run: Run) -> None:
    outcome = run("prase")
    assert outcome.status == 2
    assert "parse" in outcome.err
