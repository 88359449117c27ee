"""VSOD: videos in which someone passes in front of the camera (paper A.2).

What people say comes from answers.csv; of frames that they didn't name: docs/decisions/vsod-suggestions.md.
Wrong answers: docs/decisions/vsod-wrong-answers.md.
"""

from __future__ import annotations

import io
import json
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from PIL import Image

from build_bench import imaging, manifests
from build_bench.builders import Builder, vsod_suggest
from build_bench.builders.vsod_candidates import Candidates, candidates
from build_bench.builders.vsod_suggest import Seen
from build_bench.errors import InputError, Rejected
from build_bench.prompting import name_problem
from build_bench.raw_sources.vsod import TABLE, Video, Vsod
from build_bench.raw_sources.vsod_answers import Answer
from build_bench.records import Ask, Draft, DraftState, Framed, Plan, Rejection, Source, View

ASKS = Ask("wait"), Ask("rewind")

COLOURS = {"RGB", "L"}
"""Modes that every program shows alike."""


@dataclass(frozen=True, slots=True)
class VsodSettings:
    """The tunables of `vsod`."""

    split: str = "test"
    """The folder below Data/ whose videos are the candidates."""
    strong_cover: float = 0.5
    """Share of the first frame under boxes that counts as strongly occluded where answers.csv doesn't say."""

    def __post_init__(self) -> None:
        if not 0 < self.strong_cover <= 1:
            raise ValueError(f"strong_cover = {self.strong_cover}, expected a share over 0 and up to 1")
        if not self.split or "/" in self.split:
            raise ValueError(f"split = {self.split!r}, expected the name of a folder below Data/")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The two frames of a sample, as positions in the video, and whether the first shows nothing of what is asked."""

    first: int
    reference: int
    strong: bool
    covered: float | None
    """Share of the first frame under boxes; None if unknown, or if nothing had to be suggested."""
    suggested: tuple[str, ...]
    """Which of the three no person chose."""


class VsodBuilder(Builder[Vsod]):
    """One sample per video that people answered for and that is strongly occluded."""

    scenario = "vsod"
    shard = 12
    Settings = VsodSettings
    reader = Vsod
    by_rule: ClassVar[frozenset[str]] = frozenset(
        {"no_answer", "not_strongly_occluded", "no_occlusion", "no_clean_frame"}
    )
    settings: VsodSettings

    def __init__(self, settings: VsodSettings, seed: int) -> None:
        super().__init__(settings, seed)
        self._suggested: Counter[str] = Counter()
        self._license = manifests.source(self.scenario)["license"]

    def facts(self) -> dict[str, Any]:
        return {f"suggested_{name}": self._suggested[name] for name in ("first", "reference", "strong")}

    def open(self, root: Path, scratch: Path) -> Vsod:
        raw = Vsod(root, self.settings.split)
        _check_texts(raw)
        return raw

    def stamp(self, plan: Plan | Framed, raw: Vsod) -> str:
        return raw.stamp(tuple(json.loads(plan.recipe)["video"]), plan.frames)

    def plan(self, raw: Vsod) -> Iterator[Draft | Rejection]:
        self._suggested.clear()
        pools = candidates(raw.answers)
        for video in raw.videos():
            try:
                yield self._draft(video, raw, pools)
            except Rejected as why:
                yield Rejection(video.key, "plan", why.reason, why.detail)

    def _draft(self, video: Video, raw: Vsod, pools: Mapping[str, Candidates]) -> Draft:
        answer = raw.answers.get(video.key)
        if answer and answer.strong is False:
            raise Rejected("not_strongly_occluded", f"{TABLE} says so")
        if not answer or not answer.answer:
            raise Rejected("no_answer", f"{TABLE} doesn't say what is right")
        if video.problem:
            raise Rejected(*video.problem)
        chosen = choose(video, answer, raw, self.settings.strong_cover)
        if not chosen.strong:
            raise Rejected(
                "not_strongly_occluded",
                f"boxes cover {chosen.covered:.0%} of frame {video.numbers[chosen.first]}, "
                f"suggested from {self.settings.strong_cover:.0%} on; {TABLE} doesn't say",
            )
        wrong = pools[answer.kind].three(answer.answer, self.seed, video.key)
        self._suggested.update(chosen.suggested)
        return Draft(
            source=Source("OcclusionDataSet-MM20", video.key, "", self._license),
            group=video.key,
            question_kind=answer.kind,
            asks=ASKS,
            answer=answer.answer,
            distractors=wrong,
            frames=video.frames,
            states=circle(len(video.frames)),
            start=chosen.first,
            reference=View(chosen.reference),
            max_turns=len(video.frames),
            recipe=json.dumps(
                {
                    "video": video.whose,
                    "first": chosen.first,
                    "reference": chosen.reference,
                    "suggested": chosen.suggested,
                }
            ),
        )

    def render(self, plan: Plan, raw: Vsod) -> Iterator[bytes]:
        """The frames' own bytes, once every pixel of each has been decoded."""
        whose = tuple(json.loads(plan.recipe)["video"])
        images = [raw.frame(whose, name) for name in plan.frames]
        sizes = {_checked(data, name) for data, name in zip(images, plan.frames, strict=True)}
        if len(sizes) > 1:
            raise Rejected("mixed_sizes", ", ".join(f"{width} x {height}" for width, height in sorted(sizes)))
        if images[plan.start] == images[plan.reference.frame]:
            raise Rejected(
                "nothing_revealed", f"{plan.frames[plan.start]} and the reference frame are the same picture"
            )
        yield from images


def circle(count: int) -> tuple[DraftState, ...]:
    """Waiting goes one frame on, rewinding one back; after the last comes the first, before the first the last."""
    return tuple(DraftState(View(at), ((0, (at + 1) % count), (1, (at - 1) % count))) for at in range(count))


def seen(video: Video, raw: Vsod) -> list[Seen | None]:
    """What the annotations say of each frame. Raises `Rejected` if a picture must tell its size and can't."""
    marks = raw.marks(video)
    size = raw.size(video) if any(mark and mark.boxes and not mark.size for mark in marks) else (1, 1)
    return [Seen(mark.occluded, mark.covered(size)) if mark else None for mark in marks]


def choose(video: Video, answer: Answer, raw: Vsod, strong_cover: float) -> Chosen:
    """The frames that people named, suggestions for the others. Raises `Rejected` if there is nothing to suggest."""
    named = {name: _position(video, name, getattr(answer, name)) for name in ("first", "reference")}
    values = {**named, "strong": answer.strong}
    suggested = tuple(name for name, value in values.items() if value is None)
    first, reference, strong, covered = named["first"], named["reference"], answer.strong, None
    if suggested:
        frames = seen(video, raw)
        if not any(frames):
            raise Rejected("no_annotation", f"none of {len(frames)} frames has a usable XML to suggest from")
        first = vsod_suggest.first(frames) if first is None else first
        if first is None:
            raise Rejected("no_occlusion", f"no frame is annotated as occluded, and {TABLE} names no first one")
        reference = vsod_suggest.reference(frames, first) if reference is None else reference
        if reference is None:
            raise Rejected("no_clean_frame", f"every frame is annotated as occluded, and {TABLE} names no reference")
        at_first = frames[first]
        covered = at_first.covered if at_first else None
        if strong is None and covered is None:
            raise Rejected(
                "no_annotation", f"frame {video.numbers[first]} has no usable XML, and {TABLE} isn't strong on it"
            )
        strong = bool(covered is not None and covered >= strong_cover) if strong is None else strong
    assert first is not None
    assert reference is not None
    if first == reference:
        raise Rejected("first_is_reference", f"frame {video.numbers[first]} can't both hide and show the answer")
    return Chosen(first, reference, bool(strong), covered, suggested)


def _position(video: Video, column: str, number: int | None) -> int | None:
    if number is None:
        return None
    if number not in video.numbers:
        raise Rejected("no_such_frame", f"{column} is {number}, frames run {video.numbers[0]} to {video.numbers[-1]}")
    return video.numbers.index(number)


def _check_texts(raw: Vsod) -> None:
    """Raise `InputError` for an answer that the evaluator would misread."""
    for key, answer in raw.answers.items():
        if problem := answer.answer and name_problem(answer.answer):
            raise InputError(f"{raw.root / TABLE}:{answer.line}: {key}: answer {answer.answer!r}: {problem}")


def _checked(data: bytes, name: str) -> tuple[int, int]:
    """Width and height in pixels of a sound frame. Raises `Rejected`."""
    try:
        imaging.decode(data)
    except Rejected as why:
        raise Rejected(why.reason, f"{name}: {why.detail}") from why
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged EXIF block says no orientation
        header = Image.open(io.BytesIO(data))
        orientation = header.getexif().get(0x0112, 1)
    if header.format not in ("JPEG", "MPO"):
        raise Rejected("not_a_jpeg", f"{name} is {header.format}")
    if header.mode not in COLOURS:
        raise Rejected("colour_mode", f"{name}: {header.mode}, expected RGB or grey")
    if orientation not in (0, 1):
        raise Rejected("exif_orientation", f"{name}: orientation {orientation}")
    return header.size
