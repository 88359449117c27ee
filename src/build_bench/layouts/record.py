"""One line of `<DatasetName>_preprocessed.jsonl`, as the published evaluator reads it (proactivebench 0.1.1)."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from build_bench.errors import Rejected
from build_bench.records import Source

DATASETS = {
    "rod": "Realistic-Occlusion-Dataset",
    "vsod": "OcclusionDataSet-MM20",
    "mvp_n": "MVP-N",
    "imagenet_c": "ImageNet-C",
    "quickdraw": "QuickDraw",
    "changeit": "ChangeIt",
    "coco": "coco2014",
}
"""Scenario -> the evaluator's name of it."""

ENDING = "_preprocessed.jsonl"

Number = int | float


class Box(msgspec.Struct, frozen=True):
    """COCO's `crop`. But for zoom, `width` and `height` are the right and the bottom edge."""

    top: Number
    left: Number
    height: Number
    width: Number


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """The fields. Those of single datasets may be unset, and so may ours (`bench_...`), which the evaluator ignores."""

    id: int
    image_template: str
    first_image: int
    num_images: int
    prompt: str
    options: tuple[str, ...]
    categories: tuple[str, ...]
    answer: str
    reference_image: int
    strong_occlusions: bool | UnsetType = UNSET
    valid_images: tuple[int, ...] | UnsetType = UNSET
    quality_answer: str | UnsetType = UNSET
    step_size: int | UnsetType = UNSET
    max_steps: int | UnsetType = UNSET
    direction: str | UnsetType = UNSET
    granularity: int | UnsetType = UNSET
    horizontal_step: Number | UnsetType = UNSET
    vertical_step: Number | UnsetType = UNSET
    crop: Box | UnsetType = UNSET
    bench_id: str | UnsetType = UNSET
    bench_question_kind: str | UnsetType = UNSET
    bench_frames: tuple[str, ...] | UnsetType = UNSET
    """File names of the frames, in the order in which they are first shown."""
    bench_open_proactive: tuple[str, ...] | UnsetType = UNSET
    bench_open_categories: tuple[str, ...] | UnsetType = UNSET
    bench_source: Source | UnsetType = UNSET


REQUIRED = {
    "rod": (),
    "vsod": ("strong_occlusions",),
    "mvp_n": ("valid_images",),
    "imagenet_c": ("quality_answer",),
    "quickdraw": (),
    "changeit": ("step_size", "max_steps"),
    "coco": ("direction", "granularity", "horizontal_step", "vertical_step", "crop"),
}
"""The further fields without which the evaluator stops with a KeyError."""


def line_of(record: Record) -> bytes:
    """A record as its line, in ASCII: readers differ in the encoding they assume."""
    return json.dumps(msgspec.to_builtins(record)).encode("ascii") + b"\n"


def parse(line: bytes, scenario: str) -> Record:
    """The record on a line. Raises `Rejected`: `bad_json`, `bad_record`."""
    try:
        raw: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected("bad_json", str(error)) from error
    try:
        record = msgspec.convert(raw, Record)
    except msgspec.ValidationError as error:
        raise Rejected("bad_record", str(error)) from error
    for name in REQUIRED[scenario]:
        if getattr(record, name) is UNSET:
            raise Rejected("bad_record", f"the field `{name}` is missing")
    return record
