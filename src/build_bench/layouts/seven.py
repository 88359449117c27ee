"""The rules of the seven datasets (proactivebench 0.1.1, the classes of environment.py), one class each."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from build_bench.crops import DIRECTIONS
from build_bench.errors import Rejected
from build_bench.layouts.record import Record
from build_bench.layouts.rules import Game, Key, Look, Rules, play, safe
from build_bench.records import Option

OF_A_VIDEO = "This is a frame extracted from a video. Answer the following question."

HOLE = "natural_bluebl_greenr-banana-s6"
"""ROD's missing picture: where a path holds this, every "s6" in it becomes "s5" after a move left, else "s7"."""


def _first(record: Record) -> int:
    """The first image's number. Raises `Rejected` if no request could lead to it."""
    if record.first_image not in range(record.num_images):
        raise Rejected("image_out_of_range", f"first_image is {record.first_image} of {record.num_images}")
    return record.first_image


class Rod(Rules):
    """A circle of pictures. The hole is shown as the step beyond it, so it is two states."""

    hint = "Hint: moving the occluding object might reveal what is behind it."
    reference_question = "What type of object is in the image?"
    first_turn_answerable = False
    keys = {"to the left": "move_occluder_left", "to the right": "move_occluder_right"}  # noqa: RUF012

    @property
    def start(self) -> Key:
        return self._arrive(_first(self.record), "")

    def _arrive(self, image: int, action: str) -> int:
        """The image's number; of the hole, unless one comes from its right, a number beyond all others."""
        hole = HOLE in self.path(image=image)
        return image + self.record.num_images * (hole and action != "move_occluder_left")

    def look(self, key: Key) -> Look:
        path = self.path(image=key % self.record.num_images)
        if HOLE in path:
            path = path.replace("s6", "s7" if key >= self.record.num_images else "s5")
        return Look(path)

    def move(self, key: Key, action: str) -> Key:
        step = -1 if action == "move_occluder_left" else 1
        return self._arrive((key + step) % self.record.num_images, action)


class Vsod(Rules):
    """A circle of frames."""

    context = OF_A_VIDEO
    hint = (
        "Hint: If there is an occlusion, waiting for it to disappear or rewinding the video might reveal what's "
        "behind it."
    )
    keys = {"rewind the video.": "rewind", "wait for the": "wait"}  # noqa: RUF012

    def __init__(self, record: Record) -> None:
        if record.strong_occlusions is False:
            raise Rejected("not_strongly_occluded", "strong_occlusions is false: the evaluator's loader leaves it out")
        super().__init__(record)

    @property
    def start(self) -> Key:
        return _first(self.record)

    def path(self, **blanks: object) -> str:
        return super().path(image=str(blanks["image"]).zfill(4))

    def look(self, key: Key) -> Look:
        return Look(self.path(image=key))

    def move(self, key: Key, action: str) -> Key:
        return (key + (-1 if action == "rewind" else 1)) % self.record.num_images


class Line(Rules):
    """One picture after another; asking for more at the last ends the episode. A key counts the requests made."""

    @property
    def start(self) -> Key:
        return 0

    def image(self, key: Key) -> int:
        """The picture's number."""
        return int(self.record.first_image + key)

    def valid_images(self) -> Iterable[int]:
        """The numbers that a request may lead to."""
        return range(self.record.num_images)

    def look(self, key: Key) -> Look:
        return Look(self.path(image=self.image(key)))

    def move(self, key: Key, action: str) -> Key | None:
        if key + 1 >= self.record.num_images:
            return None
        image = self.image(key + 1)
        if image not in self.valid_images():
            raise Rejected("image_out_of_range", f"request {key + 1} leads to image {image}")
        return key + 1


class MvpN(Line):
    """The last view is the informative one."""

    hint = "Hint: rotating the object could provide a more informative view."
    keys = dict.fromkeys(("rotate", "view", "angle", "orientation", "different"), "change_view")
    many_keys = True

    def image(self, key: Key) -> int:
        valid = list(self.valid_images())
        if key and key >= len(valid):
            raise Rejected("image_out_of_range", f"request {key}: there are {len(valid)} valid images")
        return valid[key] if key else self.record.first_image

    def valid_images(self) -> Iterable[int]:
        return self.record.valid_images or range(self.record.num_images)

    def look(self, key: Key) -> Look:
        return Look(self._view(self.image(key), key + 1 == self.record.num_images))

    def reference(self) -> Look:
        return Look(self._view(self.record.reference_image, True))

    def _view(self, image: int, informative: bool) -> str:
        return self.path(image=str(image).zfill(4), informative=int(informative))


class ImageNetC(Line):
    """From severity 5 on downwards; one of the requests helps."""

    hint = "Hint: enhancing the image quality could help with classification."
    keys = {  # noqa: RUF012
        "brightness": "adjust_brightness", "contrast": "adjust_contrast", "saturation": "adjust_saturation",
        "deblur": "deblur", "denoise": "denoise", "compression": "reduce_compression",
        "resolution": "increase_resolution", "artifacts": "remove_artifacts",
    }  # fmt: skip

    def options(self) -> tuple[Option, ...]:
        if self.record.quality_answer not in self.record.options:
            raise Rejected("quality_answer_not_in_options", repr(self.record.quality_answer))
        return super().options()

    def is_valid(self, text: str) -> bool:
        return text == self.record.quality_answer

    def image(self, key: Key) -> int:
        return int(self.record.first_image - key)

    def valid_images(self) -> Iterable[int]:
        return range(1, 6)

    def path(self, **blanks: object) -> str:
        return super().path(level=blanks["image"])


class QuickDraw(Line):
    """Stroke by stroke."""

    hint = "Hint: Adding more details to the quickdraw could help with classification."
    keys = dict.fromkeys(("details", "quickdraw", "drawing", "sketch"), "add_details")

    def path(self, **blanks: object) -> str:
        return super().path(image=str(blanks["image"]).zfill(4))


class ChangeIt(Rules):
    """Back and forth by `step_size`; at the beginning one can't rewind, at the end one can't wait."""

    context = OF_A_VIDEO
    hint = (
        "Hint: If you cannot answer the question, waiting for it to appear or rewinding the video could help with "
        "classification."
    )
    keys = {"rewind the video.": "rewind", "wait for the": "wait"}  # noqa: RUF012

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.max_turns = int(record.max_steps or 0)
        self.step = int(record.step_size or 0)
        if self.step < 1:
            raise Rejected("bad_record", f"step_size is {record.step_size}")
        requests = [[text for text in record.options if word in text] for word in ("Rewind the video.", "Wait for the")]
        if [len(found) for found in requests] != [1, 1] or requests[0] != ["Rewind the video."]:
            raise Rejected("unknown_request", f"one to rewind and one to wait expected in {list(record.options)}")

    @property
    def start(self) -> Key:
        return _first(self.record)

    def look(self, key: Key) -> Look:
        return Look(self.path(image=key))

    def open(self, key: Key, options: tuple[Option, ...]) -> Iterable[int]:
        first, last = key - self.step < 0, key + self.step >= self.record.num_images
        closed = "rewind" if first else "wait" if last else None
        return (index for index, option in enumerate(options) if option.action != closed)

    def move(self, key: Key, action: str) -> Key:
        target = key + (-self.step if action == "rewind" else self.step)
        if not 0 <= target < self.record.num_images:
            raise Rejected("image_out_of_range", f"at image {key}, {action} leads to {target}")
        return target


class Coco(Rules):
    """One picture; each move takes the edge of the crop a step further. A key is (moves in y, moves in x)."""

    def __init__(self, record: Record) -> None:
        super().__init__(record)
        self.direction = str(record.direction)
        self._names = {*self.direction.split("_")}
        self.zoom = self.direction == "zoom"
        if not any(sorted(known.split("_")) == sorted(self.direction.split("_")) for known in DIRECTIONS):
            raise Rejected("unknown_direction", f"{self.direction!r} is none of {', '.join(DIRECTIONS)}")
        texts = {"Move farther from the object.": ("farther", "move_farther")} if self.zoom else {
            f"Move the camera {word}.": (word, f"move_camera_{name}")
            for name, word in {"left": "to the left", "right": "to the right", "up": "up", "down": "down"}.items()
            if name in self._names
        }  # fmt: skip
        self.keys = dict(texts.values())
        for text in record.options:
            if self.is_valid(text) and text not in texts:
                raise Rejected("unknown_request", f"{text!r} is none of {list(texts)}")
        self._gone: tuple[list[Any], list[Any]] = ([self._stored(0)], [self._stored(1)])
        g = int(record.granularity or 0)
        self.hint = f"Hint: {'zooming out' if self.zoom else 'moving the camera'} could help with classification."
        self.max_turns = g + 1 if self.zoom else g * len(self._names)
        self._end = [
            step * (self.max_turns if self.zoom else g) if self.zoom or self._names & ways else 0
            for step, ways in ((self._stored(0), {"up", "down"}), (self._stored(1), {"left", "right"}))
        ]

    @property
    def start(self) -> Key:
        _first(self.record)
        return 0, 0

    def path(self, **blanks: object) -> str:
        return safe(self.record.image_template)  # the evaluator fills nothing in

    def _stored(self, axis: int) -> Any:
        return self.record.horizontal_step if axis else self.record.vertical_step

    def _step(self, key: Key, axis: int) -> Any:
        """How far the edge has gone: after k moves k + 1 steps, reckoned anew at each move, as the evaluator does."""
        gone = self._gone[axis]
        while len(gone) <= key[axis]:
            gone.append(gone[-1] / len(gone) * (len(gone) + 1))
        return gone[key[axis]]

    def open(self, key: Key, options: tuple[Option, ...]) -> Iterable[int]:
        y, x = (self._step(key, axis) for axis in (0, 1))
        if self.zoom and x == self._end[1] and y != self._end[0]:
            raise Rejected("steps_drift", f"after {key[1]} moves one axis is at its end and the other is not")
        ended = {"left": x >= self._end[1], "up": y >= self._end[0], "farther": x == self._end[1]}
        ended |= {"right": ended["left"], "down": ended["up"]}
        for index, option in enumerate(options):
            if not ended.get(option.action.split("_")[-1], False):
                yield index

    def move(self, key: Key, action: str) -> Key:
        y, x = key
        if self.zoom:
            return y + 1, x + 1
        return (y, x + 1) if action in ("move_camera_left", "move_camera_right") else (y + 1, x)

    def look(self, key: Key) -> Look:
        crop: Any = self.record.crop
        y, x = (self._step(key, axis) for axis in (0, 1))
        moved = {name: self.zoom or name in self._names for name in ("left", "up", "right", "down")}
        edges = [
            crop.left - x * moved["left"], crop.top - y * moved["up"],
            crop.width + x * moved["right"] + crop.left * self.zoom,
            crop.height + y * moved["down"] + crop.top * self.zoom,
        ]  # fmt: skip
        left, top, right, bottom = map(round, edges)
        return Look(self.path(), (left, top, right, bottom))


RULES: dict[str, type[Rules]] = {
    "rod": Rod, "vsod": Vsod, "mvp_n": MvpN, "imagenet_c": ImageNetC, "quickdraw": QuickDraw, "changeit": ChangeIt,
    "coco": Coco,
}  # fmt: skip


def game(scenario: str, record: Record) -> Game:
    """What the evaluator makes of a record. Raises `Rejected`."""
    return play(RULES[scenario](record))
