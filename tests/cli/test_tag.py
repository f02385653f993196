"""`lveg tag`: one column changes, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lveg.report import Report
from lveg.treebank.conllu import read_conllu

from .conftest import DOG, Run, Samples

ODD = (
    "# sent_id = odd 1\r\n#text\n1-2\tdu\t_\tX\t_\t_\t_\t_\t_\t_\n1\tde\t_\tX\tx\tA=B\t0\troot\t_\tSpaceAfter=No\n"
    "2\tle\u2009 \t_\t_\t_\t_\t_\t_\t_\t_\r\n2.1\t_\t_\tX\t_\t_\t_\t_\t_\t_\n\n1\t_\t_\tX\t_\t_\t_\t_\t_\t_\n"
)


def without_column(text: bytes, column: int) -> list[bytes]:
    """The lines of CoNLL-U with the column of its word lines blanked."""
    lines = []
    for line in text.split(b"\n"):
        fields = line.split(b"\t")
        if fields[0].isdigit():
            fields[column] = b""
        lines.append(b"\t".join(fields))
    return lines


@pytest.mark.parametrize(("column", "place"), [("upos", 3), ("xpos", 4)])
@pytest.mark.parametrize("decoder", ["posterior", "viterbi"])
def test_conllu_changes_only_the_tag_column(run: Run, samples: Samples, column: str, place: int, decoder: str) -> None:
    if column == "xpos":
        assert (
            run("train", "tagger", samples.train_tags, "--column", "xpos", "--model", "hmm", "--out", "x.lveg").status
            == 0
        )
    model = samples.tagger if column == "upos" else "x.lveg"
    Path("odd.conllu").write_bytes(ODD.encode())
    for source in (samples.dev_tags, Path("odd.conllu")):
        outcome = run("tag", model, source, "--out", "out.conllu", "--decoder", decoder, "--quiet")
        assert (outcome.status, outcome.err) == (0, "")
        before, after = source.read_bytes(), Path("out.conllu").read_bytes()
        assert before != after
        assert without_column(before, place) == without_column(after, place)


def test_several_columns_at_once(run: Run, samples: Samples) -> None:
    assert (
        run("train", "tagger", samples.train_tags, "--column", "upos+xpos", "--model", "hmm", "--out", "m").status == 0
    )
    outcome = run("tag", "m", samples.dev_tags, "--out", "out.conllu", "--quiet")
    assert (outcome.status, outcome.err) == (0, "")
    before, after = (list(read_conllu(path)) for path in (samples.dev_tags, Path("out.conllu")))
    assert len(before) == len(after)
    assert all("_" not in sentence.column("upos+xpos") for sentence in after)


def test_several_conllu_files_stay_separate(run: Run, samples: Samples) -> None:
    Path("a.conllu").write_bytes(b"\n# newdoc\n\n" + ODD.encode())  # ends without a blank line
    Path("b.conllu").write_bytes(ODD.encode() + b"\n\n# end")
    outcome = run("tag", samples.tagger, "a.conllu", "b.conllu", "--out", "out.conllu", "--quiet")
    assert (outcome.status, outcome.err) == (0, "")
    before = Path("a.conllu").read_bytes() + b"\n" + Path("b.conllu").read_bytes()
    assert without_column(Path("out.conllu").read_bytes(), 3) == without_column(before, 3)
    for format, end in (("tsv", "\n\n"), ("jsonl", "\n")):
        out = run("tag", samples.tagger, "a.conllu", "b.conllu", "--format", format).out
        assert out.count(end) == 4
    assert [json.loads(line)["file"] for line in out.splitlines()] == ["a.conllu"] * 2 + ["b.conllu"] * 2
    Path("c.txt").write_text(DOG)
    assert run("tag", samples.tagger, "a.conllu", "c.txt").out.splitlines()[-2].startswith(".\t")  # not all is CoNLL-U
    Path("folder").mkdir()
    assert "folder: is a directory" in run("tag", samples.tagger, "folder").refusal()


def test_ranges_and_empty_nodes_keep_their_tags(run: Run, samples: Samples) -> None:
    out = run("tag", samples.tagger, "--input-format", "conllu", stdin=ODD.encode()).out
    assert [line.split("\t")[3] == "X" for line in out.split("\n") if line[:3] in ("1-2", "2.1")] == [True, True]


def test_threads_change_nothing(run: Run, samples: Samples) -> None:
    one, two = (run("tag", samples.tagger, samples.dev_tags, "--threads", n) for n in (1, 2))
    assert one == two
    assert one.out


def test_formats_agree(run: Run, samples: Samples) -> None:
    text = f"{DOG}\n\n{DOG}\n".encode()
    rows = [line.split("\t") for line in run("tag", samples.tagger, stdin=text).out.splitlines()]
    assert [row[0] for row in rows if len(row) == 3] == DOG.split() * 2
    assert all(0 <= float(row[2]) <= 1 for row in rows if len(row) == 3)
    tags = [row[1] for row in rows if len(row) == 3]
    answers = list(map(json.loads, run("tag", samples.tagger, "--format", "jsonl", stdin=text).out.splitlines()))
    assert [answer["words"] for answer in answers] == [DOG.split(), [], DOG.split()]
    assert [tag for answer in answers for tag in answer["tags"]] == tags
    Path("a.conllu").write_text(run("tag", samples.tagger, "--format", "conllu", stdin=text).out)
    assert [tag for sentence in read_conllu("a.conllu") for tag in sentence.column("upos")] == tags


def test_several_sequences(run: Run, samples: Samples) -> None:
    assert run("train", "tagger", samples.train_tags, "--out", "hmm", "--model", "hmm").status == 0
    options = ("tag", "hmm", "--format", "jsonl", "--kbest", "4")
    answers = list(map(json.loads, run(*options, stdin=f"{DOG}\n\n".encode()).out.splitlines()))
    assert [answer["words"] for answer in answers] == [DOG.split(), []]
    sequences = answers[0]["sequences"]
    assert len({tuple(sequence["tags"]) for sequence in sequences}) == 4
    chances = [sequence["log_prob"] for sequence in sequences]
    assert chances == sorted(chances, reverse=True)
    assert [sequence["score"] for sequence in sequences] == pytest.approx(chances)
    assert [sequence["tags"] for sequence in answers[1]["sequences"]] == [[]]
    best = json.loads(run(*options[:4], "--decoder", "viterbi", stdin=DOG.encode()).out)
    assert {name: best[name] for name in sequences[0]} == sequences[0]


def test_posteriors(run: Run, samples: Samples) -> None:
    text = f"{DOG}\n\n".encode()
    options = ("tag", samples.tagger, "--posteriors", "--format")
    answer, empty = map(json.loads, run(*options, "jsonl", stdin=text).out.splitlines())
    assert "posteriors" not in empty
    for tag, probability, share in zip(answer["tags"], answer["probabilities"], answer["posteriors"], strict=True):
        assert next(iter(share)) == tag
        assert share[tag] == probability
        assert min(share.values()) >= 0.001
        assert sum(share.values()) == pytest.approx(1.0, abs=0.02)
    assert answer["score"] == pytest.approx(sum(answer["probabilities"]))
    rows = [line.split("\t") for line in run(*options, "tsv", stdin=text).out.splitlines()]
    assert [row[3].split("|")[0] for row in rows if len(row) > 1] == [f"{row[1]}={row[2]}" for row in rows if row[1:]]
    rows = [line.split("\t") for line in run(*options, "conllu", stdin=text).out.splitlines()]
    wanted = [f"TagProb={probability:.4f}" for probability in answer["probabilities"]]
    assert [row[9] for row in rows if len(row) > 1] == wanted


def test_posteriors_join_misc_and_replace_their_own(run: Run, samples: Samples) -> None:
    Path("odd.conllu").write_bytes(ODD.encode())
    for source, out in (("odd.conllu", "once.conllu"), ("once.conllu", "twice.conllu")):
        assert run("tag", samples.tagger, source, "--posteriors", "--out", out).status == 0
    assert Path("once.conllu").read_bytes() == Path("twice.conllu").read_bytes()
    first, second = read_conllu("once.conllu")
    marks = [mark.partition("TagProb=") for mark in (*first.column("misc"), *second.column("misc"))]
    assert [mark[0] for mark in marks] == ["SpaceAfter=No|", "", ""]
    assert all(0 <= float(mark[2]) <= 1 for mark in marks)
    kept = [line for line in Path("once.conllu").read_bytes().split(b"\n") if line[:3] in (b"1-2", b"2.1")]
    assert all(line.endswith(b"\t_") for line in kept)


def test_words_from_json_cannot_break_a_line(run: Run, samples: Samples) -> None:
    given = b'["a\\tb", "c\\nd", "e\\rf", "New York"]'
    for format, count in (("tsv", 3), ("conllu", 10)):
        out = run("tag", samples.tagger, "--input-format", "jsonl", "--format", format, stdin=given).out
        assert [line.count("\t") for line in out.split("\n")] == [count - 1] * 4 + [0, 0]


def test_unusual_words(run: Run, samples: Samples) -> None:
    out = run("tag", samples.tagger, stdin="( -LRB- \u2009\u65e5 ".encode() + b"x" * 20_000).out
    assert [line.split("\t")[0] for line in out.splitlines()[:4]] == ["(", "-LRB-", "\u2009\u65e5", "x" * 20_000]


def test_skip_bad_skips_and_counts(run: Run, samples: Samples) -> None:
    good = "1\ta\t_\tX\t_\t_\t_\t_\t_\t_\n\n"
    Path("a.conllu").write_text(good + "1\ta\n\n" + good)
    for threads in (1, 2):  # sentences before the fault are tagged, with any number of threads
        outcome = run("tag", samples.tagger, "a.conllu", "--threads", threads)
        assert outcome.status == 2
        assert outcome.out.count("\n\n") == 1
        assert "a.conllu:3: expected 10 columns" in outcome.err
    outcome = run("tag", samples.tagger, "a.conllu", "--skip-bad")
    assert outcome.status == 0
    assert outcome.out.count("\n\n") == 2
    assert outcome.err.endswith("lveg: skipped 1 in all\n")


def test_refusals(run: Run, samples: Samples) -> None:
    Path("a.conllu").write_text(ODD)
    assert "is a parser; use `lveg parse`" in run("tag", samples.parser, "a.conllu").refusal()
    assert "nowhere.conllu: cannot be opened" in run("tag", samples.tagger, "nowhere.conllu").refusal()
    assert "it is an input; choose another" in run("tag", samples.tagger, "a.conllu", "--out", "a.conllu").refusal()
    assert Path("a.conllu").read_bytes() == ODD.encode()
    kbest = ("tag", samples.tagger, "a.conllu", "--kbest", "2")
    assert "--kbest needs --format jsonl: conllu has one tag per word" in run(*kbest).refusal()
    assert "--format jsonl: tsv" in run(*kbest, "--format", "tsv").refusal()
    assert "leave --decoder posterior out" in run(*kbest, "--format", "jsonl", "--decoder", "posterior").refusal()
    assert run("tag", samples.tagger, "--decoder", "mbr").status == 2


@pytest.mark.parametrize(
    ("options", "facts"),
    [
        (("--model", "lvg", "--subtypes", "2", "--epochs", "12"), {"model": "lvg", "subtypes": 2}),
        (
            ("--model", "lvg", "--subtypes", "2", "--objective", "discriminative", "--epochs", "2"),
            {"model": "lvg", "subtypes": 2},
        ),
        (
            ("--model", "gm", "--components", "2", "--dim", "2", "--covariance", "diagonal", "--epochs", "2"),
            {"model": "gm", "components": 2, "dim": 2, "covariance": "diagonal"},
        ),
    ],
    ids=["generative", "discriminative", "gm"],
)
def test_trained_taggers(run: Run, samples: Samples, options: tuple[str, ...], facts: dict[str, object]) -> None:
    outcome = run("train", "tagger", samples.train_tags, "--dev", samples.dev_tags, "--out", "m", *options)
    assert (outcome.status, outcome.out) == (0, "")
    assert "dev token accuracy" in outcome.err
    assert not list(Path().glob("m.checkpoint*"))
    told = json.loads(run("info", "m", "--json").out)
    assert {name: told[name] for name in facts} == facts
    assert told["parameters"] > 100
    assert run("train", "tagger", samples.train_tags, "--out", "hmm", "--model", "hmm").status == 0
    plain = json.loads(run("evaluate", samples.dev_tags, "--model", "hmm", "--json").out)
    for decoder in ("posterior", "viterbi"):
        scores = json.loads(run("evaluate", samples.dev_tags, "--model", "m", "--decoder", decoder, "--json").out)
        assert scores["token_accuracy"] > plain["token_accuracy"] - 3
        answer = json.loads(run("tag", "m", "--format", "jsonl", "--decoder", decoder, stdin=DOG.encode()).out)
        assert answer["words"] == DOG.split()
        assert (answer["log_sentence"] is None) == (options[-2:] == ("--epochs", "2"))


@pytest.mark.parametrize(("share", "file"), [("0", "m.checkpoint"), ("0.1", "m.checkpoint.0")])
def test_an_interrupted_run_resumes(
    run: Run, samples: Samples, monkeypatch: pytest.MonkeyPatch, share: str, file: str
) -> None:
    from lveg.learning import checkpoint

    learning = ("--model", "lvg", "--subtypes", "2", "--epochs", "4", "--held-out", share)
    options = ("train", "tagger", samples.train_tags, *learning)
    assert run(*options, "--out", "whole").status == 0
    save = checkpoint.Checkpoint.save

    def stop(self: checkpoint.Checkpoint, facts: dict[str, Any], arrays: dict[str, Any], report: Report) -> None:
        save(self, facts, arrays, report)
        if facts.get("epoch") == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint.Checkpoint, "save", stop)
        assert run(*options, "--out", "m").status != 0
    assert Path(file).exists()
    outcome = run(*options, "--out", "m", "--resume")
    assert "resumed" in outcome.err
    assert Path("m").read_bytes() == Path("whole").read_bytes()
    assert not list(Path().glob("m.checkpoint*"))
