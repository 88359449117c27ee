"""The two numbers of the paper over many episodes, as the published evaluator's script counts them (tests/mcqa.py)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Result(Protocol):
    """An episode that has ended, or anything that keeps what it came to."""

    @property
    def correct(self) -> bool:
        """Whether it ended with the right category."""

    @property
    def turns(self) -> int:
        """Answers given; 0 where none was, because a model's processor refused the picture."""


class Scores(NamedTuple):
    """Over all samples."""

    acc: float
    """Percent that ended with the right category."""
    ps: float
    """Requests for help per sample: turns less the one that ended it."""


def scores(results: Iterable[Result]) -> Scores:
    """`acc` and `ps`. Raises `ValueError` if there is no result.

    In one thing the script is not followed: a sample whose picture was refused has no turn, and it counts -1 request
    there. Here it counts none.
    """
    right = requests = count = 0
    for result in results:
        right += result.correct
        requests += max(result.turns - 1, 0)
        count += 1
    if not count:
        raise ValueError("no results: there is nothing to score")
    return Scores(right / count * 100, requests / count)
