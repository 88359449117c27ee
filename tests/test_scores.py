"""`acc` and `ps` are counted as the published evaluator's script counts them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from build_bench import schema
from build_bench.episode import Episode
from build_bench.scores import scores
from tests.samples import plan


@dataclass
class Result:
    correct: bool
    turns: int


def test_requests_are_turns_less_the_last() -> None:
    assert scores([Result(True, 3), Result(False, 1), Result(True, 1), Result(False, 2)]) == (50.0, 0.75)


def test_a_refused_picture_counts_no_request_where_the_script_counts_minus_one() -> None:
    assert scores([Result(False, 0), Result(True, 2)]) == (50.0, 0.5)


def test_episodes_are_results() -> None:
    episode = Episode(schema.plan_row(plan()))
    asked = next(option["text"] for option in episode.row["options"] if option["kind"] == "proactive")
    episode.answer(asked)
    episode.answer("Cat.")
    assert scores(iter([episode])) == (100.0, 1.0)


def test_nothing_has_no_score() -> None:
    with pytest.raises(ValueError, match="no results"):
        scores([])
