"""MS-COCO: pictures of one object, seen first through a crop that shows little of it (paper A.7).

Selection and the bounds of a first view: docs/decisions/coco-crops.md.
Wrong categories: docs/decisions/coco-negatives.md.
"""

from __future__ import annotations

import io
import json
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from PIL import Image as Pictures

from build_bench import imaging
from build_bench.builders import Builder
from build_bench.builders.coco_crops import asks, max_turns, states
from build_bench.builders.coco_negatives import Negatives
from build_bench.crops import DIRECTIONS, GRANULARITIES, Bounds, Search, Track
from build_bench.distractors import Encoder
from build_bench.draws import Draw
from build_bench.errors import InputError, Rejected
from build_bench.prompting import name_problem
from build_bench.raw_sources.coco import ANNOTATIONS, PICTURES, Coco, Entry, plain_url
from build_bench.raw_sources.coco_annotations import Image
from build_bench.records import Draft, Framed, Plan, Rejection, Source, View

BATCH = 512
"""Boxes searched at a time: 2 MiB of feasible steps, which a processor's cache holds."""

COLOURS = {"RGB", "L"}
"""Modes that every program shows alike. COCO has no others; CMYK is shown in as many ways as there are programs."""


@dataclass(frozen=True, slots=True)
class CocoSettings:
    """The tunables of `coco`."""

    negatives: str = "clip"
    """Wrong categories: `clip`, `supercategory`, or the path of a table."""
    clip_model: str = "ViT-B-32-quickgelu"
    """As open_clip names it, or local-dir:FOLDER."""
    clip_weights: str = "openai"
    """A tag, or a file."""
    clip_prompt: str = "a photo of a {}"
    margin: float = 0.05
    """Around the object in the last view, as a share of its side."""
    max_iou: float = 0.25
    """Of the first view with the object's box."""
    min_side: int = 32
    """Pixels of the first view's sides."""
    min_shown: float = 0.05
    """Share of the object's box in the first view."""
    min_box: int = 24
    """Pixels of the object's shorter side."""
    crops_per_image: int = 1
    """Each in another direction."""
    annotations: str = ANNOTATIONS
    """Instances file, relative to raw/coco/."""
    pictures: str = PICTURES
    """Folder or zip of its pictures, without .zip."""

    def __post_init__(self) -> None:
        if not (0 <= self.margin <= 1 and 0 < self.max_iou < 1 and 0 < self.min_shown < 1):
            raise ValueError("margin, max_iou and min_shown are shares between 0 and 1")
        if self.min_side < 1 or self.min_box < 1:
            raise ValueError("min_side and min_box are pixels, at least 1")
        if not 1 <= self.crops_per_image <= len(DIRECTIONS):
            raise ValueError(
                f"crops_per_image = {self.crops_per_image}, but there are 1 to {len(DIRECTIONS)} directions"
            )
        for name, value in (("annotations", self.annotations), ("pictures", self.pictures)):
            parts = PurePosixPath(value).parts
            if not parts or parts[0] == "/" or ".." in parts or any(c in value for c in "\\:\0"):
                raise ValueError(f"{name} = {value!r}, expected a path below raw/coco/")
        try:
            placed = self.clip_prompt.format("x") != self.clip_prompt
        except (IndexError, KeyError, ValueError):
            placed = False
        if not self.clip_weights and not self.clip_model.startswith("local-dir:"):
            raise ValueError("clip_weights is empty: only a local-dir: model has weights of its own")
        if not placed:
            raise ValueError(f"clip_prompt = {self.clip_prompt!r}, expected {{}} once, where the category goes")


class Single(NamedTuple):
    """An image of one object that can be used: its box as edges (left, top, right, bottom) in pixels, floats."""

    image: Image
    category: str
    box: tuple[float, float, float, float]


class CocoBuilder(Builder[Coco]):
    """One sample per image of exactly one annotated object; up to nine with `crops_per_image`."""

    scenario = "coco"
    Settings = CocoSettings
    reader = Coco
    by_rule: ClassVar[frozenset[str]] = frozenset(
        {"no_annotation", "several_objects", "crowd", "below_floor", "no_view"}
    )
    settings: CocoSettings

    def __init__(self, settings: CocoSettings, seed: int) -> None:
        super().__init__(settings, seed)
        encoder = Encoder(settings.clip_model, settings.clip_weights, settings.clip_prompt)
        self._negatives = Negatives(settings.negatives, encoder)

    def check(self, work: Path) -> None:
        self._negatives.check(work)

    def beside(self) -> str:
        return self._negatives.beside()

    def facts(self) -> dict[str, Any]:
        return self._negatives.facts()

    def open(self, root: Path, scratch: Path) -> Coco:
        return Coco(root, self.settings.annotations, self.settings.pictures)

    def stamp(self, plan: Plan | Framed, raw: Coco) -> str:
        return raw.stamp(json.loads(plan.recipe)["file"])

    def plan(self, raw: Coco) -> Iterator[Draft | Rejection]:
        for category in raw.categories.values():
            if problem := name_problem(category.name):
                raise InputError(f"coco: category {category.id}, {category.name!r}, can't be shown: {problem}")
        self._negatives.prepare(raw.categories)
        singles = []
        for entry in raw.images():
            try:
                singles.append(self._examine(entry, raw))
            except Rejected as why:
                yield Rejection(entry.key, "plan", why.reason, why.detail)
        for first in range(0, len(singles), BATCH):
            yield from self._draft_all(singles[first : first + BATCH], raw)

    def _examine(self, entry: Entry, raw: Coco) -> Single:
        """The image's one object. Raises `Rejected`."""
        if entry.problem or entry.image is None:
            raise Rejected(*(entry.problem or ("wrong_type", "no image")))
        image, count = entry.image, len(entry.annotations)
        if count == 0:
            raise Rejected("no_annotation")
        if count > 1:  # a crowd counts: where people are in the picture, it isn't of one object
            raise Rejected("several_objects", f"{count} annotations")
        (row,) = entry.annotations
        if row.iscrowd:
            raise Rejected("crowd", f"annotation {row.id}")
        if row.category_id not in raw.categories:
            raise Rejected("unknown_category", f"annotation {row.id}: category {row.category_id}")
        if image.width < 1 or image.height < 1:
            raise Rejected("wrong_type", f"the image's size is {image.width} x {image.height}")
        try:
            x, y, width, height = row.box()
        except msgspec.ValidationError as error:
            raise Rejected("wrong_type", f"annotation {row.id}: bbox: {error}") from error
        if width <= 0 or height <= 0:
            raise Rejected("zero_area", f"annotation {row.id}: {width} x {height} px")
        box = max(x, 0.0), max(y, 0.0), min(x + width, float(image.width)), min(y + height, float(image.height))
        sides = box[2] - box[0], box[3] - box[1]
        if min(sides) <= 0:
            raise Rejected("outside_image", f"annotation {row.id}: box at {x}, {y}")
        if min(sides) < self.settings.min_box:
            raise Rejected("below_floor", f"annotation {row.id}: {sides[0]:.2f} x {sides[1]:.2f} px")
        if not raw.has(image.file_name):
            raise Rejected("missing_picture", image.file_name)
        return Single(image, raw.categories[row.category_id].name, box)

    def _draft_all(self, singles: Sequence[Single], raw: Coco) -> Iterator[Draft | Rejection]:
        settings = self.settings
        bounds = Bounds(settings.margin, settings.max_iou, settings.min_side, settings.min_shown)
        boxes = np.array([single.box for single in singles])
        sizes = np.array([(single.image.width, single.image.height) for single in singles])
        search = Search(boxes, sizes, bounds)
        raw.count(further=len(singles) * (settings.crops_per_image - 1))
        for number, single in enumerate(singles):
            draw = Draw(self.seed, self.scenario, str(single.image.id))
            counts = dict(zip(DIRECTIONS, search.counts[number].tolist(), strict=True))
            open_ways = [direction for direction, found in counts.items() if any(found)]
            ways = draw.sample("direction", open_ways, min(settings.crops_per_image, len(open_ways)))
            for nth in range(settings.crops_per_image):
                key = f"{single.image.id}-{nth + 1}" if nth else str(single.image.id)
                if nth >= len(ways):
                    yield Rejection(
                        key, "plan", "no_view", f"{len(open_ways)} of 9 directions leave room for a first view"
                    )
                    continue
                draw = Draw(self.seed, self.scenario, key)
                way = ways[nth]
                finenesses = {g: n for g, n in zip(GRANULARITIES, counts[way], strict=True) if n}
                granularity = draw.choice("granularity", list(finenesses))
                steps = draw.integer("steps", finenesses[granularity])
                yield self._draft(key, single, search.track(number, way, granularity, steps), raw)

    def _draft(self, key: str, single: Single, track: Track, raw: Coco) -> Draft:
        image, zoom = single.image, track.direction == "zoom"
        year = "".join(filter(str.isdigit, self.settings.pictures))
        source = Source(f"MS-COCO {year}".strip(), key, plain_url(image.coco_url), _license(image, raw))
        return Draft(
            source=source,
            group=str(image.id),
            question_kind="object",
            asks=asks(track),
            answer=single.category,
            distractors=self._negatives.three(single.category, Draw(self.seed, self.scenario, key)),
            frames=(Path(image.file_name).name,),
            states=states(track),
            reference=View(0),
            max_turns=max_turns(track),
            recipe=json.dumps(
                {
                    "file": image.file_name, "width": image.width, "height": image.height,
                    "box": single.box, "target": track.target, "direction": track.direction,
                    "granularity": track.granularity, "horizontal_step": track.horizontal_step,
                    "vertical_step": track.vertical_step, "crop": track.crop_record(),
                }
            ),
            hint="zoom" if zoom else "default",
        )  # fmt: skip

    def render(self, plan: Plan, raw: Coco) -> Iterator[bytes]:
        """The picture's own bytes, once every pixel of it has been decoded and found to fit its annotation."""
        recipe = json.loads(plan.recipe)
        data = raw.picture(recipe["file"])
        imaging.decode(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a damaged EXIF block says no orientation
            header = Pictures.open(io.BytesIO(data))
            orientation = header.getexif().get(0x0112, 1)
        if header.format not in ("JPEG", "MPO"):
            raise Rejected("not_a_jpeg", f"{recipe['file']} is {header.format}")
        if header.size != (recipe["width"], recipe["height"]):
            annotated = f"{recipe['width']} x {recipe['height']}"
            raise Rejected("size_mismatch", f"{header.width} x {header.height} px, annotated as {annotated}")
        if header.mode not in COLOURS:
            raise Rejected("colour_mode", f"{header.mode}, expected RGB or grey")
        if orientation not in (0, 1):  # viewers would turn it away from its box
            raise Rejected("exif_orientation", f"orientation {orientation}")
        yield data


def _license(image: Image, raw: Coco) -> str:
    """The picture's own terms; the annotations' where the file names none."""
    found = raw.licenses.get(image.license) if image.license is not None else None
    if found is None or not (found.name or found.url):
        return "annotations CC-BY-4.0; the picture under its author's Flickr terms"
    return f"{found.name} ({found.url})" if found.name and found.url else found.name or found.url
