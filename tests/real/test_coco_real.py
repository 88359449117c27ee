"""COCO's own rows and pictures, where they lie beside the repository: counts, and what becomes of odd rows."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from build_bench import prompting
from build_bench.builders.coco import CocoBuilder, CocoSettings
from build_bench.records import Draft, Rejection

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/samples is not beside the repository")

SPLITS: dict[str, tuple[str, dict[str, str]]] = {
    "val2014": ("coco", {}),
    "val2017": ("coco2017_subset", {"annotations": "annotations/instances_val2017.json", "pictures": "val2017"}),
    "train2017": ("coco2017_subset", {"annotations": "annotations/instances_train2017.json", "pictures": "train2017"}),
}


def planned(split: str) -> tuple[CocoBuilder, Any, list[Draft | Rejection]]:
    folder, settings = SPLITS[split]
    builder = CocoBuilder(CocoSettings(negatives="supercategory", **settings), seed=0)
    raw = builder.open(SAMPLES / folder, SAMPLES / "unused")
    return builder, raw, list(builder.plan(raw))


@pytest.mark.parametrize(
    ("split", "built", "rejected"),
    [
        ("val2014", {"6818", "122745", "184321", "297343"}, {"several_objects": 44, "no_annotation": 2}),
        ("val2017", {"6818", "122745", "184321", "297343"}, {"several_objects": 44, "no_annotation": 2}),
        ("train2017", {"60760", "166532", "191381", "360772"}, {"several_objects": 45, "no_annotation": 1}),
    ],
)
def test_of_fifty_images_four_show_one_object(split: str, built: set[str], rejected: dict[str, int]) -> None:
    builder, raw, outcomes = planned(split)
    drafts = [outcome for outcome in outcomes if isinstance(outcome, Draft)]
    assert {draft.source.key for draft in drafts} == built
    assert Counter(outcome.reason for outcome in outcomes if isinstance(outcome, Rejection)) == rejected
    assert raw.census.candidates == 50
    assert raw.gaps == ()
    for draft in drafts:
        plan = prompting.word(draft, prompting.load_pool("coco"), "coco", 0)
        (frame,) = builder.render(plan, raw)
        assert frame == (raw.root / builder.settings.pictures / plan.frames[0]).read_bytes()


def test_the_same_pictures_under_two_names_give_the_same_crops() -> None:
    crops = [
        {draft.source.key: draft.states for draft in planned(split)[2] if isinstance(draft, Draft)}
        for split in ("val2014", "val2017")
    ]
    assert crops[0] == crops[1]


def test_urls_escaped_twice_are_told_as_they_were_meant() -> None:
    for outcome in planned("val2017")[2]:
        if isinstance(outcome, Draft):
            assert "\\" not in outcome.source.license + outcome.source.url
            assert "http://creativecommons.org/licenses/" in outcome.source.license


ODD = {"zero-height": "zero_area", "thinner than 2 px": "below_floor", "iscrowd=1": "crowd"}


def odd_rows() -> list[tuple[str, dict[str, Any]]]:
    path = SAMPLES / "coco" / "odd_annotations.jsonl"
    lines = path.read_text().splitlines() if path.is_file() else []
    rows = [json.loads(line) for line in lines]
    return [(reason, row) for row in rows for kind, reason in ODD.items() if kind in row["kind"]]


@pytest.mark.parametrize(("reason", "row"), odd_rows())
def test_odd_real_annotations_are_rejected_for_the_right_reason(
    reason: str, row: dict[str, Any], tmp_path: Path
) -> None:
    annotation = row["annotation"]
    image = row.get("image", {"id": annotation["image_id"], "file_name": "a.jpg", "width": 640, "height": 480})
    categories = json.loads((SAMPLES / "coco" / "annotations" / "instances_val2014.json").read_text())["categories"]
    tables = {"images": [image], "annotations": [annotation], "categories": categories}
    (tmp_path / "annotations").mkdir()
    (tmp_path / "val2014").mkdir()
    (tmp_path / "annotations" / "instances_val2014.json").write_text(json.dumps(tables))
    builder = CocoBuilder(CocoSettings(negatives="supercategory"), seed=0)
    (outcome,) = builder.plan(builder.open(tmp_path, tmp_path))
    assert isinstance(outcome, Rejection)
    assert outcome.reason == reason
