"""A report as one HTML page that needs nothing else: no scripts, no fonts, no pictures from elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from lveg.drawing import outline_text
from lveg.evaluation.charts import MAX_BARS, bar_chart, reliability_diagram
from lveg.evaluation.comparison import OTHER, SYSTEM, TagSentence, TreePane, TreeSentence
from lveg.evaluation.report import Report, calibration_table
from lveg.evaluation.tables import Cell, Table, cell_text
from lveg.trees import Tree

N_OPEN = 3
"""Number of sentences that are unfolded at first."""


@dataclass(frozen=True)
class Names:
    """What was compared: the names of the gold file, the system and the other system."""

    gold: str
    system: str
    other: str | None = None

    def of(self, side: str) -> str:
        """The name of a side, as it is shown; the gold side is called so."""
        return {SYSTEM: self.system, OTHER: self.other}.get(side) or side


def report_page(report: Report, names: Names) -> str:
    """The page."""
    versus = "" if names.other is None else f" against {escape(names.other)}"
    title = f"{escape(names.system)}{versus} on {escape(names.gold)}"
    body = [
        f"<header><h1>{title}</h1>{_main_score(report)}</header>",
        f"<section><h2>Summary</h2>{_table(report.summary)}</section>",
        *(_section(table, names) for table in report.tables if table.rows),
        _calibrations(report),
        _sentences(report, names),
        f"<footer>{escape(report.signature)}</footer>",
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><main>{''.join(body)}</main></body></html>\n"
    )


def draw_tree(tree: Tree, marked: frozenset[int], title: str) -> str:
    """A tree as HTML, with the marked nodes (by their indices, parents first) highlighted; title: its name."""
    lines = []
    for index, line in enumerate(outline_text(tree).split("\n")):
        branch, node = _BRANCH.fullmatch(line).groups()  # type: ignore[union-attr]
        shown = escape(node)
        lines.append(branch + (f"<mark>{shown}</mark>" if index in marked else shown))
    return f'<pre tabindex="0" role="group" aria-label="{escape(title)}">' + "\n".join(lines) + "</pre>"


_BRANCH = re.compile(r"([│├└─ ]*)(.*)")


def _main_score(report: Report) -> str:
    name, key = report.measure
    value = report.scores["f1" if key == "f1" else "token_accuracy"]
    low, high = report.interval["low"], report.interval["high"]
    text = f"<p><strong>{escape(name)} {value:.2f}</strong>, 95 % interval {low:.2f} to {high:.2f}</p>"
    if report.against is None:
        return text
    difference, p_value = report.against["difference"], report.against["p_value"]
    verdict = "significant at the 5 % level" if p_value < 0.05 else "not significant at the 5 % level"
    return f"{text}<p>{difference:+.2f} against the other system, p = {p_value:.4f}: {verdict}</p>"


def _section(table: Table, names: Names) -> str:
    legend = ""
    if len(table.bars) > 1:
        shown = (names.of(SYSTEM), names.of(OTHER))
        keys = (f'<span class="key k{place}"></span>{escape(name)}' for place, name in enumerate(shown))
        legend = f'<p class="legend">{" &ensp; ".join(keys)}</p>'
    note = f"<p>{escape(table.note)}</p>" if table.note else ""
    chart = f"<figure>{legend}{bar_chart(table)}</figure>"
    rest = len(table.rows) - MAX_BARS
    more = f'<p class="more">The chart leaves out the last {rest} rows of the table.</p>' if rest > 0 else ""
    return (
        f'<section><h2>{escape(table.title)}</h2>{note}<div class="pair">{chart}<div>{_table(table)}{more}</div></div>'
        "</section>"
    )


def _table(table: Table) -> str:
    """The table, in a box that scrolls where there is too little room; the heading of names may be empty."""
    first = table.rows[0] if table.rows else table.columns
    heads = zip(table.columns, first, strict=True)  # a heading is aligned as the first cell below it
    head = "".join(f'<th scope="col"{_side(cell)}>{escape(name)}</th>' if name else "<td></td>" for name, cell in heads)
    rows = (
        "<tr>" + "".join(f"<td{_side(cell)}>{escape(cell_text(cell))}</td>" for cell in row) + "</tr>"
        for row in table.rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{escape(table.title or "Summary")}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _side(cell: Cell) -> str:
    return "" if isinstance(cell, str) else ' class="number"'


def _calibrations(report: Report) -> str:
    if not report.calibrations:
        return ""
    parts = []
    for kind, found in report.calibrations.items():
        table = calibration_table(kind, found)
        parts.append(
            f"<h3>{escape(table.title[:1].upper() + table.title[1:])}</h3>"
            f'<div class="pair"><figure>{reliability_diagram(kind, found)}</figure><div>{_table(table)}</div></div>'
        )
    note = (
        "Predictions are grouped by the probability that the model gives them; a point shows how many of its group are "
        "right, and its area the size of the group. A calibrated model has all points on the diagonal: below it, the "
        "model is too confident."
    )
    return f"<section><h2>Calibration</h2><p>{note}</p>{''.join(parts)}</section>"


def _sentences(report: Report, names: Names) -> str:
    if not report.sentences:
        return ""
    differ = report.against is not None
    heading = "Sentences where the systems differ most" if differ else "Sentences with the most errors"
    items = "".join(_sentence(one, names, number < N_OPEN) for number, one in enumerate(report.sentences))
    note = "Wrong tags are marked."
    if isinstance(report.sentences[0], TreeSentence):
        note = (
            "What differs is marked: in the gold what the system beside it lacks, in a system what the gold lacks. "
            f"The list of errors is that of {names.system}: − is a missing bracket, + an extra one."
        )
    return f"<section><h2>{heading}</h2><p>{escape(note)}</p>{items}</section>"


def _sentence(one: TreeSentence | TagSentence, names: Names, is_open: bool) -> str:
    title = f"Sentence {one.number}: {escape(one.title)}, {len(one.words)} words"
    inside = _trees(one, names) if isinstance(one, TreeSentence) else _tags(one, names)
    return f"<details{' open' if is_open else ''}><summary>{title}</summary>{inside}</details>"


def _trees(one: TreeSentence, names: Names) -> str:
    kinds: dict[str, list[str]] = {}
    for wrong in one.wrong:
        kinds.setdefault(wrong.kind.value, []).append(("−" if wrong.is_missing else "+") + wrong.bracket[0])
    errors = "".join(f"<li>{kind}: {escape(', '.join(found))}</li>" for kind, found in sorted(kinds.items()))
    pairs = ("".join(_pane(pane, names) for pane in pair) for pair in one.panes)
    panes = "".join(f'<div class="panes">{pair}</div>' for pair in pairs)
    text = f'<p class="text">{escape(" ".join(one.words))}</p>'
    return f'{text}<ul class="kinds">{errors}</ul>{panes}'


def _pane(pane: TreePane, names: Names) -> str:
    title = f"{names.of(pane.side)}: {pane.note}" if pane.note else names.of(pane.side)
    return f"<div><h3>{escape(title)}</h3>{draw_tree(pane.tree, pane.marked, title)}</div>"


def _tags(one: TagSentence, names: Names) -> str:
    heads = "".join(f"<i>{escape(name)}</i>" for name in ("word", *map(names.of, one.tags)))
    words = []
    for word, gold, *found in zip(one.words, *one.tags.values(), strict=True):
        tags = (f"<span>{escape(tag)}</span>" if tag == gold else f"<mark>{escape(tag)}</mark>" for tag in found)
        words.append(f"<div><b>{escape(word)}</b><span>{escape(gold)}</span>{''.join(tags)}</div>")
    return f'<div class="gloss"><div>{heads}</div>{"".join(words)}</div>'


_STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1d2430;--soft:#5a6472;--line:#d9dee5;--panel:#f6f8fa;--a:#2f6db5;
--b:#d9822b;--mark:#ffd9c7;--marked:#7a2500}
@media(prefers-color-scheme:dark){:root{--back:#14181f;--text:#e6e9ee;--soft:#a3adba;--line:#343c48;--panel:#1c222b;
--a:#6aa5e8;--b:#f0a35a;--mark:#5b2a14;--marked:#ffd9c7}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif}
main{max-width:76rem;margin:0 auto;padding:1.5rem}
h1{font-size:1.6rem;margin:0 0 .5rem}h2{font-size:1.2rem;margin:2.2rem 0 .4rem}h3{font-size:.95rem;margin:.8rem 0 .3rem}
p{margin:.3rem 0 .6rem;max-width:60rem}header strong{font-size:1.3rem}
section>p,.more,.legend,footer{color:var(--soft)}
.pair{display:flex;flex-wrap:wrap;gap:1rem 2.5rem;align-items:flex-start}.pair>*{max-width:100%}
figure{margin:0}svg{max-width:100%;height:auto;font:12px system-ui,sans-serif}svg text{fill:var(--text)}
.s0{fill:var(--a)}.s1{fill:var(--b)}circle.s0{fill-opacity:.75}
.frame,.grid{fill:none;stroke:var(--line)}.diagonal{stroke:var(--soft);stroke-dasharray:4 4}
.curve{stroke:var(--a);fill:none;stroke-width:1.5}
.key{display:inline-block;width:.8em;height:.8em;margin-right:.4em}.k0{background:var(--a)}.k1{background:var(--b)}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.88rem}
th,td{padding:.18rem .7rem .18rem 0;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}
th{color:var(--soft);font-weight:600}.number{text-align:right;font-variant-numeric:tabular-nums}
details{border:1px solid var(--line);border-radius:6px;margin:.6rem 0;padding:.4rem .9rem;background:var(--panel)}
summary{cursor:pointer;font-weight:600}.text{font-style:italic}
.kinds{margin:.3rem 0;padding:0;list-style:none;color:var(--soft);font-size:.88rem}
.panes{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:.5rem 1.5rem}
.gloss{display:flex;flex-wrap:wrap;gap:.7rem .9rem;margin:.5rem 0;font-size:.88rem}
.gloss>div{display:flex;flex-direction:column;align-items:flex-start}.gloss i{color:var(--soft)}
.panes>div{min-width:0}pre{overflow-x:auto}
pre{margin:0;font:12.5px/1.3 ui-monospace,monospace}
mark{background:var(--mark);color:var(--marked);border-radius:3px;padding:0 .15em;font-weight:600}
footer{margin-top:2.5rem;font-size:.8rem;overflow-wrap:anywhere}
"""
