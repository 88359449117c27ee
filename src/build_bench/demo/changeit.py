"""A small ChangeIt in its real layout: six drawn tutorials, and one of each kind that is rejected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.video.frame import VideoFrame
from PIL import Image, ImageDraw, ImageFont

from build_bench.demo.changeit_scenes import FINER, HEIGHT, ROOMS, SCENES, WIDTH, Board, room

RATE = 4
"""Pictures per second where something moves; one where nothing does: a variable rate, as phones have it."""

CENTERING = {"apple": 0.309, "ball": 0.301, "cake": 0.380, "candle": 0.278, "plane": 0.484, "tea": 0.345}
NAMES = {
    "apple": "Apple Peeling/Cutting", "ball": "Ball Inflating", "cake": "Cake Frosting", "candle": "Candle Lighting",
    "plane": "Paper Plane Folding", "tea": "Tea Pouring",
}  # fmt: skip


class Tutorial(NamedTuple):
    """One video. Seconds of each part: title, empty table, the thing before, the action, the thing after, end card."""

    category: str
    video: str
    parts: tuple[int, int, int, int, int, int]
    oddity: str = ""
    """`missing`, `cut`, `html`, `no_action` or empty."""


TUTORIALS = (
    Tutorial("apple", "-mK3dR0wN01", (3, 3, 5, 10, 6, 3)),
    Tutorial("ball", "bA1lDr4wN02", (4, 2, 6, 10, 5, 3)),
    Tutorial("cake", "cAk3_Dr4w03", (2, 4, 4, 12, 6, 4)),
    Tutorial("candle", "cAnD1e-dr04", (5, 4, 5, 6, 7, 2)),
    Tutorial("plane", "pLaN3dRaw05", (3, 5, 3, 11, 5, 3)),
    Tutorial("tea", "tEadRaWn_06", (4, 3, 5, 9, 6, 4)),
    Tutorial("apple", "aPp1e_gOn07", (3, 3, 5, 10, 6, 3), "missing"),
    Tutorial("cake", "cAk3_cUt-08", (2, 4, 4, 12, 6, 4), "cut"),
    Tutorial("candle", "cAnD1eLit09", (4, 3, 0, 0, 9, 3), "no_action"),
    Tutorial("tea", "tEa_PaGe-10", (4, 3, 5, 9, 6, 4), "html"),
)

LABELS = (0, 0, 1, 2, 3, 0)
"""Of a tutorial's parts."""

CUT_TO = 10
"""Seconds left of the one that was cut."""

PAGE = b"<!DOCTYPE html><html><title>Video unavailable</title></html>\n"


def write(root: Path) -> None:
    """Draw the tables and `downloads/` under `root`.

    The same bytes each time on one machine; x264's may differ from one processor to another, and so may its version's.
    """
    for folder in ("videos", "annotations", "downloads"):
        for category in NAMES:
            (root / folder / (category if folder != "videos" else "")).mkdir(parents=True, exist_ok=True)
    rows = "".join(f'{name},"{NAMES[name]}",{CENTERING[name]:.3f}\n' for name in sorted(NAMES))
    _write(root / "categories.csv", f"DIR_NAME,ACTION_NAME,CENTERING_PARAM\n{rows}")
    meanings = ("background/noannotation", "state1", "action", "state2")
    _write(root / "labels.csv", "LABEL_ID,MEANING\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(meanings)))
    for category in NAMES:
        own = [tutorial.video for tutorial in TUTORIALS if tutorial.category == category] + ["n0tAnn0tatd"]
        _write(root / "videos" / f"{category}.csv", "".join(f"{v},{0.7 - i / 20:.3f}\n" for i, v in enumerate(own)))
    for tutorial in TUTORIALS:
        labels = [label for label, seconds in zip(LABELS, tutorial.parts, strict=True) for _ in range(seconds)]
        annotation = root / "annotations" / tutorial.category / f"{tutorial.video}.fps1.csv"
        _write(annotation, "".join(f"{second},{label}\n" for second, label in enumerate(labels)))
        path = root / "downloads" / tutorial.category / f"{tutorial.video}.mp4"
        if tutorial.oddity == "html":
            path.write_bytes(PAGE)
        elif tutorial.oddity != "missing":
            seconds = CUT_TO if tutorial.oddity == "cut" else len(labels)
            _encode(path, {at: picture for at, picture in _pictures(tutorial) if at < seconds * RATE})


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _pictures(tutorial: Tutorial) -> Iterator[tuple[int, Image.Image]]:
    """(time in units of 1 / RATE seconds, picture): RGB of WIDTH x HEIGHT."""
    title, empty, before, action, after, end = tutorial.parts
    moving = action * RATE
    category = tutorial.category
    stills = [card("HOW TO", category)] * title + [_scene(category, None)] * empty + [_scene(category, 0.0)] * before
    yield from ((second * RATE, picture) for second, picture in enumerate(stills))
    at = len(stills) * RATE
    yield from ((at + number, _scene(category, (number + 1) / (moving + 1))) for number in range(moving))
    at += moving
    stills = [_scene(category, 1.0)] * after + [card("THANKS FOR WATCHING", category)] * end
    yield from ((at + second * RATE, picture) for second, picture in enumerate(stills))
    at += len(stills) * RATE
    yield from ((at - left, stills[-1]) for left in range(RATE - 1, 0, -1))  # the last picture lasts its second


@cache
def _room(category: str) -> Image.Image:
    return room(*ROOMS[category])


@cache
def _scene(category: str, done: float | None) -> Image.Image:
    """The room, with the thing in it so far as the action is done; None: without."""
    board = Board(_room(category).copy())
    if done is not None:
        SCENES[category](board, done)
    return board.picture.reduce(FINER)


@cache
def card(text: str, category: str) -> Image.Image:
    """A card with words that say nothing of the thing."""
    wall, table = ROOMS[category]
    picture = Image.new("RGB", (WIDTH, HEIGHT), tuple(value * 2 // 5 for value in wall))
    draw = ImageDraw.Draw(picture)
    for stripe in range(-HEIGHT, WIDTH, 32):
        draw.line([(stripe, HEIGHT), (stripe + HEIGHT, 0)], tuple(value // 2 for value in wall), 12)
    draw.rectangle((0, HEIGHT - 14, WIDTH, HEIGHT), fill=table)
    draw.text((WIDTH / 2, HEIGHT / 2 - 6), text, (246, 244, 238), ImageFont.load_default(22), anchor="mm")
    return picture


def _encode(path: Path, pictures: Mapping[int, Image.Image]) -> None:
    """Write an H.264 file of RGB pictures, each shown at its key, in units of 1 / RATE seconds."""
    base = Fraction(1, RATE)
    with av.open(str(path), "w", container_options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.width, stream.height = WIDTH, HEIGHT
        stream.pix_fmt = "yuv420p"
        stream.time_base = stream.codec_context.time_base = base
        stream.codec_context.thread_count = 1
        stream.options = {"preset": "veryfast", "crf": "22", "g": "24"}
        for at, picture in pictures.items():
            frame = VideoFrame.from_ndarray(np.asarray(picture), "rgb24")
            frame.pts, frame.time_base = at, base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
