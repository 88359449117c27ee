"""Contact sheets: a few samples of a scenario, each a strip from hopeless to clear. The card's and the gallery's.

No text in them: scaled to a phone it can't be read. Whoever shows them writes captions beside.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageOps

from build_bench.imaging import decode

SAMPLES = 3
STEPS = 6
_CELL, _GAP = 176, 8
_PAPER, _FRAME, _BEHIND = (255, 255, 255), (205, 205, 205), (240, 240, 240)


def path_of(row: Mapping[str, Any], steps: int = STEPS) -> list[Mapping[str, Any]]:
    """The states on the way from the start to the farthest state, evenly thinned to at most `steps`."""
    came_from = {row["start"]: None}
    queue = [row["start"]]
    for at in queue:
        for move in row["states"][at]["moves"]:
            if move >= 0 and move not in came_from:
                came_from[move] = at
                queue.append(move)
    path: list[int] = []
    at = queue[-1]
    while at is not None:
        path.append(at)
        at = came_from[at]
    path.reverse()
    if len(path) > steps:
        path = [path[round(i * (len(path) - 1) / (steps - 1))] for i in range(steps)]
    return [row["states"][state] for state in path]


def strip(row: Mapping[str, Any], views: Sequence[Mapping[str, Any]], cell: int, gap: int = 0) -> Image.Image:
    """`views` of a row as models see them, side by side, each in a square of `cell` pixels."""
    picture = Image.new("RGB", (len(views) * (cell + gap) - gap, cell), _PAPER)
    draw = ImageDraw.Draw(picture)
    for column, view in enumerate(views):
        left = column * (cell + gap)
        seen = decode(row["frames"][view["frame"]]["bytes"], tuple(view["crop"]))
        thumb = ImageOps.contain(seen, (cell - 2, cell - 2), Image.Resampling.LANCZOS)
        draw.rectangle((left, 0, left + cell - 1, cell - 1), _BEHIND, _FRAME)
        picture.paste(thumb, (left + (cell - thumb.width) // 2, (cell - thumb.height) // 2))
    return picture


def sequence(row: Mapping[str, Any]) -> Image.Image:
    """A sample on a contact sheet: its first views on the left, its last on the right."""
    return strip(row, path_of(row), _CELL, _GAP)


def contact_sheet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A JPEG: one line per sample, as wide as the longest is."""
    lines = [sequence(row) for row in rows]
    width = max((line.width for line in lines), default=0)
    sheet = Image.new("RGB", (width + 2 * _GAP, len(rows) * (_CELL + _GAP) + _GAP), _PAPER)
    for number, line in enumerate(lines):
        sheet.paste(line, (_GAP, _GAP + number * (_CELL + _GAP)))
    return encoded(sheet)


def encoded(picture: Image.Image) -> bytes:
    """A picture that is only looked at, as JPEG."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=88)
    return buffer.getvalue()
