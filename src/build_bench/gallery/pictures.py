"""The pictures of a slice: for each sample a small one of its start and reference; for those chosen all frames.

A slice's folder is named by what it was made of and renamed when it is whole: a killed run makes at most the slices in
work again. Frames are scaled to `SIDE`, as 18,000 samples come to 150 GB otherwise; but a frame that states crop is
copied, so that a crop has the pixels that a model sees. `full` copies all.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from PIL import Image, ImageOps

from build_bench import jpeg, sheets, store
from build_bench.errors import InputError, Rejected
from build_bench.filters.inputs import input_digest
from build_bench.gallery.dataset import Slice
from build_bench.imaging import DAMAGE, decode

SIDE = 640
"""Pixels of a scaled frame's longer side."""
THUMB = 128
SHORTEST = 100
"""Pixels of the shorter side below which a frame isn't scaled: of a panorama a line would be left."""
SMALL = 60_000
"""Bytes up to which a frame is copied: scaling it would gain nothing."""
_SHOWN_BY_BROWSERS = {"JPEG": "jpg", "PNG": "png", "WEBP": "webp", "GIF": "gif"}
_MODES = ("1", "L", "P", "RGB")
"""Those that browsers show as `imaging.decode` gives them."""
_COLOURED = {"icc_profile", "gamma", "chromaticity"}
"""What of a file makes browsers, but not Pillow, show other colours than its pixels say."""
BARE = jpeg.SHOWING - {jpeg.PROFILE}
_ORIENTATION = 0x0112
_VERSION = 3
_MAKING = ".making"
FACTS = "pictures.json"


class Sample(msgspec.Struct):
    """What the pages must know of one sample's pictures."""

    digest: str
    """`input_digest` of the first turn: only answers to it are not stale."""
    files: list[str] = []
    """Of the frames, in order; none if the sample can't be played here."""
    sizes: list[tuple[int, int]] = []
    """(width, height) of the frames as a model gets them."""
    strip: int = 0
    """How many views the overview's strip of it has; 0: it has none."""


@dataclass(frozen=True, slots=True)
class Task:
    """A slice, and what to make of it."""

    slice: Slice
    out: Path
    """The folder of all slices' pictures."""
    playable: tuple[int, ...]
    """Places in the slice."""
    strips: tuple[int, ...]
    full: bool

    @property
    def key(self) -> str:
        """The name of what comes of it: another if anything does."""
        of, folder = self.slice, self.slice.path.parent.name  # named by its content
        made_of = [_VERSION, folder, of.path.name, of.first, of.count, self.playable, self.strips, self.full]
        return f"{of.scenario}-{store.digest_of(made_of)[:12]}"

    @property
    def folder(self) -> Path:
        """Where its pictures lie."""
        return self.out / self.key


def made(task: Task) -> list[Sample]:
    """Make what is missing of a task; returns its samples. Raises `InputError` for a picture that is broken."""
    return _there(task) or _make(task)


def _there(task: Task) -> list[Sample] | None:
    """The samples of a slice whose pictures are all there."""
    try:
        samples = msgspec.json.decode((task.folder / FACTS).read_bytes(), type=list[Sample])
        names = {path.name for path in task.folder.iterdir()}
    except (OSError, msgspec.DecodeError):
        return None
    wanted = {name for sample in samples for name in sample.files}
    wanted |= {f"{place}.jpg" for place in range(len(samples))} | {f"{place}-strip.jpg" for place in task.strips}
    return samples if wanted <= names and len(samples) == task.slice.count else None


def _make(task: Task) -> list[Sample]:
    making = task.out / f"{task.key}.{os.getpid()}{_MAKING}"
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir(parents=True)
    try:
        samples = [_sample(task, making, place, row) for place, row in _rows(task.slice)]
        (making / FACTS).write_bytes(store.to_json(samples))
        shutil.rmtree(task.folder, ignore_errors=True)
        making.rename(task.folder)
        return samples
    finally:
        shutil.rmtree(making, ignore_errors=True)


def _rows(of: Slice) -> Iterator[tuple[int, dict[str, Any]]]:
    columns = ["id", "question", "context", "hint", "reference_question", "options", "categories", "answer", "frames",
               "states", "start", "reference", "max_turns", "first_turn_answerable"]  # fmt: skip
    return enumerate(of.rows(columns))


def _sample(task: Task, folder: Path, place: int, row: Mapping[str, Any]) -> Sample:
    try:
        views = [row["states"][row["start"]], row["reference"]]
        (folder / f"{place}.jpg").write_bytes(sheets.encoded(sheets.strip(row, views, THUMB)))
        first = row["frames"][views[0]["frame"]]["bytes"]
        sample = Sample(input_digest(row, hashlib.sha256(first).hexdigest()))
        if place in task.strips:
            sample.strip = len(sheets.path_of(row))
            (folder / f"{place}-strip.jpg").write_bytes(sheets.encoded(sheets.sequence(row)))
        if place in task.playable:
            cropped = {view["frame"] for view in [*row["states"], row["reference"]] if view["crop"]}
            for number, frame in enumerate(row["frames"]):
                kind, data, size = for_browsers(frame["bytes"], None if task.full or number in cropped else SIDE)
                sample.files.append(f"{place}-{number}.{kind}")
                sample.sizes.append(size)
                (folder / sample.files[-1]).write_bytes(data)
    except Rejected as why:
        raise InputError(
            f"{task.slice.path}: a picture of {row['id']} is broken: {why}", "build-bench verify names all that are"
        ) from why
    return sample


def for_browsers(data: bytes, side: int | None) -> tuple[str, bytes, tuple[int, int]]:
    """A frame to be shown: (ending, bytes, size of the original). Scaled to `side`, unless that gains nothing or it is
    None.

    Copied, if a browser shows it as Pillow, which models see it through; a JPEG without its colour profile; else as
    PNG. Raises `Rejected` if it is broken.
    """
    try:
        image = Image.open(io.BytesIO(data))
        kind = _SHOWN_BY_BROWSERS.get(str(image.format), "")
        alike = _shown_alike(image, data) if kind else b""
    except DAMAGE as error:
        raise Rejected("not_a_picture", str(error)) from error
    if side and max(image.size) > side and len(data) > SMALL and min(image.size) * side >= SHORTEST * max(image.size):
        small = ImageOps.contain(_quickly(data, side), (side, side), Image.Resampling.LANCZOS)
        scaled = io.BytesIO()
        small.save(scaled, "JPEG", quality=82)
        if not alike or len(scaled.getvalue()) < len(data):
            return "jpg", scaled.getvalue(), image.size
    if alike:
        return kind, alike, image.size
    return "png", as_png(decode(data)), image.size


def as_png(image: Image.Image) -> bytes:
    """Its pixels alone."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", icc_profile=None)
    return buffer.getvalue()


def _shown_alike(image: Image.Image, data: bytes) -> bytes:
    """What a browser shows as Pillow does: `data`, or those without a profile; nothing, if it moves, is transparent,
    or is turned by its EXIF data."""
    moves = getattr(image, "is_animated", False)
    turned = image.getexif().get(_ORIENTATION, 1) != 1
    if image.mode not in _MODES or moves or turned or image.has_transparency_data:
        return b""
    if not _COLOURED & image.info.keys():
        return data
    try:
        return jpeg.stripped(data, BARE)
    except ValueError:  # no JPEG, or one whose segments can't be told apart
        return b""


def _quickly(data: bytes, side: int) -> Image.Image:
    """As RGB, at a half, quarter or eighth where that is more than enough: JPEG decodes to those much faster."""
    image = Image.open(io.BytesIO(data))
    image.draft("RGB", (2 * side, 2 * side))
    try:
        return image.convert("RGB")
    except DAMAGE as error:
        raise Rejected("truncated_picture", str(error)) from error
