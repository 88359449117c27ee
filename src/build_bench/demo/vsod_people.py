"""People of stories that everyone recognises by what they wear, and nobody's face: the demo names no real person.

Drawn in units of 1 % of the frame's width: it is 100 wide and 56.25 high, the head is about (50, 20).
"""

from __future__ import annotations

from collections.abc import Callable

from build_bench.demo.coco_objects import Colour, Pen, arc

SKIN, PALE, TAN, INK = (236, 190, 158), (240, 222, 208), (198, 148, 112), (30, 28, 32)
BOTTOM = 58


def _figure(pen: Pen, coat: Colour, skin: Colour = SKIN, shirt: Colour | None = None) -> None:
    """Shoulders, neck and a head without features."""
    pen.polygon([(27, BOTTOM), *arc(41, 42, 12, 190, 262), *arc(59, 42, 12, 278, 350), (73, BOTTOM)], coat)
    pen.box(46.5, 25, 53.5, 34, tuple(round(v * 0.86) for v in skin), 2)  # type: ignore[arg-type]
    if shirt:
        pen.polygon([(44.5, 31), (50, 46), (55.5, 31)], shirt)
    pen.ellipse(50, 20, 7.6, skin, 9.4)


def _face(pen: Pen, mouth: bool, brow: Colour = INK) -> None:
    for x in (46.9, 53.1):
        pen.ellipse(x, 19.4, 0.8, INK, 1)
        pen.line([(x - 1.3, 17.2), (x + 1.3, 17)], 0.6, brow)
    pen.line([(50, 20), (49.5, 22.6), (50.4, 22.8)], 0.4, (150, 100, 82))
    pen.ellipse(50, 25.3, 1.8, (142, 48, 50), 1.3 if mouth else 0.45)


def sherlock_holmes(pen: Pen, mouth: bool) -> None:
    _figure(pen, (110, 92, 70), SKIN, (232, 228, 214))
    for x in range(31, 66, 6):
        pen.line([(x, 58), (x + 3, 40)], 0.5, (84, 68, 50))
    pen.polygon([(33, 34), (50, 43), (67, 34), (70, 46), (50, 52), (30, 46)], (128, 106, 80))  # cape
    _face(pen, mouth)
    pen.polygon([*arc(50, 15.5, 8.6, 180, 360, ry=8.6), (58.6, 16), (41.4, 16)], (134, 110, 78))  # deerstalker
    pen.polygon([(42, 14.5), (35.5, 18.5), (42.5, 17.6)], (112, 90, 62))
    pen.polygon([(58, 14.5), (64.5, 18.5), (57.5, 17.6)], (112, 90, 62))
    pen.polygon([*arc(50, 14.5, 8, 200, 340, ry=3.4)], (112, 90, 62))
    pen.line([(50, 7), (50, 13)], 0.5, (92, 74, 50))
    pen.line([(52, 26), (57, 28), (58.5, 26.4)], 1, (74, 44, 26))  # pipe
    pen.box(57.2, 23.8, 60.2, 27.4, (74, 44, 26), 0.8)


def captain_nemo(pen: Pen, mouth: bool) -> None:
    _figure(pen, (28, 40, 66), TAN)
    for y in (38, 43, 48, 53):
        for x in (46, 54):
            pen.ellipse(x, y, 0.9, (222, 184, 84))
    for x in (33, 67):
        pen.box(x - 5, 33.6, x + 5, 35.8, (222, 184, 84), 1)
    _face(pen, mouth, (226, 226, 224))
    beard = [*arc(50, 21.5, 8, 0, 180, ry=13), *arc(50, 23, 4.4, 180, 360, ry=1.6)]
    pen.polygon(beard, (228, 228, 226))
    pen.ellipse(50, 25.6, 1.7, (142, 48, 50), 1.2 if mouth else 0.4)
    pen.polygon([(40, 12), (43, 6), (57, 6), (60, 12)], (240, 240, 238))
    pen.box(41.4, 11.4, 58.6, 14.4, (24, 34, 56), 0.6)
    pen.polygon([*arc(50, 14, 8.8, 0, 180, ry=2.4)], (14, 16, 24))
    pen.ellipse(50, 12.8, 1.3, (222, 184, 84))


def robin_hood(pen: Pen, mouth: bool) -> None:
    pen.line([(36, 44), (26, 14)], 1.2, (120, 82, 46))  # bow over the shoulder
    pen.line(arc(29, 32, 7, 250, 110, ry=22, n=30), 0.9, (120, 82, 46))
    _figure(pen, (58, 112, 58), SKIN)
    pen.polygon([(40, 33), (50, 42), (60, 33), (57, 31), (43, 31)], (86, 62, 40))
    pen.line([(38, 34), (62, 58)], 1.8, (96, 68, 42))
    for x in (43.4, 56.6):
        pen.ellipse(x, 18, 1.8, (168, 104, 48), 5)
    _face(pen, mouth, (140, 84, 38))
    pen.polygon([*arc(50, 24, 4.6, 20, 160, ry=7)], (168, 104, 48))
    pen.ellipse(50, 25.3, 1.6, (142, 48, 50), 1.2 if mouth else 0.4)
    pen.polygon([(38, 15), (44, 6), (56, 7), (64, 14.6), (52, 13.6)], (46, 96, 48))
    pen.polygon([(54, 11), (66, 1), (69, 2), (60, 11)], (200, 48, 44))


def little_red_riding_hood(pen: Pen, mouth: bool) -> None:
    pen.polygon([(24, BOTTOM), *arc(50, 22, 15, 190, 350, ry=19), (76, BOTTOM)], (186, 28, 36))
    _figure(pen, (204, 38, 46), PALE, (246, 240, 236))
    for x in (42.6, 57.4):
        pen.line([(x, 16), (x - (50 - x) * 0.1, 36)], 2.4, (110, 66, 36))  # plaits
    pen.polygon([*arc(50, 18, 8.2, 180, 360, ry=8), *arc(50, 18, 7, 350, 190, ry=4)], (110, 66, 36))
    _face(pen, mouth, (110, 66, 36))
    outer, inner = arc(50, 20, 12.4, 150, 390, ry=15), arc(50, 20.6, 8.6, 390, 150, ry=11)
    pen.polygon(outer + inner, (206, 34, 42))
    pen.line([(46, 33.6), (50, 35.4), (54, 33.6)], 1.2, (250, 246, 240))


def pinocchio(pen: Pen, mouth: bool) -> None:
    wood = (224, 172, 112)
    _figure(pen, (214, 60, 48), wood)
    for x in (42, 58):
        pen.line([(x, 34), (x, 58)], 1.8, (48, 92, 160))
    pen.polygon([(50, 36), (43, 33), (43, 39)], (48, 92, 160))
    pen.polygon([(50, 36), (57, 33), (57, 39)], (48, 92, 160))
    pen.ellipse(50, 36, 1.2, (250, 214, 76))
    for x in (45, 55):
        pen.line([(x, 15), (x + 0.2, 25.5)], 0.25, (196, 142, 86))
    _face(pen, mouth, (96, 60, 32))
    pen.line([(50.4, 21.6), (66, 19.4)], 2.2, (206, 150, 90))  # the nose
    pen.ellipse(66, 19.4, 1.2, (190, 132, 76))
    pen.polygon([(41.6, 14.6), (52, 1.6), (58.4, 14.6)], (246, 198, 66))
    pen.box(41, 13, 59, 15.6, (48, 92, 160), 1)


def queen_of_hearts(pen: Pen, mouth: bool) -> None:
    pen.polygon([(50, 20), *arc(50, 31, 19, 200, 340, ry=16)], (250, 246, 240))  # collar
    _figure(pen, (182, 24, 44), PALE)
    for x, y, size in ((50.0, 45.0, 4.2), (39.0, 50.0, 2.6), (61.0, 50.0, 2.6)):
        _heart(pen, x, y, size, (250, 240, 236))
    pen.polygon([*arc(50, 17, 9.6, 150, 390, ry=9), *arc(50, 19, 7, 390, 150, ry=6)], (34, 22, 24))
    _face(pen, mouth)
    for cheek in (45, 55):
        pen.ellipse(cheek, 23.4, 1.4, (238, 160, 156))
    points = [(42, 12), (41, 3), (45, 7.6), (50, 1.6), (55, 7.6), (59, 3), (58, 12)]
    pen.polygon(points, (236, 190, 64))
    for x, y in points[1:6:2]:
        pen.ellipse(x, y, 1.1, (200, 30, 50))
    _heart(pen, 50, 8.6, 1.9, (200, 30, 50))


def _heart(pen: Pen, x: float, y: float, size: float, fill: Colour) -> None:
    for side in (-1, 1):
        pen.ellipse(x + side * size * 0.46, y - size * 0.3, size * 0.54, fill)
    pen.polygon([(x - size * 0.96, y - size * 0.1), (x, y + size), (x + size * 0.96, y - size * 0.1)], fill)


SPEAKERS: dict[str, Callable[[Pen, bool], None]] = {
    "Sherlock Holmes": sherlock_holmes, "Captain Nemo": captain_nemo, "Robin Hood": robin_hood,
    "Little Red Riding Hood": little_red_riding_hood, "Pinocchio": pinocchio, "Queen of Hearts": queen_of_hearts,
}  # fmt: skip
"""Each drawn with the mouth open or closed."""
