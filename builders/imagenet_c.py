"""ImageNet-C: a badly corrupted photo, and four requests to improve it of which one helps (paper A.4).

Which corruption stands for which request, and what is done about those that are not monotone:
docs/decisions/imagenet-c-requests.md.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from build_bench import imaging
from build_bench.builders import Builder
from build_bench.builders.imagenet_c_classes import names, wrong
from build_bench.draws import Draw, ranks
from build_bench.errors import Rejected
from build_bench.raw_sources.imagenet_c import ImageNetC, Picture
from build_bench.raw_sources.imagenet_c_labels import classes
from build_bench.raw_sources.imagenet_c_names import SEVERITIES, stem
from build_bench.records import INVALID, PROACTIVE, Ask, Draft, DraftState, Framed, Plan, Rejection, Source, View

CHOICES = {
    "adjust_brightness": ("brightness",),
    "adjust_contrast": ("contrast",),
    "adjust_saturation": ("saturate",),
    "deblur": ("defocus_blur", "gaussian_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "denoise": ("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise"),
    "reduce_compression": ("jpeg_compression",),
    "increase_resolution": ("pixelate",),
    "remove_artifacts": ("spatter", "frost", "fog", "snow"),
}
"""Request -> the corruptions that it undoes. The evaluator's eight actions; A.4 speaks of eight corruptions."""

CLOSE = (
    ("deblur", "increase_resolution"),
    ("reduce_compression", "increase_resolution"),
    ("reduce_compression", "remove_artifacts"),
    ("adjust_brightness", "adjust_contrast"),
)
"""Requests that a careful viewer may make of the same picture: neither is offered as the other's wrong one."""

WRONG_REQUESTS = 3
"""A.4: four proactive suggestions, one of them valid."""

SIDE = 224
"""Pixels of a picture's sides (Resize(256), CenterCrop(224)); the 299 px edition is another set."""

RECORD = "https://zenodo.org/records/2235448"
LICENSE = "Apache-2.0 (ImageNet-C); the pictures under ImageNet's terms of access: research only, not to be passed on"


@dataclass(frozen=True, slots=True)
class ImageNetCSettings:
    """The tunables of `imagenet_c`."""

    per_class: int = 5
    """Pictures drawn of each class (A.4); those drawn for a smaller number are among those of a larger."""
    deblur: str = "defocus_blur"
    """The corruption behind "deblur": defocus_blur, gaussian_blur, glass_blur, motion_blur or zoom_blur."""
    denoise: str = "gaussian_noise"
    """Behind "denoise": gaussian_noise, shot_noise, impulse_noise or speckle_noise."""
    remove_artifacts: str = "spatter"
    """Behind "remove artifacts": spatter, frost, fog or snow."""

    def __post_init__(self) -> None:
        if self.per_class < 1:
            raise ValueError(f"per_class = {self.per_class}, expected at least 1")
        for action in ("deblur", "denoise", "remove_artifacts"):
            corruption, choices = getattr(self, action), CHOICES[action]
            if corruption not in choices:
                raise ValueError(f"{action} = {corruption!r}, expected one of {', '.join(choices)}")

    def corruptions(self) -> dict[str, str]:
        """Request -> the corruption that stands for it."""
        return {action: getattr(self, action, choices[0]) for action, choices in CHOICES.items()}


class ImageNetCBuilder(Builder[ImageNetC]):
    """One sample per drawn picture, five of each class, each under one corruption."""

    scenario = "imagenet_c"
    Settings = ImageNetCSettings
    reader = ImageNetC
    by_rule: ClassVar[frozenset[str]] = frozenset()
    settings: ImageNetCSettings

    def open(self, root: Path, scratch: Path) -> ImageNetC:
        return ImageNetC(root, scratch, tuple(self.settings.corruptions().values()))

    def facts(self) -> dict[str, Any]:
        return {"corruptions": self.settings.corruptions()}

    def prepare(self, raw: ImageNetC, plans: Iterator[Plan]) -> None:
        raw.prepare()

    def stamp(self, plan: Plan | Framed, raw: ImageNetC) -> str:
        return raw.stamp(_picture(plan))

    def plan(self, raw: ImageNetC) -> Iterator[Draft | Rejection]:
        for wnid, numbers in raw.images():
            order = np.argsort(ranks(numbers, self.seed, self.scenario, wnid, "image"))
            drawn = sorted(numbers[order[: self.settings.per_class]].tolist())
            raw.count(len(drawn), len(numbers) - len(drawn))
            for number in drawn:
                try:
                    yield self._draft(wnid, number, raw)
                except Rejected as why:
                    yield Rejection(_key(wnid, number), "plan", why.reason, why.detail)

    def _draft(self, wnid: str, number: int, raw: ImageNetC) -> Draft:
        """One picture's sample. Raises `Rejected`."""
        key = _key(wnid, number)
        draw = Draw(self.seed, self.scenario, key)
        # Drawn before looking at what is here: a tar that is absent costs its samples and changes no other.
        action = draw.choice("corruption", list(CHOICES))
        picture = Picture(self.settings.corruptions()[action], wnid, number)
        if wnid not in classes():
            raise Rejected("unknown_class", f"{wnid} is none of ImageNet's 1000 classes")
        if number in raw.contested:
            raise Rejected("several_classes", f"{stem(number)} lies in more than one class")
        if raw.truth and raw.truth[number - 1] != wnid:
            raise Rejected("label_mismatch", f"the ground truth says {raw.truth[number - 1]}")
        if problem := raw.problem(picture):
            raise Rejected(*problem)
        asks = _asks(action, draw)
        last = len(SEVERITIES) - 1
        return Draft(
            source=Source("ImageNet-C", key, RECORD, LICENSE),
            group=key,
            question_kind="object",
            asks=asks,
            answer=names()[wnid],
            distractors=wrong(wnid, draw),
            frames=tuple(f"{stem(number)}-{picture.corruption}-{severity}.JPEG" for severity in SEVERITIES),
            states=tuple(
                DraftState(
                    View(at), tuple((i, at + 1 if not i and at < last else -1) for i in range(len(asks)))
                )  # a wrong request ends the episode, and so does the right one where nothing is left to improve
                for at in range(len(SEVERITIES))
            ),
            reference=View(last),
            max_turns=len(SEVERITIES),
            recipe=json.dumps({"corruption": picture.corruption, "wnid": wnid, "number": number}),
        )

    def render(self, plan: Plan, raw: ImageNetC) -> Iterator[bytes]:
        """The five files' own bytes, each once every pixel of it has been decoded."""
        for data, name in zip(raw.frames(_picture(plan)), plan.frames, strict=True):
            try:
                imaging.decode(data)
            except Rejected as why:
                raise Rejected(why.reason, f"{name}: {why.detail}") from why
            header = Image.open(io.BytesIO(data))
            if header.format != "JPEG" or header.mode != "RGB":
                raise Rejected("not_a_jpeg", f"{name} is {header.format} in {header.mode}, expected JPEG in RGB")
            if header.size != (SIDE, SIDE):
                size = f"{header.width} x {header.height}"
                raise Rejected("picture_size", f"{name}: {size} px, expected {SIDE} x {SIDE}")
            yield data


def _asks(action: str, draw: Draw) -> tuple[Ask, ...]:
    """The valid request, then three wrong ones that nobody would take for it."""
    close = {action} | {other for pair in CLOSE if action in pair for other in pair}
    others = [other for other in CHOICES if other not in close]
    return Ask(action, PROACTIVE), *(Ask(o, INVALID) for o in draw.sample("wrong requests", others, WRONG_REQUESTS))


def _key(wnid: str, number: int) -> str:
    return f"{wnid}/{stem(number)}"


def _picture(plan: Plan | Framed) -> Picture:
    return Picture(**json.loads(plan.recipe))
