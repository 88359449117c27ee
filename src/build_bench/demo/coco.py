"""A small MS-COCO in its real layout: drawn pictures of one object each, and one for each reason to be rejected."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageChops, ImageFilter

from build_bench import manifests
from build_bench.demo.coco_objects import OBJECTS, Pen
from build_bench.draws import Draw, ranks

WIDTH, HEIGHT = 480, 360
FINER = 4
"""Supersampling of the objects."""

FIRST_ID, FIRST_TRAIN_ID = 924_001, 934_001
"""Above COCO's own ids, which end at 581,929."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Placed:
    """One object: its category, left and top of its square, and the square's side, in pixels."""

    category: str
    left: int
    top: int
    side: int


SCENES: tuple[tuple[str, tuple[Placed, ...], str], ...] = (
    ("street", (Placed("stop sign", 150, 60, 190),), ""),
    ("dusk", (Placed("traffic light", 120, 50, 230),), ""),
    ("wall", (Placed("clock", 205, 70, 180),), ""),
    ("court", (Placed("sports ball", 90, 130, 180),), ""),
    ("table", (Placed("banana", 130, 100, 220),), ""),
    ("table", (Placed("orange", 210, 110, 170),), ""),
    ("cloth", (Placed("apple", 120, 110, 170),), ""),
    ("sky", (Placed("kite", 200, 40, 250),), ""),
    ("beach", (Placed("umbrella", 110, 70, 220),), ""),
    ("cloth", (Placed("donut", 180, 95, 180),), ""),
    ("table", (Placed("pizza", 100, 55, 250),), ""),
    ("wall", (Placed("tv", 130, 70, 230),), ""),
    ("grass", (Placed("frisbee", 190, 90, 210),), ""),
    ("street", (Placed("bus", 110, 60, 270),), ""),
    ("table", (Placed("apple", 50, 130, 150), Placed("orange", 270, 120, 150)), ""),  # several objects
    ("sky", tuple(Placed("kite", 40 + 90 * i, 50 + 40 * (i % 3), 90) for i in range(5)), "crowd"),
    ("grass", (), ""),  # no annotation
    ("court", (Placed("sports ball", 250, 180, 110),), "zero_height"),
    ("sky", (Placed("kite", 300, 90, 34),), ""),  # too small to be shown in part
)
"""(background, objects, oddity of the annotation)."""

TRAIN_SCENES: tuple[tuple[str, tuple[Placed, ...], str], ...] = (
    ("wall", (Placed("clock", 90, 60, 240),), ""),
    ("grass", (Placed("sports ball", 230, 120, 170),), ""),
    ("cloth", (Placed("banana", 180, 90, 230),), ""),
    ("table", (Placed("donut", 120, 80, 230),), ""),
    ("dusk", (Placed("kite", 110, 60, 240),), ""),
    ("cloth", (Placed("pizza", 170, 70, 230),), ""),
    ("table", (Placed("apple", 220, 120, 160),), ""),
    ("sky", (Placed("kite", 60, 50, 200), Placed("kite", 290, 160, 90)), ""),  # several objects
)


def write(root: Path) -> None:
    """Draw `val2014/` and `annotations/instances_val2014.json` under `root`. The same bytes each time."""
    (root / "annotations").mkdir(parents=True)
    _write(root, "val2014", SCENES, FIRST_ID)


def write_train(root: Path) -> None:
    """Draw `train2014/` and its annotations beside them, unless they are there."""
    if not (root / "annotations" / "instances_train2014.json").exists():
        _write(root, "train2014", TRAIN_SCENES, FIRST_TRAIN_ID)


def _write(root: Path, part: str, scenes: Sequence[tuple[str, tuple[Placed, ...], str]], first: int) -> None:
    """The pictures of `scenes`, then the annotations."""
    categories = list(csv.DictReader(io.StringIO(manifests.text("annotations/coco_categories.csv"))))
    ids = {row["name"]: int(row["id"]) for row in categories}
    images, annotations = [], []
    (root / part).mkdir(exist_ok=True)
    for image_id, (ground, placed, oddity) in enumerate(scenes, first):
        name = f"COCO_{part}_{image_id:012d}.jpg"
        picture, masks = _scene(ground, placed, image_id)
        picture.save(root / part / name, "JPEG", quality=88, subsampling=0)
        images.append(
            {
                "license": 1, "file_name": name, "coco_url": "", "height": HEIGHT, "width": WIDTH,
                "date_captured": "2013-11-14 11:18:45", "flickr_url": "", "id": image_id,
            }
        )  # fmt: skip
        if oddity == "crowd":
            annotations.append(_crowd(masks, image_id, ids[placed[0].category]))
            continue
        for mask, thing in zip(masks, placed, strict=True):
            row = _annotation(mask, image_id, ids[thing.category], len(annotations) + 1)
            if oddity == "zero_height":
                row["bbox"][3], row["area"] = 0.0, 0.0
            annotations.append(row)
    text = json.dumps(
        {
            "info": {"description": "drawn by build-bench", "version": "1.0", "year": 2014},
            "images": images,
            "licenses": [
                {"url": "https://creativecommons.org/publicdomain/zero/1.0/", "id": 1, "name": "CC0, a drawing"}
            ],
            "annotations": annotations,
            "categories": [
                {"supercategory": row["supercategory"], "id": int(row["id"]), "name": row["name"]} for row in categories
            ],
        }
    )
    (root / "annotations" / f"instances_{part}.json").write_text(text, encoding="utf-8")


def _scene(ground: str, placed: Sequence[Placed], image_id: int) -> tuple[Image.Image, list[Image.Image]]:
    """The picture, and a mask of each object."""
    ground_pixels = np.clip(GROUNDS[ground](image_id), 0, 255).astype(np.uint8)
    picture, masks = Image.fromarray(ground_pixels), []
    for thing in placed:
        pen = Pen(thing.side * FINER)
        OBJECTS[thing.category](pen, Draw(0, "demo coco", f"{image_id}"))
        small = _lit(pen.layer.resize((thing.side, thing.side), Image.Resampling.LANCZOS))
        layer = Image.new("RGBA", picture.size)
        layer.paste(small, (thing.left, thing.top))
        alpha = layer.getchannel("A")
        if ground not in ("sky", "dusk"):
            shadow = ImageChops.offset(alpha, thing.side // 24, thing.side // 14).filter(ImageFilter.GaussianBlur(7))
            picture.paste((20, 18, 24), mask=shadow.point([value * 2 // 5 for value in range(256)]))
        picture.paste(layer.convert("RGB"), mask=alpha)
        masks.append(alpha.point([0] * 128 + [255] * 128))
    grain = _noise(image_id, "grain", (HEIGHT, WIDTH), [(1, 1)])[..., None] * 14 - 7
    pixels = np.asarray(picture.filter(ImageFilter.GaussianBlur(0.5)), np.float64) + grain
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)), masks


def _lit(layer: Image.Image) -> Image.Image:
    """The object under a light from the upper left."""
    pixels = np.asarray(layer, np.float64).copy()
    y, x = np.mgrid[-1 : 1 : layer.height * 1j, -1 : 1 : layer.width * 1j]
    glow = np.exp(-((x + 0.35) ** 2 + (y + 0.4) ** 2) / 0.35)
    pixels[..., :3] = pixels[..., :3] * (1.02 - 0.2 * (x + y) / 2)[..., None] + 30 * glow[..., None]
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8), "RGBA")


def _noise(image_id: int, name: str, shape: tuple[int, int], cells: Sequence[tuple[float, float]]) -> Floats:
    """Noise in [0, 1], float of `shape` (height, width): a layer per cell (height, width), each half as strong."""
    total: Floats = np.zeros(shape)
    strength, weight = 1.0, 0.0
    for number, (cell_y, cell_x) in enumerate(cells):
        rows, columns = round(shape[0] / cell_y) + 1, round(shape[1] / cell_x) + 1
        values = ranks(np.arange(rows * columns, dtype=np.uint64), image_id, "demo coco", name, str(number))
        grid = Image.fromarray((values.reshape(rows, columns) >> np.uint64(40)).astype(np.float32) / 2**24)
        total += strength * np.asarray(grid.resize(shape[::-1], Image.Resampling.BICUBIC), np.float64)
        strength, weight = strength / 2, weight + strength
    clipped: Floats = np.clip(total / weight, 0.0, 1.0)
    return clipped


def _mix(share: Floats, low: tuple[int, int, int], high: tuple[int, int, int]) -> Floats:
    mixed: Floats = (1 - share[..., None]) * np.array(low) + share[..., None] * np.array(high)
    return mixed


SHAPE = (HEIGHT, WIDTH)
DOWN = np.linspace(0, 1, HEIGHT)[:, None] * np.ones(WIDTH)


def _sky(
    image_id: int, top: tuple[int, int, int] = (70, 128, 206), low: tuple[int, int, int] = (188, 216, 238)
) -> Floats:
    clouds = np.clip(_noise(image_id, "clouds", SHAPE, [(90, 160), (40, 70), (18, 30), (8, 12)]) * 3.4 - 1.5, 0, 1)
    return _mix(clouds * 0.85, (0, 0, 0), (246, 248, 250)) + _mix(DOWN, top, low) * (1 - 0.85 * clouds[..., None])


def _grass(image_id: int) -> Floats:
    return _mix(_noise(image_id, "grass", SHAPE, [(60, 90), (9, 3), (5, 2), (3, 1)]), (38, 84, 26), (136, 178, 72))


def _wood(
    image_id: int, dark: tuple[int, int, int] = (104, 66, 36), light: tuple[int, int, int] = (196, 142, 90)
) -> Floats:
    rings = _noise(image_id, "wood", SHAPE, [(30, 420), (9, 260), (4, 160), (2, 40)])
    pixels = _mix(rings, dark, light)
    pixels[[row for edge in (88, 182, 274) for row in (edge, edge + 1)]] *= 0.6  # joints between the boards
    return pixels


def _plain(image_id: int, low: tuple[int, int, int], high: tuple[int, int, int]) -> Floats:
    return _mix(_noise(image_id, "wall", SHAPE, [(120, 160), (30, 30), (6, 6), (3, 3)]), low, high)


def _below(horizon: float, upper: Floats, lower: Floats) -> Floats:
    """`upper` down to `horizon` (a share of the height), `lower` below."""
    return np.where((horizon < DOWN)[..., None], lower, upper)


def _cloth(image_id: int) -> Floats:
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    checks = ((x // 40 % 2) + (y // 40 % 2)) / 2
    return (
        _mix(checks, (236, 236, 230), (92, 138, 186))
        * (0.82 + 0.2 * _noise(image_id, "folds", SHAPE, [(140, 90), (3, 3)]))[..., None]
    )


def _beach(image_id: int) -> Floats:
    sea, sand = ((40, 96, 140), (96, 158, 186)), ((196, 166, 116), (236, 214, 168))
    return _below(0.3, _sky(image_id), _below(0.42, _plain(image_id, *sea), _plain(image_id, *sand)))


def _street(image_id: int) -> Floats:
    return _below(0.7, _below(0.45, _sky(image_id), _grass(image_id)), _plain(image_id, (70, 72, 76), (122, 122, 124)))


def _court(image_id: int) -> Floats:
    floor = _wood(image_id, (160, 108, 58), (222, 170, 110))
    return _below(0.25, _plain(image_id, (70, 88, 112), (96, 116, 140)), floor)


GROUNDS: dict[str, Callable[[int], Floats]] = {
    "sky": _sky,
    "dusk": lambda image_id: _sky(image_id, (48, 58, 104), (232, 158, 112)),
    "grass": lambda image_id: _below(0.22, _sky(image_id), _grass(image_id)),
    "beach": _beach,
    "street": _street,
    "court": _court,
    "table": _wood,
    "wall": lambda image_id: _plain(image_id, (172, 182, 176), (214, 220, 210)),
    "cloth": _cloth,
}


def _annotation(mask: Image.Image, image_id: int, category_id: int, annotation_id: int) -> dict[str, Any]:
    """A row with the mask's outline as a polygon and the tight box of it."""
    inside = np.asarray(mask) > 0
    rows = np.flatnonzero(inside.any(axis=1))
    shown = sorted({*rows[::6].tolist(), int(rows[-1])})
    spans = [(y, np.flatnonzero(inside[y])) for y in shown]
    outline = [(float(xs[0]), float(y)) for y, xs in spans] + [(float(xs[-1] + 1), y + 1.0) for y, xs in spans[::-1]]
    left, top, right, bottom = map(float, mask.getbbox() or (0, 0, 0, 0))
    return {
        "segmentation": [[value for point in outline for value in point]], "area": float(inside.sum()), "iscrowd": 0,
        "image_id": image_id, "bbox": [left, top, right - left, bottom - top], "category_id": category_id,
        "id": annotation_id,
    }  # fmt: skip


def _crowd(masks: Sequence[Image.Image], image_id: int, category_id: int) -> dict[str, Any]:
    """All masks as one crowd: runs down the columns, integer box, an id of twelve digits, as COCO has them."""
    inside = np.any([np.asarray(mask) > 0 for mask in masks], axis=0)
    flat = np.concatenate([[False], inside.T.ravel(), [False]])
    edges = np.flatnonzero(flat[1:] != flat[:-1])
    counts = np.diff(np.concatenate([[0], edges, [inside.size]])).tolist()
    left, top, right, bottom = Image.fromarray(inside).getbbox() or (0, 0, 0, 0)
    return {
        "segmentation": {"counts": counts, "size": [HEIGHT, WIDTH]}, "area": int(inside.sum()), "iscrowd": 1,
        "image_id": image_id, "bbox": [left, top, right - left, bottom - top], "category_id": category_id,
        "id": (9000 + category_id) * 10**8 + image_id,
    }  # fmt: skip
