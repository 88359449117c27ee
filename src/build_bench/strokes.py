"""Quick, Draw! strokes as pictures: one grey frame a stroke, each showing every stroke so far.

A stroke is a row of capsules, one for each pair of neighbouring points, and a pixel's ink is the area of it that the
nearest capsule covers. Only numpy's elementwise +, -, *, /, sqrt and rounding touch a float, and IEEE 754 fixes every
bit of those: the pixels are the same on every machine. Why so: docs/decisions/quickdraw-renderer.md.
"""

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

# xs, ys and, in a raw drawing, times, which are ignored.
Stroke = Sequence[Sequence[float]]

LEVELS = 64  # greys in a frame, evenly spaced, white and black among them: 14 % fewer PNG bytes, no visible change
_SLOPES = 16  # rows of the coverage table, less one: the slopes it tells apart
_FINE = 8  # units a pixel in which distances are held; the table steps by 1/64 of a square pixel
_BATCH = 16  # drawings laid out at once, so that numpy's cost per call is shared


def frames(
    strokes: Sequence[Stroke], size: int = 256, width: float = 3.0, margin: float | None = None
) -> Iterator[NDArray[np.uint8]]:
    """The frames of one drawing: see `frames_many`, which takes a third of the time a drawing."""
    return iter(next(frames_many([strokes], size, width, margin)))


def frames_many(
    drawings: Iterable[Sequence[Stroke]], size: int = 256, width: float = 3.0, margin: float | None = None
) -> Iterator[list[NDArray[np.uint8]]]:
    """For each drawing its frames, one a stroke: uint8 (size, size), 0 black ink on 255 white, each its own array.

    Frame k shows strokes 0..k with round caps and joins `width` px wide; a one-point stroke is a disc. The drawing's
    bounding box is centred and its longer side fills size - 2 * margin px, so raw and simplified files look alike.
    The margin is at least width / 2 + 0.5 px, which keeps all the ink inside, and by default width / 2 + 1.

    ValueError, before the first of its 16 neighbours: a drawing without strokes, a stroke without points, xs and ys of
    unequal length, a coordinate not finite or beyond 1e9; or a width outside 0..64, a margin too small or too large.
    """
    margin = width / 2 + 1 if margin is None else margin
    if not 0 < width <= 64:
        raise ValueError(f"width {width} is not in 0..64")
    if margin < width / 2 + 0.5:
        raise ValueError(f"margin {margin} cuts off ink: at least {width / 2 + 0.5} for width {width}")
    if size <= 2 * margin:
        raise ValueError(f"size {size} leaves no room between margins of {margin}")
    todo = iter(drawings)
    while batch := list(islice(todo, _BATCH)):
        points, ends = _place(batch, size, margin)
        where, grey, stops, guard = _cover(points, ends, size, width)
        spans = iter(zip([0, *stops], stops, strict=False))
        for drawing in batch:
            canvas = np.full((size + 2 * guard) * size, 255, np.uint8)
            shown = canvas[guard * size : -guard * size].reshape(size, size)
            out = []
            for start, stop in islice(spans, len(drawing)):
                np.minimum.at(canvas, where[:, start:stop].astype(np.intp).ravel(), grey[:, start:stop].ravel())
                out.append(shown.copy())
            yield out


def normalise(strokes: Sequence[Stroke]) -> list[tuple[list[int], list[int]]]:
    """A raw drawing in the frame of the simplified ones: round((raw - min) * 255 / max(width, height)), times dropped.

    A drawing with no extent goes to 0, 0. ValueError: no points, or a coordinate that is not finite.
    """
    left, top = (min(v for stroke in strokes for v in stroke[i]) for i in (0, 1))
    extent = max(max(v - low for stroke in strokes for v in stroke[i]) for i, low in ((0, left), (1, top))) or 1
    return [
        ([round((x - left) * 255 / extent) for x in s[0]], [round((y - top) * 255 / extent) for y in s[1]])
        for s in strokes
    ]


def _place(drawings: Sequence[Sequence[Stroke]], size: int, margin: float) -> tuple[NDArray[np.float64], list[int]]:
    """All points (2, n) in canvas pixels, centres at whole numbers, a lone one twice; each stroke's last index + 1."""
    xs: list[float] = []
    ys: list[float] = []
    ends: list[int] = []
    stops: list[int] = []
    for drawing in drawings:
        for x, y, *_ in drawing:
            if len(x) != len(y) or not len(x):
                raise ValueError(f"a stroke has {len(x)} xs and {len(y)} ys")
            for _ in range(1 if len(x) > 1 else 2):
                xs.extend(x)
                ys.extend(y)
            ends.append(len(xs))
        if stops[-1:] == [len(xs)] or not xs:
            raise ValueError("a drawing has no strokes")
        stops.append(len(xs))
    points = np.array([xs, ys], np.float64)
    if not (np.abs(points) <= 1e9).all():
        raise ValueError("a coordinate is not finite, or beyond 1e9")
    low, high = (extreme.reduceat(points, [0, *stops[:-1]], axis=1) for extreme in (np.minimum, np.maximum))
    extent = np.maximum(*(high - low))
    scale = (size - 2 * margin) / np.where(extent > 1e-9, extent, 1.0)
    shift = (size - 1) / 2 - (high - low) * (scale / 2)
    each = np.repeat(np.arange(len(stops)), np.diff([0, *stops]))
    points -= low.take(each, axis=1)
    return points * scale.take(each) + shift.take(each, axis=1), ends


def _cover(
    points: NDArray[np.float64], ends: list[int], size: int, width: float
) -> tuple[NDArray[np.int32], NDArray[np.uint8], list[int], int]:
    """The pixels near every segment and the grey it gives them: index and value (band, steps), stops, guard rows.

    A segment is walked one pixel at a time along its longer axis, and each step looks at a band of pixels across it.
    The index is flat into a canvas with `guard` more rows above and below. `stops` holds each stroke's last step + 1.
    """
    r = width / 2
    reach, row, table = _table(width)
    inner = np.ones(points.shape[1] - 1, bool)
    inner[np.array(ends[:-1], int) - 1] = False  # from one stroke's end to the next one's start
    first = np.flatnonzero(inner)
    start = points.take(first, axis=1)
    delta = points.take(first + 1, axis=1) - start
    # Along the longer axis (a) from the lower end, across it (b).
    steep = np.abs(delta[1]) > np.abs(delta[0])
    a, b = np.where(steep, start[::-1], start)
    da, db = np.where(steep, delta[::-1], delta)
    a, b = np.minimum(a, a + da), np.where(da < 0, b + db, b)
    slope = db / np.where(da == 0, 1.0, da)
    da = np.abs(da)
    secant = np.sqrt(1 + slope * slope)
    begin = np.ceil(a - (r + 0.5))
    count = (np.floor(a + da + (r + 0.5)) - begin).astype(np.int64) + 1
    after = np.cumsum(count)

    seg = np.repeat(np.arange(len(a)), count)
    step = np.arange(len(seg)) + (begin.astype(np.int64) - (after - count)).take(seg)
    t = step - a.take(seg)
    centre = b.take(seg) + slope.take(seg) * t
    nearest = np.rint(centre)
    per_step = np.stack([secant * _FINE, secant * da * (_FINE / 2), _FINE / secant, slope / secant * _FINE])
    sec, half, cos, sin = per_step.take(seg, axis=1)
    along = (t * sec - half).astype(np.float32)  # from the segment's middle
    half, cos, sin = (v.astype(np.float32) for v in (half, cos, sin))
    table_row = (np.rint(np.abs(slope) * _SLOPES) * row).astype(np.float32).take(seg)

    guard = reach + 2
    stride_b = np.where(steep, 1, size).astype(np.int32).take(seg)
    stride_a = size + 1 - stride_b
    base = step.astype(np.int32) * stride_a + nearest.astype(np.int32) * stride_b + guard * size
    band = np.arange(-reach, reach + 1, dtype=np.int32)[:, None]
    across = (nearest - centre).astype(np.float32) + band.astype(np.float32)
    past = np.maximum(np.abs(across * sin + along) - half, 0)  # beyond the nearer end
    across *= cos
    squared = across * across + past * past + table_row
    grey = table.take(squared.astype(np.int32))
    where = band * stride_b + base
    stops = after[np.array(ends) - np.arange(2, len(ends) + 2)].tolist()
    return where, grey, stops, guard


@functools.lru_cache(8)
def _table(width: float) -> tuple[int, int, NDArray[np.uint8]]:
    """Grey by slope and squared distance to a segment's axis: half the band's height, a row's length, the rows.

    Exact for the straight part of a stroke: the area of a unit square between two parallel lines. Round ends take it
    too; they are a few pixels a stroke, off by about 4 levels.
    """
    r = width / 2
    reach = math.ceil(r * math.sqrt(2) + 0.5)
    farthest = reach + 0.5, (r + 1.5) * math.sqrt(2) + (reach + 0.5) / math.sqrt(2)  # across and past the end
    row = int((farthest[0] * farthest[0] + farthest[1] * farthest[1]) * _FINE * _FINE) + 2
    used = int((r + 0.75) * (r + 0.75) * _FINE * _FINE) + 2
    distance = np.sqrt((np.arange(used) + 0.5) / (_FINE * _FINE))
    slope = np.arange(_SLOPES + 1)[:, None] / _SLOPES
    cos = 1 / np.sqrt(1 + slope * slope)
    ink = _half_plane(r - distance, cos, slope * cos) - _half_plane(-r - distance, cos, slope * cos)
    level = np.rint((1 - ink) * (LEVELS - 1))
    table = np.full((_SLOPES + 1, row), 255, np.uint8)
    table[:, :used] = np.rint(level * 255 / (LEVELS - 1))
    return reach, row, table.ravel()


def _half_plane(t: NDArray[np.float64], cos: NDArray[np.float64], sin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Area of the unit square within a half-plane whose edge is t inside of its centre; normal (cos, sin), cos >= sin.

    Along the normal the square is a trapezium: a flat top (cos - sin) wide, feet (cos + sin) apart.
    """
    foot, flat = (cos + sin) / 2, (cos - sin) / 2
    out = np.minimum(np.abs(t), foot)
    corner = (foot - out) * (foot - out) / np.where(sin > 0, 2 * cos * sin, 1.0)
    outside = np.where(out >= flat, corner, 0.5 - out / cos)
    return np.where(t < 0, outside, 1 - outside)
