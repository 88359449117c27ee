"""Nine more things that everyone recognises, as in `coco_objects`, and the blocks that hide them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from build_bench.demo.coco_objects import Colour, Pen, arc, banana, orange
from build_bench.draws import Draw

STEEL, DARK = (158, 164, 172), (46, 48, 54)


def shade(colour: Colour, by: float) -> Colour:
    """Lighter where `by` is above 1."""
    red, green, blue = (min(255, round(value * by)) for value in colour)
    return red, green, blue


def baseball(pen: Pen, draw: Draw) -> None:
    pen.ellipse(50, 56, 42, (240, 236, 224))
    for x, start, end in ((-2, -52, 52), (102, 128, 232)):
        seam = arc(x, 56, 36, start, end, ry=44)
        pen.line(seam, 1.2, (188, 60, 54))
        for (x0, y0), (x1, y1) in zip(seam[3::4], seam[5::4], strict=False):
            along = math.atan2(y1 - y0, x1 - x0)
            for turn in (1.05, math.pi - 1.05):
                angle = along + (turn if x < 50 else -turn)
                pen.line([(x0, y0), (x0 + 4 * math.cos(angle), y0 + 4 * math.sin(angle))], 1.1, (188, 60, 54))


def cowboy_hat(pen: Pen, draw: Draw) -> None:
    felt, band = (154, 104, 58), (72, 44, 28)
    pen.polygon([*arc(50, 70, 49, 200, -20, ry=20), *arc(50, 58, 50, 0, 180, ry=34)], shade(felt, 0.72))
    pen.polygon([(0, 62), *arc(50, 66, 50, 150, 30, ry=26), (100, 62), *arc(50, 44, 52, 28, 152, ry=30)], felt)
    pen.polygon(
        [
            (22, 70),
            (27, 30),
            *arc(37, 22, 10, 190, 320, ry=10),
            (50, 24),
            *arc(63, 22, 10, 220, 350, ry=10),
            (73, 30),
            (78, 70),
        ],
        shade(felt, 1.08),
    )
    pen.polygon(
        [
            (22.5, 66),
            (24, 56),
            *arc(50, 52, 27, 170, 10, ry=14),
            (76, 56),
            (77.5, 66),
            *arc(50, 62, 29, 10, 170, ry=14),
        ],
        band,
    )
    pen.polygon([*arc(50, 27, 9, 0, 180, ry=14), (50, 24)], shade(felt, 0.8))


def cup(pen: Pen, draw: Draw) -> None:
    glaze = (224, 226, 220)
    for x, width, fill in ((74, 8, shade(glaze, 0.82)), (73, 5.4, glaze)):
        pen.line(arc(x, 54, 17, -80, 80, ry=20), width, fill)
    pen.polygon([(16, 22), (20, 84), *arc(46, 84, 26, 180, 0, ry=9), (76, 22)], glaze)
    pen.ellipse(46, 22, 30, shade(glaze, 1.08), 9)
    pen.ellipse(46, 23, 27, (86, 54, 34), 7.2)
    pen.polygon(
        [(18, 46), *arc(46, 46, 28.4, 180, 0, ry=9), (73.2, 58), *arc(46, 58, 27.2, 0, 180, ry=9)], (58, 112, 148)
    )


def dumbbell(pen: Pen, draw: Draw) -> None:
    pen.line([(16, 62), (84, 62)], 9, STEEL)
    for x in range(34, 68, 3):
        pen.line([(x, 58), (x + 2, 66)], 0.7, shade(STEEL, 0.7))
    for left, right, half in ((2, 17, 20), (17, 28, 27), (72, 83, 27), (83, 98, 20)):
        pen.box(left, 62 - half, right, 62 + half, DARK, 4)
        pen.box(left + 1.5, 62 - half + 2, left + 5, 62 + half - 6, shade(DARK, 1.7), 2)


def laptop(pen: Pen, draw: Draw) -> None:
    pen.box(14, 14, 86, 68, DARK, 4)
    pen.box(17, 17, 83, 64, (52, 98, 152), 1)
    pen.polygon([*arc(28, 62, 30, 190, 350, ry=26), (58, 64), (17, 64), (17, 58)], (74, 130, 122))
    pen.polygon([*arc(68, 64, 30, 180, 300, ry=34), (83, 64), (38, 64)], (44, 86, 104))
    pen.ellipse(66, 28, 6, (244, 214, 140))
    pen.polygon([(14, 70), (86, 70), (98, 88), (2, 88)], (176, 180, 186))
    pen.box(2, 87, 98, 91, (140, 144, 150), 2)
    for row in range(3):
        for key in range(11):
            x, y = 20 - 2.2 * row + key * (5.5 + 0.42 * row), 72 + 4 * row
            pen.box(x, y, x + 4.4 + 0.3 * row, y + 2.6, (70, 74, 80), 0.6)


def vase(pen: Pen, draw: Draw) -> None:
    clay = (62, 128, 132)
    left = [(38, 4), (40, 16), (34, 26), (22, 40), (18, 58), (24, 78), (34, 92), (36, 97)]
    right = [(100 - x, y) for x, y in reversed(left)]
    pen.polygon(_smooth(left) + _smooth(right), clay)
    pen.ellipse(50, 5, 13, shade(clay, 1.2), 3.4)
    pen.ellipse(50, 5.4, 10.5, shade(clay, 0.42), 2.3)
    for y, half in ((34, 22.6), (66, 30.6)):
        pen.line(arc(50, y - 2, half, 165, 15, ry=7), 1.8, (226, 214, 180))
    for i in range(7):
        x = 26 + 8 * i
        pen.polygon([(x, 44), (x + 4, 56), (x - 4, 56)], (226, 214, 180))


def plate(pen: Pen, draw: Draw) -> None:
    for radius, fill in ((49, (196, 202, 206)), (48, (238, 240, 240)), (43, (46, 92, 160)), (41.6, (238, 240, 240))):
        pen.ellipse(50, 51, radius, fill)
    pen.ellipse(50, 51, 32, (206, 212, 216))
    pen.ellipse(50, 52, 31, (246, 247, 246))
    for i in range(16):
        a = math.tau * i / 16
        pen.ellipse(50 + 37 * math.cos(a), 51 + 37 * math.sin(a), 1.7, (46, 92, 160))


def pillow(pen: Pen, draw: Draw) -> None:
    linen = (212, 178, 142)
    edge = [(4, 20), *arc(50, 10, 46, 170, 10, ry=-8), (96, 20), *arc(88, 55, 8, -60, 60, ry=34)]
    edge += [(96, 92), *arc(50, 98, 46, 10, 170, ry=-8), (4, 92), *arc(12, 55, 8, 120, 240, ry=34)]
    pen.polygon(edge, linen)
    for y in range(24, 92, 9):
        pen.line(arc(50, y + 3, 38, 195, 345, ry=8), 1.4, shade(linen, 0.82))
    pen.line([(12, 22), (30, 34)], 1.2, shade(linen, 0.7))
    pen.line([(88, 22), (72, 34)], 1.2, shade(linen, 0.7))


def hammer(pen: Pen, draw: Draw) -> None:
    pen.line([(30, 30), (88, 92)], 8, (168, 112, 62))
    pen.line([(62, 64), (89, 93)], 10, (52, 54, 58))
    pen.polygon([(6, 44), (22, 24), (36, 20), (44, 30), (20, 56), (14, 56)], STEEL)
    pen.polygon([(34, 22), (52, 4), (60, 2), (46, 30)], shade(STEEL, 0.84))


def _smooth(points: Sequence[tuple[float, float]], n: int = 8) -> list[tuple[float, float]]:
    """A Catmull-Rom curve through `points`."""
    padded = [points[0], *points, points[-1]]
    curve = []
    for a, b, c, d in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        for i in range(n):
            t = i / n
            weights = (-t + 2 * t**2 - t**3, 2 - 5 * t**2 + 3 * t**3, t + 4 * t**2 - 3 * t**3, t**3 - t**2)
            x, y = (sum(w * p[axis] for w, p in zip(weights, (a, b, c, d), strict=True)) / 2 for axis in (0, 1))
            curve.append((x, y))
    return [*curve, points[-1]]


def blocks(pen: Pen, colour: Colour, draw: Draw) -> None:
    """A wall of painted wooden blocks, seen a little from above and from the left."""
    deep, rows, columns = 7, 3, 3
    width, height = (100 - deep) / columns, (100 - deep) / rows
    pen.box(0, deep, 100 - deep, 100, shade(colour, 0.42), 1)
    for row in reversed(range(rows)):
        for column in range(columns):
            tint = shade(colour, 0.94 + 0.12 * draw.integer(f"tint {row} {column}", 100) / 100)
            x, y = column * width + 0.3, deep + row * height
            right, low = x + width - 0.6, y + height - 0.5
            if row == 0:
                pen.polygon([(x, y), (x + deep, y - deep), (right + deep, y - deep), (right, y)], shade(tint, 1.32))
            if column == columns - 1:
                pen.polygon(
                    [(right, y), (right + deep, y - deep), (right + deep, low - deep), (right, low)], shade(tint, 0.6)
                )
            pen.box(x, y, right, low, tint, 1)
            pen.line([(x + 1, y + 1), (right - 1, y + 1)], 0.9, shade(tint, 1.22))
            pen.line([(x + 1, low - 0.6), (right - 1, low - 0.6)], 1, shade(tint, 0.7))
            for grain in range(5):
                name = f"grain {row} {column} {grain}"
                at, start = y + 4 + draw.integer(name, 220) / 10, x + 3 + draw.integer(name + " x", 120) / 10
                pen.line([(start, at), (start + 10, at + 0.3)], 0.35, shade(tint, 0.84))


OBJECTS: dict[str, Callable[[Pen, Draw], None]] = {
    "banana": banana, "baseball": baseball, "cowboy hat": cowboy_hat, "cup": cup, "dumbbell": dumbbell,
    "hammer": hammer, "laptop": laptop, "orange": orange, "pillow": pillow, "plate": plate, "vase": vase,
}  # fmt: skip
