"""ChangeIt: tutorial videos, seen first at their beginning; a model may wait or rewind (paper A.6).

Which seconds are shown: docs/decisions/changeit-steps.md. Which pictures those are, and what is done about videos that
are cut, turned or of a variable rate: docs/decisions/changeit-videos.md. Words: docs/decisions/changeit-words.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from build_bench.builders import Builder
from build_bench.builders.changeit_pictures import Encoder
from build_bench.builders.changeit_steps import TOLERANCE, Grid, grid
from build_bench.builders.changeit_words import Words
from build_bench.draws import Draw
from build_bench.errors import Rejected
from build_bench.raw_sources.changeit import QUESTIONS, Annotated, ChangeIt
from build_bench.raw_sources.changeit_video import ROUNDINGS, Video
from build_bench.records import Ask, Draft, DraftState, Framed, Plan, Rejection, Source, View

INFORMATIVE = {"object": frozenset({1, 2, 3}), "action": frozenset({2})}
"""The labels at which a question can be answered: the object is there before, during and after the action."""

THING = {"object": "object to appear", "action": "action to happen"}
"""What one waits for, in the evaluator's words."""

WAIT, REWIND = 0, 1
"""Indexes into the asks."""

DECODING = 0.03
"""Seconds for each of a video's, for one of its two questions: it is decoded once for both (720p, one core)."""

LICENSE = "annotations MIT; the video under its uploader's terms and YouTube's"


@dataclass(frozen=True, slots=True)
class ChangeItSettings:
    """The tunables of `changeit`."""

    frames: int = 16
    """Per sample, at most."""
    short_side: int = 480
    """Pixels of a picture's shorter side, at most; 0: as the video has it."""
    informative_start: bool = True
    """Keep a video whose first second shows the answer already: the filter is there to drop what is too easy."""
    rounding: str = "near"
    """How ffmpeg's fps filter brings timestamps to seconds: near (the authors'), up or down."""

    def __post_init__(self) -> None:
        if self.frames < 2:
            raise ValueError(f"frames = {self.frames}, expected at least 2: the first, and one to wait for")
        if self.short_side < 0 or 0 < self.short_side < 16:
            raise ValueError(f"short_side = {self.short_side}, expected at least 16 pixels, or 0")
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"rounding = {self.rounding!r}, expected one of {', '.join(ROUNDINGS)}")


class _Decoded(NamedTuple):
    """One video's pictures by second, or why there are none."""

    key: tuple[str, ...]
    jpegs: Mapping[int, bytes]
    problem: Rejected | None


class ChangeItBuilder(Builder[ChangeIt]):
    """Two samples per annotated video: what is the object, what is the action."""

    scenario = "changeit"
    shard = 8
    Settings = ChangeItSettings
    reader = ChangeIt
    by_rule: ClassVar[frozenset[str]] = frozenset({"no_label", "out_of_reach", "informative_start"})
    settings: ChangeItSettings

    def __init__(self, settings: ChangeItSettings, seed: int) -> None:
        super().__init__(settings, seed)
        self._decoded: _Decoded | None = None

    def stamp(self, plan: Plan | Framed, raw: ChangeIt) -> str:
        recipe = json.loads(plan.recipe)
        return _stamp(raw.find(recipe["category"], recipe["video"]))

    def plan(self, raw: ChangeIt) -> Iterator[Draft | Rejection]:
        words = Words(raw.words)
        for annotated in raw.videos():
            grids: dict[str, Grid] = {}
            for kind in QUESTIONS:
                try:
                    grids[kind] = self._grid(kind, annotated, words, raw)
                except Rejected as why:
                    yield Rejection(_key(annotated, kind), "plan", why.reason, why.detail)
            decode = sorted({second for chosen in grids.values() for second in chosen.seconds})
            for kind, chosen in grids.items():
                try:
                    yield self._draft(kind, annotated, chosen, decode, words, raw)
                except Rejected as why:
                    yield Rejection(_key(annotated, kind), "plan", why.reason, why.detail)

    def _grid(self, kind: str, annotated: Annotated, words: Words, raw: ChangeIt) -> Grid:
        """The seconds to show. Raises `Rejected` if the candidate can't be used."""
        labels = annotated.labels
        if annotated.problem:
            raise Rejected("bad_annotation", annotated.problem)
        if not words.word(annotated.category, kind):
            raise Rejected("no_words", f"words.csv has no {kind} for category {annotated.category!r}")
        if not INFORMATIVE[kind].intersection(labels):
            raise Rejected("no_label", f"none of {len(labels)} seconds is labelled {sorted(INFORMATIVE[kind])}")
        chosen = grid(labels, INFORMATIVE[kind], self.settings.frames)
        if chosen is None:
            raise Rejected("out_of_reach", f"of {len(labels)} seconds only the first or the last is informative")
        if labels[0] in INFORMATIVE[kind] and not self.settings.informative_start:
            raise Rejected("informative_start", f"second 0 is labelled {labels[0]}")
        if raw.find(annotated.category, annotated.video) is None:
            raise Rejected("missing_video", raw.lacks(annotated.category, annotated.video))
        return chosen

    def _draft(
        self, kind: str, annotated: Annotated, chosen: Grid, decode: list[int], words: Words, raw: ChangeIt
    ) -> Draft:
        category, video, labels, _ = annotated
        key = _key(annotated, kind)
        answer = words.word(category, kind)
        listed = raw.categories_of(video) | {category}
        last = len(chosen.seconds) - 1
        recipe = {
            "category": category, "video": video, "step_size": chosen.step,
            "num_images": min(len(labels) - TOLERANCE, chosen.step * len(chosen.seconds)),
            "seconds": chosen.seconds, "labels": [labels[second] for second in chosen.seconds],
            "annotated": len(labels), "decode": decode,
            "short_side": self.settings.short_side, "rounding": self.settings.rounding,
        }  # fmt: skip
        return Draft(
            source=Source("ChangeIt", key, f"https://www.youtube.com/watch?v={video}", LICENSE),
            group=f"{category}/{video}",
            question_kind=kind,
            asks=(Ask("wait", fields=(("thing", THING[kind]),)), Ask("rewind")),
            answer=answer,
            distractors=words.wrong(kind, listed, answer, Draw(self.seed, self.scenario, key)),
            frames=tuple(f"{second}.jpg" for second in chosen.seconds),
            states=tuple(
                DraftState(
                    View(at),
                    (*([(WAIT, at + 1)] if at < last else []), *([(REWIND, at - 1)] if at > 0 else [])),
                )
                for at in range(last + 1)
            ),
            reference=View(chosen.reference),
            max_turns=last + 1,
            recipe=json.dumps(recipe),
        )

    def seconds(self, recipe: str) -> float:
        """Decoding takes nearly all of it, and as long as the video is."""
        return DECODING * json.loads(recipe)["annotated"]  # type: ignore[no-any-return]

    def render(self, plan: Plan, raw: ChangeIt) -> Iterator[bytes]:
        """The pictures on the grid. Both questions on a video come one after the other: it is decoded once for both."""
        recipe = json.loads(plan.recipe)
        path = raw.find(recipe["category"], recipe["video"])
        if path is None or not path.is_file():
            raise Rejected("missing_video", raw.lacks(recipe["category"], recipe["video"]))
        shared = {name: recipe[name] for name in ("decode", "annotated", "short_side", "rounding")}
        key = (plan.group, str(path), _stamp(path), json.dumps(shared))
        if self._decoded is None or self._decoded.key != key:
            self._decoded = None  # before the next is made: one video's pictures in memory, not two
            try:
                self._decoded = _Decoded(key, _jpegs(path, recipe, plan.group), None)
            except Rejected as why:
                self._decoded = _Decoded(key, {}, why)
        if self._decoded.problem:
            raise Rejected(self._decoded.problem.reason, self._decoded.problem.detail)
        yield from (self._decoded.jpegs[second] for second in recipe["seconds"])


def _jpegs(path: Path, recipe: Mapping[str, Any], name: str) -> dict[int, bytes]:
    """The pictures by second. Raises `Rejected` if the file doesn't fit its annotation, or doesn't decode."""
    video = Video(path, recipe["rounding"])
    annotated = recipe["annotated"]
    if abs(video.seconds - annotated) > TOLERANCE:
        raise Rejected("frame_count", f"{path.name}: {video.seconds} pictures at 1 fps, {annotated} seconds annotated")
    encoder = Encoder(recipe["short_side"])
    wanted = set(recipe["decode"])
    jpegs = {}
    # The last picture is decoded whether it is shown or not: a file of which only the beginning arrived has no such.
    for second, frame in video.pictures([*wanted, video.seconds - 1]):
        if second in wanted:
            comment = f"{name}: picture {second} of {video.seconds} at 1 fps; {annotated} seconds annotated"
            jpegs[second] = encoder.jpeg(frame, video.aspect, comment)
    return jpegs


def _key(annotated: Annotated, kind: str) -> str:
    return f"{annotated.category}/{annotated.video}/{kind}"


def _stamp(path: Path | None) -> str:
    if path is None or not path.is_file():
        return "missing"
    status = path.stat()
    return f"{status.st_size}-{status.st_mtime_ns}"
