"""`lveg check`: models and treebanks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from lveg.checking.findings import Finding
from lveg.checking.models import check_grammar
from lveg.checking.trees import depth, unary_chains
from lveg.model import Parser
from lveg.model_io import load_model
from lveg.treebank.penn import parse_tree

from .conftest import Outcome, Samples, run_main

ROW = "\t_\t{}\t_\t_\t_\t_\t_\t{}\n"


def findings(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """The findings in JSON, by what was found."""
    return {finding["what"]: finding for finding in json.loads(outcome.out)["findings"]}


def conllu(*sentences: list[tuple[str, str]]) -> str:
    """Sentences of words and tags."""
    blocks = (
        "".join(f"{number}\t{word}" + ROW.format(tag, "_") for number, (word, tag) in enumerate(sentence, start=1))
        for sentence in sentences
    )
    return "".join(f"{block}\n" for block in blocks)


class TestModel:
    def test_sound_models(self, samples: Samples) -> None:
        for model in (samples.parser, samples.tagger):
            outcome = run_main("check", model)
            assert (outcome.status, outcome.err) == (0, "")
            assert outcome.out.endswith("\n\n0 errors, 0 warnings, 0 notes\n")
            assert "digest: matches the contents\n" in outcome.out
        found = json.loads(run_main("check", samples.tagger, "--json").out)
        sizes = found["facts"]["size_by_part"]
        assert any(name.startswith("family") for name in sizes)
        assert sum(sizes.values()) == samples.tagger.stat().st_size

    def test_a_damaged_file(self, samples: Samples, tmp_path: Path) -> None:
        data = bytearray(samples.parser.read_bytes())
        for damaged in (data[:500], data[:-10], data[:-1] + bytes([data[-1] ^ 1])):
            (tmp_path / "bad.model").write_bytes(damaged)
            outcome = run_main("check", tmp_path / "bad.model")
            assert outcome.status == 1
            assert "Errors\n\n" in outcome.out
            assert "Copy it again" in outcome.out

    def test_probabilities_and_reach(self, samples: Samples) -> None:
        parser = load_model(samples.parser)
        assert isinstance(parser, Parser)
        grammar, weight = parser.grammar, parser.weight.copy()
        assert list(check_grammar(grammar, weight, is_parser=True)) == []
        symbol = int(grammar.rule_lhs[0])
        weight[0] *= 2
        (wrong,) = check_grammar(grammar, weight, is_parser=True)
        assert (wrong.level, wrong.examples[0].split(":")[0]) == ("error", grammar.symbols[symbol].name)
        weight[: grammar.root_start][(grammar.rule_left == symbol)[: grammar.root_start]] = 0.0
        weight[: grammar.root_start][(grammar.rule_right == symbol)[: grammar.root_start]] = 0.0
        found = {finding.what: finding for finding in check_grammar(grammar, weight, is_parser=True)}
        assert any("out of reach of ROOT" in what for what in found)
        weight[grammar.rule_lhs == symbol] = 0.0
        found = {finding.what: finding for finding in check_grammar(grammar, weight, is_parser=True)}
        assert any("without words below" in what for what in found)
        assert any("with probability 0" in what for what in found)

    def test_is_checked_by_itself(self, samples: Samples) -> None:
        message = run_main("check", samples.parser, "--against", samples.dev_trees).refusal()
        assert "is a model, which is checked by itself" in message


class TestTrees:
    def test_a_sound_treebank(self, samples: Samples) -> None:
        outcome = run_main("check", samples.train_trees, "--against", samples.dev_trees, "--json")
        assert outcome.status == 0
        found = json.loads(outcome.out)
        assert (found["kind"], found["has_errors"], found["facts"]["sentences"]) == ("treebank", False, 400)
        assert {finding["level"] for finding in found["findings"]} <= {"note", "warning"}

    def test_what_is_found(self, tmp_path: Path) -> None:
        same = "( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBD saw) (NP (DT a) (NN cat))) (. .)) )\n"
        other = same.replace("(NN cat)", "(NNP cat)")
        (tmp_path / "train.mrg").write_text(
            same * 60
            + other
            + "( (S (NP-SBJ (-NONE- *-1)) (VP (VB Go))) )\n"
            + "( (NP (-NONE- *T*-1)) )\n"
            + "( (S (PRO *pro*) (VP (VB Go))) )\n"
            + "( (NP (QP (NP (QP (CD two))))) )\n"
            + "(TOP (X " + "(L l) " * 31 + "))\n"
            + "(S (D d) " * 45 + "(A (B c))" + ")" * 45 + "\n"
        )  # fmt: skip
        (tmp_path / "dev.mrg").write_text(same + "( (FRAG (NEW cat)) )\n")
        outcome = run_main("check", tmp_path / "train.mrg", "--against", tmp_path / "dev.mrg", "--json")
        assert outcome.status == 0
        found = findings(outcome)
        expected = {
            "60 sentences repeated (90.9 %), 60 of them with more than 5 words": "warning",
            "1 sentence with two different analyses": "note",
            "1 tree without words after cleaning": "note",
            "1 word like a trace, not removed": "warning",
            "1 phrase with more than 30 children": "note",
            "1 tree with more than 40 levels": "note",
            "1 unary chain back to the same label (1.5 % of trees)": "note",
            "1 unary chain of 4 phrases or more (1.5 % of trees)": "note",
            "1 word with a tag that the same word has only once, and another 50 times or more": "note",
            "1 development sentence also in the training data (50.0 %), 1 of them with more than 5 words": "warning",
            "1 tag of the development data that the training data lack, used 1 time there (14.3 %)": "warning",
        }
        assert {what: found[what]["level"] for what in expected if what in found} == expected
        assert found["1 sentence with two different analyses"]["examples"] == [
            f"{tmp_path}/train.mrg:1 and {tmp_path}/train.mrg:61: The dog saw a cat ."
        ]
        facts = json.loads(outcome.out)["facts"]
        assert facts["cleaning"]["empty_elements_removed"] == 2
        assert facts["cleaning"]["outer_brackets"].startswith("() 65, TOP 1")
        shown = run_main("check", tmp_path / "train.mrg")
        assert "Remove them with --empty PATTERN" in " ".join(shown.out.split())

    def test_traces_that_are_removed_are_no_finding(self, tmp_path: Path) -> None:
        (tmp_path / "a.mrg").write_text("( (S (PRO *pro*) (VP (VB Go))) )\n")
        outcome = run_main("check", tmp_path / "a.mrg", "--empty", r"PRO \*pro\*", "--json")
        assert not any("trace" in what for what in findings(outcome))

    def test_what_stops_training(self, tmp_path: Path) -> None:
        file = tmp_path / "a.mrg"
        for text, what in (
            (b"(S (A a))\n(S (A a) b)\n", "1 malformed tree"),
            (b"(S (A a))\n(S (A \xff))\n", f"{file}:2: byte 0xff at column 7 is not UTF-8"),
            (b"", "There are no sentences"),
        ):
            file.write_bytes(text)
            outcome = run_main("check", file, "--json")
            assert outcome.status == 1
            assert findings(outcome)[what]["level"] == "error"
        (tmp_path / "cut.mrg.gz").write_bytes(gzip.compress(b"(S (A a))\n" * 1000)[:30])
        assert run_main("check", tmp_path / "cut.mrg.gz").status == 1

    def test_depth_and_chains(self) -> None:
        tree = parse_tree("(TOP (S (NP (NP (N a))) (VP (V b))))")
        assert depth(tree) == 5
        assert list(unary_chains(tree)) == [["NP", "NP"]]


class TestConllu:
    def test_columns(self, tmp_path: Path) -> None:
        file = tmp_path / "a.conllu"
        file.write_text(conllu([("a", "NOUN"), ("b", "_")], [("c", "NOUNN")]))
        found = findings(run_main("check", file, "--json"))
        assert found["1 word (33.3 %) with `_` in column upos"]["level"] == "warning"
        assert found["1 tag in column upos not among those of Universal Dependencies"]["examples"] == ["NOUNN (1)"]
        assert any(what.startswith("Neither `# text`") for what in found)
        outcome = run_main("check", file, "--column", "xpos", "--json")
        assert (outcome.status, findings(outcome)["Column xpos is `_` for every word"]["level"]) == (1, "error")

    def test_encoding(self, tmp_path: Path) -> None:
        file = tmp_path / "a.conllu"
        words = ["caf\u00e9", "cafe\u0301", "a\u200bb", "x\ufffd", "caf\u00c3\u00a9", "10\u00a0000", "b\x01"]
        text = "# sent_id = 1\n" + conllu([(word, "X") for word in words])
        file.write_bytes(b"\xef\xbb\xbf" + (text * 2).replace("\n", "\r\n", 1).encode())
        found = findings(run_main("check", file, "--json"))
        expected = (
            "1 word with replacement characters", "1 word with control characters", "1 word with invisible characters",
            "1 word with sequences that look like UTF-8 read as Latin-1", "1 word with white space inside",
            "1 word in two Unicode forms that look the same", "1 file with a byte-order mark",
            "1 file with two kinds of line ends", "1 sent_id used more than once",
        )  # fmt: skip
        for begin in expected:
            assert any(what.startswith(begin) for what in found), begin
        file.write_text(conllu([("cafe\u0301", "X")]))
        assert "1 word not in the Unicode form NFC" in findings(run_main("check", file, "--json"))

    def test_a_directory(self, samples: Samples, tmp_path: Path) -> None:
        (tmp_path / "bank").mkdir()
        (tmp_path / "bank" / "a.conllu").write_bytes(samples.dev_tags.read_bytes())
        (tmp_path / "bank" / "README").write_text("read me")
        outcome = run_main("check", tmp_path / "bank")
        assert outcome.status == 0
        assert "format: conllu\nfiles: 1\n" in outcome.out
        assert "1 file in the directory skipped" in outcome.out

    def test_other_formats_are_refused(self, samples: Samples) -> None:
        message = run_main("check", samples.dev_trees, "--input-format", "jsonl").refusal()
        assert "a treebank is in brackets or CoNLL-U, not jsonl" in message


def test_every_finding_says_what_it_means_and_what_to_do(samples: Samples, tmp_path: Path) -> None:
    (tmp_path / "a.mrg").write_text("( (S (A a\u00ad) (B b)) )\n" * 3)
    found = findings(run_main("check", tmp_path / "a.mrg", "--json"))
    assert len(found) > 2
    for finding in found.values():
        one = Finding(**finding)
        assert one.meaning.endswith(".")
        assert one.advice.endswith(".")
