"""`--raw`: running text in, analyses out; training and scoring tokenisers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from spaced import spaced, write_spaced

from lveg.text.tokens import text_of
from lveg.treebank.raw import read_tokens

from .conftest import DOG, Run, Samples, run_main

TEXT = "The dog didn't see (a cat). It slept.\n\nA title\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokeniser, and a tagger that has one."""
    folder = tmp_path_factory.mktemp("trained")
    train, dev = (write_spaced(folder / f"{part}.conllu", part, count) for part, count in (("train", 200), ("dev", 40)))
    for arguments in (
        ("tokeniser", train, "--dev", dev, "--out", folder / "t.model", "-q"),
        ("tagger", train, "--dev", dev, "--out", folder / "both.model", "--with-tokeniser", "--context", "forms",
         "--epochs", 1),
    ):  # fmt: skip
        outcome = run_main("train", *arguments)
        assert outcome.status == 0, outcome.err
    return folder


def test_parsers_use_penn_conventions(run: Run, samples: Samples) -> None:
    outcome = run("parse", samples.parser, "--raw", stdin=TEXT.encode())
    trees = outcome.out.splitlines()
    assert len(trees) == 3
    assert " did)" in trees[0]
    assert " n't)" in trees[0]
    assert " -LRB-)" in trees[0]
    lines = run("parse", samples.parser, "--raw", "--format", "jsonl", stdin=TEXT.encode()).out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [1, 2, 3]


def test_a_tagger_writes_conllu(run: Run, trained: Path) -> None:
    text = text_of(spaced("dev", 60))
    Path("new.txt").write_text(text)
    assert run("tag", trained / "both.model", "--raw", "new.txt", "--out", "a.conllu", "-q").status == 0
    found = Path("a.conllu").read_text()
    assert text_of(read_tokens("a.conllu")) == text
    assert "SpaceAfter=No" in found
    assert re.search(r"^\d+-\d+\t(with|by|in|of)the\t", found, re.MULTILINE)
    assert "# sent_id = 1\n# text = " in found
    scores = run("evaluate", trained / "dev.conllu", "a.conllu", "--tokens").refusal()
    assert "texts differ" in scores
    write_spaced(Path("gold.conllu"), "dev", 60)
    scores = json.loads(run("evaluate", "gold.conllu", "a.conllu", "--tokens", "--json").out)
    assert scores["token_f1"] > 98
    assert (
        json.loads(run("evaluate", "gold.conllu", "--model", trained / "both.model", "--tokens", "--json").out)[
            "token_f1"
        ]
        == scores["token_f1"]
    )


def test_a_tokeniser_has_scores_and_a_description(run: Run, trained: Path) -> None:
    shown = run("info", trained / "t.model").out
    assert "task: tokeniser" in shown
    assert "multiword tokens: 8" in shown
    assert "sentence f1" in shown
    table = run("evaluate", trained / "dev.conllu", "--model", trained / "t.model").out
    assert [line.split()[0] for line in table.splitlines()[1:]] == ["tokens", "words", "sentences", "signature:"]
    assert "with_tokeniser = true" in run("info", trained / "both.model", "--config").out


def test_which_tokeniser(run: Run, samples: Samples, trained: Path) -> None:
    refusal = run("tag", samples.tagger, "--raw", stdin=b"x").refusal()
    assert "--with-tokeniser" in refusal
    assert "--tokeniser ptb" in refusal
    assert "n't" in run("tag", samples.tagger, "--raw", "--tokeniser", "ptb", stdin=TEXT.encode()).out
    for name in ("t.model", "both.model"):
        outcome = run("parse", samples.parser, "--raw", "--tokeniser", trained / name, stdin=b"The dog saw it.")
        assert outcome.out.endswith(" .)))\n")
    assert "needs --raw" in run("parse", samples.parser, "--tokeniser", "ptb", stdin=b"x").refusal()
    assert "without a tokeniser" in run("tag", samples.tagger, "--raw", "--tokeniser", samples.parser).refusal()
    assert "--input-format text" in run("parse", samples.parser, "--raw", samples.dev_tags).refusal()
    assert "--raw --tokeniser" in run("tag", trained / "t.model", stdin=b"x").refusal()
    assert "cannot be opened" in run("parse", samples.parser, "--raw", "--tokeniser", "nothing", stdin=b"x").refusal()


def test_text_that_is_not_tokenised_is_noticed_once(run: Run, samples: Samples) -> None:
    raw = b"The dog saw a cat.\nThe dog saw a cat.\n"
    for verb, model in (("parse", samples.parser), ("tag", samples.tagger)):
        noticed = run(verb, model, stdin=raw).err
        assert noticed.count("--raw") == 1
        assert '<stdin>:1: "cat." looks like two tokens' in noticed
        assert "--raw" not in run(verb, model, stdin=f"{DOG}\n".encode()).err
        assert run(verb, model, "-q", stdin=raw).err == ""


def test_white_space_everywhere_is_reported(run: Run, samples: Samples) -> None:
    outcome = run("train", "tokeniser", samples.dev_tags, "--out", "t", "--epochs", 1, "--held-out", 0)
    assert "at white space only" in outcome.err
    assert "is an option of" not in outcome.err
