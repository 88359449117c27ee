"""Six short tutorials, drawn: a thing on a table, what is done to it, and what it is afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

WIDTH, HEIGHT = 320, 180
FINER = 2
"""Supersampling."""

Colour = tuple[int, int, int]
Point = tuple[float, float]

STEEL, SKIN, WHITE, DARK = (188, 194, 202), (226, 176, 140), (246, 244, 238), (42, 40, 46)


class Board:
    """Draws in pixels of the video, on a picture `FINER` times as large."""

    def __init__(self, picture: Image.Image) -> None:
        self.picture = picture
        self._draw = ImageDraw.Draw(picture)

    def shape(self, points: Sequence[Point], fill: Colour) -> None:
        self._draw.polygon([(x * FINER, y * FINER) for x, y in points], fill=fill)

    def disc(self, x: float, y: float, rx: float, fill: Colour, ry: float | None = None) -> None:
        ry = rx if ry is None else ry
        if rx > 0 and ry > 0:
            self._draw.ellipse([(x - rx) * FINER, (y - ry) * FINER, (x + rx) * FINER, (y + ry) * FINER], fill=fill)

    def slab(self, left: float, top: float, right: float, bottom: float, fill: Colour, radius: float = 0) -> None:
        if right > left and bottom > top:
            box = [left * FINER, top * FINER, right * FINER, bottom * FINER]
            self._draw.rounded_rectangle(box, radius * FINER, fill=fill)

    def stroke(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        scaled = [(x * FINER, y * FINER) for x, y in points]
        self._draw.line(scaled, fill=fill, width=round(width * FINER), joint="curve")
        for x, y in (scaled[0], scaled[-1]):
            r = width * FINER / 2
            self._draw.ellipse([x - r, y - r, x + r, y + r], fill=fill)

    def slice(self, x: float, y: float, r: float, angles: tuple[float, float], fill: Colour) -> None:
        self._draw.pieslice([(x - r) * FINER, (y - r) * FINER, (x + r) * FINER, (y + r) * FINER], *angles, fill=fill)


def shade(colour: Colour, light: float) -> Colour:
    """The colour lighter (> 1) or darker."""
    red, green, blue = (min(255, round(value * light)) for value in colour)
    return red, green, blue


def room(wall: Colour, table: Colour) -> Image.Image:
    """A wall and a table under a lamp, finer than the video; the picture that scenes are drawn on."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    on_table = y > 104
    light = 1.12 - 0.34 * np.hypot((x - 140) / 210, (y - np.where(on_table, 128, 40)) / 120)
    pixels = np.where(on_table[..., None], table, wall) * light[..., None]
    small = Image.fromarray(np.clip(pixels.round(), 0, 255).astype(np.uint8))
    return small.resize((WIDTH * FINER, HEIGHT * FINER), Image.Resampling.BICUBIC)


def shadow(board: Board, x: float, y: float, rx: float, ry: float) -> None:
    """A soft shadow on the table."""
    mask = _soft(round(rx * FINER), round(ry * FINER), 130)
    board.picture.paste((24, 18, 16), (round(x * FINER) - mask.width // 2, round(y * FINER) - mask.height // 2), mask)


@cache
def _soft(rx: int, ry: int, strength: int) -> Image.Image:
    """A mask of an ellipse with a soft edge."""
    margin = 8 * FINER
    mask = Image.new("L", (2 * (rx + margin), 2 * (ry + margin)))
    ImageDraw.Draw(mask).ellipse([margin, margin, mask.width - margin, mask.height - margin], fill=strength)
    return mask.filter(ImageFilter.GaussianBlur(margin / 3))


def hand(board: Board, x: float, y: float, side: int = 1) -> None:
    """A hand with its sleeve, fingertips at (x, y); `side` 1 comes from the right, -1 from the left."""
    far = (x + side * 130, y + 78)
    board.stroke([(x + side * 34, y + 20), far], 27, (66, 92, 132))
    board.stroke([(x + side * 20, y + 12), (x + side * 36, y + 21)], 23, SKIN)
    for number, lift in enumerate((-5, 1, 7)):
        board.stroke([(x + side * 20, y + 11 + lift * 0.6), (x, y + lift)], 7, shade(SKIN, 1 - 0.05 * number))


def candle(board: Board, done: float) -> None:
    """A match comes, and the candle burns."""
    shadow(board, 160, 150, 40, 9)
    board.slab(138, 62, 182, 150, (232, 222, 196), 4)
    board.slab(138, 62, 150, 150, (214, 202, 172), 4)
    board.disc(160, 63, 22, (246, 238, 216), 5)
    board.stroke([(160, 62), (161, 52)], 2, DARK)
    if done > 0.55:
        for r, fill in ((34, (255, 214, 140)), (24, (255, 226, 160))):
            glow = _soft(r * FINER, r * FINER, 70)
            board.picture.paste(fill, (161 * FINER - glow.width // 2, 38 * FINER - glow.height // 2), glow)
        flame(board, 161, 53, 9)
    if 0 < done < 1:
        x = 250 - 86 * min(1.0, done / 0.55)
        board.stroke([(x, 50), (x + 44, 62)], 3, (206, 168, 110))
        flame(board, x, 52, 6)
        hand(board, x + 38, 62)


def flame(board: Board, x: float, y: float, size: float) -> None:
    for grow, fill in ((1.0, (250, 140, 40)), (0.66, (255, 206, 70)), (0.34, (255, 246, 196))):
        r = size * grow
        board.shape([(x - r * 0.8, y - r * 0.9), (x, y - r * 3), (x + r * 0.8, y - r * 0.9)], fill)
        board.disc(x, y - r * 0.7, r * 0.84, fill)


def tea(board: Board, done: float) -> None:
    """A pot is tipped over a cup until it is full."""
    shadow(board, 130, 150, 54, 10)
    board.disc(176, 124, 15, WHITE, 14)
    board.disc(176, 124, 9, (188, 160, 124), 8)
    board.shape([(88, 104), (172, 104), (158, 148), (102, 148)], WHITE)
    board.disc(130, 104, 42, WHITE, 10)
    board.disc(130, 105, 37, (214, 208, 198), 8)
    board.disc(130, 106, 36 * min(1.0, 0.25 + done * 0.75) if done else 0, (156, 84, 28), 7 * (0.3 + 0.7 * done))
    if 0 < done < 1:
        pot(board, 204, 46, tilt=0.5)
        board.stroke([(146, 62), (136, 84), (132, 104)], 4, (172, 98, 36))
        hand(board, 238, 34)
    else:
        pot(board, 252, 108, tilt=0.0)
    if done == 1:
        for x in (116, 132, 148):
            board.stroke([(x + 4 * math.sin(k), 92 - 6 * k) for k in range(6)], 2, (214, 212, 206))


def pot(board: Board, x: float, y: float, tilt: float) -> None:
    cos, sin = math.cos(-tilt), math.sin(-tilt)

    def at(dx: float, dy: float) -> Point:
        return x + dx * cos - dy * sin, y + dx * sin + dy * cos

    blue = (70, 112, 148)
    board.stroke([at(-24, 8), at(-44, -4), at(-52, -18)], 8, blue)
    board.stroke([at(24, -10), at(42, -6), at(38, 14), at(22, 16)], 6, shade(blue, 0.8))
    board.disc(*at(0, 4), 32, blue, 28)
    board.disc(*at(-8, -6), 12, shade(blue, 1.25), 8)
    board.stroke([at(-14, -22), at(14, -22)], 6, shade(blue, 0.8))
    board.disc(*at(0, -28), 5, shade(blue, 0.7))


def ball(board: Board, done: float) -> None:
    """A flat ball grows on a pump."""
    size = 22 + 30 * done
    flat = 0.42 + 0.58 * done
    bottom = 152.0
    y = bottom - size * flat
    shadow(board, 128, bottom - 2, size, 7)
    board.disc(128, y, size, (222, 92, 40), size * flat)
    board.disc(128 - size * 0.3, y - size * flat * 0.35, size * 0.34, (242, 138, 88), size * flat * 0.26)
    for bend in (-0.6, 0.0, 0.6):
        turns = [math.pi * (t / 12 - 0.5) for t in range(13)]
        board.stroke(
            [(128 + size * bend * math.cos(t), y + size * flat * 0.97 * math.sin(t)) for t in turns], 1.6, DARK
        )
    if done < 1:
        down = 14 * (0.5 - 0.5 * math.cos(done * 40))
        board.slab(222, 84, 250, 156, (60, 64, 74), 3)
        board.stroke([(236, 84), (236, 62 + down)], 4, STEEL)
        board.stroke([(214, 60 + down), (258, 60 + down)], 7, (180, 40, 44))
        board.stroke([(224, 148), (190, 158), (128 + size * 0.7, bottom - 4)], 3, DARK)
        if done > 0:
            hand(board, 246, 56 + down)


def cake(board: Board, done: float) -> None:
    """Frosting is spread over a cake."""
    shadow(board, 150, 150, 84, 12)
    board.disc(150, 148, 84, (206, 214, 220), 11)
    brown, pink = (150, 94, 54), (244, 178, 196)
    board.slab(88, 88, 212, 146, brown, 6)
    board.slab(88, 112, 212, 119, (250, 236, 206))
    board.disc(150, 88, 62, shade(brown, 1.2), 13)
    edge = 88 + 124 * done
    if done:
        for x in range(88, int(edge), 4):
            drip = 20 + 8 * math.sin(x * 0.37) + 6 * math.sin(x * 0.11)
            board.slab(x, 84, min(x + 5, edge), 84 + drip, pink, 2)
        lobes = [
            (x, 88 + 12.5 * math.sqrt(max(0.0, 1 - ((x - 150) / 62) ** 2)) * s)
            for s in (-1, 1)
            for x in range(88, int(edge) + 1, 4)[::s]
        ]
        if len(lobes) > 3:
            board.shape(lobes, shade(pink, 1.04))
    if 0 < done < 1:
        board.stroke([(edge - 4, 84), (edge + 36, 58)], 9, STEEL)
        hand(board, edge + 34, 58)
    if done == 1:
        for k in range(7):
            berry = 104 + 15.3 * k
            board.disc(berry, 84 - 4 * math.sin(k * 0.5), 5.5, (196, 30, 54))
            board.disc(berry - 1.6, 82 - 4 * math.sin(k * 0.5), 1.6, (250, 190, 196))


def plane(board: Board, done: float) -> None:
    """A sheet is folded in five steps, and is a plane."""
    paper, fold = (250, 248, 240), (224, 222, 212)
    step = math.floor(done * 5)
    shadow(board, 150, 136, 70, 18)
    if step == 0:
        board.shape([(84, 152), (108, 92), (226, 92), (214, 152)], paper)
    elif step == 1:
        board.shape([(84, 152), (94, 122), (150, 92), (226, 92), (214, 152)], paper)
        board.shape([(94, 122), (150, 92), (146, 124)], fold)
    elif step == 2:
        board.shape([(92, 124), (150, 92), (226, 92), (214, 152), (142, 152)], paper)
        board.shape([(92, 124), (150, 92), (146, 124)], fold)
        board.shape([(92, 124), (142, 152), (146, 124)], shade(fold, 0.95))
    elif step in (3, 4):
        board.shape([(84, 124), (222, 96), (212, 148)], paper)
        board.shape([(84, 124), (222, 96), (216, 121)], fold)
        if step == 4:
            board.shape([(84, 124), (216, 121), (206, 106)], shade(fold, 0.93))
    else:
        board.shape([(70, 96), (252, 58), (214, 104)], paper)
        board.shape([(70, 96), (214, 104), (196, 132)], shade(fold, 0.86))
        board.shape([(70, 96), (214, 104), (236, 150)], fold)
    if 0 < done < 1:
        hand(board, 206 - 30 * math.sin(done * 15), 112 + 8 * math.cos(done * 15))
        hand(board, 104 + 20 * math.sin(done * 15), 118, side=-1)


def apple(board: Board, done: float) -> None:
    """A knife goes through an apple, and there are slices."""
    red, flesh = (200, 36, 40), (250, 240, 206)
    board.slab(58, 124, 262, 164, (214, 176, 122), 8)
    board.slab(58, 158, 262, 166, (176, 136, 88), 4)
    cuts = math.floor(done * 4)
    if cuts < 4:
        shadow(board, 140, 146, 36, 6)
        board.disc(126, 114, 28, red, 33)
        board.disc(152, 114, 28, red, 33)
        board.disc(122, 98, 9, (232, 104, 96), 7)
        board.stroke([(139, 88), (144, 74)], 3.4, (96, 62, 34))
        board.shape([(144, 78), (158, 68), (170, 72), (158, 80)], (92, 150, 60))
        for cut in range(cuts):
            board.slice(140 + 12 * cut, 114, 33 - 3 * cut, (-80, 80), flesh if cut == cuts - 1 else red)
            board.stroke([(141 + 12 * cut, 84 + 3 * cut), (141 + 12 * cut, 144 - 3 * cut)], 1.5, shade(flesh, 0.86))
    for number in range(cuts):
        x = (204, 228, 182, 160)[number] if cuts < 4 else 92 + 42 * number
        y = 148 if cuts < 4 else 138
        size = 12 if cuts < 4 else 24
        board.slice(x, y, size, (180, 360), red)
        board.slice(x, y, size * 0.84, (180, 360), flesh)
        board.disc(x - 3, y - size * 0.3, 1.4, DARK, 2)
        board.disc(x + 3, y - size * 0.3, 1.4, DARK, 2)
    if 0 < done < 1:
        x, down = 142 + 12 * cuts, 74 + 46 * abs(math.sin(done * 4 * math.pi))
        board.shape([(x - 3, down - 26), (x + 4, down - 26), (x + 4, down + 26), (x - 1, down + 30)], STEEL)
        board.slab(x - 4, down - 50, x + 5, down - 24, DARK, 3)
        hand(board, x + 4, down - 46)


SCENES: dict[str, Callable[[Board, float], None]] = {
    "apple": apple, "ball": ball, "cake": cake, "candle": candle, "plane": plane, "tea": tea,
}  # fmt: skip
"""Per category: draws the thing with so much of the action done, 0 (before) to 1 (after)."""

ROOMS: dict[str, tuple[Colour, Colour]] = {
    "apple": ((196, 206, 190), (142, 104, 70)),
    "ball": ((168, 190, 214), (108, 128, 92)),
    "cake": ((226, 204, 196), (154, 118, 92)),
    "candle": ((92, 84, 104), (88, 62, 50)),
    "plane": ((206, 212, 218), (96, 116, 140)),
    "tea": ((208, 196, 168), (124, 92, 66)),
}
"""(wall, table)."""
