"""A camera's way over a COCO picture as the states and requests of a sample (paper A.7)."""

from __future__ import annotations

from build_bench.crops import Track
from build_bench.records import Ask, DraftState, View

ACTIONS = {"left": "move_camera_left", "right": "move_camera_right", "up": "move_camera_up", "down": "move_camera_down"}


def asks(track: Track) -> tuple[Ask, ...]:
    """One request for a cardinal direction or zoom, two for an ordinal one: the horizontal one second."""
    if track.direction == "zoom":
        return (Ask("move_farther"),)
    return tuple(Ask(ACTIONS[way]) for way in track.direction.split("_"))


def states(track: Track) -> tuple[DraftState, ...]:
    """A row of views, or a grid of them row by row; where no move is left on an axis, its request is closed."""
    columns, rows = track.shape()
    vertical = 0 if rows > 1 else -1
    horizontal = (1 if rows > 1 else 0) if columns > 1 else -1
    found = []
    for j in range(rows):
        for i in range(columns):
            at = j * columns + i
            moves = []
            if j + 1 < rows:
                moves.append((vertical, at + columns))
            if i + 1 < columns:
                moves.append((horizontal, at + 1))
            found.append(DraftState(View(0, track.view(i, j)), tuple(moves)))
    return tuple(found)


def max_turns(track: Track) -> int:
    """As in the published evaluator: g for a line, 2g for a grid (one to spare), g + 1 for zoom."""
    return track.granularity * (2 if "_" in track.direction else 1) + (track.direction == "zoom")
