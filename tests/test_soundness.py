"""A row that can't be played is found, and said how."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from build_bench import schema, soundness
from tests.samples import plan

Row = dict[str, Any]


def found(change: Callable[[Row], Any], sizes: list[tuple[int, int]] | None = None) -> list[str]:
    row = copy.deepcopy(schema.plans_table([plan()]).to_pylist()[0])
    change(row)
    return list(soundness.problems(row, sizes))


def option_of(row: Row, kind: str) -> Row:
    return next(option for option in row["options"] if option["kind"] == kind)


def test_a_sound_row_has_no_problems() -> None:
    assert found(lambda row: None) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda row: row["options"].append({"text": "I cannot.", "kind": "abstain", "action": ""}),
            "2 abstain options",
        ),
        (lambda row: [option.update(kind="invalid") for option in row["options"]], "0 abstain options"),
        (lambda row: row["categories"].pop(), "four categories"),
        (lambda row: row["categories"].__setitem__(0, "ca t."), "must differ"),
        (lambda row: row.update(answer="Horse."), "the answer is not one"),
        (lambda row: row.update(question="What is {thing}?"), "placeholder"),
        (lambda row: row["states"][1].update(frame=3), "state 1: there is no frame 3"),
        (lambda row: row["reference"].update(frame=-1), "reference: there is no frame -1"),
        (lambda row: row["states"][0].update(crop=[5, 0, 5, 9]), "state 0: crop"),
        (lambda row: row["states"][0].update(crop=[-1, 0, 5, 9]), "state 0: crop"),
        (lambda row: row["states"][0].update(moves=[9, 9]), "state 0: options or moves"),
        (lambda row: row["states"][0].update(options=[0]), "state 0: options or moves"),
        (lambda row: row.update(start=3), "no start state 3"),
        (lambda row: row["states"][0].update(moves=[-1, -1]), "states [1, 2] can't be reached"),
        (lambda row: row.update(max_turns=2), "needs 3 turns, 2 are allowed"),
        (lambda row: row.update(max_turns=10_001), "10001 turns are allowed for 3 states"),
        (lambda row: row.update(question_kind="riddle"), "question_kind 'riddle'"),
        (lambda row: row.update(question=" "), "is empty"),
        (lambda row: option_of(row, "proactive").update(text=""), "is empty"),
        (lambda row: option_of(row, "proactive").update(kind="helpful"), "kind 'helpful' is none of"),
        (lambda row: option_of(row, "proactive").update(action="fly"), "no action 'fly' of kind proactive"),
        (lambda row: option_of(row, "proactive").update(action=""), "no action '' of kind proactive"),
        (lambda row: option_of(row, "abstain").update(action="wait"), "no action 'wait' of kind abstain"),
        (lambda row: option_of(row, "proactive").update(kind="invalid"), "state 0: an option that can't help leads on"),
        (lambda row: row["states"][2].update(moves=[0, 0]), "state 2: an option that can't help leads on"),
        (lambda row: row["states"][2].update(options=[0, 0]), "state 2: an option is open twice"),
        (lambda row: row["states"][0].update(crop=[0, 0, 5]), "state 0: crop [0, 0, 5] is not left, top"),
        (lambda row: row["frames"].__setitem__(0, "/home/me/x.png"), "frame 0: '/home/me/x.png' is not the plain name"),
        (lambda row: row["frames"].__setitem__(1, ""), "frame 1: '' is not the plain name"),
    ],
)
def test_a_broken_row_is_named(change: Callable[[Row], Any], problem: str) -> None:
    assert any(problem in text for text in found(change)), found(change)


def test_circles_may_have_more_turns_than_states() -> None:
    assert found(lambda row: row.update(max_turns=10_000)) == []


def test_a_crop_outside_the_decoded_frame_is_named() -> None:
    sizes = [(100, 50)] * 3
    assert found(lambda row: row["states"][0].update(crop=[0, 0, 100, 50]), sizes) == []
    assert found(lambda row: row["states"][0].update(crop=[0, 0, 101, 50]), sizes) != []
