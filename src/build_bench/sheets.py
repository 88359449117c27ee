"""Contact sheets: a few samples of a scenario, each a strip from hopeless to clear. The card's and the gallery's."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image, ImageDraw, ImageFont, ImageOps

from build_bench.imaging import decode

SAMPLES = 6
STEPS = 6
_CELL, _GAP, _CAPTION = 176, 8, 22
_INK, _PAPER, _FRAME, _BEHIND = (20, 20, 20), (255, 255, 255), (205, 205, 205), (240, 240, 240)


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
    """A JPEG: one line per sample with its answer."""
    width = STEPS * (_CELL + _GAP) + _GAP
    height = len(rows) * (_CELL + _CAPTION + _GAP) + _GAP
    sheet = Image.new("RGB", (width, height), _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(14)
    for line, row in enumerate(rows):
        top = _GAP + line * (_CELL + _CAPTION + _GAP)
        draw.text((_GAP, top), f"{row['question']}  Right: {row['answer']}", _INK, font)
        sheet.paste(sequence(row), (_GAP, top + _CAPTION))
    return encoded(sheet)


def encoded(picture: Image.Image) -> bytes:
    """A picture that is only looked at, as JPEG."""
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=88)
    return buffer.getvalue()
