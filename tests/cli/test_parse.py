"""`lveg parse`: every input format, every output format, and one-line error messages."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest

from lveg.treebank.penn import parse_tree, read_trees

from .conftest import DOG, Outcome, Run, Samples

DECODERS = ("max-rule", "viterbi", "mbr")


def words_of(out: str) -> list[list[str]]:
    return [parse_tree(line).words() for line in out.splitlines()]


class TestInput:
    def test_without_input_files_stdin_is_read(self, run: Run, samples: Samples) -> None:
        for name in ((), ("-",)):
            outcome = run("parse", samples.parser, *name, stdin=f"{DOG}\n".encode())
            assert outcome.status == 0
            assert words_of(outcome.out) == [DOG.split()]
            assert outcome.err == ""

    def test_empty_lines_keep_input_and_output_aligned(self, run: Run, samples: Samples) -> None:
        outcome = run("parse", samples.parser, stdin=f"\n{DOG}\n \t \n\n{DOG}".encode())
        lines = outcome.out.splitlines()
        assert [line == "(())" for line in lines] == [True, False, True, True, False]
        assert lines[1] == lines[4]

    def test_no_input_gives_no_output(self, run: Run, samples: Samples) -> None:
        assert run("parse", samples.parser) == Outcome(0, "", "")

    def test_every_format_gives_the_same_trees(self, run: Run, samples: Samples) -> None:
        trees = list(read_trees(str(samples.dev_trees)))
        sentences = [tree.words() for tree in trees]
        Path("a.txt").write_text("".join(" ".join(words) + "\n" for words in sentences))
        Path("a.jsonl").write_text("".join(json.dumps({"words": words}) + "\n" for words in sentences))
        Path("a.text.gz").write_bytes(gzip.compress(Path("a.txt").read_bytes()))
        Path("b").write_bytes(samples.dev_trees.read_bytes())
        files = ((samples.dev_trees,), (samples.dev_tags,), ("a.txt",), ("a.jsonl",), ("a.text.gz",))
        forms = (*files, ("b", "--input-format", "brackets"))
        outputs = {run("parse", samples.parser, *form).out for form in forms}
        assert len(outputs) == 1
        assert words_of(outputs.pop()) == sentences

    def test_several_files_are_read_in_order(self, run: Run, samples: Samples) -> None:
        Path("folder").mkdir()
        Path("folder/1.txt").write_text(f"{DOG}\n")
        Path("folder/2.jsonl").write_text(json.dumps({"words": DOG.split(), "id": 7}) + "\n")
        files = ("folder/2.jsonl", "folder/1.txt", "-")
        lines = run("parse", samples.parser, *files, stdin=b"A cat .\n").out.splitlines()
        assert lines[0] == lines[1] != lines[2]
        answers = run("parse", samples.parser, *files, "--format", "jsonl", stdin=b"A cat .\n").out.splitlines()
        assert [json.loads(line).get("file") for line in answers] == ["folder/2.jsonl", "folder/1.txt", "<stdin>"]
        assert [json.loads(line).get("id") for line in answers] == [7, None, None]
        assert "file" not in json.loads(run("parse", samples.parser, files[0], "--format", "jsonl").out)
        refusal = run("parse", samples.parser, "folder").refusal()
        assert "folder: is a directory; name the files in it, such as folder/*.txt" in refusal

    def test_blank_blocks_of_conllu_are_not_sentences(self, run: Run, samples: Samples) -> None:
        text = samples.dev_tags.read_text()
        Path("a.conllu").write_text("\n# newdoc\n\n" + text.replace("\n\n", "\n\n\n"))
        assert run("parse", samples.parser, "a.conllu") == run("parse", samples.parser, samples.dev_tags)

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("( x )", ["-LRB-", "x", "-RRB-"]),
            ("-LRB- x -RRB-", ["-LRB-", "x", "-RRB-"]),
            ("()", ["-LRB--RRB-"]),
            ("{ [ ] }", ["{", "[", "]", "}"]),
            ("ten\u2009km one\u00a0word \u200a", ["ten\u2009km", "one\u00a0word", "\u200a"]),
            ("\ufeffx \u65e5\u672c \U0001f600", ["x", "\u65e5\u672c", "\U0001f600"]),
            ("*T*-1 * 0", ["*T*-1", "*", "0"]),
            ("x" * 50_000, ["x" * 50_000]),
        ],
        ids=["brackets", "escaped", "pair", "other-brackets", "unicode-spaces", "scripts", "stars", "long"],
    )
    def test_unusual_words_are_preserved(self, run: Run, samples: Samples, given: str, kept: list[str]) -> None:
        outcome = run("parse", samples.parser, stdin=given.encode())
        assert outcome.status == 0
        assert words_of(outcome.out) == [kept]

    @pytest.mark.parametrize("length", [1001, 2000])
    def test_a_sentence_too_long_for_a_chart_is_flat_and_says_so(self, run: Run, samples: Samples, length: int) -> None:
        words = (DOG.split() * length)[:length]
        text = " ".join(words).encode()
        (line,) = run("parse", samples.parser, "--format", "jsonl", stdin=text).out.splitlines()
        answer = json.loads(line)
        assert answer["fallback"] == "flat"
        assert answer["log_prob"] is answer["log_sentence"] is answer["score"] is None
        assert parse_tree(answer["tree"]).words() == words
        assert words_of(run("parse", samples.parser, "--kbest", 3, stdin=text).out.rstrip("\n")) == [words]


class TestOutput:
    def test_threads_change_nothing(self, run: Run, samples: Samples) -> None:
        for format in ("brackets", "jsonl"):
            one, two, three = (
                run("parse", samples.parser, samples.dev_trees, "--threads", n, "--format", format, "--kbest", 2)
                for n in (1, 2, 3)
            )
            assert one == two == three
            assert one.out

    @pytest.mark.parametrize("decoder", DECODERS)
    def test_kbest_has_a_blank_line_after_each_sentence(self, run: Run, samples: Samples, decoder: str) -> None:
        outcome = run("parse", samples.parser, "--kbest", 3, "--decoder", decoder, stdin=f"{DOG}\n\n".encode())
        blocks = outcome.out.split("\n\n")
        assert [len(block.splitlines()) for block in blocks] == [3, 1, 0]
        assert len(set(blocks[0].splitlines())) == 3
        assert blocks[1] == "(())"

    @pytest.mark.parametrize("decoder", DECODERS)
    def test_json_has_probabilities(self, run: Run, samples: Samples, decoder: str) -> None:
        for kbest in (1, 4):
            outcome = run(
                "parse", samples.parser, "--format", "jsonl", "--kbest", kbest, "--decoder", decoder, stdin=DOG.encode()
            )
            answer = json.loads(outcome.out)
            assert answer["words"] == DOG.split()
            assert answer["fallback"] is None
            assert answer["log_sentence"] < 0
            trees = answer["trees"] if kbest > 1 else [answer]
            assert len(trees) == kbest
            assert sum(math.exp(tree["log_prob"]) for tree in trees) <= 1 + 1e-9
            assert sorted((tree["score"] for tree in trees), reverse=True) == [tree["score"] for tree in trees]
            for tree in trees:
                assert parse_tree(tree["tree"]).words() == DOG.split()
                for part in tree["constituents"]:
                    assert set(part) == {"label", "start", "end", "probability"}
                    assert 0 < part["probability"] <= 1 + 1e-9

    def test_explanations_are_text_after_the_tree(self, run: Run, samples: Samples) -> None:
        text = f"{DOG}\n\n{DOG}\n".encode()
        plain = run("parse", samples.parser, stdin=text).out.splitlines()
        blocks = run("parse", samples.parser, "--explain", stdin=text).out.split("\n\n")
        assert [block.partition("\n")[0] for block in blocks] == [*plain, ""]
        assert blocks[0] == blocks[2]
        heads = [line for line in blocks[0].splitlines()[1:] if not line.startswith(" ")]
        assert sum(head.count('"') // 2 for head in heads) == plain[0].count("(NP") + plain[0].count("(VP") + 1
        assert 'NP 0-2 "The dog"' in blocks[0]
        assert " against (" in blocks[0]
        drawn = run("parse", samples.parser, "--explain", "--format", "drawing", stdin=text).out
        assert drawn.endswith(blocks[2].partition("\n")[2] + "\n\n")

    def test_explanations_in_json_add_up(self, run: Run, samples: Samples) -> None:
        answer = json.loads(run("parse", samples.parser, "--format", "jsonl", "--explain", stdin=DOG.encode()).out)
        spans = [tuple(span.values()) for one in answer["explanations"] for span in one["constituents"]]
        assert sorted(spans) == sorted((one["label"], one["start"], one["end"]) for one in answer["constituents"])
        assert any(one["rival"] for one in answer["explanations"])
        for one in answer["explanations"]:
            if one["rival"] is None:
                assert (one["difference"], one["parts"]) == (None, [])
                continue
            assert parse_tree(one["rival"]).words() == DOG.split()
            assert math.fsum(part["value"] for part in one["parts"]) == pytest.approx(one["difference"], abs=1e-9)
            for part in one["parts"]:
                assert math.fsum(reason["value"] for reason in part["reasons"]) == pytest.approx(
                    part["value"], abs=1e-9
                )
        long = " ".join(DOG.split() * 200).encode()
        flat = json.loads(run("parse", samples.parser, "--format", "jsonl", "--explain", stdin=long).out)
        assert "explanations" not in flat

    def test_json_keeps_the_sentence_id(self, run: Run, samples: Samples) -> None:
        given = b'{"words":["dogs"],"id":"a"}\n{"words":["dogs"],"id":7}\n["dogs"]\n[]\n'
        outcome = run("parse", samples.parser, "--input-format", "jsonl", "--format", "jsonl", stdin=given)
        assert [json.loads(line).get("id") for line in outcome.out.splitlines()] == ["a", 7, None, None]

    def test_out_writes_a_file_compressed_according_to_its_name(self, run: Run, samples: Samples) -> None:
        printed = run("parse", samples.parser, stdin=DOG.encode()).out
        for name in ("a.mrg", "a.mrg.gz"):
            outcome = run("parse", samples.parser, "--out", name, "--quiet", stdin=DOG.encode())
            assert outcome == Outcome(0, "", "")
        assert Path("a.mrg").read_text() == gzip.decompress(Path("a.mrg.gz").read_bytes()).decode() == printed

    @pytest.mark.parametrize("source", ["brackets", "conllu", "jsonl"])
    def test_gold_tags_are_kept(self, run: Run, samples: Samples, source: str) -> None:
        trees = list(read_trees(str(samples.train_trees)))[:30]
        Path("a.mrg").write_text("".join(f"{tree}\n" for tree in trees))
        Path("a.jsonl").write_text(
            "".join(json.dumps({"words": tree.words(), "tags": tree.tags()}) + "\n" for tree in trees)
        )
        blocks = samples.train_tags.read_text().split("\n\n")[:30]
        Path("a.conllu").write_text("\n\n".join(blocks) + "\n\n")
        options = {"brackets": ("a.mrg",), "conllu": ("a.conllu", "--column", "xpos"), "jsonl": ("a.jsonl",)}
        outcome = run("parse", samples.parser, *options[source], "--gold-tags")
        assert [parse_tree(line).tags() for line in outcome.out.splitlines()] == [tree.tags() for tree in trees]

    def test_without_gold_tags_only_the_words_count(self, run: Run, samples: Samples) -> None:
        outcome = run("parse", samples.parser, "--input-format", "brackets", stdin=b"(X (Q The) (Q dog) (Q ran))")
        assert "Q" not in outcome.out

    def test_skip_bad_skips_and_counts(self, run: Run, samples: Samples) -> None:
        Path("a.mrg").write_text("((S (A a)))\n((S (A a))\n((S (A b)))\n)\n((S (A c)))\n")
        assert "a.mrg:2: tree 2 has 1 unclosed bracket" in run("parse", samples.parser, "a.mrg").err
        outcome = run("parse", samples.parser, "a.mrg", "--skip-bad")
        assert outcome.status == 0
        assert words_of(outcome.out) == [["a"], ["b"], ["c"]]
        assert outcome.err.splitlines()[-1] == "lveg: skipped 2 in all"


class TestRefusals:
    def test_bytes_that_are_not_utf8(self, run: Run, samples: Samples) -> None:
        Path("a.txt").write_bytes(b"fine .\nnot \xff fine\n")
        Path("a.mrg").write_bytes(b"(S (A a))\n(S (A \xff))\n")
        for name in ("a.txt", "a.mrg"):
            outcome = run("parse", samples.parser, name, "--threads", 1)
            assert outcome.status == 2
            assert outcome.err.startswith(f"lveg: {name}:2: byte 0xff at column ")
            assert outcome.err.count("\n") == 1

    def test_missing_and_foreign_files(self, run: Run, samples: Samples) -> None:
        Path("text").write_text(f"{DOG}\n" * 99)
        Path("folder").mkdir()
        assert "nowhere: cannot be opened" in run("parse", "nowhere", "text").refusal()
        assert "nowhere: cannot be opened" in run("parse", samples.parser, "nowhere").refusal()
        assert "text: is not a model file" in run("parse", "text", "text").refusal()
        assert "folder: cannot be opened: Is a directory" in run("parse", "folder", "text").refusal()
        assert "is a tagger; use `lveg tag`" in run("parse", samples.tagger, "text").refusal()

    def test_damaged_gzip(self, run: Run, samples: Samples) -> None:
        Path("a.txt.gz").write_bytes(gzip.compress(DOG.encode())[:-9])
        Path("b.txt.gz").write_text(DOG)
        for name in ("a.txt.gz", "b.txt.gz"):
            assert f"{name}:1: the gzip file is damaged" in run("parse", samples.parser, name).refusal()

    def test_output_that_cannot_be_written(self, run: Run, samples: Samples) -> None:
        Path("a.txt").write_text(DOG)
        Path("b.txt").symlink_to("a.txt")
        assert "there is no directory nowhere" in run("parse", samples.parser, "a.txt", "--out", "nowhere/x").refusal()
        assert "it is a directory" in run("parse", samples.parser, "a.txt", "--out", ".").refusal()
        for name in ("a.txt", "b.txt"):
            assert "it is an input; choose another" in run("parse", samples.parser, "a.txt", "--out", name).refusal()
        assert Path("a.txt").read_text() == DOG

    def test_input_in_another_format(self, run: Run, samples: Samples) -> None:
        Path("a.txt").write_text(f"{DOG}\n")
        for format in ("brackets", "conllu", "jsonl"):
            assert (
                run("parse", samples.parser, "a.txt", "--input-format", format).refusal().startswith("lveg: a.txt:1: ")
            )

    def test_explanations_of_several_trees(self, run: Run, samples: Samples) -> None:
        refusal = run("parse", samples.parser, "--explain", "--kbest", 2).refusal()
        assert "--explain describes the best tree only: leave out --kbest" in refusal

    def test_a_tag_that_the_grammar_lacks_names_the_sentence(self, run: Run, samples: Samples) -> None:
        Path("a.jsonl").write_text('["a"]\n{"words":["a"],"tags":["NOTAG"]}\n')
        outcome = run("parse", samples.parser, "a.jsonl", "--gold-tags")
        assert outcome.status == 2
        assert "a.jsonl:2: word 1 was given the tag 'NOTAG', which the grammar does not have; leave" in outcome.err

    @pytest.mark.parametrize(
        "options",
        [("--decoder", "x"), ("--kbest", "0"), ("--threads", "0"), ("--p-min", "nan"), ("--format", "x"), ("--what",)],
    )
    def test_usage(self, run: Run, samples: Samples, options: tuple[str, ...]) -> None:
        outcome = run("parse", samples.parser, *options)
        assert (outcome.status, outcome.out) == (2, "")
        assert options[0] in outcome.err
        assert "Traceback" not in outcome.err
