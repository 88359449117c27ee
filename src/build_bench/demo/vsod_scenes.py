"""What the demo's cameras see: a speaker, a group of people or an event, and who gets in the way.

Units as in `vsod_people`: the frame is 100 wide and 56.25 high.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from PIL import Image, ImageDraw, ImageFilter

from build_bench.demo.coco_objects import Colour, Pen, arc
from build_bench.demo.vsod_people import BOTTOM, SPEAKERS
from build_bench.draws import Draw

WIDTH, HEIGHT = 384, 216
FINER = 2
"""Supersampling."""

COATS: tuple[Colour, ...] = (
    (176, 64, 52), (58, 96, 150), (84, 132, 84), (214, 164, 66), (124, 84, 140), (70, 148, 152), (200, 116, 84),
)  # fmt: skip
SKINS: tuple[Colour, ...] = ((236, 190, 158), (240, 222, 208), (198, 148, 112), (142, 96, 68), (104, 68, 48))
HAIRS: tuple[Colour, ...] = ((34, 28, 26), (96, 60, 34), (190, 146, 78), (150, 70, 38), (200, 200, 198))


def ground(top: Colour, low: Colour, lights: tuple[tuple[float, float, float, Colour], ...] = ()) -> Image.Image:
    """A backdrop from `top` to `low`, with blurred discs (x, y, radius, colour) in it: RGB, WIDTH x HEIGHT."""
    shade = Image.linear_gradient("L").resize((WIDTH, HEIGHT))
    picture = Image.composite(Image.new("RGB", shade.size, low), Image.new("RGB", shade.size, top), shade)
    draw, unit = ImageDraw.Draw(picture), WIDTH / 100
    for x, y, radius, colour in lights:
        draw.ellipse([unit * v for v in (x - radius, y - radius, x + radius, y + radius)], fill=colour)
    return picture.filter(ImageFilter.GaussianBlur(5)) if lights else picture


def drawn(paint: Callable[[Pen], None]) -> Image.Image:
    """What `paint` draws, antialiased: RGBA, WIDTH x HEIGHT."""
    pen = Pen(WIDTH * FINER)
    paint(pen)
    return pen.layer.crop((0, 0, WIDTH * FINER, HEIGHT * FINER)).resize((WIDTH, HEIGHT), Image.Resampling.BOX)


def speaker(name: str, key: str) -> list[Image.Image]:
    """Two pictures of a speaker behind a microphone: mouth closed, mouth open."""
    draw = Draw(0, "demo vsod", key)
    hues = ((92, 110, 134), (128, 108, 96), (86, 118, 104), (116, 100, 128))
    wall = draw.choice("wall", hues)
    lights = tuple(
        (draw.integer(f"x {i}", 100), draw.integer(f"y {i}", 34), 3 + draw.integer(f"r {i}", 5),
         tuple(min(255, v + 22 + draw.integer(f"c {i}", 50)) for v in wall))
        for i in range(16)
    )  # fmt: skip
    back = ground(wall, tuple(v // 2 for v in wall), lights)  # type: ignore[arg-type]

    def paint(mouth: bool) -> Callable[[Pen], None]:
        def on(pen: Pen) -> None:
            SPEAKERS[name](pen, mouth)
            pen.line([(40, BOTTOM), (44.6, 37)], 0.9, (40, 42, 48))
            pen.ellipse(44.8, 35.4, 1.9, (22, 22, 26), 2.5)

        return on

    return [_over(back, drawn(paint(mouth))) for mouth in (False, True)]


def people(count: int, key: str) -> list[Image.Image]:
    """Two pictures of `count` people who stand in rows and sway a little."""
    draw = Draw(0, "demo vsod", key)
    back = ground((150, 184, 214), (206, 214, 200), ((14, 30, 16, (104, 146, 96)), (84, 28, 20, (92, 136, 92))))
    rows = [count] if count <= 5 else [count // 2, count - count // 2]

    def paint(sway: float) -> Callable[[Pen], None]:
        def on(pen: Pen) -> None:
            pen.box(0, 48, 100, BOTTOM, (150, 142, 128))
            for row, number in enumerate(rows):
                for i in range(number):
                    x = 50 + (i - (number - 1) / 2) * min(15.0, 84 / number) + (3.5 if row else 0)
                    y = (16 if len(rows) > 1 else 20) + row * 13 + draw.integer(f"height {row} {i}", 4)
                    _person(pen, x + sway * (-1) ** i, y, [draw.choice(f"{what} {row} {i}", pool) for what, pool in (
                        ("coat", COATS), ("skin", SKINS), ("hair", HAIRS))])  # fmt: skip

        return on

    return [_over(back, drawn(paint(sway))) for sway in (-0.25, 0.25)]


def _person(pen: Pen, x: float, y: float, colours: list[Colour]) -> None:
    coat, skin, hair = colours
    pen.polygon([(x - 6, y + 40), *arc(x - 2.4, y + 9, 3.6, 180, 270), *arc(x + 2.4, y + 9, 3.6, 270, 360),
                 (x + 6, y + 40)], coat)  # fmt: skip
    pen.ellipse(x, y - 0.6, 4.2, hair, 4.8)
    pen.ellipse(x, y + 0.6, 3.5, skin, 4.2)
    for eye in (-1.3, 1.3):
        pen.ellipse(x + eye, y + 0.4, 0.4, (30, 28, 32))
    pen.line([(x - 1, y + 2.8), (x + 1, y + 2.8)], 0.4, (150, 70, 66))


def football_match(key: str) -> list[Image.Image]:
    """A pitch from above the stand."""
    draw = Draw(0, "demo vsod", key)
    back = ground((64, 84, 110), (64, 132, 60))

    def paint(shift: float) -> Callable[[Pen], None]:
        def on(pen: Pen) -> None:
            for i in range(230):
                x, y = (i * 7.3 + draw.integer(f"seat {i}", 6)) % 100, 1 + (i * 7.3 // 100) * 1.1
                pen.ellipse(x, y, 0.9, draw.choice(f"fan {i}", COATS))
            for i in range(8):
                shade = (70, 146, 62) if i % 2 else (62, 132, 56)
                pen.polygon(
                    [(12.5 * i, 19), (12.5 * i + 12.5, 19), (25 * i - 75, BOTTOM), (25 * i - 100, BOTTOM)], shade
                )
            white = (236, 240, 232)
            pen.line([(0, 20), (100, 20)], 0.5, white)
            pen.line([(70, 20), (78, 40), (100, 40)], 0.6, white)
            pen.line([(90, 31), (90, 20), (100, 20)], 0.9, white)
            for i, (x, y) in enumerate(
                [(18, 26), (34, 38), (47, 27), (58, 44), (66, 30), (83, 27), (27, 47), (74, 48)]
            ):
                step, shirt = shift * (-1) ** i, ((208, 48, 46), (246, 246, 242))[i % 2]
                pen.line([(x - 0.9 - step, y + 7), (x, y + 3.6), (x + 0.9 + step, y + 7)], 0.9, (40, 44, 60))
                pen.box(x - 1.6, y - 1, x + 1.6, y + 4, shirt, 0.8)
                pen.ellipse(x, y - 2.2, 1.2, draw.choice(f"skin {i}", SKINS))
            pen.ellipse(51 + 3 * shift, 48, 1, (250, 250, 250))

        return on

    return [_over(back, drawn(paint(shift))) for shift in (-0.5, 0.5)]


def concert(key: str) -> list[Image.Image]:
    """A band under spotlights."""
    back = ground((26, 18, 44), (12, 10, 22))

    def paint(shift: float) -> Callable[[Pen], None]:
        def on(pen: Pen) -> None:
            for x, lean, colour in ((16, 14, (86, 44, 120)), (50, shift * 6, (120, 76, 50)), (84, -14, (40, 84, 124))):
                pen.polygon([(x - 1, 0), (x + 1, 0), (x + lean + 13, 44), (x + lean - 13, 44)], colour)
            pen.box(0, 42, 100, BOTTOM, (52, 40, 48))
            for x, coat in ((26, (60, 150, 160)), (52, (206, 60, 70)), (77, (214, 164, 66))):
                _person(pen, x, 18, [coat, SKINS[x % 3], HAIRS[x % 2]])
            pen.line([(52, 46), (52, 25), (51, 24)], 0.5, (190, 190, 196))
            for x in (26, 77):
                pen.line([(x - 6, 36), (x + 9, 27)], 1, (110, 72, 40))
                pen.ellipse(x - 4, 35, 3.6, (168, 92, 40), 3)
            for i in range(17):
                x, y = 3 + 6 * i, 51 + (i * 5 % 3) - shift * (-1) ** i
                pen.line([(x - 2.4, y - 5), (x, y + 4), (x + 2.4, y - 5)], 1, (10, 8, 16))
                pen.ellipse(x, y, 2.3, (10, 8, 16))
                pen.polygon([*arc(x, y + 6, 4, 180, 360)], (10, 8, 16))

        return on

    return [_over(back, drawn(paint(shift))) for shift in (-0.6, 0.6)]


def wedding(key: str) -> list[Image.Image]:
    """A couple under an arch of flowers."""
    draw = Draw(0, "demo vsod", key)
    back = ground((176, 206, 226), (226, 226, 206), ((10, 34, 18, (128, 168, 112)), (92, 36, 20, (118, 160, 104))))

    def paint(sway: float) -> Callable[[Pen], None]:
        def on(pen: Pen) -> None:
            pen.box(0, 47, 100, BOTTOM, (136, 170, 104))
            for i, (x, y) in enumerate(arc(50, 47, 27, 180, 360, ry=42, n=44)):
                pen.ellipse(x, y, 2.4, ((240, 178, 188), (250, 240, 236), (222, 112, 132), (110, 152, 96))[i % 4])
            _person(pen, 43 + sway, 17, [(36, 38, 48), SKINS[0], HAIRS[0]])
            pen.polygon([(40.6 + sway, 26), (43 + sway, 33), (45.4 + sway, 26)], (246, 246, 244))
            pen.polygon([(55, 14), (47, 53), (71, 53), (59, 14)], (250, 246, 244))  # veil and dress
            _person(pen, 57 - sway, 18, [(252, 248, 246), SKINS[1], HAIRS[1]])
            for i in range(6):
                pen.ellipse(49 + i % 3 * 1.9, 35 + i // 3 * 1.8, 1.4, ((222, 112, 132), (250, 214, 220))[i % 2])
            for i in range(14):
                x, y = draw.integer(f"petal x {i}", 100), (draw.integer(f"petal y {i}", 46) + 3 * sway) % 50
                pen.ellipse(x, y, 0.7, (250, 224, 228), 0.5)

        return on

    return [_over(back, drawn(paint(sway))) for sway in (-0.3, 0.3)]


EVENTS = {"Football match": football_match, "Concert": concert, "Wedding": wedding}


@cache
def passer(kind: str) -> tuple[Image.Image, Image.Image]:
    """Who passes in front of the camera, near and out of focus: RGB and mask, a third wider than a frame."""
    pen = Pen(WIDTH)
    PASSERS[kind](pen)
    wide = pen.layer.crop((0, 0, WIDTH, HEIGHT + 30)).resize((WIDTH * 5 // 4, HEIGHT + 30))
    padded = Image.new("RGBA", (wide.width + 40, wide.height))
    padded.paste(wide, (20, 0))
    blurred = padded.filter(ImageFilter.GaussianBlur(4))
    return blurred.convert("RGB"), blurred.getchannel("A")


def _coat(pen: Pen) -> None:
    pen.polygon([(6, 70), *arc(28, 34, 18, 180, 270, ry=20), *arc(72, 34, 18, 270, 360, ry=20), (94, 70)], (44, 50, 66))
    pen.ellipse(50, 12, 17, (58, 44, 38), 19)
    pen.line([(26, 24), (30, 70)], 4, (30, 34, 46))


def _umbrella(pen: Pen) -> None:
    pen.polygon([*arc(50, 44, 47, 180, 360, ry=43), (97, 66), (3, 66)], (168, 40, 48))
    for x in (20, 50, 80):
        pen.line([(50, 2), (x, 66)], 1.4, (126, 26, 34))


def _placard(pen: Pen) -> None:
    pen.box(6, 2, 94, 70, (232, 224, 204), 3)
    pen.box(11, 7, 89, 14, (120, 116, 108), 1)
    pen.box(11, 20, 72, 27, (150, 146, 138), 1)


def _bus(pen: Pen) -> None:
    pen.box(2, 2, 98, 70, (206, 152, 44), 5)
    for x in (8, 38, 68):
        pen.box(x, 9, x + 24, 28, (92, 112, 126), 2)
    pen.box(2, 36, 98, 40, (140, 98, 26))


def _hand(pen: Pen) -> None:
    pen.polygon([(30, 70), (33, 44), *arc(50, 44, 17, 180, 360, ry=8), (70, 70)], (206, 154, 122))
    for x in (36, 45, 54, 63):
        pen.line([(x, 48), (x + 1, 33)], 7, (206, 154, 122))


PASSERS: dict[str, Callable[[Pen], None]] = {
    "coat": _coat, "umbrella": _umbrella, "placard": _placard, "bus": _bus, "hand": _hand,
}  # fmt: skip


def _over(back: Image.Image, layer: Image.Image) -> Image.Image:
    picture = back.copy()
    picture.paste(layer.convert("RGB"), mask=layer.getchannel("A"))
    return picture
