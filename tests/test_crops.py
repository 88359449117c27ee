"""The geometry of first views: what holds for any box in any picture, and equality with the published arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from build_bench.builders.coco_crops import asks, max_turns, states
from build_bench.crops import DIRECTIONS, GRANULARITIES, Bounds, Search, Track

Box = tuple[float, float, float, float]


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Box, tuple[int, int]]:
    """A box of two decimals, at least 24 px a side, in a picture of up to 700 px; often at its border."""
    size = draw(st.tuples(st.integers(60, 700), st.integers(60, 700)))
    edges = []
    for length in size:
        side = draw(st.integers(2400, 100 * length)) / 100
        room = math.floor(100 * (length - side))
        low = draw(st.one_of(st.just(0), st.just(room), st.integers(0, room))) / 100
        edges.append((low, min(round(low + side, 2), float(length))))
    (left, right), (top, bottom) = edges
    return (left, top, right, bottom), size


def search(box: Box, size: tuple[int, int]) -> Search:
    return Search(np.array([box]), np.array([size]), Bounds())


@st.composite
def tracks(draw: st.DrawFn) -> tuple[Track, Box, tuple[int, int]]:
    """Any track that the search allows."""
    box, size = draw(boxes())
    found = search(box, size)
    ways = [(d, g) for i, d in enumerate(DIRECTIONS) for j, g in enumerate(GRANULARITIES) if found.counts[0, i, j]]
    assume(ways)
    direction, g = draw(st.sampled_from(ways))
    count = int(found.counts[0, list(DIRECTIONS).index(direction), GRANULARITIES.index(g)])
    return found.track(0, direction, g, draw(st.integers(0, count - 1))), box, size


def overlap(view: tuple[float, ...], box: Box) -> float:
    width = min(view[2], box[2]) - max(view[0], box[0])
    height = min(view[3], box[3]) - max(view[1], box[1])
    return max(width, 0) * max(height, 0)


def area(view: tuple[float, ...]) -> float:
    return (view[2] - view[0]) * (view[3] - view[1])


@given(tracks())
def test_the_first_view_is_large_enough_and_shows_little_but_something(
    made: tuple[Track, Box, tuple[int, int]],
) -> None:
    track, box, _ = made
    first = track.view(0, 0)
    shown = overlap(first, box)
    assert min(first[2] - first[0], first[3] - first[1]) >= 32
    assert shown / (area(first) + area(box) - shown) <= 0.25 + 1e-9
    assert shown / area(box) >= 0.05 - 1e-9


@given(tracks())
def test_every_move_shows_more_and_the_last_view_all_of_the_object(made: tuple[Track, Box, tuple[int, int]]) -> None:
    track, box, _ = made
    found = states(track)
    for state in found:
        for _, target in state.moves:
            assert overlap(found[target].view.crop, box) > overlap(state.view.crop, box) + 1e-9
    last = found[-1]
    assert last.view.crop == track.target
    assert last.moves == ()
    assert overlap(last.view.crop, box) == pytest.approx(area(box))


@given(tracks())
def test_views_are_whole_pixels_inside_the_picture(made: tuple[Track, Box, tuple[int, int]]) -> None:
    track, _, (width, height) = made
    for state in states(track):
        assert all(type(edge) is int for edge in state.view.crop)
        left, top, right, bottom = state.view.crop
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height


@given(tracks())
def test_all_states_are_reached_in_time_and_as_many_as_the_paper_says(made: tuple[Track, Box, tuple[int, int]]) -> None:
    track, _, _ = made
    found, g = states(track), track.granularity
    turns = {0: 1}
    for at in range(len(found)):
        for _, target in found[at].moves:
            turns.setdefault(target, turns[at] + 1)
    assert sorted(turns) == list(range(len(found)))
    assert max(turns.values()) <= max_turns(track)
    ordinal, zoom = "_" in track.direction, track.direction == "zoom"
    assert len(found) == (g * g if ordinal else g + zoom)
    assert max_turns(track) == (2 * g if ordinal else g + zoom)
    assert len(asks(track)) == 1 + ordinal


def published_view(track: Track, horizontal: int, vertical: int) -> tuple[int, ...]:
    """The crop that the published evaluator makes of our record after so many successful moves (coco.md 4.7)."""
    crop, direction, zoom = track.crop_record(), track.direction, track.direction == "zoom"
    x, y = (horizontal + 1) * track.horizontal_step, (vertical + 1) * track.vertical_step
    left = crop["left"] - x if "left" in direction or zoom else crop["left"]
    top = crop["top"] - y if "up" in direction or zoom else crop["top"]
    right = crop["width"] + x if "right" in direction or zoom else crop["width"]
    bottom = crop["height"] + y if "down" in direction or zoom else crop["height"]
    return left, top, right + crop["left"] * zoom, bottom + crop["top"] * zoom


def exhausted(track: Track, horizontal: int, vertical: int) -> set[str]:
    """The requests that the published evaluator has taken away by then."""
    g, zoom = track.granularity, track.direction == "zoom"
    limit = g + 1 if zoom else g
    gone = set()
    if zoom and horizontal + 1 == limit:
        gone.add("move_farther")
    for way, moves in (("left", horizontal), ("right", horizontal), ("up", vertical), ("down", vertical)):
        if not zoom and way in track.direction and moves + 1 >= limit:
            gone.add(f"move_camera_{way}")
    return gone


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("granularity", GRANULARITIES)
def test_states_are_those_of_the_published_evaluator(direction: str, granularity: int) -> None:
    found = search((200.4, 150.7, 420.2, 330.1), (640, 480))
    count = int(found.counts[0, list(DIRECTIONS).index(direction), GRANULARITIES.index(granularity)])
    assert count > 0
    for nth in range(count):
        _walk_both(found.track(0, direction, granularity, nth))


@given(tracks())
def test_states_of_any_box_are_those_of_the_published_evaluator(made: tuple[Track, Box, tuple[int, int]]) -> None:
    _walk_both(made[0])


def _walk_both(track: Track) -> None:
    found, names = states(track), [ask.action for ask in asks(track)]
    crop = track.crop_record()
    reach = (1, 1) if track.direction == "zoom" else (0, 0)
    assert crop["width"] + crop["left"] * reach[0] > crop["left"], "the record's own crop is one, too"
    assert crop["height"] + crop["top"] * reach[1] > crop["top"]
    todo, seen = [(0, 0, 0)], set()
    while todo:
        at, horizontal, vertical = todo.pop()
        if at in seen:
            continue
        seen.add(at)
        assert found[at].view.crop == published_view(track, horizontal, vertical)
        open_ones = {names[ask] for ask, _ in found[at].moves}
        assert open_ones == set(names) - exhausted(track, horizontal, vertical)
        for ask, target in found[at].moves:
            zoom, sideways = names[ask] == "move_farther", names[ask].endswith(("left", "right"))
            todo.append((target, horizontal + (zoom or sideways), vertical + (zoom or not sideways)))
    assert seen == set(range(len(found)))


@given(st.lists(boxes(), min_size=2, max_size=6), st.data())
def test_a_box_is_searched_alike_whatever_is_beside_it(
    several: list[tuple[Box, tuple[int, int]]], data: st.DataObject
) -> None:
    together = Search(np.array([box for box, _ in several]), np.array([size for _, size in several]), Bounds())
    number = data.draw(st.integers(0, len(several) - 1))
    alone = search(*several[number])
    assert (alone.counts[0] == together.counts[number]).all()
    for i, direction in enumerate(DIRECTIONS):
        if count := int(alone.counts[0, i, 0]):
            assert alone.track(0, direction, 3, count - 1) == together.track(number, direction, 3, count - 1)


@pytest.mark.parametrize("side", [24, 31, 48, 64, 100, 300])
def test_an_object_in_the_middle_has_a_view_from_all_eight_sides(side: int) -> None:
    found = search((320 - side / 2, 240 - side / 2, 320 + side / 2, 240 + side / 2), (640, 480))
    assert found.counts[0, :8].any(axis=1).all()
    assert bool(found.counts[0, 8].any()) == (side >= 64), "zooming out starts inside: 32 px are a quarter of 64 x 64"


def test_an_object_that_fills_the_picture_can_be_shown_in_part() -> None:
    found = search((0, 0, 640, 480), (640, 480))
    assert found.counts[0].any(axis=1)[4:].all()


def test_a_picture_too_small_for_a_view_has_none() -> None:
    assert not search((2, 2, 28, 28), (31, 31)).counts.any()
