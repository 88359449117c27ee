"""Which seconds of a video a sample shows: docs/decisions/changeit-steps.md."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

TOLERANCE = 1
"""Pictures by which a file may differ from its annotation: the filter rounds, and so may another encoding."""

FIRST = 0


class Grid(NamedTuple):
    """The seconds that a sample shows, and how far waiting goes."""

    step: int
    """Seconds per request."""
    seconds: tuple[int, ...]
    """0, step, 2 * step, ...: what is stored, and nothing else."""
    reference: int
    """Index into `seconds` of the view with full information."""


def informative(labels: Sequence[int], wanted: Collection[int]) -> list[int]:
    """The seconds at which a question can be answered and that waiting can lead to: neither the first nor one that a
    file which is `TOLERANCE` short doesn't have."""
    return [second for second in range(FIRST + 1, len(labels) - TOLERANCE) if labels[second] in wanted]


def grid(labels: Sequence[int], wanted: Collection[int], most: int) -> Grid | None:
    """The grid of one question; None if there is no second that waiting could lead to. `most`: frames, at least 2."""
    usable = len(labels) - TOLERANCE
    targets = informative(labels, wanted)
    if not targets:
        return None
    finest = -(-usable // most)
    steps = [*range(finest, usable), *range(finest - 1, 0, -1)]
    for step in steps:
        seconds = tuple(range(FIRST, usable, step)[:most])
        shown = set(seconds)
        hits = [second for second in targets if second in shown]
        if hits:
            reference = max(hits, key=lambda second: (_depth(second, labels, wanted), -second))
            return Grid(step, seconds, seconds.index(reference))
    return None


def _depth(second: int, labels: Sequence[int], wanted: Collection[int]) -> int:
    """How many seconds lie between this one and the nearest that doesn't show it: deep ones survive a shifted file."""
    depth = 1
    while all(0 <= at < len(labels) and labels[at] in wanted for at in (second - depth, second + depth)):
        depth += 1
    return depth
