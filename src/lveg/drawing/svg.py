"""Trees as SVG, without any other library.

Colours are attributes, so that every viewer shows them; a style sheet changes them on dark screens. A page that
contains a drawing can restyle it by the classes `lveg-tree`, `paper`, `ink`, `soft`, `line`, `pill` and `mark`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from lveg.drawing.figure import Figure, Mark, Row, Span, percent
from lveg.drawing.layout import Layout

if TYPE_CHECKING:
    from lveg.trees import Tree

FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif"
LABEL, TAG, WORD, SMALL = 14, 12.5, 15, 10.5
"""Font sizes of phrase labels, tags, words, and of probabilities and captions."""

MARGIN, GAP, PAD = 14, 16, 7
"""Around a drawing, between neighbouring subtrees, and within the box of a label."""

HALF = 11
"""Half of the height of a label's box without a probability."""

INK, SOFT, LINE, ACCENT, ALERT, PAPER = "#1f2933", "#5f6c7b", "#9fabb8", "#2f6fd0", "#d9730d", "#ffffff"
_DARK = {
    ".paper": "fill:#15191e", ".ink": "fill:#e6eaf0", ".soft": "fill:#a3afbd", ".line": "stroke:#5b6774",
    ".pill": "fill:#6ea8ff", ".mark": "stroke:#ffa24d",
}  # fmt: skip
STYLE = "@media (prefers-color-scheme:dark){" + "".join(f".lveg-tree {k}{{{v}}}" for k, v in _DARK.items()) + "}"

_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tree_svg(tree: Tree, posteriors: Mapping[Span, float] | None = None, marked: Collection[Span] = ()) -> str:
    """The tree as an SVG document.

    posteriors: the probability of each constituent, (label, start, end), shown as a shade and a number. marked: nodes
    to highlight.
    """
    return sheet_svg([[Figure(tree, posteriors or {}, marked)]])


def sheet_svg(rows: Sequence[Row]) -> str:
    """One SVG document with the trees of each sentence next to each other, and sentences below each other."""
    parts: list[str] = []
    width = top = 0
    for row in rows:
        left = height = 0
        for figure in row:
            drawn, own_width, own_height = _drawing(figure)
            parts.append(f'<g transform="translate({left} {top})">{drawn}</g>')
            left, height = left + own_width, max(height, own_height)
        width, top = max(width, left), top + height
    title = html_text("; ".join(" ".join(row[0].tree.words()) for row in rows)[:300])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lveg-tree" width="{width}" height="{top}" '
        f'viewBox="0 0 {width} {top}" style="max-width:100%;height:auto" role="img" aria-label="{title}" '
        f'font-family="{FONT}" text-anchor="middle"><style>{STYLE}</style>'
        f'<rect class="paper" width="{width}" height="{top}" rx="6" fill="{PAPER}"/>{"".join(parts)}</svg>\n'
    )


def html_text(text: str) -> str:
    """The text, escaped; characters that a document must not contain are replaced."""
    return escape(_UNFIT.sub("\N{REPLACEMENT CHARACTER}", text))


def text_width(text: str, size: float) -> float:
    """An estimate of the width of a text in a proportional font of this size."""
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    """The width of a character as a share of the font size."""
    category = unicodedata.category(char)
    if category in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(char) in ("W", "F"):
        return 1.05
    if char in "iIjl.,:;'`|!()[]":
        return 0.34
    return 0.95 if char in "MWmw@%—…" else 0.7 if category == "Lu" else 0.6


def _drawing(figure: Figure) -> tuple[str, int, int]:
    """The elements of a tree with its caption, and its width and height."""
    marks = figure.marks()
    layout = Layout(figure.tree, [_width(node, mark) for node, mark in zip(figure.tree, marks, strict=True)], GAP)
    is_shaded = any(mark.posterior is not None for mark in marks)
    step, top = (58 if is_shaded else 46), MARGIN + (24 if figure.caption else 0) + 14
    last = max((depth for node, depth in zip(layout.nodes, layout.depth, strict=True) if node.word is None), default=-1)
    x = [MARGIN + centre for centre in layout.centre]
    y = [
        top + step * (depth if node.word is None else last + 1)
        for node, depth in zip(layout.nodes, layout.depth, strict=True)
    ]
    lines = [
        f"M{x[index]} {y[index] + _half(marks[index])}"
        + _line_down(x[child], y[index] + step - HALF, y[child] - _half(marks[child]))
        for index, children in enumerate(layout.children)
        for child in children
    ]
    words = figure.tree.words()
    nodes = [
        _node(node, mark, " ".join(words[mark.start : mark.end]), x[index], y[index])
        for index, (node, mark) in enumerate(zip(layout.nodes, marks, strict=True))
    ]
    width = max(layout.width, round(text_width(figure.caption, TAG))) + 2 * MARGIN
    caption = figure.caption and _text(figure.caption, width // 2, MARGIN + 8, TAG, "soft", SOFT)
    path = f'<path class="line" d="{"".join(lines)}" fill="none" stroke="{LINE}" stroke-width="1.3"/>' if lines else ""
    return caption + path + "".join(nodes), width, max(y) + (34 if words else 14) + MARGIN


def _width(node: Tree, mark: Mark) -> int:
    """The width of a node's label, box included, or of its word if that is wider."""
    if node.word is not None:
        return round(max(text_width(mark.label, TAG), text_width(node.word, WORD))) + 2
    number = 0.0 if mark.posterior is None else text_width(percent(mark.posterior), SMALL)
    return round(max(text_width(mark.label, LABEL), number)) + 2 * PAD


def _line_down(x: int, next_row: int, end: int) -> str:
    """The rest of a line to a child: slanted to the next row, then straight down if the child is farther below."""
    return f"L{x} {min(next_row, end)}" + (f"V{end}" if end > next_row else "")


def _half(mark: Mark) -> int:
    """Half of the height of a label's box."""
    return HALF if mark.posterior is None else 18


def _node(node: Tree, mark: Mark, words: str, x: int, y: int) -> str:
    """A label, with its probability and shade, or a tag over its word."""
    title = f"{mark.label}: {words}" + ("" if mark.posterior is None else f"\nprobability {mark.posterior:.4f}")
    parts = [f"<g><title>{html_text(title)}</title>", _box(node, mark, x, y)]
    if node.word is not None:
        parts += [_text(mark.label, x, y, TAG, "soft", SOFT), _text(node.word, x, y + 23, WORD, "ink", INK)]
    elif mark.posterior is None:
        parts.append(_text(mark.label, x, y, LABEL, "ink", INK, 600))
    else:
        parts.append(_text(mark.label, x, y - 6, LABEL, "ink", INK, 600))
        parts.append(_text(percent(mark.posterior), x, y + 9, SMALL, "ink", INK))
    return "".join(parts) + "</g>"


def _box(node: Tree, mark: Mark, x: int, y: int) -> str:
    """The shade of a probability, and the frame of a highlighted node."""
    if mark.posterior is None and not mark.is_marked:
        return ""
    width, half = _width(node, mark) + (2 * PAD if node.word is not None else 0), _half(mark)
    opacity = 0.0 if mark.posterior is None else 0.06 + 0.34 * min(max(mark.posterior, 0.0), 1.0)
    frame = f' stroke="{ALERT}" stroke-width="2" stroke-dasharray="4 2"' if mark.is_marked else ""
    return (
        f'<rect class="pill{" mark" if mark.is_marked else ""}" x="{x - width // 2}" y="{y - half}" width="{width}" '
        f'height="{2 * half}" rx="7" fill="{ACCENT}" fill-opacity="{opacity:.2f}"{frame}/>'
    )


def _text(text: str, x: int, y: int, size: float, name: str, colour: str, weight: int = 400) -> str:
    """A text centred at a point."""
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    return (
        f'<text class="{name}" x="{x}" y="{y + round(0.36 * size)}" font-size="{size}" fill="{colour}"{bold}>'
        f"{html_text(text)}</text>"
    )
