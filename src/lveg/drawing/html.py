"""Standalone HTML pages: no script, no other file, no network."""

from __future__ import annotations

from collections.abc import Sequence

from lveg.drawing.figure import Row
from lveg.drawing.svg import html_text, sheet_svg

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #5f6c7b; --line: #d5dbe1; --paper: #ffffff; --card: #f6f8fa;
  --accent: #2f6fd0; --alert: #b95f00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #a3afbd; --line: #343c45; --paper: #15191e;
  --card: #1c2229; --accent: #6ea8ff; --alert: #ffa24d; } }
body { font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', 'Noto Sans', sans-serif; color: var(--ink);
  background: var(--paper); margin: 0 auto; padding: 1.5rem; max-width: 78rem; }
h1 { font-size: 1.5rem; font-weight: 650; margin: 0 0 .25rem; }
h2 { font-size: 1.05rem; font-weight: 600; margin: 0; }
.soft { color: var(--soft); }
"""

_TREES = """
body { max-width: none; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
.row { display: flex; flex-wrap: wrap; gap: 0 1rem; }
.row figure { margin: 0; max-width: 100%; overflow-x: auto; }
.lveg-tree .paper { fill: none; }
"""

LEGEND = (
    "Shades and numbers are the probabilities of phrases given the sentence. A dashed frame marks what the first tree "
    "does not have."
)


def page(title: str, body: str, style: str = "") -> str:
    """A page with this title and body, which must be HTML."""
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{html_text(title)}</title>\n'
        f"<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def trees_page(rows: Sequence[Row], title: str) -> str:
    """A page with the trees of each sentence next to each other."""
    sections = "\n".join(_section(number, row) for number, row in enumerate(rows, start=1))
    has_legend = any(figure.posteriors or figure.marked for row in rows for figure in row)
    legend = f'<p class="soft">{LEGEND}</p>\n' if has_legend else ""
    return page(title, f"<h1>{html_text(title)}</h1>\n{legend}{sections}", _TREES)


def _section(number: int, row: Row) -> str:
    """The trees of a sentence. A wide tree shrinks to the width of the page, but only to 60%; then it scrolls."""
    figures = []
    for place, figure in enumerate(row, start=1):
        drawing = sheet_svg([[figure]])
        width = int(drawing.split(' width="', 1)[1].split('"', 1)[0])
        drawing = drawing.replace('style="max-width:100%', f'style="min-width:{round(0.6 * width)}px;max-width:100%', 1)
        figures.append(f'<figure tabindex="0" aria-label="Sentence {number}, tree {place}">{drawing}</figure>')
    words = html_text(" ".join(row[0].tree.words()))
    return (
        f'<section><h2><span class="soft">{number}</span> <bdi>{words}</bdi></h2>'
        f'<div class="row">{"".join(figures)}</div></section>'
    )
