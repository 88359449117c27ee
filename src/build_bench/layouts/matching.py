"""Do a row and a record say the same? Both graphs are walked side by side; every difference is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from build_bench.errors import Rejected
from build_bench.layouts.rules import Game
from build_bench.prompting import text_problem

Row = Mapping[str, Any]


def pictures(row: Row, game: Game) -> dict[str, int]:
    """Path below the data folder -> the row's frame that belongs there. Raises `Rejected`: `not_expressible`."""
    placed: dict[str, int] = {}
    for problem in [*_texts(row, game), *_graph(row, game, placed)]:
        raise Rejected("not_expressible", problem)
    return placed


def _texts(row: Row, game: Game) -> Iterator[str]:
    for name in ("context", "hint", "reference_question", "max_turns", "first_turn_answerable"):
        if row[name] != getattr(game, name):
            yield f"{name} is {row[name]!r}, the evaluator's is {getattr(game, name)!r}"
    ours = [(option["text"], option["kind"], option["action"]) for option in row["options"]]
    theirs = [(option.text, option.kind, option.action) for option in game.options]
    if ours != theirs:
        yield f"options are {ours}, the evaluator takes them for {theirs}"
    for text in [*(option.text for option in game.options), *row["categories"]]:
        if problem := text_problem(text):
            yield f"{text!r}: {problem}"


def _graph(row: Row, game: Game, placed: dict[str, int]) -> Iterator[str]:
    """Breadth first from both starts. Fills `placed`."""
    partner = {row["start"]: game.start}
    queue = [row["start"]]
    for state in queue:
        ours, theirs = row["states"][state], game.steps[partner[state]]
        if list(ours["options"]) != list(theirs.options):
            yield f"state {state}: open are {list(ours['options'])}, for the evaluator {list(theirs.options)}"
            return
        if list(ours["crop"]) != list(theirs.look.crop):
            yield f"state {state}: crop is {list(ours['crop'])}, the evaluator's is {list(theirs.look.crop)}"
        yield from _place(placed, theirs.look.path, ours["frame"], f"state {state}")
        for option, move, their_move in zip(ours["options"], ours["moves"], theirs.moves, strict=True):
            if (move < 0) != (their_move < 0) or partner.get(move, their_move) != their_move:
                yield f"state {state}: option {option} leads to {move}, for the evaluator to {their_move}"
            elif move >= 0 and move not in partner:
                partner[move] = their_move
                queue.append(move)
    if not len(partner) == len({*partner.values()}) == len(row["states"]) == len(game.steps):
        yield f"there are {len(row['states'])} states, for the evaluator {len(game.steps)}"
    if list(row["reference"]["crop"]) != list(game.reference.crop):
        yield "the reference is a part of a picture"
    yield from _place(placed, game.reference.path, row["reference"]["frame"], "reference")


def _place(placed: dict[str, int], path: str, frame: int, where: str) -> Iterator[str]:
    if placed.setdefault(path, frame) != frame:
        yield f"{where}: shows frame {frame} where the evaluator shows frame {placed[path]}"
