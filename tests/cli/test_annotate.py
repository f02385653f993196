"""`lveg annotate`: corpora."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .conftest import DOG, REPOSITORY, Samples, run_main
from .test_process import start


def contents(folder: Path) -> dict[str, bytes]:
    """All files under a folder, hidden ones too, with their bytes."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return found


@pytest.fixture
def corpus(samples: Samples, tmp_path: Path) -> Path:
    """A directory with files of several formats."""
    folder = tmp_path / "corpus"
    (folder / "inner").mkdir(parents=True)
    (folder / "a.txt").write_text(f"{DOG}\n\n" * 5)
    (folder / "inner" / "b.txt.gz").write_bytes(gzip.compress(f"{DOG}\n".encode() * 7))
    shutil.copy(samples.dev_tags, folder / "inner" / "c.conllu")
    (folder / ".hidden.txt").write_text("no")
    return folder


class TestOutput:
    def test_is_that_of_tag(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        outcome = run_main("annotate", samples.tagger, corpus, "--out", tmp_path / "out", "--part", 3)
        assert (outcome.status, outcome.out) == (0, "")
        assert outcome.err.endswith("out has 57 sentences, 649 words, 3 files\n")
        made = contents(tmp_path / "out")
        assert set(made) == {"a.conllu", "inner/b.conllu.gz", "inner/c.conllu", "manifest.json"}
        for name, file in (("a.conllu", "a.txt"), ("inner/c.conllu", "inner/c.conllu")):
            assert made[name].decode() == run_main("tag", samples.tagger, corpus / file, "--format", "conllu").out
        assert gzip.decompress(made["inner/b.conllu.gz"]).count(b"\n\n") == 7

    def test_is_that_of_parse(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        for more in ((), ("--format", "jsonl", "--kbest", 2), ("--decoder", "mbr")):
            out = tmp_path / "-".join(map(str, more or ("out",)))
            outcome = run_main("annotate", samples.parser, corpus, "--out", out, *more)
            assert outcome.status == 0, outcome.err
            extension = "jsonl" if more[:1] == ("--format",) else "mrg"
            text = (out / f"a.{extension}").read_text()
            assert text == run_main("parse", samples.parser, corpus / "a.txt", *more).out

    def test_raw_text(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        (corpus / "raw.txt").write_text("The dog saw a cat. It slept.\n\nThe end.\n")
        command = ("annotate", samples.tagger, "--raw", "--tokeniser", "ptb", corpus, "--out", tmp_path / "out")
        outcome = run_main(*command, "--part", 1)
        assert outcome.status == 0
        assert f"skipped {corpus}/inner/c.conllu: is conllu, not raw text" in outcome.err
        text = (tmp_path / "out" / "raw.conllu").read_text()
        assert [line for line in text.splitlines() if "sent_id" in line] == [
            "# sent_id = 1.1", "# sent_id = 1.2", "# sent_id = 3.1",
        ]  # fmt: skip
        assert "# text = It slept.\n" in text

    def test_is_the_same_for_any_threads(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        made = []
        for threads in (1, 2, 5):
            out = tmp_path / str(threads)
            run_main("annotate", samples.parser, corpus, "--out", out, "--part", 4, "--threads", threads)
            made.append(contents(out))
        assert made[0] == made[1] == made[2]

    def test_manifest(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        run_main("annotate", samples.tagger, corpus, "--out", tmp_path / "out")
        found = manifest(tmp_path / "out")
        assert (found["complete"], found["task"], len(found["model"])) == (True, "tagger", 16)
        assert found["total"] == {
            "files": 3, "errors": 0, "sentences": 57, "words": 649, "fallbacks": {}, "skipped": 0,
        }  # fmt: skip
        for entry in found["files"]:
            for path, digest in (
                (entry["input"], "input_sha256"),
                (tmp_path / "out" / entry["output"], "output_sha256"),
            ):
                assert hashlib.sha256(Path(path).read_bytes()).hexdigest() == entry[digest]

    def test_untokenised_text_is_noticed_once(self, samples: Samples, tmp_path: Path) -> None:
        files = [tmp_path / "a.txt", tmp_path / "b.txt"]
        for file in files:
            file.write_text("The dog saw a cat.\n")
        outcome = run_main("annotate", samples.parser, *files, "--out", tmp_path / "out")
        assert outcome.err.count("looks like two tokens") == 1


class TestResuming:
    def test_20_kills_lose_and_repeat_nothing(self) -> None:
        script = REPOSITORY / "tests" / "long" / "annotate_kills.py"
        done = subprocess.run([sys.executable, script, "--kills", "20"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("20 kills, ")

    def test_nothing_is_done_twice(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        command = ("annotate", samples.tagger, corpus, "--out", tmp_path / "out")
        run_main(*command)
        times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.conllu*")}
        (tmp_path / "out" / "a.conllu").unlink()
        (corpus / "new.txt").write_text(DOG)
        assert run_main(*command).status == 0
        later = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.conllu*")}
        changed = {path.name for path in later if later[path] != times.get(path)}
        assert changed == {"a.conllu", "new.conllu"}
        assert manifest(tmp_path / "out")["total"]["files"] == 4

    def test_an_interrupt_says_how_to_continue(self, samples: Samples, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(f"{DOG}\n" * 600)
        command = ("annotate", samples.parser, tmp_path / "a.txt", "--out", tmp_path / "out", "--part", 20)
        process = start(*command)
        while not list((tmp_path / "out").glob(".lveg/*/0*")):
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert err.endswith(b"lveg: stopped; the same command continues\n")
        assert run_main(*command).status == 0
        assert (tmp_path / "out" / "a.mrg").read_text() == run_main("parse", samples.parser, tmp_path / "a.txt").out

    def test_two_processes_do_not_meet(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        fcntl = pytest.importorskip("fcntl")
        (tmp_path / "out").mkdir()
        number = os.open(tmp_path / "out", os.O_RDONLY)
        fcntl.flock(number, fcntl.LOCK_EX)
        outcome = run_main("annotate", samples.tagger, corpus, "--out", tmp_path / "out", "--quiet")
        os.close(number)
        assert "another process is annotating into it" in outcome.refusal()


class TestRefusals:
    @pytest.fixture
    def out(self, samples: Samples, corpus: Path, tmp_path: Path) -> Path:
        assert run_main("annotate", samples.tagger, corpus, "--out", tmp_path / "out").status == 0
        return tmp_path / "out"

    def test_another_model_or_other_options(self, samples: Samples, corpus: Path, out: Path) -> None:
        before = contents(out)
        for model, more, what in (
            (samples.parser, (), "another model"),
            (samples.tagger, ("--format", "tsv"), "other options"),
            (samples.tagger, ("--part", 5), "other options"),
        ):
            message = run_main("annotate", model, corpus, "--out", out, "--quiet", *more).refusal()
            assert message == f"lveg: {out}: was made with {what}; use another --out, or --restart to begin anew\n"
        assert contents(out) == before

    def test_restart(self, samples: Samples, corpus: Path, out: Path) -> None:
        (out / "mine.txt").write_text("mine")
        outcome = run_main("annotate", samples.parser, corpus, "--out", out, "--restart")
        assert outcome.status == 0, outcome.err
        assert set(contents(out)) == {"a.mrg", "inner/b.mrg.gz", "inner/c.mrg", "manifest.json", "mine.txt"}

    def test_a_changed_input(self, samples: Samples, corpus: Path, out: Path) -> None:
        (corpus / "a.txt").write_text("changed")
        message = run_main("annotate", samples.tagger, corpus, "--out", out, "--quiet").refusal()
        assert message.startswith(f"lveg: {corpus / 'a.txt'}: has changed since {out} was begun; use another --out")

    def test_files_in_the_way(self, samples: Samples, corpus: Path, out: Path) -> None:
        (out / "a.conllu").write_text("edited")
        message = run_main("annotate", samples.tagger, corpus, "--out", out, "--quiet").refusal()
        assert f"{out / 'a.conllu'}: has changed since it was written" in message
        (corpus / "x.txt").write_text(DOG)
        (out / "x.conllu").write_text("mine")
        message = run_main("annotate", samples.tagger, corpus / "x.txt", "--out", out, "--quiet").refusal()
        assert f"{out / 'x.conllu'}: exists, and is not listed" in message

    def test_outputs_that_are_inputs(self, samples: Samples, corpus: Path) -> None:
        message = run_main("annotate", samples.tagger, corpus, "--out", corpus / "out").refusal()
        assert f"{corpus / 'out'}: is inside {corpus}, which is an input" in message
        file = corpus / "inner" / "c.conllu"
        message = run_main("annotate", samples.tagger, file, "--out", corpus / "inner").refusal()
        assert f"{file}: cannot be written: it is an input" in message

    def test_two_inputs_with_one_output(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        (corpus / "a.jsonl").write_text("[]\n")
        message = run_main("annotate", samples.tagger, corpus, "--out", tmp_path / "out").refusal()
        assert "would both be written to a.conllu" in message

    @pytest.mark.parametrize(
        ("arguments", "what"),
        [
            (("-",), "for standard input use `lveg tag` or `lveg parse`"),
            (("none.txt",), "none.txt: cannot be opened: No such file or directory"),
            (("--format", "brackets", "none.txt"), "--format brackets: a tagger has conllu, tsv, jsonl"),
            (("--decoder", "mbr", "none.txt"), "--decoder mbr: a tagger has posterior, viterbi"),
            (("--kbest", "2", "none.txt"), "--kbest needs --format jsonl"),
        ],
    )
    def test_what_cannot_be_done(self, samples: Samples, tmp_path: Path, arguments: tuple[str, ...], what: str) -> None:
        outcome = run_main("annotate", samples.tagger, *arguments, "--out", tmp_path / "out", "--quiet")
        assert what in outcome.refusal()

    def test_a_foreign_or_hostile_manifest(self, samples: Samples, corpus: Path, out: Path) -> None:
        found = manifest(out)
        found["files"][0]["output"] = "../corpus/a.txt"
        for text in ("{}", json.dumps(found)):
            (out / "manifest.json").write_text(text)
            message = run_main("annotate", samples.tagger, corpus, "--out", out, "--quiet", "--restart").refusal()
            assert f"{out / 'manifest.json'}: " in message
        assert (corpus / "a.txt").exists()


class TestMalformed:
    def test_other_files_go_on(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        bad = corpus / "bad.conllu"
        bad.write_text((corpus / "inner" / "c.conllu").read_text() + "1\tno columns\n\n")
        (corpus / "cut.txt.gz").write_bytes(gzip.compress(DOG.encode() * 1000)[:40])
        line = bad.read_text().count("\n") - 1
        command = ("annotate", samples.tagger, corpus, "--out", out, "--part", 7)
        outcome = run_main(*command, "--quiet")
        assert outcome.status == 2
        first, second = outcome.err.splitlines()
        assert first.startswith(f"lveg: {corpus / 'cut.txt.gz'}:1: the gzip file is damaged: ")
        assert second.startswith(f"lveg: {bad}:{line}: expected 10 columns")
        assert second.endswith("(2 of 5 files have no output); correct it and repeat the command, or use --skip-bad")
        assert set(contents(out)) == {"a.conllu", "inner/b.conllu.gz", "inner/c.conllu", "manifest.json"}
        found = manifest(out)
        assert (found["complete"], found["total"]["errors"]) == (False, 2)
        shutil.copy(corpus / "inner" / "c.conllu", bad)
        (corpus / "cut.txt.gz").write_bytes(gzip.compress(DOG.encode()))
        assert run_main(*command, "--quiet").status == 0
        made = contents(out)
        assert made["bad.conllu"] == made["inner/c.conllu"]
        assert not any(name.startswith(".") for name in made)

    def test_skip_bad(self, samples: Samples, corpus: Path, tmp_path: Path) -> None:
        (corpus / "bad.conllu").write_text("1\tno columns\n\n" + (corpus / "inner" / "c.conllu").read_text())
        outcome = run_main("annotate", samples.tagger, corpus, "--out", tmp_path / "out", "--skip-bad", "--quiet")
        assert outcome.status == 0
        assert f"lveg: skipped {corpus / 'bad.conllu'}:1: expected 10 columns" in outcome.err
        made = contents(tmp_path / "out")
        assert made["bad.conllu"] == made["inner/c.conllu"]
        assert manifest(tmp_path / "out")["total"]["skipped"] == 1
