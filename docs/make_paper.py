"""Write paper.md: paper.template.md with the figures of the result files.

    python docs/make_paper.py

A field of the template is one of

    {{FILE; KEY; KEY; COLUMN}}          the mean of a column over all rows whose first columns have these values
    {{FILE; KEY; A - B; COLUMN}}        the difference of two such means, A and B being values of one column
    {{each FILE; *; KEY; COLUMN}}       such a mean or difference for each value in the place of the asterisk
    {{best FILE; KEY; *; COLUMN}}       the value in the place of the asterisk for which the mean is largest
    {{wins FILE; *; A - B; COLUMN}}     for how many values of the asterisk A is larger than B, as in `3 of 5`
    {{sum FILE; KEY; KEY; COLUMN}}      the sum of the column

FILE is FILE.csv in this folder; another asterisk stands for any value. A mean of several rows has their standard
deviation with it. Rows of variants, such as `GM-LVeG-S l2=0`, count only if they are named. [[TEXT||OTHER]] is TEXT, or
OTHER if a field in it has no rows; outside of such brackets a field without rows is `not run yet`.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean, stdev

DOCS = Path(__file__).parent
ABSENT = "not run yet"

Row = dict[str, str]


class FieldError(Exception):
    """A field that cannot be computed."""


@cache
def rows_of(path: Path) -> tuple[Row, ...]:
    """The rows of a result file, none if it does not exist."""
    if not path.exists():
        return ()
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def filled(text: str, folder: Path = DOCS) -> str:
    """A template with its fields replaced."""

    def part(found: re.Match[str]) -> str:
        wanted, _, other = found[1].partition("||")
        shown = fields_filled(wanted, folder)
        return fields_filled(other, folder) if ABSENT in shown else shown

    return fields_filled(re.sub(r"\[\[(.*?)\]\]", part, text), folder)


def fields_filled(text: str, folder: Path) -> str:
    """A text with its fields replaced."""
    return re.sub(r"\{\{(.*?)\}\}", lambda found: field(found[1], folder), text)


def field(text: str, folder: Path) -> str:
    """The value of a field."""
    head, *keys, column = [part.strip() for part in text.split(";")]
    kind, _, name = head.rpartition(" ")
    if kind not in KINDS:
        raise FieldError(f"{{{{{text}}}}}: begins with {kind}; there are {', '.join(filter(None, KINDS))}")
    rows = rows_of(folder / f"{name}.csv")
    if rows and column not in rows[0]:
        raise FieldError(f"{{{{{text}}}}}: {name}.csv has no column {column}")
    return (KINDS[kind](rows, keys, column) if rows else "") or ABSENT


def value(rows: Sequence[Row], keys: Sequence[str], column: str) -> str:
    """A mean, or the difference of two; empty if there are no rows."""
    if pairs := with_both(keys):
        one, other = (numbers(rows, key, column) for key in pairs)
        return shown(fmean(one) - fmean(other), column, "+") if one and other else ""
    found = numbers(rows, keys, column)
    if not found:
        return ""
    return shown(fmean(found), column) + (f" ±{shown(stdev(found), column)}" if len(found) > 1 else "")


def shown(number: float, column: str, sign: str = "") -> str:
    """A number with as many digits as make sense."""
    is_long = ("cpu" in column or "seconds" in column) and abs(number) >= 20
    return f"{number:{sign},.0f}" if is_long else f"{number:{sign}.2f}"


def with_both(keys: Sequence[str]) -> list[list[str]]:
    """The keys of both sides of a difference; empty if there is none."""
    place = next((number for number, key in enumerate(keys) if " - " in key), None)
    if place is None:
        return []
    return [[*keys[:place], side.strip(), *keys[place + 1 :]] for side in keys[place].split(" - ")]


def matching(rows: Sequence[Row], keys: Sequence[str]) -> list[Row]:
    """The rows whose first columns have these values."""

    def fits(value: str, key: str) -> bool:
        return value == key or (key == "*" and " " not in value)

    return [row for row in rows if all(map(fits, row.values(), keys))]


def numbers(rows: Sequence[Row], keys: Sequence[str], column: str) -> list[float]:
    """The values of a column in the rows with these keys."""
    return [float(row[column]) for row in matching(rows, keys)]


def choices(rows: Sequence[Row], keys: Sequence[str]) -> dict[str, list[str]]:
    """The keys with the asterisk replaced, by what replaces it, in the order of the file."""
    place = list(keys).index("*")
    name = list(rows[0])[place]
    values = dict.fromkeys(row[name] for row in rows if " " not in row[name])
    return {value: [*keys[:place], value, *keys[place + 1 :]] for value in values}


def each(rows: Sequence[Row], keys: Sequence[str], column: str) -> str:
    """A mean or difference for each value in the place of the asterisk that has one."""
    found = {name: value(rows, chosen, column) for name, chosen in choices(rows, keys).items()}
    return ", ".join(f"{name} {text}" for name, text in found.items() if text)


def best(rows: Sequence[Row], keys: Sequence[str], column: str) -> str:
    """The value in the place of the asterisk with the largest mean."""
    found = {name: numbers(rows, chosen, column) for name, chosen in choices(rows, keys).items()}
    means = {name: fmean(values) for name, values in found.items() if values}
    return max(means, key=lambda name: means[name]) if means else ""


def wins(rows: Sequence[Row], keys: Sequence[str], column: str) -> str:
    """For how many values in the place of the asterisk the first of two means is larger."""
    signs = [value(rows, chosen, column) for chosen in choices(rows, keys).values()]
    compared = [float(text.replace(",", "")) for text in signs if text]
    return f"{sum(number > 0 for number in compared)} of {len(compared)}" if compared else ""


def total(rows: Sequence[Row], keys: Sequence[str], column: str) -> str:
    """The sum of a column."""
    return f"{sum(numbers(rows, keys, column)):,.0f}"


KINDS: dict[str, Callable[[Sequence[Row], Sequence[str], str], str]] = {
    "": value, "each": each, "best": best, "wins": wins, "sum": total,
}  # fmt: skip


def main() -> None:
    """Write the page."""
    text = (DOCS / "paper.template.md").read_text(encoding="utf-8")
    (DOCS / "paper.md").write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except FieldError as error:
        sys.exit(str(error))
