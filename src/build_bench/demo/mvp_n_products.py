"""Eleven products on a turntable: what tells one of a family from another stands on the front alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFilter, ImageFont

Colour = tuple[int, int, int]
Floats = npt.NDArray[np.floating[Any]]

SIDE = 224
"""Pixels of a view, as in the source."""

_FINER = 2
"""Supersampling."""

_EDGE = 36
"""Pixels on the left and right where no package reaches."""

_AROUND, _DOWN = 720, 360
"""Pixels of a wrapping: two per degree; its front is in the middle."""

_INK, _LEAF = (40, 42, 48), (70, 132, 56)


@dataclass(frozen=True, slots=True)
class Family:
    """What the products of one group share: shape and wrapping. Lengths in units of half a view."""

    brand: str
    kind: str
    colour: Colour
    cap: Colour
    height: float
    profile: tuple[tuple[float, float], ...]
    """(share of the height from the top, radius), from top to bottom."""
    box: bool = False
    cap_ends: float = 0.0
    """Share of the height that the cap takes."""


@dataclass(frozen=True, slots=True)
class Product:
    """One of a family: its flavour, the flavour's colour and what is drawn for it."""

    family: Family
    flavour: str
    colour: Colour
    emblem: str

    @property
    def name(self) -> str:
        return f"{self.family.brand} {self.family.kind} {self.flavour}".strip()


BOTTLE = Family(
    "Hilltop", "yogurt drink", (243, 243, 246), (46, 92, 170), 1.42,
    ((0, 0.2), (0.12, 0.2), (0.13, 0.17), (0.17, 0.18), (0.3, 0.4), (0.4, 0.44), (0.94, 0.44), (1, 0.4)), cap_ends=0.12,
)  # fmt: skip
JAR = Family(
    "Pantry", "jam", (250, 240, 214), (170, 44, 44), 1.0,
    ((0, 0.5), (0.15, 0.5), (0.16, 0.47), (0.22, 0.56), (0.93, 0.57), (1, 0.5)), cap_ends=0.15,
)  # fmt: skip
CAN = Family(
    "Brook", "sparkling water", (196, 216, 226), (200, 204, 208), 1.4,
    ((0, 0.36), (0.05, 0.43), (0.95, 0.43), (1, 0.36)), cap_ends=0.03,
)  # fmt: skip
CARTON = Family("Morning", "oat drink", (226, 206, 168), (238, 224, 196), 1.38, ((0, 0.42), (1, 0.42)), box=True)

PRODUCTS: dict[str, Product] = {
    "0000": Product(CAN, "lemon", (214, 170, 10), "round"),
    "0001": Product(CAN, "cherry", (190, 24, 52), "pair"),
    "0002": Product(CARTON, "natural", (150, 112, 62), "grain"),
    "0003": Product(CARTON, "cocoa", (88, 52, 34), "beans"),
    "0027": Product(BOTTLE, "strawberry", (216, 40, 62), "cone"),
    "0028": Product(BOTTLE, "blueberry", (64, 74, 160), "berries"),
    "0029": Product(BOTTLE, "mango", (244, 158, 34), "drop"),
    "0030": Product(BOTTLE, "lime", (112, 178, 44), "slice"),
    "0041": Product(JAR, "apricot", (240, 150, 60), "round"),
    "0042": Product(JAR, "raspberry", (200, 36, 92), "berries"),
    "0043": Product(JAR, "plum", (104, 48, 120), "pair"),
}
"""By class. Groups as in MVP-N, products made up: nobody here has seen MVP-N's."""


def view(product: Product, turned: float, tilt: float, wall: Colour) -> Image.Image:
    """`product` turned by degrees (0: the front is seen), from a camera that looks down by `tilt` (0 to 0.5)."""
    scene, family = _scene(product.family, turned, tilt), product.family
    picture = Image.fromarray((_room(family) * np.array(wall, np.float32)).clip(0, 255).astype(np.uint8))
    middle = picture.crop((_EDGE, 0, SIDE - _EDGE, SIDE))
    finer = middle.resize((middle.width * _FINER, middle.height * _FINER), Image.Resampling.BILINEAR)
    pixels = np.asarray(finer, np.float32).copy()
    pixels[scene.side] = _wrapping(product)[scene.row, scene.column] * scene.light[:, None] + scene.shine[:, None]
    pixels[scene.lid] = np.array(family.cap, np.float32) * scene.lid_light[:, None]
    body = Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).resize(middle.size, Image.Resampling.LANCZOS)
    picture.paste(body, (_EDGE, 0))
    return picture


class _Scene(NamedTuple):
    """Where a package is seen, at `_FINER` times the size: masks of a picture, and values for each pixel in them."""

    side: npt.NDArray[np.bool_]
    row: npt.NDArray[np.intp]
    column: npt.NDArray[np.intp]
    light: Floats
    shine: Floats
    lid: npt.NDArray[np.bool_]
    lid_light: Floats


@cache
def _scene(family: Family, turned: float, tilt: float) -> _Scene:
    axis = (np.arange(SIDE * _FINER, dtype=np.float32) + 0.5) / (SIDE * _FINER) * 2 - 1
    x, y = axis[None, _EDGE * _FINER : -_EDGE * _FINER], axis[:, None]
    at, radii = np.array(family.profile, np.float32).T
    cross = _box if family.box else _round
    top = _top(family)
    depth, first = np.zeros((len(axis), x.size), np.float32), radii[:1]
    radius: Floats = first
    for _ in range(3):  # a row's radius depends on how far forward the surface is, and that on the radius
        down = (y - top - tilt * depth) / family.height
        if not family.box:
            radius = np.interp(down, at, radii).astype(np.float32)
        depth, degrees, light = cross(x, radius, turned)
    degrees, light = np.broadcast_to(degrees, down.shape), np.broadcast_to(light, down.shape)
    side = (down >= 0) & (down <= 1) & (light > 0)
    front, _, seen = cross(x, first, turned)
    back = cross(-x, first, turned)[0]
    lid = (y - top <= tilt * front) & (y - top >= -tilt * back) & (seen > 0)
    rim = lid & ~((y - top <= tilt * front * 0.82) & (y - top >= -tilt * back * 0.82))
    shine = np.zeros_like(light) if family.box else 42 * np.exp(-((x / radius + 0.45) ** 2) / 0.02)
    column = ((degrees[side] * 2 + _AROUND / 2) % _AROUND).astype(np.intp) % _AROUND
    lid_light = (0.98 + 0.1 * (y - top) - 0.1 * rim)[lid]
    row = (down[side] * (_DOWN - 1)).astype(np.intp)
    return _Scene(side, row, column, light[side], shine[side], lid, lid_light)


def _top(family: Family) -> float:
    return -family.height / 2 - 0.03


def _round(x: Floats, radius: Floats, turned: float) -> tuple[Floats, Floats, Floats]:
    """(how far forward, degrees from the front, light) of a round body; beside it the light is 0."""
    sine = np.clip(x / radius, -1, 1)
    angle = np.arcsin(sine)
    light = 0.5 + 0.52 * np.clip(np.cos(angle + 0.5), 0, 1)
    return radius * np.sqrt(1 - sine * sine), turned + np.degrees(angle), np.where(np.abs(sine) < 1, light, 0)


def _box(x: Floats, radius: Floats, turned: float) -> tuple[Floats, Floats, Floats]:
    """The same of a square body whose sides are twice the radius."""
    depth, degrees, light = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for face in range(4):
        normal = math.radians(face * 90 - turned)
        forward, aside = math.cos(normal), math.sin(normal)
        if forward > 0.02:
            along = (x - aside * radius) / forward / radius  # -1 to 1 across the face
            seen = np.abs(along) <= 1
            depth = np.where(seen, radius * (forward - aside * along), depth)
            degrees = np.where(seen, face * 90 + along * 45, degrees)
            light = np.where(seen, 0.5 + 0.5 * max(0.0, math.cos(normal + 0.5)), light)
    return depth, degrees, light


@cache
def _room(family: Family) -> Floats:
    """How a table before a wall is lit, with the package's shadow: (SIDE, SIDE, 1), 1 is the wall's own colour."""
    axis = (np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE * 2 - 1
    x, y = axis[None, :], axis[:, None]
    lit = 1.0 - 0.05 * (x**2 + (y + 0.4) ** 2) + 0.05 / (1 + np.exp(-(y - 0.34) * 18))
    width = family.profile[-1][1] * (1.25 if family.box else 1)
    away = ((x - 0.1) / (width * 1.25)) ** 2 + ((y - _top(family) - family.height - 0.05) / 0.2) ** 2
    room: Floats = (lit * (1 - 0.42 * np.exp(-(away**2))))[..., None]
    return room


@cache
def _wrapping(product: Product) -> Floats:
    """The wrapping, floats (_DOWN, _AROUND, 3): a front in the middle, what every package has elsewhere."""
    family = product.family
    sheet = Image.new("RGB", (_AROUND, _DOWN), family.colour)
    draw = ImageDraw.Draw(sheet)
    shoulder = 0.1 if family.box else (0.25 if family is JAR else 0.2 if family is CAN else 0.4)
    start, middle = int(shoulder * _DOWN), _AROUND // 2
    band = (family.cap if family.cap_ends > 0.05 else (88, 128, 166)) if not family.box else (120, 146, 92)
    draw.rectangle((0, start, _AROUND, start + 16), fill=band)
    draw.rectangle((0, _DOWN - 42, _AROUND, _DOWN - 26), fill=band)
    _facts(draw, start + 30)
    width = 82
    draw.rounded_rectangle(
        (middle - width, start - 2, middle + width, _DOWN - 30), 14, fill=(255, 254, 250), outline=band, width=4
    )
    _centred(draw, family.brand, middle, start + 10, 32, band)
    _centred(draw, product.flavour, middle, _DOWN - 72, 27, product.colour)
    EMBLEMS[product.emblem](draw, middle, (start + 46 + _DOWN - 72) / 2, product.colour)
    if family.cap_ends:
        draw.rectangle((0, 0, _AROUND, int(family.cap_ends * _DOWN)), fill=family.cap)
        for rib in range(0, _AROUND, 12) if family.cap_ends > 0.05 else ():
            shade: Colour = (family.cap[0] * 4 // 5, family.cap[1] * 4 // 5, family.cap[2] * 4 // 5)
            draw.rectangle((rib, 0, rib + 4, int(family.cap_ends * _DOWN)), fill=shade)
    return np.asarray(sheet.filter(ImageFilter.GaussianBlur(0.6)), np.float32)


def _facts(draw: ImageDraw.ImageDraw, top: int) -> None:
    """Nutrition facts and a bar code, at 120 and 240 degrees from the front."""
    draw.rectangle((62, top, 166, _DOWN - 60), fill=(250, 250, 248), outline=_INK, width=3)
    for line, y in enumerate(range(top + 14, _DOWN - 72, 15)):
        draw.line((72, y, 72 + 40 + line * 17 % 26, y), fill=_INK, width=4)
        draw.line((134, y, 156, y), fill=_INK, width=4)
    draw.rectangle((556, _DOWN - 150, 664, _DOWN - 62), fill=(252, 252, 252))
    x = 564
    for bar in (2, 5, 3, 2, 6, 2, 4, 3, 2, 5, 2, 3, 6, 2, 3):
        draw.rectangle((x, _DOWN - 142, x + bar - 1, _DOWN - 70), fill=(20, 20, 20))
        x += bar + 3
    for line, y in enumerate(range(top, _DOWN - 160, 12)):
        draw.line((562, y, 650 - line * 23 % 34, y), fill=(110, 112, 118), width=3)


def _centred(draw: ImageDraw.ImageDraw, text: str, x: float, y: float, size: int, fill: Colour) -> None:
    font = ImageFont.load_default(size)
    draw.text((x - font.getlength(text) / 2, y), text, fill, font, stroke_width=1, stroke_fill=fill)


def _disc(draw: ImageDraw.ImageDraw, x: float, y: float, r: float, fill: Colour) -> None:
    draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)
    shine = (fill[0] // 2 + 126, fill[1] // 2 + 126, fill[2] // 2 + 126)
    draw.ellipse((x - r * 0.55, y - r * 0.6, x - r * 0.1, y - r * 0.2), fill=shine)


def _leaf(draw: ImageDraw.ImageDraw, x: float, y: float) -> None:
    draw.ellipse((x, y - 8, x + 26, y + 6), fill=_LEAF)


def _whole(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    _disc(draw, x, y + 4, 34, fill)
    _leaf(draw, x, y - 34)


def _pair(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    for side in (-1, 1):
        draw.line((x, y - 40, x + side * 22, y + 8), fill=_LEAF, width=4)
        _disc(draw, x + side * 24, y + 16, 23, fill)
    _leaf(draw, x, y - 38)


def _grain(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    draw.line((x, y - 46, x, y + 46), fill=fill, width=4)
    for step in range(5):
        for side in (-1, 1):
            ear = (x + side * 15, y - 36 + step * 16)
            draw.ellipse((ear[0] - 12, ear[1] - 8, ear[0] + 12, ear[1] + 8), fill=fill)


def _beans(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    for dx, dy in ((-26, -14), (24, -20), (0, 20)):
        draw.ellipse((x + dx - 24, y + dy - 17, x + dx + 24, y + dy + 17), fill=fill)
        draw.line((x + dx - 17, y + dy + 3, x + dx + 17, y + dy - 3), fill=(176, 132, 98), width=3)


def _cone(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    draw.polygon([(x - 34, y - 16), (x - 22, y - 28), (x + 22, y - 28), (x + 34, y - 16), (x, y + 42)], fill=fill)
    draw.polygon([(x - 30, y - 34), (x, y - 20), (x + 30, y - 34), (x, y - 42)], fill=_LEAF)
    for dx, dy in ((-14, -10), (12, -12), (0, 4), (-8, 16), (10, 14)):
        draw.ellipse((x + dx - 2, y + dy - 3, x + dx + 2, y + dy + 3), fill=(255, 226, 150))


def _berries(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    for dx, dy in ((0, -26), (-20, -8), (20, -8), (-28, 16), (0, 14), (28, 16), (-12, 34), (14, 34)):
        _disc(draw, x + dx, y + dy, 15, fill)


def _drop(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    draw.ellipse((x - 38, y - 22, x + 34, y + 34), fill=fill)
    draw.ellipse((x - 10, y - 34, x + 40, y + 14), fill=fill)
    _leaf(draw, x + 6, y - 34)


def _slice(draw: ImageDraw.ImageDraw, x: float, y: float, fill: Colour) -> None:
    for r, colour in ((40, fill), (34, (236, 246, 210)), (30, fill)):
        draw.ellipse((x - r, y - r, x + r, y + r), fill=colour)
    for part in range(4):
        a = math.radians(part * 45)
        ends = (x - 31 * math.cos(a), y - 31 * math.sin(a), x + 31 * math.cos(a), y + 31 * math.sin(a))
        draw.line(ends, fill=(236, 246, 210), width=4)


EMBLEMS: dict[str, Callable[[ImageDraw.ImageDraw, float, float, Colour], None]] = {
    "round": _whole, "pair": _pair, "grain": _grain, "beans": _beans, "cone": _cone, "berries": _berries, "drop": _drop,
    "slice": _slice,
}  # fmt: skip
