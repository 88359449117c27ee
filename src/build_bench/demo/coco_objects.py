"""Fourteen things that everyone recognises, drawn in a square of 100 x 100 units on a transparent layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from PIL import Image, ImageDraw

from build_bench.draws import Draw

Point = tuple[float, float]
Colour = tuple[int, int, int]

WHITE, BLACK, RED, GREY = (244, 244, 240), (28, 28, 32), (196, 30, 36), (120, 124, 130)


class Pen:
    """Draws in units: (0, 0) to (100, 100) is `layer` of `pixels` x `pixels`."""

    def __init__(self, pixels: int) -> None:
        self.layer = Image.new("RGBA", (pixels, pixels))
        self._draw = ImageDraw.Draw(self.layer)
        self._scale = pixels / 100

    def _scaled(self, points: Sequence[Point]) -> list[Point]:
        return [(x * self._scale, y * self._scale) for x, y in points]

    def polygon(self, points: Sequence[Point], fill: Colour) -> None:
        self._draw.polygon(self._scaled(points), fill=fill)

    def line(self, points: Sequence[Point], width: float, fill: Colour) -> None:
        """A line with round joints and ends."""
        scaled, pixels = self._scaled(points), max(1, round(width * self._scale))
        self._draw.line(scaled, fill=fill, width=pixels, joint="curve")
        for x, y in (scaled[0], scaled[-1]):
            r = pixels / 2
            self._draw.ellipse((x - r, y - r, x + r, y + r), fill=fill)

    def ellipse(self, x: float, y: float, rx: float, fill: Colour, ry: float | None = None) -> None:
        ry = rx if ry is None else ry
        self._draw.ellipse(self._scaled([(x - rx, y - ry), (x + rx, y + ry)]), fill=fill)

    def box(self, left: float, top: float, right: float, bottom: float, fill: Colour, radius: float = 0) -> None:
        corners = self._scaled([(left, top), (right, bottom)])
        self._draw.rounded_rectangle(corners, radius * self._scale, fill=fill)


def arc(x: float, y: float, rx: float, start: float, end: float, ry: float | None = None, n: int = 48) -> list[Point]:
    """Points on an ellipse, angles in degrees, clockwise from three o'clock."""
    ry = rx if ry is None else ry
    angles = [math.radians(start + (end - start) * i / n) for i in range(n + 1)]
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


def stop_sign(pen: Pen, draw: Draw) -> None:
    for radius, fill in ((50, WHITE), (47, RED)):
        pen.polygon(arc(50, 50, radius * 1.04, 22.5, 382.5, n=8), fill)
    pen.line(arc(23, 44, 6, -20, -270, n=16) + arc(23, 56, 6, -90, 160, n=16), 4, WHITE)
    pen.line([(35, 38), (49, 38)], 4, WHITE)
    pen.line([(42, 38), (42, 62)], 4, WHITE)
    pen.line(arc(60, 50, 7.5, 0, 360, ry=12), 4, WHITE)
    pen.line([(74, 62), (74, 38), (80, 38), *arc(80, 44, 6, -90, 90, n=12), (74, 50)], 4, WHITE)


def traffic_light(pen: Pen, draw: Draw) -> None:
    pen.box(30, 0, 70, 100, (34, 38, 36), 8)
    lamps = ((17, (255, 62, 48)), (50, (92, 74, 22)), (83, (24, 70, 38)))
    for y, fill in lamps:
        pen.ellipse(50, y, 14.5, (16, 18, 18))
        pen.ellipse(50, y, 12.5, fill)
        pen.polygon([*arc(50, y, 14.5, 200, 340), *arc(50, y + 4, 13.5, 340, 200)], (54, 58, 56))
    pen.ellipse(47, 14, 4, (255, 168, 150))


def clock(pen: Pen, draw: Draw) -> None:
    for radius, fill in ((50, (74, 50, 36)), (46, (150, 112, 74)), (42, (250, 246, 232))):
        pen.ellipse(50, 50, radius, fill)
    for hour in range(12):
        a = math.radians(hour * 30)
        inner = 32 if hour % 3 == 0 else 35
        ends = [(50 + r * math.cos(a), 50 + r * math.sin(a)) for r in (inner, 39)]
        pen.line(ends, 2.6 if hour % 3 == 0 else 1.4, BLACK)
    pen.line([(50, 50), (50 - 17, 50 - 12)], 3.4, BLACK)
    pen.line([(50, 50), (50 + 14, 50 - 27)], 2.2, BLACK)
    pen.ellipse(50, 50, 3, RED)


def sports_ball(pen: Pen, draw: Draw) -> None:
    pen.ellipse(50, 50, 50, (214, 106, 38))
    pen.line([(50, 1), (50, 99)], 1.8, BLACK)
    pen.line(arc(50, 60, 60, 190, 350, ry=16), 1.8, BLACK)
    pen.line(arc(-6, 50, 44, -52, 52), 1.8, BLACK)
    pen.line(arc(106, 50, 44, 128, 232), 1.8, BLACK)


def banana(pen: Pen, draw: Draw) -> None:
    outer, inner = arc(52, 18, 50, 178, 28, ry=62), arc(56, 4, 44, 20, 168, ry=48)
    pen.polygon(outer + inner, (240, 204, 52))
    pen.line(arc(53, 12, 46, 166, 34, ry=58), 2, (216, 172, 36))
    pen.polygon([(1, 22), (6, 8), (13, 10), (14, 20)], (126, 106, 40))
    pen.ellipse(96.5, 37, 3.4, (92, 66, 34))
    for i in range(9):
        a = math.radians(150 - 13 * i - draw.integer(f"fleck {i}", 8))
        pen.ellipse(52 + 45 * math.cos(a), 14 + 54 * math.sin(a), 0.9, (150, 104, 36), 0.6)


def orange(pen: Pen, draw: Draw) -> None:
    pen.ellipse(50, 53, 47, (238, 134, 28))
    for i in range(140):
        a, r = draw.integer(f"pore {i}", 6283) / 1000, 44 * math.sqrt(draw.integer(f"depth {i}", 1000) / 1000)
        pen.ellipse(50 + r * math.cos(a), 53 + r * math.sin(a), 0.8, (218, 112, 16))
    pen.polygon([*arc(66, 11, 17, 160, 350, ry=10), *arc(66, 8, 17, 10, 170, ry=9)], (62, 122, 48))
    pen.line([(50, 15), (82, 8)], 0.9, (40, 88, 34))
    pen.ellipse(50, 15, 3.2, (92, 108, 44))


def apple(pen: Pen, draw: Draw) -> None:
    pen.ellipse(34, 57, 32, (186, 26, 34), 40)
    pen.ellipse(66, 57, 32, (186, 26, 34), 40)
    pen.polygon([(20, 70), (80, 70), (66, 97), (50, 92), (34, 97)], (186, 26, 34))
    pen.polygon(arc(50, 21, 14, 0, 360, ry=5), (132, 18, 26))
    pen.line([(50, 24), (52, 10), (56, 2)], 3, (94, 62, 34))
    pen.polygon([*arc(68, 12, 16, 180, 360, ry=9), *arc(68, 12, 16, 0, 180, ry=5)], (84, 142, 52))
    for i in range(40):
        x, y = 12 + draw.integer(f"x {i}", 76), 40 + draw.integer(f"y {i}", 40)
        pen.ellipse(x, y, 0.6, (226, 120, 96))


def kite(pen: Pen, draw: Draw) -> None:
    top, left, right, bottom, middle = (62, 0), (34, 30), (88, 28), (52, 72), (60, 29)
    for points, fill in (
        ((top, left, middle), (224, 52, 48)),
        ((top, right, middle), (244, 196, 48)),
        ((left, bottom, middle), (40, 108, 190)),
        ((right, bottom, middle), (56, 158, 84)),
    ):
        pen.polygon(points, fill)
    pen.line([top, bottom], 1, BLACK)
    pen.line([left, right], 1, BLACK)
    tail = [(52 - 0.9 * i - 7 * math.sin(i / 3.2), 72 + i * 0.72) for i in range(39)]
    pen.line(tail, 1, (60, 60, 70))
    for i, fill in ((9, (224, 52, 48)), (20, (244, 196, 48)), (31, (40, 108, 190))):
        x, y = tail[i]
        pen.polygon([(x - 5, y - 3), (x, y), (x - 5, y + 3)], fill)
        pen.polygon([(x + 5, y - 3), (x, y), (x + 5, y + 3)], fill)


def umbrella(pen: Pen, draw: Draw) -> None:
    pen.line([(50, 4), (50, 86), *arc(43, 86, 7, 0, 180, ry=9, n=20)], 3, (110, 74, 44))
    edges = [0, 13, 34, 66, 87, 100]
    for i, (left, right) in enumerate(pairwise(edges)):
        rim = arc((left + right) / 2, 50, (right - left) / 2, 180, 360, ry=6, n=16)
        side = [(50 + (x - 50) * math.sin(t), 50 - 46 * math.cos(t)) for x, ts in ((left, 1), (right, -1))
                for t in [math.pi / 2 * (k if ts > 0 else 12 - k) / 12 for k in range(13)]]  # fmt: skip
        pen.polygon([*side[:13], *rim, *side[13:]], (206, 44, 58) if i % 2 else (246, 232, 214))
    pen.line([(50, 0), (50, 6)], 2, (70, 50, 36))


def donut(pen: Pen, draw: Draw) -> None:
    pen.ellipse(50, 50, 50, (196, 134, 70))
    wave = [(50 + (45 + 2.2 * math.sin(9 * a)) * math.cos(a), 50 + (45 + 2.2 * math.sin(9 * a)) * math.sin(a))
            for a in (i * math.tau / 180 for i in range(180))]  # fmt: skip
    pen.polygon(wave, (236, 126, 168))
    colours = ((250, 240, 90), (90, 190, 250), (255, 255, 255), (130, 220, 120), (250, 150, 60))
    for i in range(64):
        a, r = draw.integer(f"angle {i}", 6283) / 1000, 23 + draw.integer(f"radius {i}", 18)
        x, y, turn = 50 + r * math.cos(a), 50 + r * math.sin(a), draw.integer(f"turn {i}", 3142) / 1000
        ends = [(x - 2 * math.cos(turn), y - 2 * math.sin(turn)), (x + 2 * math.cos(turn), y + 2 * math.sin(turn))]
        pen.line(ends, 1.5, draw.choice(f"sprinkle {i}", colours))
    pen.ellipse(50, 50, 19, (196, 134, 70))
    pen.layer.paste((0, 0, 0, 0), mask=_disc(pen.layer.size[0], 50, 50, 16))


def _disc(pixels: int, x: float, y: float, radius: float) -> Image.Image:
    mask, s = Image.new("L", (pixels, pixels)), pixels / 100
    ImageDraw.Draw(mask).ellipse(((x - radius) * s, (y - radius) * s, (x + radius) * s, (y + radius) * s), fill=255)
    return mask


def pizza(pen: Pen, draw: Draw) -> None:
    for radius, fill in ((50, (190, 124, 62)), (45, (206, 70, 40)), (43, (246, 204, 98))):
        pen.ellipse(50, 50, radius, fill)
    for i in range(60):
        a, r = draw.integer(f"a {i}", 6283) / 1000, 40 * math.sqrt(draw.integer(f"r {i}", 1000) / 1000)
        fill = draw.choice(f"cheese {i}", ((252, 220, 130), (232, 176, 76), (238, 190, 84)))
        pen.ellipse(50 + r * math.cos(a), 50 + r * math.sin(a), 3, fill, 2)
    for i in range(13):
        a, r = i * 2.4, 11 * math.sqrt(i + 0.4)
        x, y = 50 + r * math.cos(a), 50 + r * math.sin(a)
        pen.ellipse(x, y, 5.6, (150, 34, 26))
        pen.ellipse(x, y, 4.8, (186, 52, 38))
    for i in range(12):
        a, r = i * 2.4 + 1, 10 + 9 * math.sqrt(i)
        pen.polygon(arc(50 + r * math.cos(a), 50 + r * math.sin(a), 3, 0, 360, ry=1.6), (64, 110, 44))
    for i in range(4):
        a = math.radians(i * 45 + 12)
        ends = [(50 + r * math.cos(a), 50 + r * math.sin(a)) for r in (-48, 48)]
        pen.line(ends, 0.9, (156, 104, 46))


def tv(pen: Pen, draw: Draw) -> None:
    pen.polygon([(30, 86), (70, 86), (74, 90), (26, 90)], (46, 48, 52))
    pen.box(45, 74, 55, 88, (38, 40, 44))
    pen.box(0, 14, 100, 76, (22, 23, 26), 2.5)
    for i in range(52):
        pen.box(2.5, 17 + i, 97.5, 18.2 + i, (70 + 2 * i, 120 + i, 196 - i))
    pen.polygon([(2.5, 70), (30, 40), (44, 56), (62, 32), (97.5, 70)], (48, 86, 84))
    pen.polygon([(30, 40), (36, 47), (30, 49), (25, 46)], WHITE)
    pen.polygon([(62, 32), (70, 40), (62, 43), (56, 40)], WHITE)
    pen.ellipse(80, 27, 4.5, (255, 236, 160))
    pen.box(2.5, 70, 97.5, 73.5, (36, 66, 60))


def frisbee(pen: Pen, draw: Draw) -> None:
    pen.ellipse(50, 54, 50, (150, 20, 60), 22)
    pen.ellipse(50, 50, 50, (230, 44, 96), 21)
    for rx, ry, fill in ((42, 17, (206, 32, 82)), (40.5, 16, (236, 60, 110)), (25, 9.5, (206, 32, 82))):
        pen.ellipse(50, 49, rx, fill, ry)
    pen.ellipse(50, 49, 24, (248, 236, 240), 9)
    pen.polygon([(50 + r * math.cos(a), 49 + 0.37 * r * math.sin(a)) for i in range(10)
                 for a, r in [(i * math.pi / 5 - math.pi / 2, 20 if i % 2 == 0 else 9)]], (230, 44, 96))  # fmt: skip


def bus(pen: Pen, draw: Draw) -> None:
    pen.box(0, 22, 100, 76, (242, 182, 30), 6)
    pen.box(0, 60, 100, 63, BLACK)
    pen.box(0, 67, 100, 68.6, BLACK)
    for i in range(6):
        pen.box(17 + i * 13, 29, 28 + i * 13, 46, (58, 84, 104), 1.5)
        pen.polygon([(18 + i * 13, 45), (22 + i * 13, 30), (26 + i * 13, 30), (22 + i * 13, 45)], (104, 138, 158))
    pen.box(3, 29, 14, 70, (70, 98, 118), 1.5)
    pen.box(8, 29, 9, 70, (40, 44, 48))
    pen.ellipse(98, 57, 2.4, (255, 244, 200))
    for x in (27, 78):
        pen.ellipse(x, 76, 10, (30, 30, 32))
        pen.ellipse(x, 76, 5, GREY)
        pen.ellipse(x, 76, 2, (60, 62, 66))


OBJECTS: dict[str, Callable[[Pen, Draw], None]] = {
    "apple": apple, "banana": banana, "bus": bus, "clock": clock, "donut": donut, "frisbee": frisbee, "kite": kite,
    "orange": orange, "pizza": pizza, "sports ball": sports_ball, "stop sign": stop_sign,
    "traffic light": traffic_light, "tv": tv, "umbrella": umbrella,
}  # fmt: skip
"""By COCO's names."""
