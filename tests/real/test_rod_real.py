"""Beside three published records, where they lie next to the repository: no picture of ROD itself was at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from build_bench import jpeg, prompting
from build_bench.builders.rod import RodBuilder, RodSettings
from build_bench.imaging import decode
from build_bench.raw_sources.rod import NAME, classes
from build_bench.records import Draft, Plan

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
RECORDS = SAMPLES / "released_records" / "Realistic-Occlusion-Dataset_preprocessed.first3.jsonl"


def records() -> list[dict[str, Any]]:
    if not RECORDS.exists():
        pytest.skip(f"{RECORDS.name} is not beside the repository")
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[dict[str, Any], Plan]]:
    """Each record with our plan for pictures of the names that its template has; the pictures are empty."""
    root = tmp_path_factory.mktemp("real") / "rod"
    for record in records():
        for step in range(record["num_images"]):
            path = root / record["image_template"].format(image=step)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    builder, pool = RodBuilder(RodSettings(), 0), prompting.load_pool("rod")
    drafts = [draft for draft in builder.plan(builder.open(root, root.parent)) if isinstance(draft, Draft)]
    return list(zip(records(), [prompting.word(draft, pool, "rod", 0) for draft in drafts], strict=True))


def test_the_published_names_are_read(planned: list[tuple[dict[str, Any], Plan]]) -> None:
    for record, plan in planned:
        name = NAME.fullmatch(record["image_template"].format(image=13).rsplit("/", 1)[1])
        assert name
        assert name["attribute"] == record["attribute"]
        assert plan.frames == tuple(f"{name['stem']}-s{step}.jpg" for step in range(14))


def test_plans_say_what_the_published_records_say(planned: list[tuple[dict[str, Any], Plan]]) -> None:
    for record, plan in planned:
        requests = {text for text in record["options"] if text.startswith("Move")}
        assert {option.text for option in plan.options if option.action} == requests
        assert plan.answer == record["answer"]
        assert (plan.start, plan.max_turns) == (record["first_image"], record["num_images"])
        assert plan.reference.frame == record["reference_image"]
        assert "the blue blocks" in record["prompt"]
        assert "the blue blocks" in plan.question
        assert set(record["categories"]) <= {prompting.category(name) for name in classes()}


def test_real_photos_keep_their_pixels() -> None:
    photos = sorted([*SAMPLES.glob("coco/val2014/*.jpg"), *SAMPLES.glob("imagenet_val/*.JPEG")])
    if not photos:
        pytest.skip("no photos beside the repository")
    for path in photos:
        data = path.read_bytes()
        stripped = jpeg.stripped(data)
        assert {found.marker for found in jpeg.segments(stripped)} & {jpeg.APP1, 0xED, 0xFE} == set()
        assert decode(stripped).tobytes() == decode(data).tobytes()
