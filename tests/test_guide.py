"""The commands of the guides do what they say, one after the other, in an empty folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli.conftest import run_main

import lveg

_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LIBRARIES = ("nltk", "sklearn", "spacy")
"""Blocks that use one of these are left out if it is not installed."""

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guide"


MOST_SAMPLED = 100
ROUNDS = {"tagger": {"--epochs": "3"}, "parser": {"--epochs": "2", "--context-epochs": "2", "--network-epochs": "1"}}
"""A test needs fewer sentences and rounds of training than a guide."""


def quick(arguments: list[str]) -> list[str]:
    """The arguments of a command, with less work to do."""
    if arguments[0] == "sample" and int(arguments[1]) > MOST_SAMPLED:
        return ["sample", str(MOST_SAMPLED), *arguments[2:]]
    if arguments[0] != "train" or "--model" in arguments:
        return arguments
    rounds = ROUNDS.get(arguments[1], {}).items()
    return arguments + [word for name, number in rounds if name not in arguments for word in (name, number)]


def follow(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, str]:
    """Run the commands of a guide, then its Python, one block after the other; what each command printed."""
    monkeypatch.chdir(folder)
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    python = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert python
    printed = {}
    for command in re.findall(r"^    (\S.*)$", _CODE.sub("", text), re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program == "echo":
            words, _, file = arguments
            Path(file).write_text(words + "\n")
            continue
        assert program == "lveg"
        outcome = run_main(*quick(arguments))
        assert outcome.status == 0, f"{command}\n{outcome.err}"
        printed[command] = outcome.out
    names: dict[str, object] = {}
    for block in python:
        library = next((library for library in LIBRARIES if re.search(rf"\b{library}\b", block)), None)
        if library is None or find_spec(library):
            exec(block, names)
    return printed


def test_python_is_right_with_traces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    samples(["plain.mrg", "dev.conllu"])
    traced = Path("plain.mrg").read_text().replace("(TOP (S ", "(TOP (S (NP-SBJ (-NONE- *T*-1)) ")
    Path("dev.mrg").write_text(traced)
    assert traced.count("*T*-1") > 1
    names: dict[str, object] = {
        "lveg": lveg,
        "parser": lveg.train_parser("plain.mrg", model="pcfg"),
        "tagger": lveg.train_tagger("dev.conllu", model="hmm"),
    }
    python = re.findall(r"^```python\n(.*?)^```", (GUIDES / "python.md").read_text(encoding="utf-8"), re.M | re.S)
    for block in python:
        if "parse_all" in block or "result.interval" in block:
            exec(block, names)
    gold = names["gold"]
    assert isinstance(gold, list)
    assert all(set(tree.words()).isdisjoint(["*T*-1"]) for tree in gold)
    assert lveg.evaluate(names["parser"], gold).counts.errors == 0  # type: ignore[call-overload]


def samples(names: Iterable[str]) -> None:
    """Write generated sentences to files, with a feature where they are CoNLL-U."""
    for name in names:
        kind = ["--format", "conllu"] if name.endswith("conllu") else []
        assert run_main("sample", 60, *kind, "--out", name).status == 0
        file = Path(name)
        file.write_text(re.sub(r"\tNOUN\t(\S+)\t_\t", r"\tNOUN\t\1\tNumber=Sing\t", file.read_text()))


def obey(commands: Iterable[str]) -> dict[str, str]:
    """Run commands in this folder, each once, apart from `lveg serve`; what each printed."""
    printed = {}
    for command in dict.fromkeys(commands):
        words, _, call = command.rpartition(" | ")
        program, *arguments = shlex.split(call, comments=True)
        assert program in ("lveg", ".venv/bin/lveg")
        if arguments[0] == "serve":  # see tests/serve
            continue
        outcome = run_main(*quick(arguments), stdin=words.removeprefix("echo ").strip('"').encode())
        assert outcome.status == 0, f"{command}\n{outcome.err}"
        printed[command] = outcome.out
    return printed


def test_the_first_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    samples(["TREES.mrg", "train.mrg", "dev.mrg", "train.conllu", "dev.conllu", "new.conllu"])
    Path("news").mkdir()
    Path("news", "a.txt").write_text("The dog saw a cat.\n")
    pages = [(GUIDES.parents[1] / name).read_text(encoding="utf-8") for name in ("README.md", "docs/index.md")]
    printed = obey(line for page in pages for line in re.findall(r"^ {4}(?:\$ )?(\S*(?: .* \| )?lveg .*)$", page, re.M)
                   if not line.startswith("git "))  # fmt: skip
    assert len(printed) == 9
    assert all("┌" in text for command, text in printed.items() if command.endswith("drawing"))
    assert "labelled F1" in printed["lveg evaluate dev.mrg --model my.model"]
    for block in re.findall(r"^```python\n(.*?)^```", pages[0], re.MULTILINE | re.DOTALL):
        exec(block, {})
    assert capsys.readouterr().out.startswith("(TOP (S (NP")


def test_coming_from_other_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    samples(
        ["train.mrg", "dev.mrg", "gold.mrg", "parsed.mrg", "train.conllu", "dev.conllu", "new.conllu", "gold.conllu"]
    )
    for name in ("one.model", "two.model"):
        assert run_main("train", "parser", "train.mrg", "--model", "pcfg", "--out", name).status == 0
    Path("text.txt").write_text("The dog saw a cat .\n")
    Path("vectors.vec").write_text("dog 0.1 0.2\ncat 0.2 0.1\n")
    page = (GUIDES / "coming-from.md").read_text(encoding="utf-8")
    printed = obey(f"lveg {found}" for found in re.findall(r"`lveg ([^`\n]*)`", page) if found != "train parser")
    assert len(printed) == 13
    assert re.search(r"labelled F1 +100\.00", printed["lveg evaluate gold.mrg parsed.mrg"])


def test_a_tagger_in_five_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = follow("tagger", monkeypatch, tmp_path)
    assert len(printed) > 12
    assert printed["lveg tag my.model new.txt"].splitlines()[2].startswith("dog\tNOUN\t")
    assert len(re.findall(r"[|\t]TagProb=", Path("tagged.conllu").read_text())) > 999
    assert "'NOUN'" in capsys.readouterr().out


def test_looking_instead_of_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib", reason="`lveg plot` needs it")
    printed = follow("looking", monkeypatch, tmp_path)
    assert "┌" in printed["lveg draw my.model sentences.txt"]
    for name in ("trees.html", "best.svg", "trees.tex", "runs.svg", "my.html"):
        assert Path(name).stat().st_size > 1000
    assert capsys.readouterr().out.startswith("<svg")


def test_a_parser_from_your_treebank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = follow("parser", monkeypatch, tmp_path)
    assert len(printed) > 12
    assert printed["lveg parse my.model sentences.txt"].startswith("(TOP (S (NP")
    assert "labelled F1" in printed["lveg evaluate dev.mrg --model both.model"]
    assert "telescope" not in capsys.readouterr().out


def test_where_the_errors_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = follow("evaluation", monkeypatch, tmp_path)
    assert "PP attachment" in printed["lveg evaluate dev.mrg --model a.model --details"]
    assert "Reliability diagram" in Path("report.html").read_text()
    assert "Sentences where the systems differ most" in Path("two.html").read_text()
    assert "Reliability diagram of tag" in Path("tags.html").read_text()


@pytest.mark.filterwarnings("default")  # those of other libraries
def test_python(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "lveg")
    assert len(follow("python", monkeypatch, tmp_path)) == 4
    assert "grammar: tags" in caplog.text
    out = capsys.readouterr().out
    assert "(NP (DT The) (JJ old) (NN dog))" in out
    assert "['DET', 'NOUN', 'VERB', 'DET', 'NOUN', 'PUNCT']" in out


def test_raw_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    printed = follow("text", monkeypatch, tmp_path)
    assert len(printed) > 10
    assert printed["lveg parse parser.model --raw new.txt"].count("\n") == 2
    assert "# text = The dog didn't see (the) cat.\n" in printed["lveg tag my.model --raw --tokeniser ptb new.txt"]
    assert "['He', 'did', \"n't\", 'go', '.'] He didn't go." in capsys.readouterr().out


def test_whole_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    follow("corpora", monkeypatch, tmp_path)
    assert Path("parsed/a.mrg").read_text().count("\n") == 100
    assert capsys.readouterr().out == "True 200\na.mrg 100\nb.mrg.gz 100\n"


def test_checking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    printed = follow("check", monkeypatch, tmp_path)
    assert "sentences: 100" in printed["lveg check train.mrg"]
    assert "development words" in printed["lveg check train.mrg --against dev.mrg"]
    assert "0 errors" in printed["lveg check my.model"]
    assert capsys.readouterr().out.startswith("100 ")


def test_more_than_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="`--cluster` needs it")
    assert len(follow("cluster", monkeypatch, tmp_path)) == 2
    assert Path("my.model").exists()
