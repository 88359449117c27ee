"""Beside three records of the published VSOD file, where they lie next to the repository; no video was at hand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from build_bench import prompting
from build_bench.builders.vsod import VsodBuilder, VsodSettings
from build_bench.builders.vsod_candidates import COUNTS
from build_bench.records import Draft, Rejection
from tests.fakes import vsod as fake

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples"
RECORDS = SAMPLES / "released_records" / "OcclusionDataSet-MM20_preprocessed.first3.jsonl"


@pytest.fixture(scope="module")
def records() -> list[dict[str, Any]]:
    if not RECORDS.exists():
        pytest.skip(f"{RECORDS.name} is not beside the repository")
    return [json.loads(line) for line in RECORDS.read_text().splitlines()]


def as_raw(root: Path, records: list[dict[str, Any]], strong: str) -> None:
    """Frames of the names and numbers that the records speak of, with a passer-by in the middle, and their answers."""
    rows = []
    for record in records:
        video = Path(record["image_template"]).parent.name
        first, count = record["first_image"], record["num_images"]
        fake.clip(root, video, [0.9 if at == first else None for at in range(count)])
        kind = "count" if record["answer"].rstrip(".").isdigit() else "speaker"
        # the other names of the record stand in rows of videos that aren't here
        rows.append(f"{video},{kind},{record['answer'].rstrip('.')},{first},,{strong}")
        if kind == "speaker":
            names = [name.rstrip(".") for name in record["categories"] if name != record["answer"]]
            rows += [f"{video}_{at},speaker,{name},,," for at, name in enumerate(names)]
    fake.table(root, *rows)


def outcomes(root: Path) -> list[Draft | Rejection]:
    builder = VsodBuilder(VsodSettings(), 0)
    return list(builder.plan(builder.open(root, root)))


def test_the_released_records_are_all_weak_so_none_is_used(records: list[dict[str, Any]], tmp_path: Path) -> None:
    assert not any(record["strong_occlusions"] for record in records)
    as_raw(tmp_path, records, "false")
    assert [one.reason for one in outcomes(tmp_path) if isinstance(one, Rejection)] == ["not_strongly_occluded"] * 3


def test_judged_as_strong_they_become_what_was_published(records: list[dict[str, Any]], tmp_path: Path) -> None:
    as_raw(tmp_path, records, "true")
    pool = prompting.load_pool("vsod")
    drafts = [one for one in outcomes(tmp_path) if isinstance(one, Draft)]
    for record, draft in zip(records, drafts, strict=True):
        plan = prompting.word(draft, pool, "vsod", 0)
        assert plan.answer == record["answer"]
        assert plan.start == record["first_image"]
        assert len(plan.frames) == plan.max_turns == record["num_images"]
        template = Path(record["image_template"]).name
        assert plan.frames == tuple(template.format(image=str(at).zfill(4)) for at in range(record["num_images"]))
        requests = {option.text for option in plan.options if option.kind == "proactive"}
        assert requests == {text for text in record["options"] if not re.search("cannot|do not", text.lower())}
        assert len(plan.options) == len(record["options"]) == 3
        assert len(plan.categories) == len(record["categories"]) == 4


def test_their_categories_are_such_as_ours_could_be(records: list[dict[str, Any]]) -> None:
    for record in records:
        for text in record["categories"]:
            assert prompting.category(text) == text
            assert not prompting.text_problem(text)
            if text.rstrip(".").isdigit():
                assert text.rstrip(".") in COUNTS
