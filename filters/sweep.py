"""The rule over a range of thresholds in one pass: a histogram answers them all (the paper's Figs. 10 and 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from build_bench.errors import UsageError
from build_bench.filters.first_turn import Rule, share

Histogram = Mapping[tuple[bool, int, int], int]
"""(answerable at the first turn, models that answered, models right) -> samples."""

MOST = 10_001
"""Thresholds in a range."""


class Kept(NamedTuple):
    """What a threshold leaves."""

    samples: int
    accuracy: float | None
    """Share of right first answers to them; None if there are none."""


def thresholds(text: str) -> list[Fraction]:
    """A:B:STEP, both ends included, exactly. Raises `UsageError`."""
    parts = text.split(":")
    if len(parts) != 3:
        raise UsageError(f"--thresholds {text}: expected A:B:STEP, as in 0:1:0.01")
    first, last, step = (share(part, "--thresholds") for part in parts)
    if step <= 0 or first > last or (last - first) / step >= MOST:
        raise UsageError(f"--thresholds {text}: expected A <= B and a step above 0 that makes at most {MOST:,} of them")
    return [first + number * step for number in range(int((last - first) / step) + 1)]


def total(histograms: Sequence[Histogram]) -> dict[tuple[bool, int, int], int]:
    """Histograms added up."""
    added: dict[tuple[bool, int, int], int] = {}
    for histogram in histograms:
        for key, samples in histogram.items():
            added[key] = added.get(key, 0) + samples
    return added


def left(histogram: Histogram, rule: Rule | None = None) -> Kept:
    """What a rule leaves; all samples without one."""
    samples = right = answers = 0
    for (answerable, models, correct), count in histogram.items():
        if rule is None or not rule.drops(correct, models, answerable):
            samples, right, answers = samples + count, right + count * correct, answers + count * models
    return Kept(samples, right / answers if answers else None)


def curve(histogram: Histogram, at: Sequence[Fraction]) -> list[list[Any]]:
    """[threshold, samples kept, accuracy of those kept] for each threshold."""
    return [[float(threshold), *left(histogram, Rule(threshold))] for threshold in at]
