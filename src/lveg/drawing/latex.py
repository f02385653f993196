"""Trees as LaTeX code for the package `forest`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lveg.drawing.figure import Figure, Mark, Row, percent

if TYPE_CHECKING:
    from lveg.trees import Tree

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "-": "{-}",
}  # fmt: skip
_UNSAFE = re.compile("|".join(map(re.escape, _SPECIAL)))
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

HEAD = r"""% Compile with pdflatex, or with lualatex for other scripts than Latin.
\documentclass[border=8pt,multi=lvegtrees]{standalone}
\usepackage{iftex}
\ifpdftex\usepackage[T1]{fontenc}\else\usepackage{fontspec}\fi
\usepackage{textcomp}
\usepackage{forest}
\definecolor{lveg}{HTML}{2F6FD0}
\definecolor{lvegmark}{HTML}{D9730D}
\newenvironment{lvegtrees}{}{}
\forestset{lveg/.style={for tree={parent anchor=south, child anchor=north, align=center, inner sep=2.5pt,
  rounded corners=2pt, l sep=5mm}, where n children=0{tier=word}{}}}
\begin{document}
"""
FOOT = "\\end{document}\n"


def trees_document(rows: Sequence[Row]) -> str:
    """A document with a page for each sentence, its trees next to each other."""
    pages = (
        "\\begin{lvegtrees}\n" + "\\qquad\n".join(map(forest_code, row)) + "\\end{lvegtrees}\n" for row in rows
    )  # fmt: skip
    return HEAD + "".join(pages) + FOOT


def forest_code(figure: Figure) -> str:
    """The environment `forest` with a tree, one node per line."""
    lines = [f"% {_CONTROL.sub('?', figure.caption)}"] * bool(figure.caption) + ["\\begin{forest} lveg"]
    marks = iter(figure.marks())
    stack: list[tuple[Tree, int] | None] = [(figure.tree, 1)]
    while stack:
        item = stack.pop()
        if item is None:
            lines[-1] += "]"
            continue
        node, depth = item
        lines.append("  " * depth + f"[{_content(next(marks))}")
        if node.word is not None:
            lines[-1] += f" [{{{latex_text(node.word)}}}]]"
        else:
            stack.append(None)
            stack.extend((child, depth + 1) for child in reversed(node.children))
    return "\n".join([*lines, "\\end{forest}", ""])


def _content(mark: Mark) -> str:
    """A node's label, with its probability below it, and its style."""
    label = latex_text(mark.label)
    if mark.posterior is not None:
        label += rf"\\[-2pt]{{\tiny {latex_text(percent(mark.posterior))}}}"
    style = "" if mark.posterior is None else f", fill=lveg!{round(6 + 34 * mark.posterior)}"
    return f"{{{label}}}{style}" + (", draw=lvegmark, dashed, thick" if mark.is_marked else "")


def latex_text(text: str) -> str:
    """The text with LaTeX's special characters escaped."""
    return _UNSAFE.sub(lambda found: _SPECIAL[found[0]], _CONTROL.sub("?", text))
