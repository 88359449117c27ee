"""ChangeIt's own annotations, where they lie beside the repository, with videos that the test makes to fit some."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from build_bench import manifests, prompting, soundness
from build_bench.builders.changeit import INFORMATIVE, ChangeItBuilder, ChangeItSettings
from build_bench.errors import Rejected
from build_bench.raw_sources.changeit import ChangeIt
from build_bench.records import Draft, Rejection
from build_bench.schema import plan_row
from tests.fakes.changeit import film

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples" / "changeit"
pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="shared/samples/changeit is not beside the repository")

POOL = prompting.load_pool("changeit")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("raw") / "changeit"
    shutil.copytree(SAMPLES, root)
    return root


@pytest.fixture(scope="module")
def everything_here(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[ChangeIt, list[Draft | Rejection]]:
    """As if every video had been downloaded: planning looks at names only."""
    root = tmp_path_factory.mktemp("all") / "changeit"
    shutil.copytree(copy, root)
    for path in root.glob("annotations/*/*.csv"):
        video = root / "downloads" / path.parent.name / f"{path.name.removesuffix('.fps1.csv')}.mp4"
        video.parent.mkdir(parents=True, exist_ok=True)
        video.touch()
    raw = ChangeIt(root)
    return raw, list(ChangeItBuilder(ChangeItSettings(), 0).plan(raw))


def test_what_is_planned_and_what_is_rejected(
    everything_here: tuple[ChangeIt, list[Draft | Rejection]],
) -> None:
    raw, found = everything_here
    reasons = Counter(each.reason for each in found if isinstance(each, Rejection))
    assert raw.census.candidates == len(found) == 2 * 293
    assert reasons == {"no_label": 13}
    assert raw.gaps == ()


def test_every_plan_can_be_played_and_has_an_id_of_its_own(
    everything_here: tuple[ChangeIt, list[Draft | Rejection]],
) -> None:
    drafts = [each for each in everything_here[1] if isinstance(each, Draft)]
    plans = [prompting.word(draft, POOL, "changeit", 0) for draft in drafts]
    assert len({plan.id for plan in plans}) == len(plans) == 573
    for plan in plans:
        assert list(soundness.problems(plan_row(plan))) == [], plan.id
        recipe = json.loads(plan.recipe)
        assert 0 < recipe["step_size"] < recipe["num_images"] < recipe["annotated"]
        assert recipe["labels"][plan.reference.frame] in INFORMATIVE[plan.question_kind]
        assert 2 <= len(plan.frames) <= 16
    begin_with_a_dash = [plan for plan in plans if "/-" in plan.source.key]
    assert begin_with_a_dash


def test_every_category_of_the_release_has_words() -> None:
    words = csv.DictReader(io.StringIO(manifests.text("annotations/changeit_words.csv")))
    release = csv.DictReader(io.StringIO((SAMPLES / "categories.csv").read_text()))
    assert [row["category"] for row in words] == [row["DIR_NAME"] for row in release]


def test_without_videos_each_is_listed_as_missing(copy: Path) -> None:
    raw = ChangeIt(copy)
    found = list(ChangeItBuilder(ChangeItSettings(), 0).plan(raw))
    assert Counter(each.reason for each in found if isinstance(each, Rejection)) == {
        "missing_video": 573, "no_label": 13
    }  # fmt: skip
    assert any("not in downloads/" in gap for gap in raw.gaps)


def test_videos_that_fit_their_annotation_are_rendered_and_one_that_doesnt_is_not(copy: Path, tmp_path: Path) -> None:
    root = tmp_path / "changeit"
    shutil.copytree(copy, root)
    rows = {path: len(path.read_text().split()) for path in root.glob("annotations/*/*.csv")}
    shortest = sorted(rows, key=lambda path: (rows[path], path.name))[:4]
    assert len(shortest) == 4
    for number, path in enumerate(shortest):
        video = root / "downloads" / path.parent.name / f"{path.name.removesuffix('.fps1.csv')}.mp4"
        film(video, range(10 * (rows[path] if number else rows[path] - 2)))
    builder, raw = ChangeItBuilder(ChangeItSettings(), 0), ChangeIt(root)
    outcomes: Counter[str] = Counter()
    for draft in [each for each in builder.plan(raw) if isinstance(each, Draft)]:
        plan = prompting.word(draft, POOL, "changeit", 0)
        try:
            assert len(list(builder.render(plan, raw))) == len(plan.frames)
            outcomes["rendered"] += 1
        except Rejected as why:
            outcomes[why.reason] += 1
    assert outcomes["frame_count"] in (1, 2)
    assert outcomes["rendered"] >= 3
    assert set(outcomes) == {"frame_count", "rendered"}
