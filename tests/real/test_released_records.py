"""The six published records at hand: what becomes of them. Their pictures were not: those of ROD are drawn here."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from PIL import Image

from build_bench.errors import InputError
from build_bench.layouts.adopting import adopt
from build_bench.store import Work, read_rejections
from build_bench.verifying import verify
from tests.trees import rows_of

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples" / "released_records"
LISTS = SAMPLES.parents[1] / "reference" / "released_filter_ids.json"
ROD, VSOD = "Realistic-Occlusion-Dataset", "OcclusionDataSet-MM20"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/samples is not beside the repository")


@pytest.fixture
def release(tmp_path: Path) -> Path:
    for name in (ROD, VSOD):
        (tmp_path / f"{name}_preprocessed.jsonl").write_bytes(
            (SAMPLES / f"{name}_preprocessed.first3.jsonl").read_bytes()
        )
    return tmp_path


def draw(release: Path, records: int) -> None:
    for line in (release / f"{ROD}_preprocessed.jsonl").read_text().splitlines()[:records]:
        for step in range(14):
            path = release / json.loads(line)["image_template"].format(image=step)
            path.parent.mkdir(parents=True, exist_ok=True)
            data = io.BytesIO()
            Image.new("RGB", (64, 64), (step * 18, 0, 0)).save(data, "JPEG")
            path.write_bytes(data.getvalue())


def test_without_pictures_each_has_its_reason(release: Path, tmp_path: Path) -> None:
    work = Work(tmp_path / "work", tmp_path / "raw")
    with pytest.raises(InputError, match="no record"):
        adopt(release, work)
    assert [each.reason for each in read_rejections(work.rejected("rod"))] == ["missing_picture"] * 3
    assert [each.reason for each in read_rejections(work.rejected("vsod"))] == ["not_strongly_occluded"] * 3


def test_with_pictures_they_are_a_dataset(release: Path, tmp_path: Path) -> None:
    draw(release, 2)
    work = Work(tmp_path / "work", tmp_path / "raw")
    manifest = adopt(release, work, LISTS)
    assert verify(work.dataset)[1] == []
    assert manifest["scenarios"]["rod"]["rejected_by_reason"] == {"missing_picture": 1}
    assert manifest["scenarios"]["rod"]["splits"] == {"filtered": 2, "unfiltered": 2}
    row = rows_of(work.dataset)["rod-0"]
    assert row["question"] == "Given the context, what do you expect is behind the blue blocks?"
    assert (row["answer"], row["start"], row["max_turns"], row["first_turn_answerable"]) == ("Banana.", 7, 14, False)
    assert row["frames"][7]["path"] == "natural_bluebl_brownc-banana-s7.jpg"
    assert [option["action"] for option in row["options"]] == ["", "move_occluder_left", "move_occluder_right"]
