"""A small ROD in its real layout: two archives of sequences of 14 drawn pictures, and one item per kind of defect."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageFilter

from build_bench.demo.coco_objects import Colour, Pen
from build_bench.demo.rod_objects import OBJECTS, blocks
from build_bench.draws import Draw, ranks

SIDE = 256
FINER = 3
"""Supersampling of objects and blocks."""

STEPS = 14
THING, WALL = 106, 142
"""Sides of the object and of the blocks in front of it, in pixels."""

FLOOR, PACE, SHADE = 204, 30, 24
"""Pixels: from the top to where things stand, between two steps of the blocks, of shadow around a thing."""

PAINTS: dict[str, Colour] = {"bluebl": (44, 92, 178), "redbl": (190, 48, 44)}
TABLES: dict[str, tuple[Colour, Colour]] = {
    "brown": ((116, 76, 44), (188, 138, 90)),
    "green": ((70, 104, 74), (122, 152, 112)),
    "white": ((186, 186, 180), (226, 226, 222)),
}
WALLS: tuple[tuple[Colour, Colour], ...] = (
    ((206, 204, 196), (232, 230, 222)),
    ((186, 200, 206), (220, 230, 234)),
    ((214, 200, 182), (238, 228, 214)),
)

Floats = npt.NDArray[np.float64]
Member = tuple[str, bytes | None]
"""A member's name and bytes; None: a link that leads out of the archive."""


class Turn(NamedTuple):
    """One sequence: archive, occluder's code, attribute, class, and what is wrong with it."""

    part: str
    code: str
    attribute: str
    name: str
    lacks: int = -1
    """The step that isn't there."""
    cut: int = -1
    """The step whose picture breaks off."""

    @property
    def stem(self) -> str:
        return f"natural_{self.code}_{self.attribute}-{self.name.replace(' ', '_')}"


TURNS = (
    Turn("rod_0", "bluebl", "brownc", "orange"),
    Turn("rod_0", "redbl", "brownl", "orange"),
    Turn("rod_0", "bluebl", "whitec", "cup"),
    Turn("rod_0", "redbl", "greenc", "cowboy hat"),
    Turn("rod_0", "bluebl", "brownr", "hammer", lacks=9),
    Turn("rod_1", "bluebl", "brownc", "banana"),
    Turn("rod_1", "bluebl", "greenr", "banana", lacks=6),  # the one that was never distributed
    Turn("rod_1", "redbl", "whitel", "baseball"),
    Turn("rod_1", "bluebl", "brownr", "vase"),
    Turn("rod_1", "redbl", "whitec", "dumbbell"),
    Turn("rod_1", "bluebl", "greenc", "laptop"),
    Turn("rod_1", "redbl", "brownr", "plate"),
    Turn("rod_1", "redbl", "greenl", "pillow", cut=3),
)


def write(root: Path) -> None:
    """Draw `rod_0.tar.gz` and `rod_1.tar.gz` under `root`. The same bytes each time."""
    root.mkdir(parents=True, exist_ok=True)
    for part in ("rod_0", "rod_1"):
        (root / f"{part}.tar.gz").write_bytes(packed(list(members(part))))


def members(part: str) -> Iterator[Member]:
    """What is in one archive, in order."""
    for turn in TURNS:
        if turn.part == part:
            for step, data in enumerate(_pictures(turn)):
                if step != turn.lacks:
                    whole = len(data) if step != turn.cut else len(data) * 6 // 10
                    yield f"{part}/{turn.name.replace(' ', '_')}/{turn.stem}-s{step}.jpg", data[:whole]
    if part == "rod_1":
        yield f"{part}/vase/natural_redbl_whitec-vase-s0.jpg", None


def packed(contents: Sequence[Member]) -> bytes:
    """A tar.gz of these members."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", 1, buffer, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name, data in contents:
            info = tarfile.TarInfo(name)
            if data is None:
                info.type, info.linkname = tarfile.SYMTYPE, "../../../elsewhere.jpg"
            else:
                info.size = len(data)
            tar.addfile(info, io.BytesIO(data or b""))
    return buffer.getvalue()


def _pictures(turn: Turn) -> Iterator[bytes]:
    """The 14 pictures as JPEG, with the position in their EXIF that the real ones have."""
    draw = Draw(0, "demo rod", turn.stem)
    room, exif = _room(turn, draw), _exif().tobytes()
    thing, wall = Pen(THING * FINER), Pen(WALL * FINER)
    OBJECTS[turn.name](thing, draw)
    blocks(wall, PAINTS[turn.code], draw)
    aside = {"l": -8, "r": 8}.get(turn.attribute[-1], 0)
    _stand(room, _standing(thing), SIDE // 2 + aside, FLOOR)
    occluder = _standing(wall)
    for step in range(STEPS):
        picture = room.copy()
        if step:
            _stand(picture, occluder, SIDE // 2 + (step - STEPS // 2) * PACE, FLOOR + 18)
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=84, exif=exif)
        yield buffer.getvalue()


def _exif() -> Image.Exif:
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "build-bench", 1
    exif.get_ifd(0x8825).update({1: "N", 2: (46.0, 4.0, 9.0), 3: "E", 4: (11.0, 7.0, 12.0)})
    return exif


def _room(turn: Turn, draw: Draw) -> Image.Image:
    """A table before a wall in soft light from the upper left."""
    down, across = np.mgrid[0 : 1 : SIDE * 1j, 0 : 1 : SIDE * 1j]
    light = 1.06 - 0.16 * across - 0.1 * (down - 0.4) ** 2
    wall = _mix(_noise(draw, "wall", [(120, 160), (40, 40), (6, 6)]), *draw.choice("wall", WALLS))
    board = next(colours for table, colours in TABLES.items() if turn.attribute.startswith(table))
    cells = [(24, 400), (7, 240), (3, 150)] if turn.attribute.startswith("brown") else [(50, 70), (4, 4), (2, 2)]
    table = _mix(_noise(draw, "table", cells), *board) * (0.86 + 0.3 * (down[..., None] - 0.56))
    edge = np.clip((down - 0.575) * SIDE / 3, 0, 1)[..., None]
    grain = _noise(draw, "grain", [(1, 1)])[..., None] * 8 - 4
    return Image.fromarray(_bytes((wall * (1 - edge) + table * edge) * light[..., None] + grain))


def _standing(pen: Pen) -> Image.Image:
    """What was drawn, lit, with its shadow on the table: cut to where it is, and `SHADE` more pixels on each side."""
    layer = pen.layer.resize((pen.layer.width // FINER,) * 2, Image.Resampling.LANCZOS)
    layer = _lit(layer.crop(layer.getbbox()))
    width, height = layer.size
    whole = Image.new("RGBA", (width + 2 * SHADE, height + 2 * SHADE), (34, 28, 26, 0))
    shadow = Image.new("L", whole.size)
    shadow.paste(layer.getchannel("A").resize((width, 22)), (SHADE + 10, SHADE + height - 18))
    shadow = shadow.filter(ImageFilter.GaussianBlur(5)).point([value * 11 // 20 for value in range(256)])
    whole.putalpha(shadow)
    whole.alpha_composite(layer, (SHADE, SHADE))
    return whole


def _stand(picture: Image.Image, layer: Image.Image, x: int, y: int) -> None:
    """Put a thing on the table: centred at `x`, its lower edge at `y`, in pixels."""
    picture.paste(layer, (x - layer.width // 2, y - layer.height + SHADE), layer)


def _lit(layer: Image.Image) -> Image.Image:
    """The thing under a light from the upper left."""
    pixels = np.asarray(layer, np.float64).copy()
    y, x = np.mgrid[-1 : 1 : layer.height * 1j, -1 : 1 : layer.width * 1j]
    glow = np.exp(-((x + 0.4) ** 2 + (y + 0.5) ** 2) / 0.4)
    pixels[..., :3] = pixels[..., :3] * (1 - 0.2 * (x + y) / 2)[..., None] + 22 * glow[..., None]
    return Image.fromarray(_bytes(pixels), "RGBA")


def _noise(draw: Draw, name: str, cells: Sequence[tuple[float, float]]) -> Floats:
    """Noise in [0, 1], float (SIDE, SIDE): a layer per cell (height, width), each half as strong as the one before."""
    total: Floats = np.zeros((SIDE, SIDE))
    strength, weight = 1.0, 0.0
    for number, (high, wide) in enumerate(cells):
        rows, columns = round(SIDE / high) + 1, round(SIDE / wide) + 1
        values = ranks(np.arange(rows * columns, dtype=np.uint64), 0, draw.source_key, name, str(number))
        grid = Image.fromarray((values.reshape(rows, columns) >> np.uint64(40)).astype(np.float32) / 2**24)
        total += strength * np.asarray(grid.resize((SIDE, SIDE), Image.Resampling.BICUBIC), np.float64)
        strength, weight = strength / 2, weight + strength
    return np.clip(total / weight, 0.0, 1.0)


def _mix(share: Floats, low: Colour, high: Colour) -> Floats:
    mixed: Floats = (1 - share[..., None]) * np.array(low) + share[..., None] * np.array(high)
    return mixed


def _bytes(pixels: Floats) -> npt.NDArray[np.uint8]:
    return np.clip(pixels, 0, 255).astype(np.uint8)
