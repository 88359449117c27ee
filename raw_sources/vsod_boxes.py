"""The annotation of one VSOD frame: XML in the style of Pascal VOC, one file a frame.

Seen: a frame is occluded if it has an `object` directly under the root. Inferred, as no real file could be had:
`size/width`, `size/height` and `object/bndbox/xmin, ymin, xmax, ymax` in pixels (shared formats page `vsod`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

MOST_BYTES = 1 << 18
"""Of one file: room for a thousand boxes. More is no annotation of a frame."""

LONGEST_SIDE = (1 << 16) - 1
"""Of a JPEG, in pixels: a frame can't be larger."""

Box = tuple[float, float, float, float]
"""(xmin, ymin, xmax, ymax) in pixels."""


class BrokenXmlError(ValueError):
    """An annotation that can't be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Marked:
    """What one frame's file says."""

    occluded: bool
    boxes: tuple[Box, ...]
    size: tuple[int, int] | None
    """Width and height in pixels; None if the file doesn't say."""

    def covered(self, size: tuple[int, int]) -> float:
        """Share of a frame of `size` (width, height in pixels) under the boxes, overlaps counted once: 0 to 1."""
        width, height = self.size or size
        clipped = [
            (max(left, 0.0), max(top, 0.0), min(right, width), min(bottom, height))
            for left, top, right, bottom in self.boxes
        ]
        return _union([box for box in clipped if box[0] < box[2] and box[1] < box[3]]) / (width * height)


def parse(data: bytes) -> Marked:
    """Read one file. Raises `BrokenXmlError`: not well-formed, too long, with a DOCTYPE, or a box without numbers."""
    root = _tree(data)
    objects = root.findall("object")
    boxes = tuple(_box(found) for each in objects if (found := each.find("bndbox")) is not None)
    return Marked(bool(objects), boxes, _size(root))


def _tree(data: bytes) -> Element:
    """The elements. A DOCTYPE is refused, so there are no entities to expand and nothing to fetch."""
    if len(data) > MOST_BYTES:
        raise BrokenXmlError(f"{len(data):,} bytes, expected at most {MOST_BYTES:,}")

    def refuse(*_: object) -> None:
        raise BrokenXmlError("it has a DOCTYPE, and annotations need none")

    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(data, True)
    except BrokenXmlError:
        raise
    except (expat.ExpatError, ValueError, LookupError) as error:  # the last two: of an encoding that it can't have
        raise BrokenXmlError(f"not well-formed: {error}") from error
    return builder.close()


def _numbers(parent: Element, *names: str) -> tuple[float, ...]:
    texts = [(parent.findtext(name) or "").strip() for name in names]
    try:
        numbers = tuple(map(float, texts))
    except ValueError:
        numbers = (math.nan,)
    if not all(map(math.isfinite, numbers)):
        raise BrokenXmlError(f"{parent.tag}: {', '.join(names)} are {texts}, expected numbers")
    return numbers


def _box(found: Element) -> Box:
    left, top, right, bottom = _numbers(found, "xmin", "ymin", "xmax", "ymax")
    return left, top, right, bottom


def _size(root: Element) -> tuple[int, int] | None:
    """VOC files of some tools have a size of 0 x 0, or an empty one, which says as little as none, or as one that no
    frame can have."""
    found = root.find("size")
    try:
        width, height = map(int, _numbers(found, "width", "height")) if found is not None else (0, 0)
    except BrokenXmlError:
        return None
    return (width, height) if 0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE else None


def _union(boxes: list[Box]) -> float:
    """Area under boxes of positive sides: between neighbouring edges in x the covered length in y is constant."""
    if len(boxes) < 2:
        return sum((right - left) * (bottom - top) for left, top, right, bottom in boxes)
    edges = sorted({edge for box in boxes for edge in (box[0], box[2])})
    by_top = sorted(boxes, key=lambda box: box[1])
    area = 0.0
    for left, right in pairwise(edges):
        length, reached = 0.0, -math.inf
        for from_x, top, to_x, bottom in by_top:
            if from_x <= left and right <= to_x and bottom > reached:
                length += bottom - max(top, reached)
                reached = bottom
        area += (right - left) * length
    return area
