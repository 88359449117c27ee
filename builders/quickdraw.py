"""Quick, Draw!: a drawing seen stroke by stroke (paper A.5).

Which drawings, and which wrong words: docs/decisions/quickdraw-selection.md.
How strokes become pictures: docs/decisions/quickdraw-renderer.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from build_bench import png, strokes
from build_bench.builders import Builder
from build_bench.draws import Draw
from build_bench.prompting import normalised
from build_bench.raw_sources.quickdraw import KINDS, Drawing, QuickDraw, known_words
from build_bench.records import END, Ask, Draft, DraftState, Framed, Plan, Rejection, Source, View

DATASET = "Quick, Draw!"
LICENSE = "CC-BY-4.0"

SOURCES = ("auto", *KINDS)


@dataclass(frozen=True, slots=True)
class QuickDrawSettings:
    """The tunables of `quickdraw`."""

    per_class: int = 10
    """Drawings of each word (paper A.5)."""
    min_strokes: int = 2
    """A drawing of one stroke has nothing to add: its first frame is the reference (not in the paper)."""
    size: int = 256
    """Side of a frame in pixels (not in the paper)."""
    line_width: float = 3.0
    """Pixels (not in the paper)."""
    source: str = "auto"
    """`simplified`, `raw`, or `auto`: simplified files where there are any."""

    def __post_init__(self) -> None:
        if self.per_class < 1:
            raise ValueError(f"per_class = {self.per_class}, expected at least 1 drawing")
        if self.min_strokes < 2:
            raise ValueError(f"min_strokes = {self.min_strokes}, expected at least 2: asking must show something more")
        if not 0 < self.line_width <= 64:
            raise ValueError(f"line_width = {self.line_width}, expected more than 0 and up to 64 pixels")
        if not 2 * self.line_width + 8 <= self.size <= 4096:
            raise ValueError(f"size = {self.size}, expected up to 4096 pixels, and at least two lines and 8 pixels")
        if self.source not in SOURCES:
            raise ValueError(f"source = {self.source!r}, expected one of {', '.join(SOURCES)}")


class QuickDrawBuilder(Builder[QuickDraw]):
    """One sample for each of `per_class` drawings of a word; a frame for each stroke."""

    scenario = "quickdraw"
    Settings = QuickDrawSettings
    reader = QuickDraw
    by_rule: ClassVar[frozenset[str]] = frozenset({"not_recognized", "single_stroke", "too_few_strokes"})
    settings: QuickDrawSettings

    def __init__(self, settings: QuickDrawSettings, seed: int) -> None:
        super().__init__(settings, seed)
        self._draw: dict[str, int] = {}
        self._head = f'{{"line_width":{json.dumps(settings.line_width)},"size":{json.dumps(settings.size)}'

    def open(self, root: Path, scratch: Path) -> QuickDraw:
        return QuickDraw(root, self.settings.source)

    def stamp(self, plan: Plan | Framed, raw: QuickDraw) -> str:
        """The recipe holds the strokes."""
        return ""

    def plan(self, raw: QuickDraw) -> Iterator[Draft | Rejection]:
        self._draw = {"smallest_hashes": len(raw.words) - len(raw.sampled), "ranges": len(raw.sampled)}
        for word in raw.words:
            for outcome in raw.choose(word, self.settings.per_class, self.seed, self.settings.min_strokes):
                yield self._draft(outcome) if isinstance(outcome, Drawing) else outcome

    def facts(self) -> dict[str, Any]:
        """How many words were drawn how: of all their drawings, or by `fetch --sample` before."""
        return {"draw": self._draw}

    def _draft(self, drawing: Drawing) -> Draft:
        key = f"{drawing.word}/{drawing.key_id}"
        count = len(drawing.strokes)
        frames, states = _shape(count)
        # Raw coordinates go where the simplified ones of the same drawing are: one size of recipe, one scale.
        shown = strokes.normalise(drawing.strokes) if drawing.kind == "raw" else drawing.strokes
        first, second, third = Draw(self.seed, self.scenario, key).sample("distractors", wrong_words(drawing.word), 3)
        return Draft(
            source=Source(DATASET, key, drawing.url, LICENSE),
            group=key,
            question_kind="object",
            asks=(Ask("add_details"),),
            answer=drawing.word,
            distractors=(first, second, third),
            frames=frames,
            states=states,
            reference=View(count - 1),
            max_turns=count,
            recipe=f'{self._head},"strokes":{_spelled(shown)}}}',
        )

    def render(self, plan: Plan, raw: QuickDraw) -> Iterator[bytes]:
        """One grey PNG a stroke. No source file is read."""
        ((_, pictures),) = self.render_many([plan], raw)
        return iter(pictures)

    def render_many(self, plans: Iterable[Plan], raw: QuickDraw) -> Iterator[tuple[Plan, list[bytes]]]:
        """Drawings laid out together take a third of the time."""
        recipes = ((plan, msgspec.json.decode(plan.recipe)) for plan in plans)
        for (size, width), group in groupby(recipes, lambda each: (each[1]["size"], each[1]["line_width"])):
            chosen = list(group)
            drawn = strokes.frames_many((recipe["strokes"] for _, recipe in chosen), size, width)
            for (plan, _), pictures in zip(chosen, drawn, strict=True):
                yield plan, [png.encode_grey(picture) for picture in self._stored(plan, pictures)]

    def _stored(self, plan: Plan, pictures: Sequence[NDArray[np.uint8]]) -> Sequence[NDArray[np.uint8]]:
        """Those of the pictures after each stroke that are frames: all of them."""
        return pictures


@lru_cache(64)
def _shape(count: int) -> tuple[tuple[str, ...], tuple[DraftState, ...]]:
    """The frames and states of a drawing of `count` strokes."""
    frames = tuple(f"{step:04d}.png" for step in range(count))
    # The last state keeps the option, which ends the episode there: the evaluator never takes it away.
    states = [DraftState(View(step), ((0, step + 1 if step + 1 < count else END),)) for step in range(count)]
    return frames, tuple(states)


def _spelled(drawing: Sequence[strokes.Stroke]) -> str:
    """As `json.dumps` spells it, in a fifth of the time: only fractions do the two spell in different ways."""
    text = msgspec.json.encode(drawing).decode()
    return json.dumps(drawing, separators=(",", ":")) if "." in text or "e" in text else text


@cache
def wrong_words(word: str) -> tuple[str, ...]:
    """The pool of wrong answers: all 345 words that read otherwise, whether they lie on disk or not."""
    return tuple(other for other in known_words() if normalised(other) != normalised(word))
