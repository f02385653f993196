"""`lveg evaluate`: the documented JSON keys, in every form of the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import REPOSITORY, Run, Samples

BRACKET_KEYS = {
    "sentences",
    "errors",
    "skipped",
    "precision",
    "recall",
    "f1",
    "exact_match",
    "crossing",
    "tag_accuracy",
}
TAG_KEYS = {
    "sentences",
    "tokens",
    "token_accuracy",
    "sentence_accuracy",
    "known_accuracy",
    "unknown_accuracy",
    "signature",
}


@pytest.fixture
def parsed(run: Run, samples: Samples) -> Path:
    """The parser's trees of the development part."""
    assert run("parse", samples.parser, samples.dev_trees, "--out", "parsed.mrg", "-q").status == 0
    return Path("parsed.mrg")


@pytest.fixture
def tagged(run: Run, samples: Samples) -> Path:
    """The tagger's tags of the development part."""
    assert run("tag", samples.tagger, samples.dev_tags, "--out", "tagged.conllu", "-q").status == 0
    return Path("tagged.conllu")


class TestBrackets:
    def test_json_has_the_keys_of_the_contract(self, run: Run, samples: Samples, parsed: Path) -> None:
        outcome = run("evaluate", samples.dev_trees, parsed, "--json")
        assert (outcome.status, outcome.err) == (0, "")
        assert outcome.out.count("\n") == 1
        scores = json.loads(outcome.out)
        assert BRACKET_KEYS | {"le40", "signature"} <= set(scores)
        assert set(scores["le40"]) >= BRACKET_KEYS
        assert (scores["sentences"], scores["errors"], scores["skipped"]) == (40, 0, 0)
        assert 0 < scores["f1"] <= 100
        assert all(round(scores[key], 2) == scores[key] for key in BRACKET_KEYS)
        assert "lveg=" in scores["signature"]

    def test_a_model_scores_as_its_output_does(self, run: Run, samples: Samples, parsed: Path) -> None:
        by_file = json.loads(run("evaluate", samples.dev_trees, parsed, "--json").out)
        for threads in (1, 2):
            outcome = run("evaluate", samples.dev_trees, "--model", samples.parser, "--json", "--threads", threads)
            by_model = json.loads(outcome.out)
            assert {key: by_model[key] for key in BRACKET_KEYS} == {key: by_file[key] for key in BRACKET_KEYS}
        assert by_model["signature"] != by_file["signature"]
        assert (
            "decoder=viterbi"
            in run("evaluate", samples.dev_trees, "--model", samples.parser, "--decoder", "viterbi").out
        )

    def test_gold_against_itself_is_perfect(self, run: Run, samples: Samples) -> None:
        scores = json.loads(run("evaluate", samples.dev_trees, samples.dev_trees, "--json").out)
        assert scores["f1"] == scores["exact_match"] == scores["tag_accuracy"] == 100
        assert scores["f1_interval"] == {"low": 100, "high": 100}

    def test_missing_trees_are_skips_and_other_words_are_errors(self, run: Run, samples: Samples) -> None:
        lines = samples.dev_trees.read_text().splitlines(keepends=True)
        lines[3], lines[5] = "(())\n", "(TOP (S (NN other)))\n"
        Path("a.mrg").write_text("".join(lines))
        scores = json.loads(run("evaluate", samples.dev_trees, "a.mrg", "--json").out)
        assert (scores["sentences"], scores["skipped"], scores["errors"], scores["f1"]) == (40, 1, 1, 100)

    def test_table_and_sentences(self, run: Run, samples: Samples, parsed: Path) -> None:
        table = run("evaluate", samples.dev_trees, parsed).out
        assert "labelled F1" in table
        assert "signature: lveg=" in table
        lines = run("evaluate", samples.dev_trees, parsed, "--per-sentence").out.splitlines()
        numbers = [int(line.split()[0]) for line in lines if line[:4].strip().isdigit() and len(line.split()) == 12]
        assert numbers == list(range(1, 41))

    def test_against_another_system(self, run: Run, samples: Samples, parsed: Path) -> None:
        scores = json.loads(run("evaluate", samples.dev_trees, samples.dev_trees, "--against", parsed, "--json").out)
        assert scores["against"]["difference"] > 0
        assert 0 < scores["against"]["p_value"] <= 1
        same = json.loads(run("evaluate", samples.dev_trees, parsed, "--against", parsed, "--json").out)
        assert same["against"] == {"difference": 0, "p_value": 1}
        assert "against the other system" in run("evaluate", samples.dev_trees, parsed, "--against", parsed).out

    def test_details(self, run: Run, samples: Samples, parsed: Path) -> None:
        plain = json.loads(run("evaluate", samples.dev_trees, parsed, "--json").out)
        scores = json.loads(run("evaluate", samples.dev_trees, parsed, "--json", "--details").out)
        details = scores.pop("details")
        assert scores == plain
        assert set(details) == {"errors", "labels", "lengths", "label_confusions", "tag_confusions"}
        gold, system = (sum(row[side] for row in details["labels"]) for side in ("gold", "system"))
        missing, extra = (sum(row[side] for row in details["errors"]) for side in ("missing", "extra"))
        assert gold - missing == system - extra
        assert round(200 * (gold - missing) / (gold + system), 2) == scores["f1"]
        assert sum(row["sentences"] for row in details["lengths"]) == 40
        text = run("evaluate", samples.dev_trees, parsed, "--details").out
        assert "PP attachment" in text
        assert "PP attachment" not in run("evaluate", samples.dev_trees, parsed).out

    def test_a_report_against_a_model(self, run: Run, samples: Samples, parsed: Path) -> None:
        outcome = run(
            "evaluate", samples.dev_trees, "--model", samples.parser, "--against", samples.parser, "--calibration",
            "--report", "page.html", "--json", "--details",
        )  # fmt: skip
        scores = json.loads(outcome.out)
        assert scores["against"] == {"difference": 0, "p_value": 1}
        assert scores["details"]["outcomes"][1] == {"outcome": "equal", "sentences": 40}
        assert sum(row["number"] for row in scores["calibration"]["tree"]) == 40
        page = Path("page.html").read_text()
        for part in ("Classes of errors", "Reliability diagram", "parser.lveg: "):
            assert part in page
        assert run("evaluate", samples.dev_trees, parsed, "--report", "page.html", "--sentences", 2).status == 0
        assert Path("page.html").read_text().count("<details") == 2
        assert "it is an input" in run("evaluate", samples.dev_trees, parsed, "--report", parsed).refusal()

    def test_other_parameters(self, run: Run, samples: Samples, parsed: Path) -> None:
        prm = REPOSITORY / "../shared/evalb/new.prm"
        if not prm.exists():
            Path("new.prm").write_text("DEBUG 0\nMAX_ERROR 10\nCUTOFF_LEN 40\nLABELED 1\nDELETE_LABEL TOP\n")
            prm = Path("new.prm")
        outcome = run("evaluate", samples.dev_trees, parsed, "--params", prm, "--json")
        assert "params=new.prm" in json.loads(outcome.out)["signature"]
        assert "no-such.prm" in run("evaluate", samples.dev_trees, parsed, "--params", "no-such.prm").refusal()
        Path("bad.prm").write_text("NONSENSE 1\n")
        assert "bad.prm:1: unknown" in run("evaluate", samples.dev_trees, parsed, "--params", "bad.prm").refusal()

    def test_stdin_may_be_a_side(self, run: Run, samples: Samples, parsed: Path) -> None:
        by_file = run("evaluate", samples.dev_trees, parsed, "--json")
        assert run("evaluate", samples.dev_trees, "-", "--json", stdin=parsed.read_bytes()) == by_file


class TestTags:
    def test_json_has_the_keys_of_the_contract(self, run: Run, samples: Samples, tagged: Path) -> None:
        by_file = json.loads(run("evaluate", samples.dev_tags, tagged, "--json").out)
        assert set(by_file) >= TAG_KEYS
        assert by_file["sentences"] == 40
        assert by_file["known_accuracy"] is by_file["unknown_accuracy"] is None
        by_model = json.loads(run("evaluate", samples.dev_tags, "--model", samples.tagger, "--json").out)
        assert set(by_model) >= TAG_KEYS
        assert by_model["token_accuracy"] == by_file["token_accuracy"]
        assert by_model["known_accuracy"] > by_model["unknown_accuracy"]

    def test_known_words_from_training_files(self, run: Run, samples: Samples, tagged: Path) -> None:
        outcome = run("evaluate", samples.dev_tags, tagged, "--json", "--train", samples.train_tags)
        assert json.loads(outcome.out)["known_accuracy"] > 50

    def test_tables_and_sentences(self, run: Run, samples: Samples, tagged: Path) -> None:
        table = run("evaluate", samples.dev_tags, tagged, "--per-sentence", "--against", samples.dev_tags).out
        for part in ("token accuracy", "precision", "Most frequent confusions", "against the other system: -"):
            assert part in table

    def test_calibration_and_a_report(self, run: Run, samples: Samples, tagged: Path) -> None:
        arguments = ("evaluate", samples.dev_tags, "--model", samples.tagger, "--calibration", "--report", "page.html")
        scores = json.loads(run(*arguments, "--json", "--details", "--against", samples.tagger).out)
        assert sum(row["number"] for row in scores["calibration"]["tag"]) == scores["tokens"]
        assert 0 <= scores["tag_calibration_error"] < 10
        assert sum(row["number"] for row in scores["calibration"]["sequence"]) == 40
        assert set(scores["details"]) == {"tags", "tag_confusions", "lengths", "words", "outcomes"}
        assert scores["against"]["difference"] == 0
        assert "Reliability diagram of tag probabilities" in Path("page.html").read_text()
        text = run(*arguments, "--details").out
        for part in ("tag probabilities: expected calibration error", "Words with the most wrong tags"):
            assert part in text
        assert "needs a --model" in run("evaluate", samples.dev_tags, tagged, "--calibration").refusal()

    def test_a_decoder_that_taggers_lack(self, run: Run, samples: Samples) -> None:
        outcome = run("evaluate", samples.dev_tags, "--model", samples.tagger, "--decoder", "mbr")
        assert "decoder 'mbr' is not one of posterior, viterbi" in outcome.refusal()

    def test_other_words_or_sentences(self, run: Run, samples: Samples) -> None:
        Path("a.conllu").write_text(samples.dev_tags.read_text().replace("\tthe\t", "\tTHE\t"))
        assert " has other words than in" in run("evaluate", samples.dev_tags, "a.conllu").refusal()
        Path("a.conllu").write_text(samples.dev_tags.read_text().split("\n\n")[0] + "\n\n")
        assert "a.conllu: has 1 sentences" in run("evaluate", samples.dev_tags, "a.conllu").refusal()


def test_errors_are_announced(run: Run) -> None:
    Path("gold.mrg").write_text("( (S (NP (-NONE- *)) (VP (VB Go))) )\n( (S (VP (VB Stop))) )\n")
    Path("words.mrg").write_text("( (S (NP (NN *)) (VP (VB Go))) )\n( (S (VP (VB Stop))) )\n")
    outcome = run("evaluate", "gold.mrg", "words.mrg", "--json")
    assert json.loads(outcome.out)["errors"] == 1
    assert outcome.err.startswith("lveg: 1 of 2 sentences are errors and not in the scores: their words")
    assert outcome.err.count("\n") == 1
    assert run("evaluate", "gold.mrg", "words.mrg", "--quiet").err == ""
    assert run("evaluate", "gold.mrg", "gold.mrg").err == ""


def test_refusals(run: Run, samples: Samples, parsed: Path) -> None:
    gold = samples.dev_trees
    Path("short.mrg").write_text("(TOP (S (A a)))\n")
    Path("none.mrg").write_text("")
    Path("none.conllu").write_text("")
    Path("a.jsonl").write_text("[]\n")
    assert "give either SYSTEM" in run("evaluate", gold).refusal()
    assert "give either SYSTEM" in run("evaluate", gold, parsed, "--model", samples.parser).refusal()
    for arguments in ((samples.parser, gold), (gold, samples.parser)):
        assert "is a model; to score it: lveg evaluate GOLD --model" in run("evaluate", *arguments).refusal()
    assert "cannot be used together" in run("evaluate", gold, parsed, "--json", "--per-sentence").refusal()
    assert "short.mrg: has 1 trees" in run("evaluate", gold, "short.mrg").refusal()
    assert "none.mrg: holds no trees" in run("evaluate", "none.mrg", "none.mrg").refusal()
    assert "none.conllu: holds no sentences" in run("evaluate", "none.conllu", "none.conllu").refusal()
    assert "needs brackets or CoNLL-U, not jsonl" in run("evaluate", "a.jsonl", "a.jsonl").refusal()
    assert "nowhere: cannot be opened" in run("evaluate", gold, "nowhere").refusal()
    assert "is a tagger; evaluate it on CoNLL-U" in run("evaluate", gold, "--model", samples.tagger).refusal()
    assert "is a parser; evaluate it on" in run("evaluate", samples.dev_tags, "--model", samples.parser).refusal()
    assert "is a tagger; evaluate it on CoNLL-U" in run("evaluate", gold, parsed, "--against", samples.tagger).refusal()
    assert "not one of max-rule" in run("evaluate", gold, "--model", samples.parser, "--decoder", "x").refusal()
