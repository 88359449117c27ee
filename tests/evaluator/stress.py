"""Made-up samples of all seven scenarios, with every shape that their builders can give and the corners of it.

Rows as they are published, but without pictures: the walk compares crops and file names.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

from build_bench import prompting, schema
from build_bench.builders import rod
from build_bench.builders.coco_crops import asks, max_turns, states
from build_bench.builders.vsod import circle
from build_bench.crops import DIRECTIONS, Track
from build_bench.records import END, Ask, Draft, DraftState, Plan, Source, View

Row = dict[str, Any]

WORDS = ("cat", "dog", "The Eiffel Tower", "hot air balloon", "t-shirt", "20", "3", "11", "José Mourinho", "kit fox",
         "Great_pyrenees", "ball.", "up", "no. 5", "b c", "angle", "do nothing")  # fmt: skip


def rows() -> list[Row]:
    """All of them as rows."""
    return [
        row | {"frames": [{"path": name, "bytes": b""} for name in row["frames"]]}
        for row in map(schema.plan_row, plans())
    ]


def plans() -> list[Plan]:
    """All of them: a different id each, the same ones every time."""
    found = []
    for scenario, make in MAKERS.items():
        pool = prompting.load_pool(scenario)
        for number, draft in enumerate(make(random.Random(f"stress {scenario}"), scenario)):
            found.append(prompting.word(draft(f"stress/{number:04d}"), pool, scenario, number))
    return found


class _Make:
    """A draft that lacks its key."""

    def __init__(self, choose: random.Random, **fields: Any) -> None:
        answer, *distractors = choose.sample(WORDS, 4)
        self.fields = {
            "question_kind": "object", "answer": answer, "distractors": tuple(distractors), "recipe": "", **fields,
        }  # fmt: skip

    def __call__(self, key: str) -> Draft:
        return Draft(source=Source("Made up", key, "", "CC0"), group=key, **self.fields)


def _rod(choose: random.Random, _: str) -> Iterator[_Make]:
    for number, occluder in product(range(53), ("blue blocks", "red blocks", "red cardboard")):
        hole = 6 if number % 2 else None
        steps = [step for step in range(14) if step != hole]
        blank = (("occluder", occluder),)
        start = 7 if number % 4 else choose.randrange(14)
        yield _Make(
            choose, asks=tuple(Ask(action, fields=blank) for action in rod.ASKS), start=14 if start == hole else start,
            frames=tuple(f"x-s{step}.jpg" for step in steps), states=tuple(rod._states(hole)), reference=View(0),
            max_turns=14, first_turn_answerable=False, fields=blank,
        )  # fmt: skip


def _vsod(choose: random.Random, _: str) -> Iterator[_Make]:
    for count in (*range(2, 40), 60, 76, 99, 100, 101):
        for start in {0, count - 1, count // 2, *(choose.randrange(count) for _ in range(3))}:
            yield _Make(
                choose, question_kind=choose.choice(["speaker", "count", "event"]), asks=(Ask("wait"), Ask("rewind")),
                frames=tuple(f"{number:04d}.JPEG" for number in range(count)), states=circle(count), start=start,
                reference=View(choose.randrange(count)), max_turns=count,
            )  # fmt: skip


def _line(count: int, wrong: int = 0) -> tuple[DraftState, ...]:
    """A request to the next state, which at the last ends the episode; `wrong` requests that always do."""
    return tuple(
        DraftState(View(at), tuple((ask, at + 1 if not ask and at + 1 < count else END) for ask in range(1 + wrong)))
        for at in range(count)
    )


def _mvp_n(choose: random.Random, _: str) -> Iterator[_Make]:
    for count, _ in product((2, 3, 4, 5, 6, 7, 12), range(30)):
        yield _Make(
            choose, asks=(Ask("change_view"),), frames=tuple(f"{number}_1.png" for number in range(count)),
            states=_line(count), reference=View(count - 1), max_turns=count,
        )  # fmt: skip


def _imagenet_c(choose: random.Random, scenario: str) -> Iterator[_Make]:
    actions = list(prompting.load_pool(scenario).asks)
    for action, _ in product(actions, range(25)):
        wrong = choose.sample([other for other in actions if other != action], 3)
        yield _Make(
            choose, asks=(Ask(action), *(Ask(other, "invalid") for other in wrong)),
            frames=tuple(f"x-{level}.JPEG" for level in (5, 4, 3, 2, 1)), states=_line(5, 3),
            reference=View(4), max_turns=5,
        )  # fmt: skip


def _quickdraw(choose: random.Random, _: str) -> Iterator[_Make]:
    for count, _ in product((*range(2, 56), 99, 101), range(4)):
        yield _Make(
            choose, asks=(Ask("add_details"),), frames=tuple(f"{number:04d}.png" for number in range(count)),
            states=_line(count), reference=View(count - 1), max_turns=count,
        )  # fmt: skip


def _changeit(choose: random.Random, _: str) -> Iterator[_Make]:
    """Also with fewer turns than it takes to the end: then waiting is still offered where they run out."""
    for count, step, cut in product((2, 3, 4, 7, 16, 40), (1, 2, 3, 5, 13, 60, 500), (False, True)):
        for kind, thing in (("object", "object to appear"), ("action", "action to happen")):
            for _ in range(2):
                last = count - 1
                states = [
                    DraftState(
                        View(at),
                        (
                            *([(0, at + 1 if at < last else END)] if at < last or cut else []),
                            *([(1, at - 1)] if at else []),
                        ),
                    )
                    for at in range(count)
                ]
                named = choose.random() < 0.9
                yield _Make(
                    choose, question_kind=kind, asks=(Ask("wait", fields=(("thing", thing),)), Ask("rewind")),
                    frames=tuple(f"{at * step}.jpg" if named else f"f{at}.jpg" for at in range(count)),
                    states=tuple(states), reference=View(choose.randrange(count)),
                    max_turns=count + (0 if cut else choose.choice((0, 0, 1, 7))),
                )  # fmt: skip


def _coco(choose: random.Random, _: str) -> Iterator[_Make]:
    for direction, g, number in product(DIRECTIONS, (3, 4, 5), range(25)):
        yield _track(choose, direction, g, tightest=number == 0, shortest=number < 3)
    for direction, g in product(DIRECTIONS, (2, 6, 9)):
        yield _track(choose, direction, g, tightest=False, shortest=False)


def _track(choose: random.Random, direction: str, g: int, *, tightest: bool, shortest: bool) -> _Make:
    """`shortest`: steps of a pixel; `tightest`: a first view of a pixel too, in the picture's corner."""
    dx, dy = DIRECTIONS[direction]
    columns, rows = (g + 1, 1) if direction == "zoom" else (g if dx else 1, g if dy else 1)
    moves = {"x": columns - 1, "y": columns - 1 if direction == "zoom" else rows - 1}
    sides = 2 if direction == "zoom" else 1
    step = {axis: (1 if shortest else choose.randint(1, 120)) if count else 0 for axis, count in moves.items()}
    first = {axis: 1 if tightest else choose.randint(1, 300) for axis in step}
    left, top = (0, 0) if tightest else (choose.randint(0, 400), choose.randint(0, 400))
    size = {axis: first[axis] + sides * moves[axis] * step[axis] for axis in step}
    track = Track(direction, g, step["x"], step["y"], (left, top, left + size["x"], top + size["y"]))
    return _Make(
        choose, asks=asks(track), frames=("COCO_val2014_000000000001.jpg",), states=states(track), reference=View(0),
        max_turns=max_turns(track), hint="zoom" if direction == "zoom" else "default",
    )  # fmt: skip


MAKERS = {
    "rod": _rod, "vsod": _vsod, "mvp_n": _mvp_n, "imagenet_c": _imagenet_c, "quickdraw": _quickdraw,
    "changeit": _changeit, "coco": _coco,
}  # fmt: skip
