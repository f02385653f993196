"""The commands of the guides do what they say, one after the other, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli.conftest import run_main

GUIDES = Path(__file__).resolve().parent.parent / "docs" / "guide"


def follow(name: str, monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, str]:
    """Run the commands of a guide, then its Python; what each command printed."""
    monkeypatch.chdir(folder)
    text = (GUIDES / f"{name}.md").read_text(encoding="utf-8")
    python = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert python is not None
    printed = {}
    for command in re.findall(r"^    (\S.*)$", text.replace(python[0], ""), re.MULTILINE):
        program, *arguments = shlex.split(command)
        if program == "echo":
            words, _, file = arguments
            Path(file).write_text(words + "\n")
            continue
        assert program == "lveg"
        outcome = run_main(*arguments)
        assert outcome.status == 0, f"{command}\n{outcome.err}"
        printed[command] = outcome.out
    exec(python[1], {})
    return printed


def test_a_tagger_in_five_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = follow("tagger", monkeypatch, tmp_path)
    assert len(printed) > 12
    assert printed["lveg tag my.model new.txt"].splitlines()[2].startswith("dog\tNOUN\t")
    assert len(re.findall(r"[|\t]TagProb=", Path("tagged.conllu").read_text())) > 999
    assert "'NOUN'" in capsys.readouterr().out


def test_a_parser_from_your_treebank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = follow("parser", monkeypatch, tmp_path)
    assert len(printed) > 12
    assert printed["lveg parse my.model sentences.txt"].startswith("(TOP (S (NP")
    assert "labelled F1" in printed["lveg evaluate dev.mrg --model both.model"]
    assert "telescope" not in capsys.readouterr().out


def test_raw_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    printed = follow("text", monkeypatch, tmp_path)
    assert len(printed) > 10
    assert printed["lveg parse parser.model --raw new.txt"].count("\n") == 2
    assert "# text = The dog didn't see (the) cat.\n" in printed["lveg tag my.model --raw --tokeniser ptb new.txt"]
    assert "['He', 'did', \"n't\", 'go', '.'] He didn't go." in capsys.readouterr().out
