"""Twelve ImageNet classes as small paintings, 224 x 224: an object in units of 100 x 100 on a background of noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageFilter

from build_bench.demo.coco_objects import Colour, Pen, arc, bus, traffic_light, umbrella
from build_bench.demo.imagenet_c_corruptions import Pixels, smooth
from build_bench.draws import Draw

SIDE = 224
FINER = 3
"""Supersampling of the objects."""

DOWN = np.linspace(0, 1, SIDE, dtype=np.float32)[:, None, None]
WHITE, BLACK, CREAM = (246, 246, 242), (26, 26, 30), (250, 240, 214)


def balloon(pen: Pen, draw: Draw) -> None:
    colours: tuple[Colour, ...] = ((206, 46, 44), (244, 178, 42), (40, 118, 178), (244, 178, 42), (206, 46, 44))
    for number, fill in enumerate(colours):
        reach = 34 * (1 - number / 5)
        top, low = arc(50, 40, reach + 2, 180, 360, ry=38), arc(50, 40, reach + 2, 0, 60, ry=40)
        left = [(100 - x, y) for x, y in reversed(low)]
        pen.polygon([*top, *low, *left], fill)
    for x in (44.5, 50.0, 55.5):
        pen.line([(50 + (x - 50) * 1.6, 73), (x, 88)], 0.7, (70, 52, 38))
    pen.polygon([(40, 70), (60, 70), (57, 77), (43, 77)], (150, 34, 34))
    pen.box(43.5, 87, 56.5, 96, (134, 92, 54), 1.5)
    pen.box(43, 86.5, 57, 88.5, (92, 60, 36), 1)


def goldfish(pen: Pen, draw: Draw) -> None:
    pen.polygon([(66, 48), (84, 28), (98, 22), (92, 44), (99, 66), (92, 78), (78, 66)], (244, 148, 60))
    pen.polygon([(34, 34), (46, 12), (66, 20), (62, 38)], (240, 134, 46))
    pen.polygon([(42, 64), (50, 82), (60, 80), (58, 64)], (240, 134, 46))
    pen.ellipse(40, 50, 36, (236, 112, 26), 22)
    pen.ellipse(36, 58, 28, (250, 176, 92), 13)
    for row in range(4):
        for column in range(7):
            x, y = 28 + column * 6.4 + row % 2 * 3.2, 38 + row * 6.4
            pen.line(arc(x, y, 3.4, -70, 70, n=10), 0.7, (204, 84, 16))
    pen.line(arc(20, 50, 12, -50, 50, ry=15), 1.2, (190, 76, 18))
    pen.ellipse(15, 45, 4.6, WHITE)
    pen.ellipse(14.6, 45, 2.6, BLACK)
    pen.line(arc(5, 55, 4, -30, 80, n=10), 1.2, (150, 56, 14))


def ladybug(pen: Pen, draw: Draw) -> None:
    for x, lean in ((24, -10), (38, -12), (62, 12), (76, 10)):
        pen.line([(x, 66), (x + lean, 84), (x + lean * 1.6, 88)], 2.4, BLACK)
    pen.ellipse(50, 26, 17, BLACK, 14)
    for x in (38, 62):
        pen.line([(50 + (x - 50) * 0.5, 16), (x, 5)], 1.4, BLACK)
        pen.ellipse(x, 5, 2, BLACK)
        pen.ellipse(50 + (x - 50) * 0.9, 23, 4, CREAM)
    pen.ellipse(50, 55, 37, (198, 28, 26), 34)
    pen.line([(50, 22), (50, 89)], 1.8, BLACK)
    for x, y, r in ((33, 42, 6.5), (67, 42, 6.5), (28, 62, 6), (72, 62, 6), (40, 76, 5), (60, 76, 5), (50, 32, 5.5)):
        pen.ellipse(x, y, r, BLACK)


def teapot(pen: Pen, draw: Draw) -> None:
    pen.line(arc(76, 52, 20, -80, 80, ry=19), 6, (38, 92, 140))
    pen.polygon([(30, 66), (4, 36), (1, 30), (10, 27), (15, 34), (32, 48)], (46, 104, 154))
    pen.ellipse(50, 58, 32, (52, 112, 164), 29)
    pen.ellipse(50, 32, 20, (38, 92, 140), 5)
    pen.polygon([*arc(50, 31, 18, 180, 360, ry=9)], (70, 132, 182))
    pen.ellipse(50, 19, 4.5, (38, 92, 140))
    pen.box(34, 83, 66, 89, (38, 92, 140), 2)
    for number in range(7):
        a = math.tau * number / 7
        pen.ellipse(50 + 8.4 * math.cos(a), 58 + 8.4 * math.sin(a), 4.4, CREAM)
    pen.ellipse(50, 58, 4.4, (238, 190, 60))


def agaric(pen: Pen, draw: Draw) -> None:
    pen.polygon([(42, 50), (58, 50), (62, 92), (50, 97), (38, 92)], (240, 232, 212))
    pen.polygon([(37, 62), (63, 62), (60, 70), (50, 73), (40, 70)], (226, 214, 186))
    pen.ellipse(50, 50, 44, (226, 206, 170), 9)
    pen.polygon([*arc(50, 50, 46, 180, 360, ry=42), *arc(50, 50, 46, 0, 180, ry=5)], (202, 34, 28))
    dots = [(50, 16, 5), (31, 25, 5), (69, 24, 5.5), (18, 40, 4.4), (42, 35, 6), (60, 39, 5), (82, 41, 4.4)]
    for x, y, r in dots:
        pen.ellipse(x, y, r, WHITE, r * 0.72)


def strawberry(pen: Pen, draw: Draw) -> None:
    pen.polygon([*arc(32, 40, 24, 120, 300), *arc(68, 40, 24, 240, 420), (62, 84), (50, 97), (38, 84)], (206, 30, 38))
    for row in range(7):
        width = 34 - abs(row - 1.4) * 5.4
        for column in range(-3, 4):
            x, y = 50 + column * 10.4 + (row % 2) * 5.2, 29 + row * 9
            if abs(x - 50) < width:
                pen.ellipse(x, y, 1.2, (250, 214, 110), 1.9)
    for number in range(7):
        a = math.radians(-180 + number * 30)
        tip = (50 + 29 * math.cos(a), 20 + 15 * math.sin(a) + 7)
        pen.polygon([(46, 19), tip, (54, 19), (50, 26)], (60, 134, 54) if number % 2 else (48, 112, 44))
    pen.line([(50, 20), (53, 8), (58, 3)], 2.6, (76, 132, 60))


def volcano(pen: Pen, draw: Draw) -> None:
    for number in range(18):
        reach = 3.4 + number * 0.46
        x, y = 50 + (3 + number * 0.5) * math.sin(number * 1.9) + number * 0.8, 33 - number * 1.35
        shade = 74 + number * 5
        pen.ellipse(x, y, reach, (shade, shade - 4, shade - 4), reach * 0.8)
    pen.polygon([(0, 100), (30, 56), (42, 34), (60, 34), (72, 58), (100, 100)], (74, 62, 62))
    pen.polygon([(60, 34), (72, 58), (100, 100), (66, 100), (58, 60)], (52, 42, 46))
    pen.polygon(arc(51, 35, 9.5, 0, 360, ry=3), (250, 148, 40))
    for path in ([(48, 35), (46, 52), (40, 64), (41, 84)], [(54, 35), (56, 50), (62, 66), (60, 90)]):
        pen.line(path, 4, (222, 64, 22))
        pen.line(path, 1.8, (255, 190, 66))


def beacon(pen: Pen, draw: Draw) -> None:
    pen.polygon([(10, 100), (24, 86), (74, 84), (94, 100)], (84, 80, 76))
    pen.polygon([(40, 28), (60, 28), (67, 90), (33, 90)], WHITE)
    for top in (34, 54, 74):
        grow = (top - 28) / 62 * 7
        pen.polygon([(40 - grow, top), (60 + grow, top), (61 + grow, top + 9), (39 - grow, top + 9)], (196, 40, 38))
    pen.box(36, 25, 64, 29, (52, 52, 58))
    pen.box(42, 12, 58, 25, (250, 226, 130))
    for x in (42, 50, 58):
        pen.line([(x, 12), (x, 25)], 1.3, (52, 52, 58))
    pen.polygon([(39, 13), (50, 2), (61, 13)], (160, 34, 34))
    pen.box(47, 80, 53, 90, (70, 52, 44), 2)


def daisy(pen: Pen, draw: Draw) -> None:
    pen.line([(50, 52), (54, 80), (52, 100)], 3, (66, 124, 48))
    for ring, reach in ((0, 45), (1, 40)):
        for number in range(13):
            a = math.tau * (number + ring / 2) / 13
            x, y = 50 + reach * 0.6 * math.cos(a), 45 + reach * 0.6 * math.sin(a)
            along, across = (math.cos(a), math.sin(a)), (-math.sin(a), math.cos(a))
            leaf = [
                (x + u * along[0] + v * across[0], y + u * along[1] + v * across[1])
                for u, v in arc(0, 0, reach * 0.42, 0, 360, ry=5, n=20)
            ]
            pen.polygon(leaf, (WHITE, (228, 230, 236))[1 - ring])
    pen.ellipse(50, 45, 12, (240, 186, 36))
    for number in range(60):
        a, r = number * 2.4, 11 * math.sqrt(number / 60)
        pen.ellipse(50 + r * math.cos(a), 45 + r * math.sin(a), 0.8, (196, 132, 22))


OBJECTS: dict[str, Callable[[Pen, Draw], None]] = {
    "agaric": agaric, "balloon": balloon, "beacon": beacon, "daisy": daisy, "goldfish": goldfish, "ladybug": ladybug,
    "school bus": bus, "strawberry": strawberry, "teapot": teapot, "traffic light": traffic_light,
    "umbrella": umbrella, "volcano": volcano,
}  # fmt: skip


def _mix(share: Pixels, low: Colour, high: Colour) -> Pixels:
    first, second = np.array(low, np.float32), np.array(high, np.float32)
    mixed: Pixels = first + (second - first) * np.clip(share, 0, 1)
    return mixed


def _cloud(seed: int, name: str, cells: tuple[int, ...]) -> Pixels:
    """Noise of (224, 224, 1), a layer per cell, each half as strong as the one before."""
    layers = [smooth(seed, name, (SIDE, SIDE), cell) / 2**number for number, cell in enumerate(cells)]
    total: Pixels = (sum(layers[1:], layers[0]) / np.float32(2 - 2.0 ** (1 - len(cells))))[..., None]
    return total


def _sky(seed: int) -> Pixels:
    clouds = np.clip(_cloud(seed, "sky", (64, 30, 14, 6)) * 3.2 - 1.5, 0, 0.8)
    sky: Pixels = _mix(DOWN, (74, 130, 204), (190, 216, 236)) * (1 - clouds) + clouds * 246
    return sky


def _dusk(seed: int) -> Pixels:
    return _mix(DOWN + 0.3 * _cloud(seed, "dusk", (70, 24, 9)), (44, 40, 84), (246, 150, 96))


def _leaves(seed: int) -> Pixels:
    return _mix(_cloud(seed, "leaves", (40, 17, 7, 3)) * 1.7 - 0.4, (22, 60, 20), (132, 172, 66))


def _water(seed: int) -> Pixels:
    return _mix(0.55 * DOWN + 0.5 * _cloud(seed, "water", (56, 20, 8)), (96, 190, 206), (10, 56, 96))


def _cloth(seed: int) -> Pixels:
    return _mix(_cloud(seed, "cloth", (60, 26, 5, 2)) * 1.3 - 0.1, (150, 122, 98), (222, 200, 172))


def _soil(seed: int) -> Pixels:
    return np.where(DOWN > 0.62, _mix(_cloud(seed, "soil", (22, 9, 4, 2)), (40, 28, 18), (128, 92, 56)), _leaves(seed))


def _street(seed: int) -> Pixels:
    road = _mix(_cloud(seed, "road", (30, 6, 2)), (74, 76, 80), (128, 128, 128))
    return np.where(DOWN > 0.68, road, np.where(DOWN > 0.42, _leaves(seed), _sky(seed)))


def _sea(seed: int) -> Pixels:
    return np.where(DOWN > 0.72, _water(seed), _sky(seed))


GROUNDS: dict[str, tuple[Callable[[int], Pixels], int]] = {
    "agaric": (_soil, 158), "balloon": (_sky, 182), "beacon": (_sea, 184), "daisy": (_leaves, 190),
    "goldfish": (_water, 166), "ladybug": (_leaves, 150), "school bus": (_street, 196), "strawberry": (_cloth, 160),
    "teapot": (_cloth, 176), "traffic light": (_dusk, 190), "umbrella": (_sea, 170), "volcano": (_dusk, 214),
}  # fmt: skip
"""Name -> (background, the object's side in pixels)."""


def paint(name: str, seed: int) -> Image.Image:
    """The picture of one class."""
    ground, side = GROUNDS[name]
    pen = Pen(side * FINER)
    OBJECTS[name](pen, Draw(0, "demo imagenet_c", name))
    layer = pen.layer.resize((side, side), Image.Resampling.LANCZOS)
    bottom = name in ("volcano", "beacon", "daisy")
    left, top = (SIDE - side) // 2, SIDE - side if bottom else (SIDE - side) // 2
    y, x = np.mgrid[-1 : 1 : side * 1j, -1 : 1 : side * 1j].astype(np.float32)
    light = 1.04 - 0.16 * (x + y) + 0.16 * np.exp(-((x + 0.35) ** 2 + (y + 0.4) ** 2) / 0.3)
    pixels = ground(seed).copy()
    shade = Image.new("L", (SIDE, SIDE))
    if ground not in (_sky, _dusk, _sea):
        shade.paste(layer.getchannel("A"), (left + side // 28, top + side // 18))
        shadow = np.asarray(shade.filter(ImageFilter.GaussianBlur(6)), np.float32)[..., None] / 255
        pixels *= 1 - 0.45 * shadow
    drawn = np.asarray(layer, np.float32)
    alpha = drawn[..., 3:] / 255
    part = pixels[top : top + side, left : left + side]
    part[:] = part * (1 - alpha) + np.clip(drawn[..., :3] * light[..., None], 0, 255) * alpha
    pixels += (smooth(seed, "grain", (SIDE, SIDE), 1)[..., None] - 0.5) * 12
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
