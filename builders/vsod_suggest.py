"""Which frames of a VSOD video the boxes speak for, where people left a cell empty: docs/decisions/vsod-suggestions.md.

All numbers are positions in the video, from 0. None stands for a frame of which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Seen:
    """What the annotation says of a frame."""

    occluded: bool
    covered: float
    """Share of the frame under boxes, 0 to 1."""


Frames = Sequence[Seen | None]


def first(frames: Frames) -> int | None:
    """The frame that most is covered of; of several, the nearest to the middle of the longest occluded run that has one
    (the earlier of two). None if no frame is known to be occluded."""
    most = max((seen.covered for seen in frames if seen and seen.occluded), default=None)
    if most is None:
        return None
    equal = {at for at, seen in enumerate(frames) if seen and seen.occluded and seen.covered == most}
    runs = [(start, end) for start, end in occluded_runs(frames) if not equal.isdisjoint(range(start, end))]
    start, end = max(runs, key=lambda run: (run[1] - run[0], -run[0]))
    return min(equal.intersection(range(start, end)), key=lambda at: (abs(2 * at - (start + end - 1)), at))


def occluded_runs(frames: Frames) -> Iterator[tuple[int, int]]:
    """(start, end) of each run of neighbouring frames known to be occluded; end is exclusive."""
    start: int | None = None
    for at, seen in enumerate([*frames, None]):
        occluded = seen is not None and seen.occluded
        if occluded and start is None:
            start = at
        elif not occluded and start is not None:
            yield start, at
            start = None


def reference(frames: Frames, start: int) -> int | None:
    """The frame known to be clean that is nearest to `start` (the earlier of two); None if there is none.

    A frame of which nothing is known may be part of the occlusion. The video is walked in a circle, but its end and its
    beginning are no neighbours in time, so distance isn't measured around.
    """
    clean = [at for at, seen in enumerate(frames) if seen and not seen.occluded and at != start]
    return min(clean, key=lambda at: (abs(at - start), at), default=None)
