"""What the scripts share: where the data is, and how a table is printed."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

from lveg.treebank.penn import read_trees
from lveg.treebank.synthetic import ENGLISH
from lveg.trees import Tree

TREEBANKS = ("wsj-sample", "gum", "craft", "cess-es")


def data_dir() -> Path:
    """The folder of treebanks (LVEG_DATA, or ../shared/data); ends the script where it is absent."""
    path = Path(os.environ.get("LVEG_DATA", Path(__file__).parent.parent / ".." / "shared" / "data")).resolve()
    if not path.is_dir():
        print(f"skipped: no treebanks at {path}; set LVEG_DATA")
        sys.exit(0)
    return path


def treebank(name: str, part: str) -> str:
    """The file of a part of a constituency treebank."""
    return str(data_dir() / name / f"{part}.mrg.gz")


def trees_of(name: str, part: str) -> list[Tree]:
    """The trees of a part of a treebank; `demo` is included in the package."""
    return list(read_trees(str(ENGLISH.parent / f"demo-{part}.mrg") if name == "demo" else treebank(name, part)))


def print_table(header: list[str], rows: list[list[object]]) -> None:
    """A plain table, first column to the left."""
    cells = [header, *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    for row in cells:
        first = row[0].ljust(widths[0])
        print("  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]))
    print(flush=True)


def parse_setting(setting: str) -> dict[str, Any]:
    """The options that a setting, like "l2=1 covariance=diagonal", names; none for "base"."""
    values: dict[str, Any] = {}
    for key, text in (part.split("=") for part in setting.split() if setting != "base"):
        try:
            values[key] = ast.literal_eval(text)
        except ValueError:
            values[key] = text
    return values
