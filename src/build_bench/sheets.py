"""The card's contact sheets: a few samples of a scenario, each a row from hopeless to clear."""

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


def contact_sheet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """A JPEG: one line per sample with its answer, its first views on the left, its last on the right."""
    width = STEPS * (_CELL + _GAP) + _GAP
    height = len(rows) * (_CELL + _CAPTION + _GAP) + _GAP
    sheet = Image.new("RGB", (width, height), _PAPER)
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(14)
    for line, row in enumerate(rows):
        top = _GAP + line * (_CELL + _CAPTION + _GAP)
        draw.text((_GAP, top), f"{row['question']}  Right: {row['answer']}", _INK, font)
        for column, view in enumerate(path_of(row)):
            left = _GAP + column * (_CELL + _GAP)
            picture = decode(row["frames"][view["frame"]]["bytes"], tuple(view["crop"]))
            thumb = ImageOps.contain(picture, (_CELL - 2, _CELL - 2), Image.Resampling.LANCZOS)
            box = (left, top + _CAPTION, left + _CELL, top + _CAPTION + _CELL)
            draw.rectangle((*box[:2], box[2] - 1, box[3] - 1), _BEHIND, _FRAME)
            sheet.paste(thumb, (left + (_CELL - thumb.width) // 2, box[1] + (_CELL - thumb.height) // 2))
    buffer = io.BytesIO()
    sheet.save(buffer, "JPEG", quality=88)
    return buffer.getvalue()
