"""Generated pages are up to date, and commands in the documentation exist."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer

from lveg.cli import make_app

DOCS = Path(__file__).resolve().parent.parent / "docs"


@pytest.mark.parametrize("name", ["options.md", "commands.md", "api.md"])
def test_the_reference_is_up_to_date(name: str) -> None:
    made = runpy.run_path(str(DOCS / "make_reference.py"))["PAGES"][name]()
    assert (DOCS / name).read_text(encoding="utf-8") == made, "run `python docs/make_reference.py`"


def mentioned(text: str) -> list[list[str]]:
    """The lveg commands in a page: lines of code, and code within a line."""
    lines = re.findall(r"^(?: {4}|\$ )(?:.*\| )?lveg (.*)$", text, re.MULTILINE)
    return [shlex.split(found, comments=True) for found in lines + re.findall(r"`lveg ([^`\n]*)`", text)]


PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("guide/*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_and_options_exist(page: Path) -> None:
    for words in mentioned(page.read_text(encoding="utf-8")):
        if not words or {"COMMAND", "NAME"} & set(words) or words[0].startswith("-"):  # stand for any name
            continue
        if "--config" in words:  # the file does not exist here
            place = words.index("--config")
            words = words[:place] + words[place + 2 :]
        command = typer.main.get_command(make_app(words))
        while hasattr(command, "commands") and words and words[0] in command.commands:
            command, words = command.commands[words[0]], words[1:]
        commands = list(getattr(command, "commands", {"": command}).values())
        parameters = [parameter for one in commands for parameter in one.params]
        known = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match("--?[a-z]", word)}
        assert used <= known | {"--help", "-h", "--version"}, " ".join(words)
