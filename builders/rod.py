"""ROD: an object behind an occluder that can be moved aside (paper A.1).

Fourteen pictures in a circle: at step 0 nothing is in front of the object, from 1 to 13 the occluder goes from left to
right, at 7 it hides the object altogether. How the published evaluator walks them: docs/decisions/rod-states.md
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from PIL import Image as Pictures

from build_bench import imaging, jpeg, manifests
from build_bench.builders import Builder
from build_bench.draws import Draw
from build_bench.errors import Rejected
from build_bench.raw_sources import rod_occluders
from build_bench.raw_sources.rod import OCCLUDERS, Entry, Picture, Rod, classes
from build_bench.records import Ask, Draft, DraftState, Framed, Plan, Rejection, Source, View

STEPS = 14
START, REFERENCE = 7, 0
"""The most occluded step, and the one with nothing in front (paper A.1, released records)."""

MAX_TURNS = STEPS
"""Paper A.1: as many moves as there are frames."""

HOLES: Mapping[str, int] = {"natural_bluebl_greenr-banana": 6}
"""The step that was never distributed (1,231 of 88 x 14). The evaluator never shows it, so it isn't looked for."""

LEFT, RIGHT = 0, 1
ASKS = ("move_occluder_left", "move_occluder_right")

COLOURS = {"RGB", "L"}
"""Modes that every program shows alike."""


@dataclass(frozen=True, slots=True)
class RodSettings:
    """`rod` has no tunables: whatever the paper leaves open is in its tables of classes and occluders."""


class RodBuilder(Builder[Rod]):
    """One sample per object and occluder."""

    scenario = "rod"
    shard = 8
    Settings = RodSettings
    reader = Rod
    by_rule: ClassVar[frozenset[str]] = frozenset()
    settings: RodSettings

    def open(self, root: Path, scratch: Path) -> Rod:
        return Rod(root, scratch)

    def plan(self, raw: Rod) -> Iterator[Draft | Rejection]:
        """Raises `InputError`, naming them all, if there are occluder codes that no table has words for."""
        entries = list(raw.entries())
        phrases = rod_occluders.occluders(raw.root / OCCLUDERS)
        used = [(entry.code, entry.key) for entry in entries if entry.code and not entry.problem]
        rod_occluders.check(phrases, used, raw.root / OCCLUDERS)
        for entry in entries:
            problem = entry.problem or _steps_problem(entry)
            yield Rejection(entry.key, "plan", *problem) if problem else self._draft(entry, phrases[entry.code])

    def _draft(self, entry: Entry, occluder: str) -> Draft:
        about = manifests.source(self.scenario)
        wrong = [name for name in classes() if name != entry.category]
        one, two, three = Draw(self.seed, self.scenario, entry.key).sample("distractors", wrong, 3)
        blank = (("occluder", occluder),)
        hole = HOLES.get(entry.stem)
        steps = [step for step in range(STEPS) if step != hole]
        return Draft(
            source=Source(about["title"], entry.key, about["homepage"], about["license"]),
            group=entry.key,
            question_kind="object",
            asks=tuple(Ask(action, fields=blank) for action in ASKS),
            answer=entry.category,
            distractors=(one, two, three),
            frames=tuple(f"{entry.stem}-s{step}.jpg" for step in steps),
            states=tuple(_states(hole)),
            reference=View(steps.index(REFERENCE)),
            max_turns=MAX_TURNS,
            recipe=json.dumps([entry.steps[step] for step in steps]),
            start=START,
            first_turn_answerable=False,
            fields=blank,
        )

    def stamp(self, plan: Plan | Framed, raw: Rod) -> str:
        return " ".join(raw.stamp(picture) for picture in _pictures(plan))

    def prepare(self, raw: Rod, plans: Iterator[Plan]) -> None:
        """Lay out the archives that frames come from, unless planning just did."""
        raw.fill({picture.place for plan in plans for picture in _pictures(plan) if picture.member})

    def finish(self, raw: Rod) -> None:
        raw.clear()

    def render(self, plan: Plan, raw: Rod) -> Iterator[bytes]:
        """The pictures' own scans, once all pixels have been decoded, without what was recorded beside them."""
        for picture in _pictures(plan):
            yield published(raw.picture(picture), picture.name)


def published(data: bytes, name: str) -> bytes:
    """A picture as it is published: the same samples, no EXIF but the orientation. `name` is for the reason.

    Raises `Rejected`: `not_a_picture`, `truncated_picture`, `not_a_jpeg`, `broken_jpeg`, `colour_mode`.
    """
    try:
        imaging.decode(data)
        header = Pictures.open(io.BytesIO(data))
        if header.format not in ("JPEG", "MPO"):
            raise Rejected("not_a_jpeg", f"it is {header.format}")
        if header.mode not in COLOURS:
            raise Rejected("colour_mode", f"{header.mode}, expected RGB or grey")
        return jpeg.stripped(data)
    except ValueError as error:
        raise Rejected("broken_jpeg", f"{name}: {error}") from error
    except Rejected as why:
        raise Rejected(why.reason, f"{name}: {why.detail}") from why


def _pictures(plan: Plan | Framed) -> list[Picture]:
    return [Picture(*fields) for fields in json.loads(plan.recipe)]


def _steps_problem(entry: Entry) -> tuple[str, str] | None:
    """Why the steps are not the fourteen, less the known hole."""
    expected = set(range(STEPS)) - {HOLES.get(entry.stem)}
    if lacking := sorted(expected - set(entry.steps)):
        return "missing_steps", f"no step {', '.join(map(str, lacking))}"
    if further := sorted(set(entry.steps) - set(range(STEPS))):
        return "unexpected_steps", f"step {', '.join(map(str, further))}, expected 0 to {STEPS - 1}"
    return None


def _states(hole: int | None) -> Iterator[DraftState]:
    """State k is step k, both ways round. In a hole's place the step beyond it is seen: the one to its left if one
    comes from the right, in state `hole`; the one to its right if one comes from the left, in a further state `STEPS`.
    """
    present = [step for step in range(STEPS) if step != hole]
    for step in range(STEPS):
        seen = step - 1 if step == hole else step
        left, right = (step - 1) % STEPS, (step + 1) % STEPS
        yield DraftState(View(present.index(seen)), ((LEFT, left), (RIGHT, STEPS if right == hole else right)))
    if hole is not None:
        left, right = (hole - 1) % STEPS, (hole + 1) % STEPS
        yield DraftState(View(present.index(right)), ((LEFT, left), (RIGHT, right)))
