"""Line plots as inline SVG: no library, no script; their colours come from the page's CSS variables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 34
"""Margins, for the numbers at the axes."""


class Level(NamedTuple):
    """A horizontal line with a name."""

    value: float
    name: str
    css: str


def curve(
    points: Sequence[tuple[float, float | None]],
    line: float,
    *,
    top: float,
    levels: Sequence[Level],
    alt: str,
    percent: bool = False,
) -> str:
    """Values over thresholds, in steps (a value holds until the next threshold), with `line` as the rule's threshold.

    Points without a value are left out. `alt` says in words what is to be seen.
    """
    last = max((x for x, _ in points), default=1.0) or 1.0
    shown = [(x, y) for x, y in points if y is not None]
    top = top or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return round(LEFT + across * min(x / last, 1), 1), round(TOP + up * (1 - min(y / top, 1)), 1)

    parts = [_axes(at, last, top, percent)]
    for level in levels:
        (x0, y0), (x1, _) = at(0, level.value), at(last, level.value)
        parts.append(f'<path class="{level.css}" d="M{x0} {y0}H{x1}"/>')
        parts.append(f'<text class="{level.css}" x="{x1}" y="{y0 - 3}" text-anchor="end">{escape(level.name)}</text>')
    if shown:
        path = "M{} {}".format(*at(*shown[0])) + "".join("H{}V{}".format(*at(*point)) for point in shown[1:])
        parts.append(f'<path class="curve" d="{path}"/>')
    if line <= last:
        (x, y0), (_, y1) = at(line, 0), at(line, top)
        parts.append(f'<path class="rule" d="M{x} {y0}V{y1}"/>')
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(alt)}"><title>{escape(alt)}</title>'
        f"{''.join(parts)}</svg>"
    )


def _axes(at: object, last: float, top: float, percent: bool) -> str:
    assert callable(at)
    parts = []
    for value in ticks(last):
        x, bottom = at(value, 0)
        parts.append(f'<text x="{x}" y="{bottom + 13}" text-anchor="middle">{value:.3g}</text>')
    for value in ticks(top) if percent else ticks(top, least=1):
        left, y = at(0, value)
        number = f"{100 * value:.3g}%" if percent else f"{value:,.0f}"
        parts.append(f'<path class="grid" d="M{left} {y}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{left - 5}" y="{y + 3.5}" text-anchor="end">{number}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 5}" text-anchor="middle">threshold (share of models)</text>')
    return "".join(parts)


def ticks(top: float, least: float = 0.0) -> list[float]:
    """Round numbers from 0 to `top`, five or fewer steps of 1, 2, 2.5 or 5 times a power of ten, `least` or more."""
    power = 10.0 ** math.floor(math.log10(top / 4))
    steps = (power * factor for factor in (1, 2, 2.5, 5, 10, 20))
    step = next(step for step in steps if step >= least and step % (least or step) == 0 and top / step <= 5)
    return [round(step * number, 10) for number in range(int(top / step + 1e-9) + 1)]


def bar(share: float, css: str, name: str) -> str:
    """A part of a stacked bar."""
    return f'<span class="{css}" style="width:{share * 100:.2f}%" title="{escape(name)} {share:.0%}"></span>'
