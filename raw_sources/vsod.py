"""VSOD 1.0 (OcclusionDataSet-MM20): frames and their annotations, joined by name, and the table that people fill in.

Data/<split>/<video>/NNNN.JPEG, Annotations/<split>/<video>/NNNN.xml      folders or zips: raw_sources/vsod_tree.py
answers.csv                                                                raw_sources/vsod_answers.py
"""

from __future__ import annotations

import io
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from PIL import Image

from build_bench import imaging
from build_bench.errors import InputError, Rejected
from build_bench.raw_sources import Reader, members, missing
from build_bench.raw_sources.vsod_answers import Answer, read_answers, video_key
from build_bench.raw_sources.vsod_boxes import BrokenXmlError, Marked, parse
from build_bench.raw_sources.vsod_tree import ANNOTATIONS, DATA, Whose, find
from build_bench.records import Census

TABLE = "answers.csv"

_FRAME = re.compile(r"(\d{1,6})\.jpe?g", re.IGNORECASE | re.ASCII)
_XML = re.compile(r"(\d{1,6})\.xml", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Video:
    """One video: its frames in the order of their numbers."""

    key: str
    whose: Whose
    frames: tuple[str, ...]
    """File names."""
    numbers: tuple[int, ...]
    """Of the same length: the numbers in those names."""
    problem: tuple[str, str] | None = None
    """(reason, detail) if the frames are no whole video."""


class Vsod(Reader):
    """A copy under `root`. The candidates are the videos of `split`; those of other splits are passed over."""

    def __init__(self, root: Path, split: str = "test") -> None:
        super().__init__(root)
        self._split = split
        self._refused: list[str] = []
        self._places = find(root, self._refused)
        if not self._places[DATA]:
            raise missing(root)
        self._whose = sorted(whose for whose in self._places[DATA] if whose[0] == split)
        if not self._whose:
            splits = sorted({name for name, _ in self._places[DATA]})
            raise InputError(
                f"vsod: there is no split {split!r} in {root}, found {', '.join(splits)}",
                f"name one of them with --set vsod.split={splits[0]}",
            )
        self._keys = {video_key(*whose): whose for whose in self._whose}
        self._absent: dict[str, int] = {}
        self._broken: dict[str, list[str]] = defaultdict(list)

    @cached_property
    def files(self) -> Sequence[Path]:
        table = self.root / TABLE
        places = [self._places[kind].get(whose) for kind in (DATA, ANNOTATIONS) for whose in self._whose]
        return sorted({place.file for place in places if place} | ({table} if table.is_file() else set()))

    @property
    def census(self) -> Census:
        return Census(len(self._whose), passed_over=len(self._places[DATA]) - len(self._whose))

    @cached_property
    def answers(self) -> Mapping[str, Answer]:
        """What people wrote, by video. Raises `InputError` if the table is absent or wrong."""
        path = self.root / TABLE
        if not path.is_file():
            raise InputError(
                f"vsod: {path} is missing: people must say who speaks, how many there are, or what happens",
                "build-bench annotate vsod writes it to fill in; or leave vsod out: name the others with --scenario",
            )
        return read_answers(path)

    @property
    def gaps(self) -> Sequence[str]:
        found = [*self._refused]
        if without := [key for key in sorted(self._keys) if not self._is_answered(key)]:
            found.append(f"{TABLE} doesn't answer {_listed(without, 'video')} (build-bench annotate vsod helps)")
        if strangers := sorted(set(self.answers) - set(self._keys)):
            found.append(f"{TABLE} has rows for {_listed(strangers, 'video')} that split {self._split!r} here lacks")
        if bare := sorted(set(self._of_split(ANNOTATIONS)) - set(self._keys)):
            found.append(f"there are annotations but no frames of {_listed(bare, 'video')}")
        if self._absent:
            found.append(f"{sum(self._absent.values())} frames of {_listed(sorted(self._absent), 'video')} have no XML")
        for key, whys in sorted(self._broken.items()):
            found.append(f"{len(whys)} XML files of {members.spelled(key)} can't be used: {whys[0]}")
        return tuple(found)

    def _is_answered(self, key: str) -> bool:
        answer = self.answers.get(key)
        return answer is not None and bool(answer.answer or answer.strong is False)

    def _of_split(self, kind: str) -> Iterator[str]:
        return (video_key(*whose) for whose in self._places[kind] if whose[0] == self._split)

    def videos(self) -> Iterator[Video]:
        """Every video of the split, by key."""
        self._absent.clear()
        self._broken.clear()
        for key, whose in sorted(self._keys.items()):
            place = self._places[DATA][whose]
            numbered = sorted((int(match[1]), name) for name in place.names if (match := _FRAME.fullmatch(name)))
            numbers = tuple(number for number, _ in numbered)
            refused = next(
                (("refused_member", place.refused[name]) for _, name in numbered if name in place.refused), None
            )
            yield Video(key, whose, tuple(name for _, name in numbered), numbers, refused or _problem(numbers))

    def marks(self, video: Video) -> list[Marked | None]:
        """Per frame what its annotation says; None where there is none that can be used, which `gaps` then reports."""
        place = self._places[ANNOTATIONS].get(video.whose)
        files = {int(match[1]): name for name in (place.names if place else ()) if (match := _XML.fullmatch(name))}
        found: list[Marked | None] = []
        broken: list[str] = []
        for number in video.numbers:
            mark = None
            if place and number in files:
                try:
                    mark = parse(place.read(files[number]))
                except (BrokenXmlError, Rejected) as error:
                    broken.append(f"{files[number]}: {error}")
            found.append(mark)
        if absent := sum(number not in files for number in video.numbers):
            self._absent[video.key] = absent
        if broken:
            self._broken[video.key] = broken
        return found

    def frame(self, whose: Whose, name: str) -> bytes:
        """A frame's bytes as they lie there. Raises `Rejected`."""
        place = self._places[DATA].get(whose)
        if place is None:
            raise Rejected("missing_frame", f"{'/'.join(whose)} is gone")
        return place.read(name)

    def stamp(self, whose: Whose, names: Sequence[str]) -> str:
        """What changes when one of these frames changes."""
        place = self._places[DATA].get(whose)
        return " ".join(place.stamp(name) for name in names) if place else "missing"

    def size(self, video: Video) -> tuple[int, int]:
        """Width and height of the first frame in pixels, from its header. Raises `Rejected`."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Image.open(io.BytesIO(self.frame(video.whose, video.frames[0]))).size
        except imaging.DAMAGE as error:
            raise Rejected("not_a_picture", f"{video.frames[0]}: {error}") from error


def _problem(numbers: Sequence[int]) -> tuple[str, str] | None:
    """Why frames of these numbers (sorted) are no whole video. They may begin at 0 or elsewhere."""
    if len(numbers) < 2:
        return "too_few_frames", f"{len(numbers)} frames"
    steps = [later - earlier for earlier, later in pairwise(numbers)]
    if 0 in steps:
        return "duplicate_frame", f"frame {numbers[steps.index(0)]} is there twice"
    if holes := sum(steps) - len(steps):
        after = next(number for number, step in zip(numbers, steps, strict=False) if step > 1)
        return "missing_frames", f"{holes} of {sum(steps) + 1}, the first after frame {after}"
    return None


def _listed(names: Sequence[str], what: str, most: int = 6) -> str:
    """`3 videos (a, b, c)`; of many the first few."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (
        f"{len(names)} {what}{'s' if len(names) != 1 else ''} ({', '.join(map(members.spelled, names[:most]))}{more})"
    )
