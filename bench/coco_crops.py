"""The search for first views: ours beside a plain Python loop that looks at the same candidates.

5,000 boxes, nine directions, three granularities, sixteen steps per axis: 3,312 candidates a box. Both ways are given
the same draws and must make the same picks. Rounds interleaved; the ratio is within a round.

    python bench/coco_crops.py [--boxes N] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import math
import random
import statistics
import time

import numpy as np
from parts.results import Result, options, within, write

from build_bench.crops import DIRECTIONS, GRANULARITIES, LEVELS, ZOOM, Bounds, Search

Box = tuple[float, float, float, float]
Pick = tuple[str, int, int, int, tuple[int, int, int, int]]
BATCH = 512


def draw_boxes(n: int) -> tuple[list[Box], list[tuple[int, int]]]:
    """Boxes of COCO's kind: log-uniform sides from 24 px, two decimals, one in eight at the picture's border."""
    draw = random.Random(0)
    boxes, sizes = [], []
    for _ in range(n):
        size = draw.choice([(640, 480), (480, 640), (640, 427), (500, 375)])
        sides = [min(math.exp(draw.uniform(math.log(24), math.log(500))), 0.98 * size[axis]) for axis in (0, 1)]
        left, top = (0.0 if draw.random() < 0.06 else draw.uniform(0, size[i] - sides[i]) for i in (0, 1))
        edges = [round(value, 2) for value in (left, top, left + sides[0], top + sides[1])]
        boxes.append((edges[0], edges[1], min(edges[2], float(size[0])), min(edges[3], float(size[1]))))
        sizes.append(size)
    return boxes, sizes


def separable(boxes: list[Box], sizes: list[tuple[int, int]], draws: list[tuple[int, int, int]]) -> list[Pick | None]:
    picks: list[Pick | None] = []
    for first in range(0, len(boxes), BATCH):
        search = Search(np.array(boxes[first : first + BATCH]), np.array(sizes[first : first + BATCH]), Bounds())
        for number, (counts, draw) in enumerate(zip(search.counts.tolist(), draws[first:], strict=False)):
            choice = choose(counts, draw)
            if choice is None:
                picks.append(None)
                continue
            direction, granularity, nth = choice
            track = search.track(number, direction, granularity, nth)
            picks.append((direction, granularity, track.horizontal_step, track.vertical_step, track.target))
    return picks


def choose(counts: list[list[int]], draw: tuple[int, int, int]) -> tuple[str, int, int] | None:
    """What the builder draws by name, here by three numbers."""
    ways = [(direction, found) for direction, found in zip(DIRECTIONS, counts, strict=True) if any(found)]
    if not ways:
        return None
    direction, found = ways[draw[0] % len(ways)]
    open_ones = [(g, n) for g, n in zip(GRANULARITIES, found, strict=True) if n]
    granularity, n = open_ones[draw[1] % len(open_ones)]
    return direction, granularity, draw[2] % n


Candidate = tuple[int, int, float, bool, bool]


def candidates(
    low: float, high: float, size: int, way: int, g: int, bounds: Bounds
) -> tuple[int, int, list[Candidate]]:
    """Target's edges; per level (step, length of the first view, overlap, does each move uncover, does it fit)."""
    side = high - low
    margin = bounds.margin * side
    roomy, balanced = max(margin, bounds.min_side), max(margin, (2 * bounds.min_side - side) / 2)
    before, after = {-1: (margin, roomy), 1: (roomy, margin)}.get(way, (balanced, balanced))
    start, end = max(math.floor(low - before), 0), min(math.ceil(high + after), size)
    full, below, above = end - start, low - start, end - high
    if way == 0:
        return start, end, [(0, full, side, False, full >= bounds.min_side)]
    found: list[Candidate] = []
    if way == ZOOM:
        for level in range(LEVELS):
            step = full * (level + 1) // (LEVELS * 2 * (g + 1) + 1)
            length, cut = full - 2 * g * step, g * step
            overlap = min(end - cut, high) - max(start + cut, low)
            fits = step >= 1 and length >= bounds.min_side and overlap > 0
            found.append((step, length, overlap, step > min(below, above), fits))
        return start, end, found
    near, far = (below, above) if way == 1 else (above, below)
    shortest = math.floor(far) + 1
    longest = min((full - bounds.min_side) // (g - 1), (full - 1) // g)
    last = None
    for level in range(LEVELS):
        step = shortest + max(longest - shortest, 0) * level // (LEVELS - 1)
        length = full - (g - 1) * step
        overlap = length - near
        found.append((step, length, overlap, True, step <= longest and overlap > 0 and step != last))
        last = step
    return start, end, found


def loop(boxes: list[Box], sizes: list[tuple[int, int]], draws: list[tuple[int, int, int]]) -> list[Pick | None]:
    bounds = Bounds()
    t = bounds.max_iou
    picks: list[Pick | None] = []
    for (left, top, right, bottom), (width, height), draw in zip(boxes, sizes, draws, strict=True):
        area = (right - left) * (bottom - top)
        most, least = t * area, bounds.min_shown * area
        feasible: dict[tuple[str, int], list[tuple[int, int]]] = {}
        targets = {}
        for direction, (dx, dy) in DIRECTIONS.items():
            for g in GRANULARITIES:
                x0, x1, xs = candidates(left, right, width, dx, g, bounds)
                y0, y1, ys = candidates(top, bottom, height, dy, g, bounds)
                pairs = zip(xs, ys, strict=True) if dx == ZOOM else ((x, y) for x in xs for y in ys)
                steps = []
                for (x_step, x_length, x_shown, x_more, x_fits), (y_step, y_length, y_shown, y_more, y_fits) in pairs:
                    if not (x_fits and y_fits and (x_more or y_more)):
                        continue
                    overlap = x_shown * y_shown
                    if overlap >= least and overlap * (1 + t) <= (t * x_length) * y_length + most:
                        steps.append((x_step, y_step))
                feasible[direction, g] = steps
                targets[direction, g] = (x0, y0, x1, y1)
        counts = [[len(feasible[direction, g]) for g in GRANULARITIES] for direction in DIRECTIONS]
        choice = choose(counts, draw)
        if choice is None:
            picks.append(None)
            continue
        direction, granularity, nth = choice
        picks.append((direction, granularity, *feasible[direction, granularity][nth], targets[direction, granularity]))
    return picks


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--boxes", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    n, rounds = asked.boxes, asked.rounds
    boxes, sizes = draw_boxes(n)
    draw = random.Random(1)
    draws = [(draw.getrandbits(32), draw.getrandbits(32), draw.getrandbits(32)) for _ in boxes]
    ways = {"numpy, separable": separable, "Python loop": loop}
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        picks = []
        for way, function in ways.items():
            start = time.perf_counter()
            picks.append(function(boxes, sizes, draws))
            seconds[way].append(time.perf_counter() - start)
        assert picks[0] == picks[1], "the ways pick different views"
    print(
        f"{n} boxes, {sum(pick is not None for pick in picks[0])} with a view, {rounds} rounds, medians, same picks\n"
    )
    print("| way | seconds | times as fast (per round) |")
    print("|---|---|---|")
    for way, runs in seconds.items():
        print(f"| {way} | {statistics.median(runs):.2f} | {within(seconds['Python loop'], runs):.1f} |")
    mine, loops = seconds.values()
    what, ratio = f"COCO: first views of {n:,} boxes; peer: a Python loop", within(mine, loops)
    write(asked.json, [Result(what, statistics.median(mine), statistics.median(loops), "s", ratio=ratio)])


if __name__ == "__main__":
    main()
