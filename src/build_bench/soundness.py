"""Can a row be played? Asked of every row that is assembled, and by `verify` of every row of a tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from build_bench.prompting import normalised


def problems(row: Mapping[str, Any], frame_sizes: Sequence[tuple[int, int]] | None = None) -> Iterator[str]:
    """What is wrong with a row, in words. `frame_sizes` are (width, height), where the frames were decoded."""
    count = len(row["states"])
    kinds = [option["kind"] for option in row["options"]]
    if kinds.count("abstain") != 1:
        yield f"{kinds.count('abstain')} abstain options, expected one"
    texts = [normalised(t) for t in [*(o["text"] for o in row["options"]), *row["categories"]]]
    if len(row["categories"]) != 4 or len(set(texts)) != len(texts):
        yield "options and four categories must differ from one another"
    if row["answer"] not in row["categories"]:
        yield "the answer is not one of the categories"
    if any("{" in t or "}" in t for t in [row["question"], row["context"], row["hint"], *texts]):
        yield "a placeholder is unfilled"
    for number, view in enumerate([*row["states"], row["reference"]]):
        name = f"state {number}" if number < count else "reference"
        if not 0 <= view["frame"] < len(row["frames"]):
            yield f"{name}: there is no frame {view['frame']}"
            continue
        if view["crop"]:
            left, top, right, bottom = view["crop"]
            width, height = frame_sizes[view["frame"]] if frame_sizes else (right, bottom)
            if not (0 <= left < right <= width and 0 <= top < bottom <= height):
                yield f"{name}: crop {view['crop']} is not inside the frame of {width} x {height}"
    broken = [n for n, s in enumerate(row["states"]) if not _moves_are_sound(s, len(kinds), count)]
    for number in broken:
        yield f"state {number}: options or moves point nowhere"
    if not 0 <= row["start"] < count:
        yield f"there is no start state {row['start']}"
    elif not broken:
        yield from _reach_problems(row)


def _moves_are_sound(state: Mapping[str, Any], options: int, states: int) -> bool:
    return (
        len(state["options"]) == len(state["moves"])
        and all(0 <= option < options for option in state["options"])
        and all(-1 <= move < states for move in state["moves"])
    )


def _reach_problems(row: Mapping[str, Any]) -> Iterator[str]:
    """Breadth first from the start: every state is reached, and full information within `max_turns`."""
    turns = {row["start"]: 1}
    queue = [row["start"]]
    for at in queue:
        for move in row["states"][at]["moves"]:
            if move >= 0 and move not in turns:
                turns[move] = turns[at] + 1
                queue.append(move)
    if len(turns) != len(row["states"]):
        yield f"states {sorted(set(range(len(row['states']))) - set(turns))} can't be reached"
    if max(turns.values()) > row["max_turns"]:
        yield f"the last state needs {max(turns.values())} turns, {row['max_turns']} are allowed"
