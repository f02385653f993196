"""Charts as inline SVG: bars, and reliability diagrams. Colours come from the style sheet of the page."""

from __future__ import annotations

from html import escape

from lveg.evaluation.calibration import Calibration
from lveg.evaluation.tables import Table, cell_text

MAX_BARS = 20
_LABEL, _BAR, _VALUE, _THICK = 150, 230, 50, 14


def bar_chart(table: Table) -> str:
    """Horizontal bars, one group for each of the first rows, one bar for each column in `table.bars`."""
    series = [[float(cell or 0) for cell in table.column(name)[:MAX_BARS]] for name in table.bars]
    top = table.top or max([1.0, *(value for values in series for value in values)])
    group = _THICK * len(series) + 8
    parts = []
    for row, name in enumerate(_names(table)):
        y = row * group + 4
        middle = y + _THICK * len(series) / 2
        parts.append(_text(_LABEL - 8, middle, name, "end"))
        for place, (column, values) in enumerate(zip(table.bars, series, strict=True)):
            width, at = _BAR * values[row] / top, y + place * _THICK
            shown = cell_text(table.column(column)[row])
            parts.append(
                f'<rect class="s{place}" x="{_LABEL}" y="{at}" width="{width:.1f}" height="{_THICK - 2}">'
                f"<title>{escape(f'{name}: {column} {shown}')}</title></rect>"
            )
            parts.append(_text(_LABEL + width + 6, at + _THICK / 2 - 1, shown, "start"))
    height = group * len(_names(table)) + 4
    return _svg(_LABEL + _BAR + _VALUE, height, f"{table.title}: {', '.join(table.bars)}", parts)


def _names(table: Table) -> list[str]:
    """The rows' names: the cells before the first number, shortened to fit."""
    width = 2 if table.columns[:2] == ("gold", "system") else 1
    names = [" as ".join(str(cell) for cell in row[:width]) for row in table.rows[:MAX_BARS]]
    return [name if len(name) <= 24 else name[:23] + "…" for name in names]


def reliability_diagram(kind: str, found: Calibration) -> str:
    """The share of correct predictions against their probability: a point per bin, its area the number of predictions.

    A calibrated model has its points on the diagonal.
    """
    left, side, top = 44, 240, 14
    most = max([1, *(part.count for part in found.bins)])

    def x(value: float) -> float:
        return left + side * value

    def y(value: float) -> float:
        return top + side * (1 - value)

    parts = [f'<rect class="frame" x="{left}" y="{top}" width="{side}" height="{side}"/>']
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path class="grid" d="M{x(tick)} {y(0)}V{y(1)}M{x(0)} {y(tick)}H{x(1)}"/>')
        parts.append(_text(x(tick), y(0) + 14, f"{100 * tick:.0f}", "middle"))
        parts.append(_text(left - 6, y(tick), f"{100 * tick:.0f}", "end"))
    parts.append(f'<path class="diagonal" d="M{x(0)} {y(0)}L{x(1)} {y(1)}"/>')
    points = [(x(part.confidence), y(part.accuracy)) for part in found.bins]
    parts.append(f'<path class="curve" d="M{" L".join(f"{a:.1f} {b:.1f}" for a, b in points)}"/>' if points else "")
    for part, (a, b) in zip(found.bins, points, strict=True):
        about = f"{part.count:,} given {100 * part.confidence:.1f} %, right {100 * part.accuracy:.1f} %"
        radius = 3 + 9 * (part.count / most) ** 0.5
        parts.append(f'<circle class="s0" cx="{a:.1f}" cy="{b:.1f}" r="{radius:.1f}"><title>{about}</title></circle>')
    parts.append(_text(x(0.5), y(0) + 34, f"probability of the {kind}, %", "middle"))
    parts.append(f'<g transform="rotate(-90 10 {y(0.5)})">{_text(10, y(0.5), "correct, %", "middle")}</g>')
    return _svg(left + side + 16, top + side + 46, f"Reliability diagram of {kind} probabilities", parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" dominant-baseline="central">{escape(text)}</text>'


def _svg(width: float, height: float, title: str, parts: list[str]) -> str:
    head = f'<svg role="img" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    return f'{head} aria-label="{escape(title)}">{"".join(parts)}</svg>'
