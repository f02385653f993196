"""What a model learned, as one standalone HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lveg.drawing.html import page
from lveg.drawing.plane import Spot, plane_svg
from lveg.drawing.svg import html_text
from lveg.errors import UsageError
from lveg.families.insight import BEFORE, PLACES, RULES, WORDS, About, Gaussians, Insight, Lists, Use
from lveg.grammar.grammar import Floats
from lveg.model import Model
from lveg.model_io import describe_model

MOST_SYMBOLS = 100
"""Symbols on a page unless some are chosen: the most frequent ones."""

SHOWN, SHOWN_SUBTYPE, NEAREST, CONTEXTS = 12, 8, 5, 10
"""Entries of a list, of a subtype's list, neighbours of a context, and contexts with neighbours."""

LEAST_RATIO = 1.05
"""Uses that are hardly more likely in a context or subtype than elsewhere are not typical of it."""

STYLE = """
nav { position: sticky; top: 0; background: var(--paper); padding: .6rem 0; border-bottom: 1px solid var(--line);
  z-index: 1; }
select { font: inherit; padding: .2rem .4rem; max-width: 100%; }
section { padding: 1rem 0 2rem; } section[hidden] { display: none; }
h2 { font-size: 1.3rem; } h3 { font-size: 1rem; font-weight: 600; margin: 1.2rem 0 .3rem; }
.lists { display: grid; grid-template-columns: repeat(auto-fill, minmax(17rem, 1fr)); gap: 0 1.5rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .12rem .6rem .12rem 0; vertical-align: baseline; }
td.number { text-align: right; width: 3.2rem; color: var(--soft); font-variant-numeric: tabular-nums; }
.bar { background: linear-gradient(var(--accent), var(--accent)) no-repeat left / var(--share) 100%; opacity: .35;
  display: block; height: .55rem; border-radius: 2px; }
td.bar-cell { width: 5rem; }
.plane { overflow-x: auto; } .plane > svg { min-width: 40rem; }
ul.split { list-style: none; margin: 0; padding-left: 1.1rem; border-left: 1px solid var(--line); }
ul.split.top { border: 0; padding-left: 0; }
ul.split li { margin: .3rem 0; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .35rem .6rem;
  display: inline-block; max-width: 100%; box-sizing: border-box; }
.chip { display: inline-block; margin-right: .7rem; white-space: nowrap; }
.chip small, .soft { color: var(--soft); }
"""

SCRIPT = """
const sections = [...document.querySelectorAll("section")], chooser = document.getElementById("symbol");
function show(id) {
  const found = sections.find(one => one.dataset.name === id) || sections[0];
  sections.forEach(one => { one.hidden = one !== found; });
  chooser.value = found.dataset.name;
  scrollTo(0, 0);
}
chooser.addEventListener("change", () => {
  history.replaceState(null, "", "#" + encodeURIComponent(chooser.value));
  show(chooser.value);
});
addEventListener("hashchange", () => show(decodeURIComponent(location.hash.slice(1))));
show(decodeURIComponent(location.hash.slice(1)));
"""


def inspection_page(model: Model, title: str, chosen: Sequence[str] = ()) -> str:
    """A page about the symbols with these names, or about the most frequent ones."""
    insights = model.family.insights(model.grammar)
    known = {about.name for about in insights[0].symbols}
    for name in chosen:
        if name not in known:
            near = sorted(other for other in known if other.lower().startswith(name.lower()[:1]))
            which = "with the same first letter" if near else "there are"
            raise UsageError(f"there is no symbol {name!r}; those {which}: {', '.join(near or sorted(known))}")
    sections, options = [], []
    for number, insight in enumerate(insights, start=1):
        prefix = f"{number} " if len(insights) > 1 else ""
        for about in _selected(insight, chosen):
            anchor = f"{prefix}{about.kind} {about.name}".replace(" ", "-")
            options.append(
                f'<option value="{html_text(anchor)}">{html_text(_heading(prefix, insight, about))}</option>'
            )
            sections.append(_section(anchor, _heading(prefix, insight, about), about))
    if not sections:
        raise UsageError("the model has no symbols that occur in its treebank")
    body = (
        f"<h1>{html_text(title)}</h1>\n{_summary(model, insights, len(sections))}\n"
        f'<nav><label>Symbol: <select id="symbol">{"".join(options)}</select></label></nav>\n'
        + "\n".join(sections)
        + f"\n<script>{SCRIPT}</script>"
    )
    return page(title, body, STYLE)


def _selected(insight: Insight, chosen: Sequence[str]) -> list[About]:
    """The chosen symbols, or the most frequent ones."""
    if chosen:
        return [about for about in insight.symbols if about.name in chosen]
    used = [about for about in insight.symbols if about.count > 0]
    return sorted(used, key=lambda about: -about.count)[:MOST_SYMBOLS]


def _heading(prefix: str, insight: Insight, about: About) -> str:
    return f"{about.name} ({about.kind}{f', grammar {prefix}{insight.model}' if prefix else ''})"


def _summary(model: Model, insights: Sequence[Insight], shown: int) -> str:
    facts = describe_model(model)
    total = sum(len(insight.symbols) for insight in insights)
    parts = [f"{model.task}: {model.family.title}"]
    parts += [f"{facts['train_sentences']:,} training sentences"] if "train_sentences" in facts else []
    parts += _score(facts.get("dev"))
    if shown < total:
        parts.append(f"{shown} of {total} symbols; others with --symbol")
    classes = [name for name in model.grammar.lexicon.classes if "~" in name][:1]
    note = f" Words such as {classes[0]} are classes of unknown words." if classes else ""
    return f'<p class="soft">{html_text(" · ".join(parts) + "." + note)}</p>'


def _score(dev: Any) -> list[str]:
    """The main score on development data, if known."""
    if not isinstance(dev, dict):
        return []
    return [f"{name.replace('_', ' ')} {dev[name]}" for name in ("f1", "token_accuracy") if name in dev]


def _section(anchor: str, heading: str, about: About) -> str:
    parts = [f"<h2>{html_text(heading)}</h2>", f'<p class="soft">{about.count:,.0f} uses in the treebank</p>']
    if about.gaussians is not None:
        parts.append(_vectors(about.gaussians))
    if len(about.subtypes) > 1:
        parts.append(_hierarchy(about))
    parts.append(f"<h3>In the treebank</h3>{_tables(about.lists)}")
    return f'<section data-name="{html_text(anchor)}">{"".join(parts)}</section>'


def _tables(lists: Lists) -> str:
    """A table with bars for each list."""
    tables = "".join(_table(title, uses[:SHOWN]) for title, uses in lists.items())
    return f'<div class="lists">{tables}</div>'


def _table(title: str, uses: Sequence[Use]) -> str:
    most = max((use.share for use in uses), default=1.0)
    rows = "".join(
        f'<tr><td><bdi>{html_text(use.text)}</bdi></td><td class="bar-cell"><span class="bar" '
        f'style="--share:{100 * use.share / most:.0f}%"></span></td><td class="number">{_percent(use.share)}</td></tr>'
        for use in uses
    )
    return f'<table><thead><tr><th colspan="3">{html_text(title)}</th></tr></thead><tbody>{rows}</tbody></table>'


def _percent(share: float) -> str:
    return "<0.1%" if share < 0.0005 else f"{100 * share:.1f}%"


def _vectors(found: Gaussians) -> str:
    """The plane, the largest components, and what is near to what."""
    dim = found.mean.shape[1]
    how = "" if dim <= 2 else f", projected from {dim} dimensions to the two in which they differ most"
    parts = [
        "<h3>Gaussians in the plane</h3>",
        f'<p class="soft">Points are means, larger for more frequent uses{how}. The pointer over a point shows its '
        "standard deviation. What lies close together goes together.</p>",
        f'<div class="plane" tabindex="0" role="group" aria-label="Plane">{plane_svg(_spots(found))}</div>',
        _nearest(found),
        f"<h3>Largest components</h3>{_components(found)}",
    ]
    return "".join(parts)


def _components(found: Gaussians) -> str:
    """A table for each title."""
    uses: dict[str, list[Use]] = {}
    for title, text, share in zip(found.title, found.text, found.share.tolist(), strict=True):
        uses.setdefault(title, []).append(Use(text, share))
    return _tables(uses)


def _spots(found: Gaussians) -> list[Spot]:
    """The Gaussians, projected to the plane."""
    axes = plane_axes(found.mean, found.share)
    points = (found.mean - found.mean.mean(axis=0)) @ axes
    spots = []
    for title, text, share, point, std in zip(found.title, found.text, found.share, points, found.std, strict=True):
        values, vectors = np.linalg.eigh(axes.T @ (axes * (std**2)[:, None]))
        narrow, wide = np.sqrt(np.maximum(values, 0.0))
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        spots.append(
            Spot(title, text, float(share), float(point[0]), float(point[1]), (float(wide), float(narrow)), angle)
        )
    return spots


def plane_axes(points: Floats, weight: Floats) -> Floats:
    """The two directions in which weighted points differ most, (dim, 2); in up to two dimensions, those themselves."""
    dim = points.shape[1]
    if dim <= 2:
        return np.eye(dim, 2)
    centred = points - np.average(points, axis=0, weights=weight)
    _, vectors = np.linalg.eigh((centred * weight[:, None]).T @ centred)
    axes = vectors[:, :-3:-1]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])  # so that a picture does not depend on the library
    return np.ascontiguousarray(axes)


def _nearest(found: Gaussians) -> str:
    """For the most frequent contexts of a symbol, the rules and words whose Gaussians overlap most with theirs."""
    above, below = _uses_of(found, (PLACES, BEFORE)), _uses_of(found, (RULES, WORDS))
    if not above or len(below) < 2:
        return ""
    overlap = np.array([[_overlap(found, one, other) for other in below.values()] for one in above.values()])
    usual = np.average(overlap, axis=0, weights=[found.share[members].sum() for members in above.values()])
    texts, rows = list(below), []
    for place, ratios in list(zip(above, overlap / usual, strict=True))[:CONTEXTS]:
        best = [one for one in np.argsort(-ratios, kind="stable")[:NEAREST] if ratios[one] > LEAST_RATIO]
        chips = "".join(_chip(texts[one], f"×{ratios[one]:.2f}") for one in best)
        if chips:
            rows.append(f"<tr><td><bdi>{html_text(place)}</bdi></td><td>{chips}</td></tr>")
    if not rows:
        return ""
    return (
        '<h3>Nearest rules and words</h3><p class="soft">What fits best where: how many times larger the overlap with '
        "the context is than that with all contexts on average.</p>"
        f"<table><thead><tr><th>context</th><th>nearest</th></tr></thead><tbody>{''.join(rows)}</tbody></table>"
    )


def _uses_of(found: Gaussians, titles: Sequence[str]) -> dict[str, list[int]]:
    """The Gaussians of each use with one of the titles, most frequent uses first."""
    uses: dict[str, list[int]] = {}
    for number, (title, text) in enumerate(zip(found.title, found.text, strict=True)):
        if title in titles:
            uses.setdefault(text, []).append(number)
    return dict(sorted(uses.items(), key=lambda item: -found.share[item[1]].sum()))


def _overlap(found: Gaussians, one: list[int], other: list[int]) -> float:
    """The mean overlap of the Gaussians of two uses, weighted by their shares."""
    logs = log_overlaps(found.mean[one], found.std[one], found.mean[other], found.std[other])
    weight = np.outer(found.share[one], found.share[other])
    return float((weight * np.exp(logs)).sum() / max(weight.sum(), 1e-300))


def log_overlaps(mean: Floats, std: Floats, other_mean: Floats, other_std: Floats) -> Floats:
    """The log integral of the product of each two Gaussians with diagonal covariances, (n, m)  [math: overlap]."""
    variance = std[:, None, :] ** 2 + other_std[None, :, :] ** 2
    difference = mean[:, None, :] - other_mean[None, :, :]
    found: Floats = -0.5 * (np.log(2 * np.pi * variance) + difference**2 / variance).sum(axis=2)
    return found


def _chip(text: str, number: str) -> str:
    return f'<span class="chip"><bdi>{html_text(text)}</bdi> <small>{html_text(number)}</small></span>'


def _hierarchy(about: About) -> str:
    """The subtypes, as a tree of groups if there is a hierarchy."""
    size = len(about.subtypes)
    levels = [list(level) for level in about.levels if max(level) > 0]
    groups = [[0] * size, *levels, list(range(size))]
    top = _group(about, list(range(size)), groups[1:])
    heading = f"Split tree of {size} subtypes" if levels else f"{size} subtypes"
    return (
        f"<h3>{heading}</h3>"
        '<p class="soft">Each with its share of the uses, and what it is used for most, compared with the whole '
        f'symbol.</p><ul class="split top">{top}</ul>'
    )


def _group(about: About, members: list[int], levels: Sequence[list[int]]) -> str:
    """The cards of the groups that some subtypes form at the next level at which they are divided."""
    for depth, level in enumerate(levels):
        numbers = [level[member] for member in members]
        if len(set(numbers)) > 1:
            ends = [0, *(n + 1 for n, (one, other) in enumerate(pairwise(numbers)) if one != other), len(numbers)]
            parts = [members[begin:end] for begin, end in pairwise(ends)]
            parts.sort(key=lambda part: -_share(about, part))
            return "".join(
                f"<li>{_card(about, part)}"
                + (f'<ul class="split">{_group(about, part, levels[depth + 1 :])}</ul>' if len(part) > 1 else "")
                + "</li>"
                for part in parts
            )
    return ""


def _share(about: About, members: Sequence[int]) -> float:
    return sum(about.subtypes[member].share for member in members)


def _card(about: About, members: Sequence[int]) -> str:
    """The typical uses of a group of subtypes: those with the largest share × log ratio to the share in the symbol."""
    total = max(_share(about, members), 1e-300)
    name = f"{about.name}-{members[0]}" if len(members) == 1 else f"{about.name}-{members[0]}…{members[-1]}"
    lines = [f"<b>{html_text(name)}</b> <small>{_percent(total)}</small>"]
    titles = dict.fromkeys(title for member in members for title in about.subtypes[member].lists)
    for title in titles:
        shares: dict[str, float] = {}
        for member in members:
            part = about.subtypes[member].share / total
            for use in about.subtypes[member].lists.get(title, []):
                shares[use.text] = shares.get(use.text, 0.0) + part * use.share
        best = _typical(shares, {use.text: use.share for use in about.lists.get(title, [])})
        if best:
            chips = "".join(_chip(text, _percent(shares[text])) for text in best)
            lines.append(f'<span class="soft">{html_text(title)}:</span> {chips}')
    if len(lines) == 1:
        lines[0] += ' <span class="soft">like the whole symbol</span>'
    return f'<div class="card">{"<br>".join(lines)}</div>'


def _typical(shares: dict[str, float], usual: dict[str, float]) -> list[str]:
    """The texts that contribute most to the divergence from the usual shares."""
    least = min(usual.values(), default=1e-6)
    ratio = {text: share / usual.get(text, least) for text, share in shares.items()}
    found = [text for text in shares if ratio[text] > LEAST_RATIO]
    return sorted(found, key=lambda text: -shares[text] * np.log(ratio[text]))[:SHOWN_SUBTYPE]
