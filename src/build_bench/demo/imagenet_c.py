"""A small ImageNet-C in its real layout: five tars of painted pictures under eight corruptions.

Like a copy of which a part was fetched, each picture is there under two of its eight corruptions: the one that seed 0
draws, and the one after it.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from build_bench.demo.imagenet_c_corruptions import CORRUPTIONS, corrupted
from build_bench.demo.imagenet_c_pictures import paint
from build_bench.raw_sources.imagenet_c_names import GROUPS, stem

COPIES = 2
"""Corruptions per picture."""


@dataclass(frozen=True, slots=True)
class Painted:
    """One picture of the demo: seed 0 draws `corruption` for its number; `defect` is what is wrong with it."""

    wnid: str
    painting: str
    number: int
    corruption: str
    defect: str = ""


PICTURES = (
    Painted("n12998815", "agaric", 537, "brightness"),
    Painted("n02782093", "balloon", 680, "contrast"),
    Painted("n04146614", "school bus", 817, "saturate"),
    Painted("n02814860", "beacon", 954, "defocus_blur"),
    Painted("n11939491", "daisy", 1100, "gaussian_noise"),
    Painted("n01443537", "goldfish", 1230, "jpeg_compression"),
    Painted("n02165456", "ladybug", 1359, "pixelate"),
    Painted("n07745940", "strawberry", 1499, "spatter"),
    Painted("n04398044", "teapot", 1633, "defocus_blur"),
    Painted("n09472597", "volcano", 1787, "spatter"),
    Painted("n06874185", "traffic light", 1916, "pixelate", "cut"),
    Painted("n04507155", "umbrella", 2045, "contrast", "no severity 3"),
)


def members(pictures: Sequence[Painted] = PICTURES) -> Iterator[tuple[str, str, bytes]]:
    """(group, name in the tar, JPEG) of every file."""
    groups = {corruption: group for group, names in GROUPS.items() for corruption in names}
    order = list(CORRUPTIONS)
    for picture in pictures:
        clean = paint(picture.painting, picture.number)
        first = order.index(picture.corruption)
        for corruption in (order[(first + step) % len(order)] for step in range(COPIES)):
            for severity in range(1, 6):
                data = corrupted(clean, corruption, severity, picture.number)
                if picture.defect == "no severity 3" and severity == 3:
                    continue
                if picture.defect == "cut" and severity == 2:
                    data = data[: len(data) * 6 // 10]
                yield groups[corruption], f"{corruption}/{severity}/{picture.wnid}/{stem(picture.number)}.JPEG", data


def write(root: Path) -> None:
    """Write `noise.tar`, `blur.tar`, `weather.tar`, `digital.tar`, `extra.tar` below `root`; the same each time."""
    pack(root, members())


def pack(root: Path, files: Iterator[tuple[str, str, bytes]]) -> None:
    """Pack (group, name, content) into a tar per group, sorted by name, as `tar` would from the folders."""
    packed: dict[str, list[tuple[str, bytes]]] = {group: [] for group in GROUPS}
    for group, name, data in files:
        packed[group].append((name, data))
    root.mkdir(parents=True)
    for group, content in packed.items():
        with tarfile.open(root / f"{group}.tar", "w", format=tarfile.GNU_FORMAT) as tar:
            for name, data in sorted(content):
                member = tarfile.TarInfo(name)
                member.size, member.mtime = len(data), 1_531_000_000
                tar.addfile(member, io.BytesIO(data))
