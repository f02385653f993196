"""Points with ellipses in the plane, as SVG."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lveg.drawing.svg import ACCENT, FONT, INK, LINE, SOFT, html_text, text_width

WIDTH, HEIGHT, MARGIN, SIZE = 860, 560, 60, 12
_COLOURS = (ACCENT, "#d9730d", "#2e9e6b", "#9b59b6")
_DARK = ".lveg-plane .ink{fill:#e6eaf0}.lveg-plane .soft{fill:#a3afbd}.lveg-plane .line{stroke:#3d4650}"
STYLE = (
    ".lveg-plane .ink{paint-order:stroke;stroke:var(--paper,#fff);stroke-width:3px;stroke-linejoin:round}"
    ".lveg-plane .spot:hover ellipse{visibility:visible;pointer-events:none}"
    f"@media (prefers-color-scheme:dark){{{_DARK}}}"
)


class Spot(NamedTuple):
    """A point: its group, text and size from 0 to 1, and an ellipse around it; angle: of its first axis, in degrees."""

    group: str
    text: str
    size: float
    x: float
    y: float
    radii: tuple[float, float]
    angle: float = 0.0


def plane_svg(spots: Sequence[Spot]) -> str:
    """The points in the colours of their groups; the larger ones are labelled as far as there is room.

    Ellipses are shown only under the pointer: they would cover one another.
    """
    groups = list(dict.fromkeys(spot.group for spot in spots))
    colours = {group: _COLOURS[number % len(_COLOURS)] for number, group in enumerate(groups)}
    placed = [_scaled(spot, *_scale(spots)) for spot in spots]
    dots = "".join(_dot(spot, colours[spot.group]) for spot in placed)
    labels = "".join(
        f'<text class="ink" x="{x:.1f}" y="{y:.1f}" fill="{INK}" font-size="{SIZE}">{html_text(text)}</text>'
        for text, x, y in _labels(placed)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lveg-plane" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'width="{WIDTH}" height="{HEIGHT}" style="max-width:100%;height:auto" role="img" '
        f'aria-label="{len(spots)} Gaussians in the plane" font-family="{FONT}"><style>{STYLE}</style>'
        f'<rect class="line" x=".5" y=".5" width="{WIDTH - 1}" height="{HEIGHT - 1}" rx="8" fill="none" '
        f'stroke="{LINE}"/>'
        f'<svg x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT - 2}" viewBox="1 1 {WIDTH - 2} {HEIGHT - 2}" '
        f'overflow="hidden">{dots}</svg>'  # wide ellipses end at the frame
        f"{labels}{_legend(colours)}</svg>"
    )


def _dot(spot: Spot, colour: str) -> str:
    """A point, with its ellipse while the pointer is over it."""
    return (
        f'<g class="spot"><title>{html_text(f"{spot.text} ({spot.group})")}</title>'
        f'<ellipse rx="{spot.radii[0]:.1f}" ry="{spot.radii[1]:.1f}" transform="translate({spot.x:.1f} {spot.y:.1f}) '
        f'rotate({spot.angle:.0f})" fill="{colour}" fill-opacity=".12" stroke="{colour}" visibility="hidden"/>'
        f'<circle cx="{spot.x:.1f}" cy="{spot.y:.1f}" r="{_radius(spot):.1f}" fill="{colour}" fill-opacity=".75"/></g>'
    )


def _scale(spots: Sequence[Spot]) -> tuple[float, float, float]:
    """(pixels per unit, the middle x and y) such that all points are inside."""
    xs, ys = [spot.x for spot in spots], [spot.y for spot in spots]
    across, down = max(xs) - min(xs), max(ys) - min(ys)
    scale = min((WIDTH - 2 * MARGIN) / max(across, 1e-9), (HEIGHT - 2 * MARGIN - 20) / max(down, 1e-9))
    return scale, (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2


def _scaled(spot: Spot, scale: float, x: float, y: float) -> Spot:
    """The point in pixels; the vertical axis points down there."""
    return spot._replace(
        x=WIDTH / 2 + scale * (spot.x - x), y=HEIGHT / 2 + 10 - scale * (spot.y - y),
        radii=(scale * spot.radii[0], scale * spot.radii[1]), angle=-spot.angle,
    )  # fmt: skip


def _radius(spot: Spot) -> float:
    return 2.0 + 9.0 * math.sqrt(spot.size)


def _labels(spots: Sequence[Spot]) -> Iterator[tuple[str, float, float]]:
    """Labels right or left of their points, above or below; larger points first, none over another."""
    taken: list[tuple[float, float, float, float]] = []
    for spot in sorted(spots, key=lambda spot: -spot.size):
        width, away = text_width(spot.text, SIZE), _radius(spot) + 3
        for x, y in (
            (spot.x + away, spot.y + 4), (spot.x - away - width, spot.y + 4),
            (spot.x - width / 2, spot.y - away - 2), (spot.x - width / 2, spot.y + away + 10),
        ):  # fmt: skip
            box = (x - 2, y - SIZE, x + width + 2, y + 3)
            inside = box[0] >= 4 and box[2] <= WIDTH - 4 and box[1] >= 26 and box[3] <= HEIGHT - 4
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield spot.text, x, y
                break


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _legend(colours: dict[str, str]) -> str:
    parts, x = [], 14.0
    for group, colour in colours.items():
        parts.append(
            f'<circle cx="{x + 5}" cy="16" r="5" fill="{colour}" fill-opacity=".8"/>'
            f'<text class="soft" x="{x + 15}" y="20" fill="{SOFT}" font-size="{SIZE}">{html_text(group)}</text>'
        )
        x += 34 + text_width(group, SIZE)
    return "".join(parts)
