"""Tables of results: the same rows as text, as JSON and on a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Rows of results.

    name: its key in JSON. columns: headings, which are the keys of a row in JSON. note: what the table shows.
    bars: the columns that are drawn as bars on a page; top: the value of a full bar, None for the largest.
    is_basic: whether the table is printed without being asked for.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Cell, ...]]
    note: str = ""
    bars: tuple[str, ...] = ()
    top: float | None = None
    is_basic: bool = False

    def column(self, name: str) -> list[Cell]:
        """The cells under a heading."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def table_text(table: Table) -> str:
    """The table with aligned columns, under its title."""
    rows = [table.columns, *(tuple(map(cell_text, row)) for row in table.rows)]
    is_text = [all(isinstance(cell, str) for cell in column) for column in zip(*table.rows, strict=True)]
    columns = [
        [cell.ljust(width) if left else cell.rjust(width) for cell in cells]
        for left, cells in zip(is_text or [True] * len(table.columns), zip(*rows, strict=True), strict=True)
        for width in [max(map(len, cells))]
    ]
    lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
    return "\n".join([table.title, *lines] if table.title else lines)


def cell_text(cell: Cell) -> str:
    """A cell as it is shown."""
    if cell is None:
        return "-"
    return cell if isinstance(cell, str) else f"{cell:,d}" if isinstance(cell, int) else f"{cell:.2f}"


def table_json(table: Table) -> list[dict[str, Cell]]:
    """The rows as objects, numbers rounded to two decimals."""
    keys = [column.lower().replace(" ", "_") for column in table.columns]
    rows = ([round(cell, 2) if isinstance(cell, float) else cell for cell in row] for row in table.rows)
    return [dict(zip(keys, row, strict=True)) for row in rows]
