"""COCO's instances files as typed tables.

`{info, images, licenses, annotations, categories}` in any order of keys. Only the fields named below are decoded;
polygons are skipped over, never built: they are nine tenths of the file. A file that isn't JSON, or isn't of this kind,
is refused whole; a single row of a wrong type is set aside by name, and the others are kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Raw, Struct

from build_bench.errors import InputError

Id = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""Crowds have ids of twelve digits: 64 bits are needed, and are enough."""

Box = tuple[float, float, float, float]
_BOX = msgspec.json.Decoder(Box)


class Image(Struct, frozen=True, gc=False):
    """A row of `images`; width and height in pixels."""

    id: Id
    file_name: str
    width: int
    height: int
    coco_url: str = ""
    license: int | None = None


class Annotation(Struct, frozen=True, gc=False):
    """A row of `annotations`. The box stays raw until someone asks: one image in fifteen is."""

    id: Id
    image_id: Id
    category_id: int
    bbox: Raw
    iscrowd: int = 0

    def box(self) -> Box:
        """(x, y, width, height) in pixels, floats. Raises `msgspec.ValidationError` if it isn't four finite numbers."""
        box = _BOX.decode(self.bbox)
        if not all(map(math.isfinite, box)):
            raise msgspec.ValidationError(f"finite numbers expected, found {box}")
        return box


class Category(Struct, frozen=True):
    """A row of `categories`. Ids run from 1 to 90 with gaps: never an index."""

    id: int
    name: str
    supercategory: str = ""


class License(Struct, frozen=True):
    """A row of `licenses`: the terms of the pictures (the annotations are CC-BY-4.0)."""

    id: int
    name: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """A row that couldn't be decoded: `images[17]`, what is wrong with it, and whose it is if it says so."""

    section: str
    index: int
    problem: str
    image_id: int | None = None

    @property
    def name(self) -> str:
        return f"{self.section}[{self.index}]"


@dataclass(frozen=True, slots=True)
class Tables:
    """One instances file."""

    images: Sequence[Image]
    annotations: Sequence[Annotation]
    categories: Sequence[Category]
    licenses: Sequence[License]
    broken: Sequence[BrokenRow] = ()


T = TypeVar("T")


class _Layout(Struct, Generic[T]):
    """The keys that are read. A missing one is empty here and complained about later."""

    images: T | None = None
    annotations: T | None = None
    categories: T | None = None
    licenses: T | None = None


class _Strict(Struct):
    images: list[Image] | None = None
    annotations: list[Annotation] | None = None
    categories: list[Category] | None = None
    licenses: list[License] | None = None


def decode(data: memoryview, name: str) -> Tables:
    """The tables of an instances file: `data` are its bytes, which the boxes keep alive; `name` stands in errors.

    Raises `InputError` if this isn't JSON (with the byte), or is another kind of file (with what was expected).
    """
    if bytes(data[:3]) == b"\xef\xbb\xbf":  # some editors put a mark before the first byte
        data = data[3:]
    try:
        strict = msgspec.json.decode(data, type=_Strict)
    except msgspec.ValidationError:
        return _decode_row_by_row(data, name)
    except RecursionError:
        raise _too_deep(name) from None
    except msgspec.DecodeError as error:
        raise _not_json(error, name, len(data)) from None
    _check_sections(strict, name)
    return Tables(strict.images or (), strict.annotations or (), strict.categories or (), strict.licenses or ())


def _decode_row_by_row(data: memoryview, name: str) -> Tables:
    """Slower, and forgiving: what `decode` does when some row of the file is of a wrong type."""
    try:
        raw = msgspec.json.decode(data, type=_Layout[list[Raw]])
    except msgspec.ValidationError as error:
        raise _another_kind(data, str(error), name) from None
    except RecursionError:
        raise _too_deep(name) from None
    except msgspec.DecodeError as error:
        raise _not_json(error, name, len(data)) from None
    _check_sections(raw, name)
    broken: list[BrokenRow] = []
    return Tables(
        _rows(raw.images, Image, "images", broken),
        _rows(raw.annotations, Annotation, "annotations", broken),
        _rows(raw.categories, Category, "categories", broken),
        _rows(raw.licenses, License, "licenses", broken),
        broken,
    )


class _Owner(Struct):
    image_id: Id | None = None


class _Own(Struct):
    image_id: Id | None = msgspec.field(name="id", default=None)


_WHOSE: dict[str, type[_Own] | type[_Owner]] = {"images": _Own, "annotations": _Owner}
"""What is looked for in a row that is broken otherwise."""


def _rows(raws: list[Raw] | None, kind: type[T], section: str, broken: list[BrokenRow]) -> list[T]:
    """The rows that decode as `kind`; the others are appended to `broken`."""
    rows, decoder = [], msgspec.json.Decoder(kind)
    for index, raw in enumerate(raws or ()):
        try:
            rows.append(decoder.decode(raw))
        except msgspec.ValidationError as error:
            broken.append(BrokenRow(section, index, str(error), _image_of(raw, section)))
    return rows


def _image_of(raw: Raw, section: str) -> int | None:
    try:
        return msgspec.json.decode(raw, type=_WHOSE[section]).image_id if section in _WHOSE else None
    except msgspec.ValidationError:
        return None


def _check_sections(found: _Strict | _Layout[list[Raw]], name: str) -> None:
    """Captions have no categories, results no images: they look alike and hold no objects to build from."""
    for section in ("images", "annotations", "categories"):
        if getattr(found, section) is None:
            raise InputError(
                f"{name}: has no {section!r}, expected an instances file with images, annotations and categories",
                "instances_val2014.json is in annotations_trainval2014.zip; captions and detectors' results won't do",
            )


def _another_kind(data: memoryview, problem: str, name: str) -> InputError:
    expected = "expected an object with images, annotations and categories"
    if bytes(data[:64]).lstrip()[:1] == b"[":
        return InputError(
            f"{name}: is a list (a detector's results?), {expected}", "use instances_val2014.json, the ground truth"
        )
    return InputError(f"{name}: is another kind of file ({problem}), {expected}", "use instances_val2014.json")


def _too_deep(name: str) -> InputError:
    return InputError(
        f"{name}: lists or objects are nested too deep, no instances file is", "use instances_val2014.json"
    )


def _not_json(error: msgspec.DecodeError, name: str, size: int) -> InputError:
    found = re.search(r"\(byte (\d+)\)", str(error))
    place = int(found.group(1)) if found else size
    return InputError(
        f"{name}: not valid JSON at byte {place} of {size}: {error}", "fetch the file again; its checksum will differ"
    )
