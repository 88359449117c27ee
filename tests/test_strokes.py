"""What a reader of `build_bench.strokes` may rely on."""

import hashlib
import json
import math
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench.png import encode_grey
from build_bench.strokes import LEVELS, frames, frames_many, normalise

GOLDEN = Path(__file__).parent / "golden" / "strokes.json"
HOUSE = [
    ([0, 0, 255, 255, 0], [255, 100, 100, 255, 255]),
    ([0, 127, 255], [100, 0, 100]),
    ([60, 61, 110, 112], [255, 180, 178, 255]),
    ([180], [160]),
    ([200, 200], [200, 200]),
]
SLANTED = [([0, 40, 255, 210, 0], [70, 255, 190, 0, 70]), ([90, 130, 170], [100, 161, 103]), ([120], [210])]
CORNERS = ([0, 255], [0, 255])  # a stroke that settles the bounding box
PIXEL = 255 / (LEVELS - 1)  # the difference between neighbouring greys

coordinate = st.integers(0, 255)
points = st.lists(st.tuples(coordinate, coordinate), min_size=1, max_size=6)
drawings = st.lists(points.map(lambda p: tuple(map(list, zip(*p, strict=True)))), min_size=1, max_size=4)


def last(strokes, **options):
    return list(frames(strokes, **options))[-1]


def ink(frame):
    """Inked area in pixels."""
    return float((255 - frame.astype(float)).sum() / 255)


def grown(frame, by):
    """The dark pixels and all within `by` pixels of one, as a square."""
    dark = np.pad(frame < 128, by)
    return np.lib.stride_tricks.sliding_window_view(dark, (2 * by + 1, 2 * by + 1)).any(axis=(2, 3))


def sampled(strokes, size, width, margin, factor=8):
    """The last frame from factor**2 samples a pixel, each inside or outside of the ink."""
    every = np.array([[v for s in strokes for v in s[i]] for i in (0, 1)], float)
    low, high = every.min(axis=1), every.max(axis=1)
    scale = (size - 2 * margin) / ((high - low).max() or 1)
    at = (np.arange(size * factor) + 0.5) / factor
    inside = np.zeros((size * factor, size * factor), bool)
    for xs, ys in strokes:
        path = (np.array([xs, ys], float).T - (low + high) / 2) * scale + size / 2
        for a, b in zip(path, path[1:] if len(path) > 1 else path, strict=False):
            x, y, d = at[None] - a[0], at[:, None] - a[1], b - a
            t = np.clip((x * d[0] + y * d[1]) / (d @ d or 1), 0, 1)
            inside |= (x - t * d[0]) ** 2 + (y - t * d[1]) ** 2 <= width**2 / 4
    return 255 - 255 * inside.reshape(size, factor, size, factor).mean((1, 3))


@pytest.mark.parametrize("dot", [([7], [9]), ([7, 7], [9, 9]), ([7.5], [-9.25])])
def test_a_dot_is_drawn(dot):
    (frame,) = frames([dot], size=32)
    assert ink(frame) == pytest.approx(math.pi * 1.5**2, rel=0.05)
    assert np.array_equal(frame, frame[::-1, ::-1])  # in the middle


def test_a_dot_among_strokes_is_drawn():
    without, with_one_point, with_two = list(frames([CORNERS, ([200], [40]), ([200, 200], [40, 40])]))
    assert ink(with_one_point) - ink(without) == pytest.approx(math.pi * 1.5**2, rel=0.05)
    assert np.array_equal(with_one_point, with_two)


@pytest.mark.parametrize("strokes", [[([5, 6], [5, 5])], [([5], [5]), ([5], [6])], [([0, 0], [0, 255])]])
def test_a_flat_bounding_box_is_drawn_across_the_canvas(strokes):
    rows, columns = np.nonzero(last(strokes) < 255)
    assert max(np.ptp(rows), np.ptp(columns)) >= 250


@given(drawings)
def test_no_ink_is_cut_at_the_border(strokes):
    frame = last(strokes, size=64, margin=2.0)
    roomy = last(strokes, size=84, margin=12.0)  # the same scale, with ten pixels more on each side
    assert ink(roomy) == ink(roomy[10:-10, 10:-10])
    # A coordinate's last bit decides whether a round end's faintest pixel, 3 levels of ink, is looked at.
    assert np.abs(frame.astype(int) - roomy[10:-10, 10:-10]).max() <= 4 * PIXEL


@given(drawings)
def test_frames_are_cumulative(strokes):
    shown = list(frames(strokes, size=64))
    assert len(shown) == len(strokes)
    assert all((after <= before).all() for before, after in pairwise(shown))


@given(drawings)
def test_incremental_equals_redraw(strokes):
    strokes = [CORNERS, *strokes]
    for k, frame in enumerate(frames(strokes, size=64)):
        assert np.array_equal(frame, last(strokes[: k + 1], size=64))


@given(drawings)
def test_the_order_of_strokes_leaves_the_last_frame(strokes):
    assert np.array_equal(last(strokes, size=64), last(strokes[::-1], size=64))


def test_many_drawings_give_the_frames_of_each():
    several = [HOUSE[: 1 + i % 5] for i in range(37)]
    for strokes, together in zip(several, frames_many(iter(several)), strict=True):
        assert np.array_equal(together, list(frames(strokes)))


def test_a_frame_may_be_written_on():
    for before, frame in zip(list(frames(HOUSE)), frames(HOUSE), strict=True):
        assert np.array_equal(before, frame)
        frame[:] = 0


@pytest.mark.parametrize(("strokes", "width"), [(SLANTED, 3.0), (SLANTED, 1.0), (SLANTED, 6.5), (SLANTED[1:], 3.0)])
def test_ink_is_the_covered_area(strokes, width):
    frame, reference = last(strokes, size=96, width=width), sampled(strokes, 96, width, width / 2 + 1)
    inked = (frame < 255) | (reference < 255)
    assert np.abs(frame - reference)[inked].mean() <= 3
    assert ink(frame) == pytest.approx(ink(reference), rel=0.01)


def test_aspect_is_kept_and_the_drawing_centred():
    rows, columns = np.nonzero(last([([0, 255, 255, 0, 0], [0, 0, 100, 100, 0])]) < 255)
    assert np.ptp(columns) + 1 == 254
    assert np.ptp(rows) + 1 == pytest.approx(251 * 100 / 255 + 3, abs=1)
    assert rows.min() + rows.max() == columns.min() + columns.max() == 255


def test_raw_and_simplified_look_alike():
    corners = np.array([[-120.5, 3.25], [310.75, -40.0], [505.0, 411.5], [20.25, 390.0], [-120.5, 3.25]])
    dense = np.concatenate([np.linspace(a, b, 60) for a, b in pairwise(corners)])
    dense += 1.2 * np.sin(np.arange(len(dense)))[:, None]  # below the 2 px that simplification evens out
    raw = [(*dense.T.tolist(), list(range(len(dense)))), ([100.5], [100.25], [0])]
    edge, dot = normalise(raw)
    ends = [0, *range(59, len(dense), 60)]
    simplified = [([edge[0][i] for i in ends], [edge[1][i] for i in ends]), ([dot[0][0]] * 2, [dot[1][0]] * 2)]
    for one, other in zip(frames(raw), frames(simplified), strict=True):
        assert not ((one < 128) & ~grown(other, 2)).any()
        assert not ((other < 128) & ~grown(one, 2)).any()


def test_normalise_gives_the_simplified_frame():
    assert normalise([([-10, 30.5], [5, 15], [0, 9]), ([10], [10.1], [20])]) == [([0, 255], [0, 63]), ([126], [32])]
    assert normalise([([7.5], [9])]) == [([0], [0])]
    assert normalise([*HOUSE]) == HOUSE


@given(drawings)
def test_only_the_levels_appear(strokes):
    assert set(np.unique(last(strokes, size=64))) <= {round(k * PIXEL) for k in range(LEVELS)}


@pytest.mark.parametrize(
    ("strokes", "options"),
    [
        ([], {}),
        ([([], [])], {}),
        ([([1, 2], [1])], {}),
        ([([math.nan], [1])], {}),
        ([([1e300, 2], [1, 1])], {}),
        (HOUSE, {"width": 0}),
        (HOUSE, {"width": 65, "size": 512}),
        (HOUSE, {"margin": 1.5}),
        (HOUSE, {"size": 5}),
    ],
)
def test_what_cannot_be_drawn_is_refused(strokes, options):
    with pytest.raises(ValueError, match=r"."):
        list(frames(strokes, **options))


def test_pixels_and_bytes_are_the_same_everywhere():
    """REGENERATE_GOLDEN=1 writes the digests anew: for a change of the picture that is meant."""
    turning = [([128 + (i % 7) * 17 for i in range(n)], [(i * i * 37 + n) % 256 for i in range(n)]) for n in (2, 9, 40)]
    shifted = [([x * 1.7 - 311.125 for x in xs], [y * 1.7 + 0.3 for y in ys]) for xs, ys in HOUSE]
    digests = {}
    for name, strokes, options in (
        ("house", HOUSE, {}),
        ("turning", turning, {}),
        ("raw", shifted, {}),
        ("small", HOUSE, {"size": 28, "width": 1.25}),
        ("wide", HOUSE, {"size": 512, "width": 10.0, "margin": 20.0}),
    ):
        shown = list(frames(strokes, **options))
        digests[name] = {
            "pixels": hashlib.sha256(b"".join(f.tobytes() for f in shown)).hexdigest(),
            "png": hashlib.sha256(b"".join(map(encode_grey, shown))).hexdigest(),
        }
    if os.environ.get("REGENERATE_GOLDEN") == "1":
        GOLDEN.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    assert digests == json.loads(GOLDEN.read_text(encoding="utf-8"))
