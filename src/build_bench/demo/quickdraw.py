"""A small Quick, Draw! in its real layout: twelve words, drawn by `quickdraw_sketches`, simplified as Google did it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from build_bench.demo.quickdraw_sketches import SKETCHES, Hand, Stroke, turned

PER_WORD = 14
"""Drawings of a word: 12 that can be used, so ten are chosen from more than ten."""
UNRECOGNIZED, SINGLE_STROKE = 4, 9
"""The drawings of a word that the paper's rules leave out."""

EPSILON = 2.0
"""Pixels that simplifying may move a line by (the dataset's README)."""

Times = list[list[list[float]]]
"""Strokes as [xs, ys, ts]."""


def write(root: Path, kind: str = "simplified") -> None:
    """Draw `full/<kind>/<word>.ndjson` under `root`; `kind` is `simplified` or `raw`, of the same drawings."""
    folder = root / "full" / kind
    folder.mkdir(parents=True)
    for word in SKETCHES:
        lines = [json.dumps(row, separators=(",", ":")) for row in rows(word, kind)]
        (folder / f"{word}.ndjson").write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def rows(word: str, kind: str) -> Iterator[dict[str, Any]]:
    """The rows of one file, with the real keys in the real order."""
    for number in range(PER_WORD):
        hand = Hand(f"{word} {number}")
        raw = _draw(word, number, hand)
        second, day = hand.whole(0, 86_399), hand.whole(1, 28)
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.{hand.whole(1, 99_999):05d}"
        yield {
            "word": word,
            "countrycode": ("BR", "DE", "FR", "IT", "JP", "KE", "US", "ZZ")[hand.whole(0, 7)],
            "timestamp": f"2017-{hand.whole(1, 3):02d}-{day:02d} {clock.rstrip('0')} UTC",
            "recognized": number != UNRECOGNIZED,
            "key_id": str(2**52 + hand.whole(0, 2**51 - 1)),
            "drawing": raw if kind == "raw" else simplified(raw),
        }


def _draw(word: str, number: int, hand: Hand) -> Times:
    """One drawing on one screen: size, tilt and proportions differ, as does the moment when the game is over."""
    strokes = [hand.follow(path) for path in SKETCHES[word](hand)]
    if number == UNRECOGNIZED:
        strokes = strokes[: max(len(strokes) // 3, 1)]
    elif number == SINGLE_STROKE:
        strokes = strokes[:1]
    elif len(strokes) > 6:
        strokes = strokes[: len(strokes) - hand.whole(0, 2)]
    tilt, scale, wide = turned(hand.about(0, 0.012)), hand.about(4, 1.5), hand.about(1, 0.1)
    corner = complex(hand.whole(20, 300), hand.whole(20, 200))
    drawn: Times = []
    time = 0
    for stroke in strokes:
        placed = [corner + complex(point.real * wide, point.imag) * tilt * scale for point in stroke]
        times = [time + 17 * i for i in range(len(placed))]
        time = times[-1] + hand.whole(120, 700)
        drawn.append([[round(p.real, 3) for p in placed], [round(p.imag, 3) for p in placed], list(map(float, times))])
    return [[xs, ys, [int(t) for t in ts]] for xs, ys, ts in drawn]


def simplified(raw: Times) -> list[list[list[int]]]:
    """Google's way: to the corner, scaled to 255, rounded, each stroke thinned out; a dot becomes two equal points."""
    left, top = (min(v for stroke in raw for v in stroke[axis]) for axis in (0, 1))
    extent = max(max(v for stroke in raw for v in stroke[axis]) - low for axis, low in ((0, left), (1, top))) or 1
    drawing = []
    for xs, ys, _ in raw:
        path = [
            complex(round((x - left) * 255 / extent), round((y - top) * 255 / extent))
            for x, y in zip(xs, ys, strict=True)
        ]
        kept = _thinned(path) if len(path) > 1 else path * 2
        drawing.append([[int(point.real) for point in kept], [int(point.imag) for point in kept]])
    return drawing


def _thinned(path: Stroke) -> Stroke:
    """Ramer-Douglas-Peucker: the ends, and the farthest point between them if it is more than `EPSILON` off."""
    start, end = path[0], path[-1]
    away = end - start
    length = math.sqrt(away.real * away.real + away.imag * away.imag)

    def off(point: complex) -> float:
        to = point - start
        if length == 0:
            return math.sqrt(to.real * to.real + to.imag * to.imag)
        return abs(away.real * to.imag - away.imag * to.real) / length

    far = max(range(1, len(path) - 1), key=lambda i: off(path[i]), default=0)
    if far == 0 or off(path[far]) <= EPSILON:
        return [start, end]
    return _thinned(path[: far + 1])[:-1] + _thinned(path[far:])
