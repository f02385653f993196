"""What a worker is started with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Supplies:
    """The bytes of each model's file by name, and the limit on the words of a request."""

    models: dict[str, bytes]
    max_words: int


def names_of(files: Iterable[Path]) -> list[str]:
    """A name for each model: that of its file without extension, with a number if it is taken."""
    names: list[str] = []
    for file in files:
        name, number = file.stem, 2
        while name in names:
            name, number = f"{file.stem}-{number}", number + 1
        names.append(name)
    return names
