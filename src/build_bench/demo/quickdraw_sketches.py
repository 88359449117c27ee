"""Twelve words as a person would sketch them: strokes in the order of drawing, in a square of 100 x 100, y downwards.

Points are complex numbers, x + y j. `Hand` makes each drawing of a word another one. Only + - * / and square roots are
used, so a sketch is the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from build_bench.draws import Draw

Stroke = list[complex]

_STEPS = 512


def _circle() -> list[complex]:
    """`_STEPS` + 1 points of the unit circle, by halving a half-turn."""
    root = 1j
    for _ in range(_STEPS.bit_length() - 3):
        root += 1
        root /= math.sqrt(root.real * root.real + root.imag * root.imag)
    points = [1 + 0j]
    for _ in range(_STEPS):
        points.append(points[-1] * root)
    return points


_CIRCLE = _circle()


def turned(turns: float) -> complex:
    """The point of the unit circle at an angle, in turns: 0 is right, 0.25 is down."""
    at, rest = divmod(turns % 1 * _STEPS, 1)
    return _CIRCLE[int(at)] * (1 - rest) + _CIRCLE[int(at) + 1] * rest


class Hand:
    """The unsteady hand of one person: numbers that depend on the drawing's name and on what they are for."""

    def __init__(self, name: str) -> None:
        self._draw = Draw(0, "quickdraw demo", name)
        self._count = 0

    def whole(self, low: int, high: int) -> int:
        """An integer, both ends included."""
        self._count += 1
        return low + self._draw.integer(str(self._count), high - low + 1)

    def about(self, value: float, spread: float) -> float:
        """`value`, give or take `spread`."""
        return value + spread * self.whole(-1000, 1000) / 1000

    def near(self, point: complex, spread: float = 1.5) -> complex:
        return complex(self.about(point.real, spread), self.about(point.imag, spread))

    def follow(self, path: Stroke) -> Stroke:
        """The path as drawn: a little turned and moved, and wavering in two slow waves."""
        middle = sum(path) / len(path)
        turn = turned(self.about(0, 0.008)) * self.about(1, 0.025)
        moved = self.near(0, 1.2)
        waves = [(self.near(0, 0.55), self.about(3 / 100, 1 / 100), self.about(0, 0.5)) for _ in range(2)]
        drawn, walked = [], 0.0
        for i, point in enumerate(path):
            step = point - path[i - 1] if i else 0j
            walked += math.sqrt(step.real * step.real + step.imag * step.imag)
            waver = sum(size * turned(walked * often + start).real for size, often, start in waves)
            drawn.append(middle + (point - middle) * turn + moved + waver)
        return drawn


def line(*corners: complex) -> Stroke:
    """Straight from corner to corner, a point about every 2 units."""
    path = [corners[0]]
    for start, end in pairwise(corners):
        away = end - start
        steps = max(int(math.sqrt(away.real * away.real + away.imag * away.imag) / 2), 1)
        path += [start + away * (i / steps) for i in range(1, steps + 1)]
    return path


def arc(centre: complex, width: float, height: float, start: float = 0, end: float = 1) -> Stroke:
    """A part of an ellipse of these half axes, angles in turns; past a whole turn the ends overlap."""
    steps = max(int(abs(end - start) * (width + height) * 1.6), 6)
    around = [turned(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [centre + complex(point.real * width, point.imag * height) for point in around]


def bow(start: complex, over: complex, end: complex) -> Stroke:
    """A curve that leaves towards `over` and arrives from there."""
    at = [i / 14 for i in range(15)]
    return [start * (1 - t) * (1 - t) + over * 2 * t * (1 - t) + end * t * t for t in at]


def house(hand: Hand) -> list[Stroke]:
    wall, door = hand.about(46, 4), hand.about(42, 8)
    strokes = [line(15 + wall * 1j, 15 + 95j, 85 + 95j, 85 + wall * 1j, 15 + wall * 1j)]
    strokes += [line(8 + (wall + 1) * 1j, complex(hand.about(50, 4), hand.about(10, 4)), 92 + (wall + 1) * 1j)]
    strokes += [line(complex(door, 95), complex(door, 66), complex(door + 15, 66), complex(door + 15, 95))]
    strokes += [[complex(door + 12, 81)]]
    left = complex(22 if door > 42 else 64, 56)
    strokes += [line(left, left + 14, left + 14 + 13j, left + 13j, left), line(left + 7, left + 7 + 13j)]
    strokes += [line(left + 6.5j, left + 14 + 6.5j)]
    if hand.whole(0, 2):
        strokes += [line(68 + 26j, 68 + 10j, 77 + 10j, 77 + 33j), bow(73 + 7j, 80 - 2j, 74 - 8j)]
    return strokes


def cat(hand: Hand) -> list[Stroke]:
    strokes = [arc(50 + 55j, 34, hand.about(31, 2), 0.6, 1.63)]
    for side in (-1, 1):
        strokes += [line(50 + side * 31 + 40j, 50 + side * hand.about(29, 3) + 8j, 50 + side * 9 + 25j)]
    dots = hand.whole(0, 2) == 0
    for side in (-1, 1):
        strokes += [[50 + side * 13 + 48j] if dots else arc(50 + side * 13 + 48j, 3.5, hand.about(5, 1))]
    strokes += [line(46 + 59j, 54 + 59j, 50 + 64j, 46 + 59j)]
    strokes += [bow(50 + 64j, 48 + 74j, 38 + 70j), bow(50 + 64j, 52 + 74j, 62 + 70j)]
    for side in (-1, 1):
        for slope in (-7, 0, 7)[: hand.whole(2, 3)]:
            strokes += [line(50 + side * 20 + (64 + slope / 2) * 1j, 50 + side * 48 + (63 + slope * 1.6) * 1j)]
    return strokes


def sun(hand: Hand) -> list[Stroke]:
    rays = hand.whole(7, 11)
    strokes = [arc(50 + 50j, 22, 22, 0.7, hand.about(1.73, 0.03))]
    for i in range(rays):
        way = turned(i / rays - 0.25)
        strokes += [line(50 + 50j + way * 28, 50 + 50j + way * hand.about(45, 4))]
    if hand.whole(0, 1):
        strokes += [[42 + 45j], [58 + 45j], arc(50 + 50j, 11, 10, 0.06, 0.44)]
    return strokes


def flower(hand: Hand) -> list[Stroke]:
    petals, middle = hand.whole(5, 7), 50 + 32j
    strokes = [arc(middle, 8, 8, 0, 1.04)]
    for i in range(petals):
        way = turned(i / petals - 0.25)
        side = way * 1j
        tip = middle + way * hand.about(27, 2)
        petal = bow(middle + way * 8 - side * 4, tip - side * 19, tip) + bow(
            tip, tip + side * 19, middle + way * 8 + side * 4
        )
        strokes += [petal]
    strokes += [bow(middle + 27j, hand.about(46, 6) + 75j, 52 + 99j)]
    strokes += [bow(51 + 82j, 64 + 64j, 78 + 66j) + bow(78 + 66j, 72 + 82j, 51 + 82j)]
    if hand.whole(0, 2):
        strokes += [bow(50 + 88j, 38 + 70j, 24 + 74j) + bow(24 + 74j, 32 + 88j, 50 + 88j)]
    return strokes


def fish(hand: Hand) -> list[Stroke]:
    fat = hand.about(34, 7)
    strokes = [bow(70 + 50j, 40 + (50 - fat) * 1.0j, 6 + 50j) + bow(6 + 50j, 40 + (50 + fat) * 1j, 70 + 50j)]
    strokes += [line(68 + 50j, 95 + 34j, hand.about(88, 3) + 50j, 95 + 66j, 68 + 51j)]
    strokes += [arc(20 + 45j, 3, 3) if hand.whole(0, 1) else [20 + 45j], bow(8 + 54j, 14 + 57j, 18 + 54j)]
    strokes += [arc(24 + 50j, 8, 11, -0.16, 0.16)]
    for i in range(hand.whole(0, 4)):
        strokes += [arc(40 + 6.5 * i + (46 + i % 2 * 7) * 1j, 4, 4, -0.2, 0.2)]
    strokes += [bow(36 + 36j, 46 + 22j, 56 + 40j)]
    return strokes


def eiffel_tower(hand: Hand) -> list[Stroke]:
    top = hand.about(12, 3)
    strokes = [bow(22 + 98j, 44 + 62j, 49 + top * 1j), bow(51 + top * 1j, 56 + 62j, 78 + 98j)]
    strokes += [bow(36 + 98j, 50 + 66j, 64 + 98j), line(32 + 78j, 68 + 78j), line(41 + 54j, 59 + 54j)]
    strokes += [line(50 + top * 1j, 50 + (top - 11) * 1j), line(22 + 98j, 36 + 98j), line(64 + 98j, 78 + 98j)]
    if hand.whole(0, 1):
        strokes += [line(42 + 55j, 63 + 76j), line(58 + 55j, 37 + 76j)]
    if hand.whole(0, 1):
        strokes += [line(46 + 36j, 54 + 36j), line(46 + 38j, 56 + 52j), line(54 + 38j, 44 + 52j)]
    return strokes


def star(hand: Hand) -> list[Stroke]:
    tips = [50 + 52j + 44 * turned(0.4 * i - 0.25) for i in range(6)]
    if hand.whole(0, 2) == 0:  # the outline, in two goes
        outline = [50 + 52j + (44 if i % 2 == 0 else 18) * turned(0.1 * i - 0.25) for i in range(11)]
        return [line(*outline[:7]), line(*outline[6:])]
    return [line(tips[i], tips[i + 1]) for i in range(5)]


def clock(hand: Hand) -> list[Stroke]:
    hours = 12 if hand.whole(0, 1) else 4
    strokes = [arc(50 + 50j, 43, 43, 0.72, hand.about(1.74, 0.02))]
    for i in range(hours):
        way = turned(i / hours - 0.25)
        strokes += [line(50 + 50j + way * 38, 50 + 50j + way * (30 if i % (hours // 4) == 0 else 34))]
    minute = hand.whole(0, 11)
    strokes += [line(50 + 50j, 50 + 50j + 28 * turned(minute / 12 - 0.25))]
    strokes += [line(50 + 50j, 50 + 50j + 17 * turned((minute + hand.whole(2, 9)) / 12 - 0.25)), [50 + 50j]]
    return strokes


def umbrella(hand: Hand) -> list[Stroke]:
    scallops = hand.whole(3, 5)
    strokes = [arc(50 + 48j, 44, hand.about(38, 4), 0.5, 1)]
    width = 88 / scallops
    for i in range(scallops):
        strokes += [arc(complex(6 + width * (i + 0.5), 48), width / 2, 6, 0.5, 1)]
    strokes += [line(50 + 42j, 50 + 86j) + arc(43 + 86j, 7, 9, 0, hand.about(0.48, 0.04)), line(50 + 10j, 50 + 3j)]
    for i in range(1, scallops):
        if hand.whole(0, 1):
            foot = 6 + width * i
            strokes += [bow(50 + 11j, (foot * 2 + 50) / 3 + 20j, foot + 47j)]
    return strokes


def bicycle(hand: Hand) -> list[Stroke]:
    back, front, wheel = 22 + 66j, 78 + 66j, hand.about(19, 1.5)
    pedals, seat, head = 46 + 66j, 38 + 38j, 68 + 36j
    strokes = [arc(back, wheel, wheel, 0.8, 1.84), arc(front, wheel, wheel, 0.8, 1.83)]
    strokes += [line(back, seat, head, pedals, back), line(seat - 2 - 6j, pedals), line(head - 1 - 9j, front)]
    strokes += [line(seat - 9 - 7j, seat + 7 - 7j), bow(head - 8 - 12j, head + 6 - 14j, head + 7 - 4j)]
    strokes += [arc(pedals, 4, 4), line(pedals + 3j, pedals + 5 + 9j, pedals + 10 + 9j)]
    for i in range(hand.whole(0, 3)):
        for hub in (back, front):
            strokes += [line(hub - wheel * turned(i / 6), hub + wheel * turned(i / 6))]
    return strokes


def smiley_face(hand: Hand) -> list[Stroke]:
    strokes = [arc(50 + 50j, 44, 44, 0.75, hand.about(1.77, 0.03))]
    look = hand.whole(0, 2)
    for side in (-1, 1):
        eye = 50 + side * 16 + 38j
        strokes += [[eye] if look == 0 else arc(eye, 4, 6) if look == 1 else line(eye - 6j, eye + 5j)]
    strokes += [arc(50 + 50j, hand.about(25, 3), hand.about(24, 4), 0.04, 0.46)]
    if hand.whole(0, 1):
        strokes += [line(50 + 46j, 46 + 56j, 51 + 56j)]
    if hand.whole(0, 2) == 0:
        strokes += [bow(22 + 56j, 26 + 52j, 29 + 57j), bow(71 + 57j, 74 + 52j, 78 + 56j)]
    return strokes


def sailboat(hand: Hand) -> list[Stroke]:
    mast = hand.about(48, 3)
    strokes = [line(10 + 72j, 90 + 72j, hand.about(76, 3) + 90j, hand.about(25, 3) + 90j, 10 + 72j)]
    strokes += [line(complex(mast, 72), complex(mast, 6))]
    strokes += [
        line(complex(mast + 3, 10), 84 + 62j, complex(mast + 3, 63)),
        line(complex(mast - 3, 22), 18 + 63j, complex(mast - 3, 63)),
    ]
    strokes[3] += line(complex(mast - 3, 63), complex(mast - 3, 22))
    if hand.whole(0, 1):
        strokes += [line(complex(mast, 6), complex(mast + 11, 3), complex(mast, 0))]
    for i in range(hand.whole(1, 3)):
        wave = [point for n in range(4) for point in bow(6 + 22 * n + 96j, 17 + 22 * n + 90j, 28 + 22 * n + 96j)]
        strokes += [[point + (i * 5) * 1j for point in wave]]
    return strokes


SKETCHES: dict[str, Callable[[Hand], list[Stroke]]] = {
    "The Eiffel Tower": eiffel_tower,
    "bicycle": bicycle,
    "cat": cat,
    "clock": clock,
    "fish": fish,
    "flower": flower,
    "house": house,
    "sailboat": sailboat,
    "smiley face": smiley_face,
    "star": star,
    "sun": sun,
    "umbrella": umbrella,
}
