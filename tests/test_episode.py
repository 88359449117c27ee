"""A walk through a sample ends as the protocol says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from build_bench import schema
from build_bench.episode import Episode
from build_bench.prompting import word
from build_bench.records import Draft, Plan
from tests.samples import POOL, drafts, plan


def row(worded: Plan) -> dict[str, Any]:
    return schema.plan_row(worded)


def choose(episode: Episode, text: str) -> None:
    episode.choose(episode.choices.index(text))


def ask(episode: Episode) -> None:
    option = next(o["text"] for o in episode.row["options"] if o["kind"] == "proactive")
    choose(episode, option)


def test_asking_reveals_the_next_frame_and_the_right_category_wins() -> None:
    episode = Episode(row(plan()))
    assert episode.view == (0, ())
    ask(episode)
    assert episode.view == (1, ())
    choose(episode, "Cat.")
    assert (episode.done, episode.correct, episode.turns) == (True, True, 2)


@pytest.mark.parametrize("answer", ["Dog.", "abstain", None])
def test_anything_else_ends_it_as_wrong(answer: str | None) -> None:
    episode = Episode(row(plan()))
    abstain = next(o["text"] for o in episode.row["options"] if o["kind"] == "abstain")
    episode.choose(None if answer is None else episode.choices.index(abstain if answer == "abstain" else answer))
    assert (episode.done, episode.correct, episode.turns) == (True, False, 1)


def test_asking_at_the_last_state_ends_it_as_wrong() -> None:
    episode = Episode(row(plan(steps=2)))
    ask(episode)
    ask(episode)
    assert (episode.done, episode.correct, episode.turns) == (True, False, 2)


def test_turns_run_out() -> None:
    episode = Episode(row(plan(steps=5, max_turns=2)))
    ask(episode)
    ask(episode)
    assert (episode.done, episode.correct) == (True, False)
    with pytest.raises(ValueError, match="ended"):
        ask(episode)


def test_the_last_turn_still_counts() -> None:
    episode = Episode(row(plan(steps=2)))
    ask(episode)
    choose(episode, "Cat.")
    assert episode.correct


def test_a_first_guess_is_wrong_where_nothing_can_be_seen() -> None:
    episode = Episode(row(plan(first_turn_answerable=False)))
    choose(episode, "Cat.")
    assert (episode.done, episode.correct) == (True, False)
    episode = Episode(row(plan(first_turn_answerable=False)))
    ask(episode)
    choose(episode, "Cat.")
    assert episode.correct


def test_the_reference_shows_categories_alone_and_takes_the_first_answer() -> None:
    episode = Episode(row(plan(first_turn_answerable=False)), reference=True)
    assert episode.view == (2, ())
    assert len(episode.choices) == 4
    choose(episode, "Cat.")
    assert (episode.done, episode.correct, episode.turns) == (True, True, 1)


def test_the_question_has_its_context_and_hint() -> None:
    sample = row(plan()) | {"context": "A video.", "question": "What?", "hint": "Hint: ask."}
    assert Episode(sample).question() == "A video. What?"
    assert Episode(sample).question(hint=True) == "A video. What? Hint: ask."
    assert Episode(sample | {"context": ""}).question() == "What?"


@given(drafts(), st.lists(st.one_of(st.none(), st.integers(0, 8)), min_size=12, max_size=12))
def test_every_walk_ends_in_time(drafted: Draft, answers: list[int | None]) -> None:
    sample = row(word(drafted, POOL, "made_up", 0))
    episode = Episode(sample)
    for answer in answers:
        if episode.done:
            break
        episode.choose(answer)
    assert episode.done
    assert episode.turns <= sample["max_turns"]
    assert len(episode.path) <= episode.turns + 1
