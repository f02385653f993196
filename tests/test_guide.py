"""The commands of the guide do what they say, one after the other, in an empty folder."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from cli.conftest import run_main

GUIDE = Path(__file__).resolve().parent.parent / "docs" / "guide" / "tagger.md"


def test_a_tagger_in_five_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text(encoding="utf-8")
    commands = re.findall(r"^    (\S.*)$", text[: text.index("```python")] + text[text.rindex("```") :], re.MULTILINE)
    assert len(commands) > 12
    told = {}
    for command in commands:
        program, *arguments = shlex.split(command)
        if program == "echo":
            words, _, file = arguments
            Path(file).write_text(words + "\n")
            continue
        assert program == "lveg"
        outcome = run_main(*arguments)
        assert outcome.status == 0, f"{command}\n{outcome.err}"
        told[command] = outcome.out
    assert told["lveg tag my.model new.txt"].splitlines()[2].startswith("dog\tNOUN\t")
    assert (
        Path("tagged.conllu").read_text().count("|TagProb=") + Path("tagged.conllu").read_text().count("\tTagProb=")
        > 999
    )
    python = re.search(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert python is not None
    exec(python[1], {})
    assert "'NOUN'" in capsys.readouterr().out
