"""Where the camera looks first, how far each move takes it, and where it ends: crops of one picture (paper A.7).

All lengths are pixels of the whole picture; boxes are edges (left, top, right, bottom). The last view is the *target*:
the object's box with a margin. The first of a camera that moves right leaves out the right part of it, which the moves
then uncover in equal steps. The search is separable: what a step does to x is worked out once for all boxes, likewise
for y, and only the two bounds that join them (IoU, share shown) look at pairs of steps.

No step is longer than the first view, so the published evaluator's `crop`, one step short of it, is a crop too.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ZOOM = 2
DIRECTIONS = {
    "left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1),
    "up_left": (-1, -1), "up_right": (1, -1), "down_left": (-1, 1), "down_right": (1, 1),
    "zoom": (ZOOM, ZOOM),
}  # fmt: skip
"""Per direction, how the camera moves in x and in y: -1 to lower, 1 to higher coordinates, 0 not at all, 2 outwards."""

GRANULARITIES = (3, 4, 5)
"""Paper A.7: "the predefined discrete steps, set between 3 and 5"."""

LEVELS = 16
"""Steps tried per axis, evenly from the shortest to the longest that this axis allows."""

Edges = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a first view must keep to. Why these numbers: docs/decisions/coco-crops.md."""

    margin: float = 0.05
    """Around the object, as a share of its own side."""
    max_iou: float = 0.25
    """Of the first view with the object's box."""
    min_side: int = 32
    """Pixels of the first view's sides."""
    min_shown: float = 0.05
    """Share of the object's box in the first view."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of n boxes. Arrays of shape (n, levels); `levels` is 1 where the camera doesn't move."""

    start: Ints
    """(n,): lower edge of the target."""
    end: Ints
    """(n,): upper edge."""
    step: Ints
    length: Ints
    """Of the first view."""
    overlap: Floats
    """Of the first view with the object."""
    uncovers: Bools
    """The last move shows more of the object, and so each one does."""
    fits: Bools


@dataclass(frozen=True, slots=True)
class Track:
    """A camera's way over one picture: every state follows from these numbers."""

    direction: str
    granularity: int
    horizontal_step: int
    """0 where the camera doesn't move that way."""
    vertical_step: int
    target: Edges

    def shape(self) -> tuple[int, int]:
        """How many views there are in x and in y. Zoom, which moves both at once, has granularity + 1 in one row."""
        dx, dy = DIRECTIONS[self.direction]
        if dx == ZOOM:
            return self.granularity + 1, 1
        return (self.granularity if dx else 1), (self.granularity if dy else 1)

    def view(self, i: int, j: int) -> Edges:
        """The crop after i moves in x and j in y; for zoom, after i moves."""
        dx, dy = DIRECTIONS[self.direction]
        columns, rows = self.shape()
        x = (columns - 1 - i) * self.horizontal_step
        y = (columns - 1 - i if dy == ZOOM else rows - 1 - j) * self.vertical_step
        left, top, right, bottom = self.target
        return (
            left + x * (dx in (-1, ZOOM)),
            top + y * (dy in (-1, ZOOM)),
            right - x * (dx in (1, ZOOM)),
            bottom - y * (dy in (1, ZOOM)),
        )

    def crop_record(self) -> dict[str, int]:
        """`crop` in the published evaluator's record: it takes one step before the first view (proactivebench 0.1.1).

        But for zoom, `width` and `height` are there the right and the bottom edge.
        """
        dx, dy = DIRECTIONS[self.direction]
        left, top, right, bottom = self.view(0, 0)
        left += self.horizontal_step * (dx in (-1, ZOOM))
        top += self.vertical_step * (dy in (-1, ZOOM))
        right -= self.horizontal_step * (dx in (1, ZOOM))
        bottom -= self.vertical_step * (dy in (1, ZOOM))
        if dx == ZOOM:
            right, bottom = right - left, bottom - top
        return {"top": top, "left": left, "width": right, "height": bottom}


class Search:
    """Every step that keeps to the bounds, for n boxes, nine directions and three granularities.

    `boxes`: float (n, 4), edges within the pictures, of positive area. `sizes`: int (n, 2), their (width, height).
    """

    def __init__(self, boxes: Floats, sizes: Ints, bounds: Bounds) -> None:
        self._axes: dict[tuple[int, int, int], Axis] = {}
        self._masks: dict[tuple[str, int], Bools] = {}
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        for axis, way, g in itertools.product((0, 1), (-1, 0, 1, ZOOM), GRANULARITIES):
            self._axes[axis, way, g] = _axis(boxes[:, axis], boxes[:, axis + 2], sizes[:, axis], way, g, bounds)
        for (direction, (dx, dy)), g in itertools.product(DIRECTIONS.items(), GRANULARITIES):
            self._masks[direction, g] = _join(self._axes[0, dx, g], self._axes[1, dy, g], area, dx == ZOOM, bounds)
        counts = [[self._masks[d, g].sum(axis=1) for g in GRANULARITIES] for d in DIRECTIONS]
        self.counts: Ints = np.array(counts, np.int64).transpose(2, 0, 1)
        """(n, directions, granularities): how many pairs of steps keep to the bounds."""

    def track(self, box: int, direction: str, granularity: int, nth: int) -> Track:
        """The nth feasible pair of steps: shorter horizontal steps first, then shorter vertical ones."""
        dx, dy = DIRECTIONS[direction]
        x, y = self._axes[0, dx, granularity], self._axes[1, dy, granularity]
        pair = int(np.flatnonzero(self._masks[direction, granularity][box])[nth])
        i, j = (pair, pair) if dx == ZOOM else divmod(pair, y.step.shape[1])
        target = (int(x.start[box]), int(y.start[box]), int(x.end[box]), int(y.end[box]))
        return Track(direction, granularity, int(x.step[box, i]), int(y.step[box, j]), target)


def _axis(low: Floats, high: Floats, size: Ints, way: int, granularity: int, bounds: Bounds) -> Axis:
    """Target and candidate steps in one coordinate, for n objects from `low` to `high` in pictures of `size`."""
    side = high - low
    margin = bounds.margin * side
    roomy = np.maximum(margin, bounds.min_side)
    balanced = np.maximum(margin, (2 * bounds.min_side - side) / 2)
    before, after = {-1: (margin, roomy), 1: (roomy, margin)}.get(way, (balanced, balanced))
    start = np.maximum(np.floor(low - before), 0).astype(np.int64)
    end = np.minimum(np.ceil(high + after), size).astype(np.int64)
    full, below, above = end - start, low - start, end - high
    if way == 0:
        still = np.zeros_like(full)[:, None]
        fits = (full >= bounds.min_side)[:, None]
        return Axis(start, end, still, full[:, None], side[:, None], np.zeros_like(fits), fits)
    level = np.arange(LEVELS)
    if way == ZOOM:  # a share of the target, the same in x and y, so that the view keeps its shape
        step = full[:, None] * (level + 1) // (LEVELS * 2 * (granularity + 1) + 1)
        length = full[:, None] - 2 * granularity * step
        cut = granularity * step
        overlap = np.minimum(end[:, None] - cut, high[:, None]) - np.maximum(start[:, None] + cut, low[:, None])
        uncovers = step > np.minimum(below, above)[:, None]
        fits = (step >= 1) & (length >= bounds.min_side) & (overlap > 0)
        return Axis(start, end, step, length, overlap, uncovers, fits)
    near, far = (below, above) if way == 1 else (above, below)
    shortest = np.floor(far).astype(np.int64) + 1  # so that the last move, too, shows more of the object
    longest = np.minimum((full - bounds.min_side) // (granularity - 1), (full - 1) // granularity)
    span = np.maximum(longest - shortest, 0)[:, None]
    step = shortest[:, None] + span * level // (LEVELS - 1)
    length = full[:, None] - (granularity - 1) * step
    overlap = length - near[:, None]
    fits = (step <= longest[:, None]) & (overlap > 0)
    fits[:, 1:] &= step[:, 1:] > step[:, :-1]  # each step once
    return Axis(start, end, step, length, overlap, np.ones_like(fits), fits)


def _join(x: Axis, y: Axis, area: Floats, zoom: bool, bounds: Bounds) -> Bools:
    """(n, pairs of steps): which pairs keep to the bounds. `area`: (n,), of the objects' boxes.

    Pairs are all of x with all of y, y running fastest; for zoom, equal levels. IoU <= t is here
    overlap * (1 + t) <= t * (view + box): no division, and no pair whose answer depends on the way of computing.
    """

    def paired(of_x: npt.NDArray[Any], of_y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        return (of_x, of_y) if zoom else (of_x[:, :, None], of_y[:, None, :])

    def times(of_x: npt.NDArray[Any], of_y: npt.NDArray[Any]) -> Floats:
        x_side, y_side = paired(of_x, of_y)
        product: Floats = x_side * y_side
        return product.reshape(len(area), -1)

    t = bounds.max_iou
    overlap = times(x.overlap, y.overlap)
    feasible = overlap * (1 + t) <= times(t * x.length, y.length) + (t * area)[:, None]
    feasible &= overlap >= (bounds.min_shown * area)[:, None]
    feasible &= np.logical_and(*paired(x.fits, y.fits)).reshape(feasible.shape)
    feasible &= np.logical_or(*paired(x.uncovers, y.uncovers)).reshape(feasible.shape)
    return feasible
