"""`lveg train`: models from files, and errors that are raised before the work."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from .conftest import Run, Samples

PLAIN = ("train", "parser", "--model", "pcfg")
"""The quickest parser to train."""


def test_events_are_shown_and_logged(run: Run, samples: Samples) -> None:
    outcome = run(*PLAIN, samples.train_trees, "--dev", samples.dev_trees, "--out", "m", "--log", "log.jsonl")
    assert (outcome.status, outcome.out) == (0, "")
    assert [line.split(":")[0] for line in outcome.err.splitlines()[:-1]] == ["read", "grammar", "dev", "done"]
    assert outcome.err.splitlines()[-1].startswith("wrote m (")
    events = list(map(json.loads, Path("log.jsonl").read_text().splitlines()))
    assert [event["event"] for event in events] == ["read", "grammar", "dev", "done"]
    assert events[0]["sentences"] == 400
    assert events[2]["sentences"] == 40
    assert Path("m").stat().st_size > 1000


def test_quiet_says_nothing(run: Run, samples: Samples) -> None:
    assert run(
        "train", "tagger", samples.train_tags, "--context", "forms", "--epochs", "2", "--out", "m", "--quiet"
    ) == (0, "", "")


def test_threads_do_not_change_a_pcfg(run: Run, samples: Samples) -> None:
    for name, threads in (("a", 1), ("b", 2)):
        run(*PLAIN, samples.train_trees, "--dev", samples.dev_trees, "--out", name, "--threads", threads)
    assert Path("a").read_bytes() == Path("b").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "split-merge", "--cycles", "1"),
        ("--model", "lvg", "--subtypes", "2", "--epochs", "2"),
        ("--model", "lvg", "--subtypes", "2", "--epochs", "1", "--objective", "discriminative", "--max-length", "12"),
    ],
)
def test_threads_do_not_change_subtypes(run: Run, samples: Samples, options: tuple[str, ...]) -> None:
    files = (samples.train_trees, "--dev", samples.dev_trees)
    for name, threads in (("a", 1), ("b", 2)):
        outcome = run("train", "parser", *files, "--out", name, "--threads", threads, *options, "--log", "log.jsonl")
        assert outcome.status == 0
    assert Path("a").read_bytes() == Path("b").read_bytes()
    assert not list(Path().glob("*.checkpoint*"))
    events = [json.loads(line) for line in Path("log.jsonl").read_text().splitlines()]
    told = [event for event in events if event["event"] in ("cycle", "epoch")]
    assert told
    assert all("dev_f1" in event for event in told)
    assert run("parse", "a", stdin=b"The dog saw a cat .\n").out.startswith("(TOP ")
    shown = run("info", "a").out
    assert options[1] in shown
    assert ("  cycle 1, " in shown) == ("split-merge" in options)


def test_every_cycle_can_be_kept(run: Run, samples: Samples) -> None:
    options = ("train", "parser", samples.train_trees, "--out", "m", "--keep-cycles")
    assert run(*options, "--model", "split-merge", "--cycles", "2").status == 0
    assert sorted(path.name for path in Path().glob("m*")) == ["m", "m.cycle1", "m.cycle2"]
    for name in ("m.cycle1", "m.cycle2"):
        assert run("parse", name, stdin=b"The dog saw a cat .\n").out.startswith("(TOP ")
    assert run("parse", "m", stdin=b"A dog .\n").out == run("parse", "m.cycle2", stdin=b"A dog .\n").out
    assert "--keep-cycles is an option of --model split-merge, not of --model gm" in run(*options).refusal()


def test_a_run_that_cannot_begin_keeps_an_earlier_checkpoint(run: Run, samples: Samples) -> None:
    kept, bad = Path("m.checkpoint"), Path("bad.mrg")
    kept.write_bytes(b"an earlier run")
    bad.write_text("(S (NP x)\n")
    for path in ("missing.mrg", bad):
        assert run(*PLAIN, path, "--out", "m").status == 2
        assert kept.read_bytes() == b"an earlier run"
    outcome = run(*PLAIN, samples.train_trees, "--out", "m")
    assert outcome.status == 0
    assert "discarding m.checkpoint of an earlier run" in outcome.err
    assert not kept.exists()


@pytest.mark.parametrize("name", ["m.checkpoint", "m.checkpoint.previous", "m.checkpoint.0"])
def test_files_named_like_checkpoints_are_not_overwritten(run: Run, samples: Samples, name: str) -> None:
    Path(name).write_bytes(samples.train_trees.read_bytes())
    for options in ((name,), (samples.train_trees, "--dev", name)):
        assert f"{name}: cannot be written: it is an input" in run(*PLAIN, *options, "--out", "m").refusal()
    assert Path(name).read_bytes() == samples.train_trees.read_bytes()


def test_a_log_is_not_a_checkpoint(run: Run, samples: Samples) -> None:
    outcome = run(*PLAIN, samples.train_trees, "--out", "m", "--log", "m.checkpoint")
    assert "m.checkpoint: cannot be written: it is another output" in outcome.refusal()


def test_files_directories_and_gzip_are_one_treebank(run: Run, samples: Samples) -> None:
    lines = samples.train_trees.read_bytes().splitlines(keepends=True)
    Path("folder").mkdir()
    Path("folder/1.mrg").write_bytes(b"".join(lines[:150]))
    Path("folder/2.mrg.gz").write_bytes(gzip.compress(b"".join(lines[150:])))
    run(*PLAIN, "folder", "--out", "a")
    run(*PLAIN, "folder/1.mrg", "folder/2.mrg.gz", "--out", "b")
    run(*PLAIN, samples.train_trees, "--out", "c")
    run(*PLAIN, "-", "--out", "d", stdin=samples.train_trees.read_bytes())
    assert len({Path(name).read_bytes() for name in "abcd"}) == 1


def test_a_stray_file_is_skipped_with_a_notice(run: Run, samples: Samples) -> None:
    Path("folder").mkdir()
    Path("folder/train.mrg").write_bytes(samples.train_trees.read_bytes())
    Path("folder/README").write_text("About these trees\n")
    outcome = run(*PLAIN, "folder", "--out", "a", "-q")
    notice = "lveg: skipped folder/README: does not look like bracketed trees\nlveg: skipped 1 in all\n"
    assert outcome == (0, "", notice)
    run(*PLAIN, samples.train_trees, "--out", "b", "-q")
    assert Path("a").read_bytes() == Path("b").read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        ("--unknown", "english"),
        ("--unknown", "single"),
        ("--unknown-threshold", "5", "--smooth", "0"),
        ("--binarise", "left", "--horizontal", "1"),
        ("--binarise", "head", "--vertical", "2"),
        ("--max-length", "8"),
        ("--keep-functions", "--keep-traces", "--keep-unaries", "--seed", "3"),
        ("--model", "pcfg", "--empty", "X .*"),
    ],
    ids=" ".join,
)
def test_options_make_models_that_work(run: Run, samples: Samples, options: tuple[str, ...]) -> None:
    assert run(*PLAIN, samples.train_trees, "--out", "m", *options, "-q").status == 0
    scores = json.loads(run("evaluate", samples.dev_trees, "--model", "m", "--json").out)
    assert (scores["sentences"], scores["skipped"]) == (40, 0)
    assert scores["f1"] > 40


def test_skip_bad_skips_and_counts(run: Run, samples: Samples) -> None:
    Path("a.mrg").write_text("((S (A a)))\n((S (A a))\n((S (A b)))\n)\n((S () (A c)))\n(S (A d))\n")
    refusal = run(*PLAIN, "a.mrg", "--out", "m").refusal()
    assert refusal == "lveg: a.mrg:2: tree 2 has 1 unclosed bracket\n"
    assert not Path("m").exists()
    outcome = run(*PLAIN, "a.mrg", "--out", "m", "--skip-bad")
    assert outcome.status == 0
    assert "read: sentences 3, words 3" in outcome.err
    assert outcome.err.endswith("lveg: skipped 3 in all\n")
    assert outcome.err.count("lveg: skipped a.mrg:") == 3


@pytest.mark.parametrize("what", ["parser", "tagger"])
class TestRefusals:
    def test_input(self, run: Run, samples: Samples, what: str) -> None:
        Path("empty").mkdir()
        Path("nothing").write_text("")
        Path("text").write_text("The dog .\n")
        Path("latin").write_bytes(b"\xe9\n")
        good = samples.train_trees if what == "parser" else samples.train_tags
        assert "nowhere: cannot be opened: No such file" in run("train", what, "nowhere", "--out", "m").refusal()
        assert "empty: the directory holds no files" in run("train", what, "empty", "--out", "m").refusal()
        assert "lveg: text:1: " in run("train", what, "text", "--out", "m").refusal()
        assert "latin:1: byte 0xe9 at column 1 is not UTF-8" in run("train", what, "latin", "--out", "m").refusal()
        assert "to learn from" in run("train", what, "nothing", "--out", "m", "-q").refusal()
        short = run("train", what, good, "--out", "m", "-q", "--max-length", 1).refusal()
        assert "no training sentence has at most 1 words: raise --max-length" in short
        assert not Path("m").exists()

    def test_what_would_fail_at_the_end_fails_at_the_start(self, run: Run, samples: Samples, what: str) -> None:
        good = samples.train_trees if what == "parser" else samples.train_tags
        Path("own.copy").write_bytes(good.read_bytes())
        assert "there is no directory nowhere" in run("train", what, good, "--out", "nowhere/m").refusal()
        assert "it is a directory" in run("train", what, good, "--out", ".").refusal()
        assert "nowhere: cannot be opened" in run("train", what, good, "--out", "m", "--dev", "nowhere").refusal()
        assert "cannot be written" in run("train", what, good, "--out", "m", "--log", "nowhere/log").refusal()
        Path("link").symlink_to("own.copy")
        for options in (("--out", "own.copy"), ("--out", "m", "--log", "link"), ("--out", "m", "--log", "./m")):
            assert "; choose another file" in run("train", what, "own.copy", *options).refusal()
        assert Path("own.copy").read_bytes() == good.read_bytes()

    def test_usage(self, run: Run, samples: Samples, what: str) -> None:
        for options in ((), ("--out", "m", "--model", "none"), ("--out", "m", "--unknown", "none")):
            outcome = run("train", what, samples.train_trees, *options)
            assert outcome.status == 2
            assert "Traceback" not in outcome.err


def test_an_invalid_pattern(run: Run, samples: Samples) -> None:
    assert "not a regular expression" in run(*PLAIN, samples.train_trees, "--out", "m", "--empty", "[").refusal()


def test_an_empty_column(run: Run, samples: Samples) -> None:
    Path("a.conllu").write_text("1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n")
    refusal = run("train", "tagger", "a.conllu", "--out", "m", "--column", "xpos").refusal()
    assert "a.conllu: column xpos is `_` for every word; choose another" in refusal
