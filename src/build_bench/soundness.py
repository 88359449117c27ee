"""Can a row be played? Asked of every row that is assembled, and by `verify` of every row of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from build_bench.prompting import normalised
from build_bench.records import ABSTAIN, ACTIONS, END, INVALID, PROACTIVE

QUESTION_KINDS = ("object", "action", "speaker", "count", "event")
MOST_TURNS = 10_000
"""Where requests lead in circles, no number of turns is too many to be used; this many nobody means: a ChangeIt video
at a frame per second is allowed as many as it has frames (three hours)."""

Row = Mapping[str, Any]


def problems(row: Row, frame_sizes: Sequence[tuple[int, int]] | None = None) -> Iterator[str]:
    """What is wrong with a row that has no nulls, in words. `frame_sizes` are (width, height), where the frames were
    decoded. Frames are their names, as in a plan, or have them as `path`."""
    yield from _text_problems(row)
    yield from _option_problems(row)
    yield from _view_problems(row, frame_sizes)
    kinds = [option["kind"] for option in row["options"]]
    yield from _walk_problems(msgspec.json.encode([kinds, row["states"], row["start"], row["max_turns"]]))


def training_problems(row: Row) -> Iterator[str]:
    """What keeps a row from being an example of a single turn that no model was run on."""
    sizes = [len(row["states"]), len(row["frames"]), row["max_turns"]]
    if sizes != [1, 1, 1]:
        yield "{} states, {} frames and {} turns, a training example has one of each".format(*sizes)
    if any(move != END for state in row["states"] for move in state["moves"]):
        yield "a request leads on"
    if row["states"] and sorted(row["states"][0]["options"]) != list(range(len(row["options"]))):
        yield "not every option is open"
    if row.get("first_turn_accuracy") is not None or row.get("num_models"):
        yield "it has a model's score"


def _text_problems(row: Row) -> Iterator[str]:
    if row["question_kind"] not in QUESTION_KINDS:
        yield f"question_kind {row['question_kind']!r} is none of {', '.join(QUESTION_KINDS)}"
    texts = [normalised(t) for t in [*(o["text"] for o in row["options"]), *row["categories"]]]
    if not row["question"].strip() or "" in texts:
        yield "the question, an option or a category is empty"
    if len(row["categories"]) != 4 or len(set(texts)) != len(texts):
        yield "options and four categories must differ from one another"
    if row["answer"] not in row["categories"]:
        yield "the answer is not one of the categories"
    if any("{" in t or "}" in t for t in [row["question"], row["context"], row["hint"], *texts]):
        yield "a placeholder is unfilled"


def _option_problems(row: Row) -> Iterator[str]:
    kinds = [option["kind"] for option in row["options"]]
    if kinds.count(ABSTAIN) != 1:
        yield f"{kinds.count(ABSTAIN)} abstain options, expected one"
    for number, option in enumerate(row["options"]):
        if option["kind"] not in (ABSTAIN, PROACTIVE, INVALID):
            yield f"option {number}: kind {option['kind']!r} is none of {ABSTAIN}, {PROACTIVE}, {INVALID}"
        elif option["action"] not in (("",) if option["kind"] == ABSTAIN else ACTIONS):
            yield f"option {number}: there is no action {option['action']!r} of kind {option['kind']}"


def _view_problems(row: Row, frame_sizes: Sequence[tuple[int, int]] | None) -> Iterator[str]:
    for number, frame in enumerate(row["frames"]):
        name = frame if isinstance(frame, str) else frame["path"]
        if not name or "/" in name or "\\" in name:
            yield f"frame {number}: {name!r} is not the plain name of a file"
    for number, view in enumerate([*row["states"], row["reference"]]):
        name = f"state {number}" if number < len(row["states"]) else "reference"
        if not 0 <= view["frame"] < len(row["frames"]):
            yield f"{name}: there is no frame {view['frame']}"
        elif len(view["crop"]) not in (0, 4):
            yield f"{name}: crop {view['crop']} is not left, top, right, bottom"
        elif view["crop"]:
            left, top, right, bottom = view["crop"]
            width, height = frame_sizes[view["frame"]] if frame_sizes else (right, bottom)
            if not (0 <= left < right <= width and 0 <= top < bottom <= height):
                yield f"{name}: crop {view['crop']} is not inside the frame of {width} x {height}"


@lru_cache(256)
def _walk_problems(encoded: bytes) -> tuple[str, ...]:
    """Of kinds of options, states, start and most turns, as JSON: a scenario's samples have few different walks."""
    return tuple(_walked(*msgspec.json.decode(encoded)))


def _walked(kinds: Sequence[str], states: Sequence[Row], start: int, max_turns: int) -> Iterator[str]:
    count = len(states)
    broken = False
    for number, state in enumerate(states):
        options, moves = state["options"], state["moves"]
        inside = all(0 <= option < len(kinds) for option in options) and all(-1 <= move < count for move in moves)
        if len(options) != len(moves) or not inside:
            broken = True
            yield f"state {number}: options or moves point nowhere"
            continue
        if len(set(options)) != len(options):
            yield f"state {number}: an option is open twice"
        if any(move >= 0 and kinds[option] != PROACTIVE for option, move in zip(options, moves, strict=True)):
            yield f"state {number}: an option that can't help leads on"
    if not 0 <= start < count:
        yield f"there is no start state {start}"
    elif not broken:
        yield from _reach_problems(states, start, max_turns)
    if max_turns > max(MOST_TURNS, count):
        yield f"{max_turns} turns are allowed for {count} states"


def _reach_problems(states: Sequence[Row], start: int, max_turns: int) -> Iterator[str]:
    """Breadth first from the start: every state is reached, and full information within `max_turns`."""
    turns = {start: 1}
    queue = [start]
    for at in queue:
        for move in states[at]["moves"]:
            if move >= 0 and move not in turns:
                turns[move] = turns[at] + 1
                queue.append(move)
    if len(turns) != len(states):
        yield f"states {sorted(set(range(len(states))) - set(turns))} can't be reached"
    if max(turns.values()) > max_turns:
        yield f"the last state needs {max(turns.values())} turns, {max_turns} are allowed"
