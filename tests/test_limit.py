"""`--limit` and `--per-class`: as many samples as one asks for, the same ones each time, and said everywhere."""

from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from build_bench import builders, cli, config, planning, store
from build_bench.demo import SETTINGS
from build_bench.errors import UsageError
from build_bench.store import Work
from tests.fakes import fake

Row = dict[str, Any]


def plan(root: Path, scenario: str, limit: int | None, seed: int = 0) -> tuple[Work, planning.PlanStamp]:
    work = Work(root / f"work-{limit}", root / "raw")
    changes = [*SETTINGS, *([f"{scenario}.limit={limit}"] if limit else [])]
    return work, planning.plan(work, config.read([scenario], None, changes, seed), scenario)


def rows(work: Work, scenario: str) -> dict[str, Row]:
    return {row["id"]: row for row in pq.read_table(work.plans(scenario)).to_pylist()}


@pytest.fixture(scope="module", params=builders.SCENARIOS)
def scenario(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def folder(scenario: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `raw/` and the whole plan."""
    root = tmp_path_factory.mktemp(scenario)
    fake(scenario).write(root / "raw" / scenario)
    plan(root, scenario, None)
    return root


def test_a_limit_keeps_some_of_the_samples_as_they_are_and_passes_the_others_over(scenario: str, folder: Path) -> None:
    whole, all_ = plan(folder, scenario, None)
    work, stamp = plan(folder, scenario, 3)
    kept = rows(work, scenario)
    assert len(kept) == 3
    assert kept == {name: row for name, row in rows(whole, scenario).items() if name in kept}
    rejected = store.read_rejections(work.rejected(scenario))
    assert rejected == store.read_rejections(whole.rejected(scenario))
    assert stamp.candidates == 3 + len(rejected)
    assert stamp.candidates + stamp.passed_over == all_.candidates + all_.passed_over


def test_a_larger_limit_has_the_samples_of_a_smaller_one(scenario: str, folder: Path) -> None:
    whole = set(rows(plan(folder, scenario, None)[0], scenario))
    sizes = [1, 2, 4, len(whole) - 1, len(whole), len(whole) + 5]
    found = [set(rows(plan(folder, scenario, size)[0], scenario)) for size in sizes]
    assert [len(ids) for ids in found] == [*sizes[:-1], len(whole)]
    assert all(small <= large for small, large in itertools.pairwise(found))


def test_one_item_fewer_changes_one_choice_of_a_limit_for_each_of_its_samples(
    scenario: str, folder: Path, tmp_path: Path
) -> None:
    before = rows(plan(folder, scenario, 4)[0], scenario)
    gone = before[sorted(before)[1]]["source"]["key"]
    shutil.copytree(folder / "raw", tmp_path / "raw")
    fake(scenario).remove(tmp_path / "raw" / scenario, gone)
    after = rows(plan(tmp_path, scenario, 4)[0], scenario)
    lost = {name for name in before if name not in after}
    group = next(row["group"] for row in before.values() if row["source"]["key"] == gone)
    assert {before[name]["group"] for name in lost} <= {group} or scenario == "quickdraw"  # the next drawing moves up
    assert len(lost) <= 1 + sum(row["group"] == group for row in before.values())


def run(work: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli.group, [*arguments, "--work", str(work)], catch_exceptions=True)


def answer(work: Path, *arguments: str) -> dict[str, Any]:
    done = run(work, *arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Drawn, of three scenarios."""
    work = tmp_path_factory.mktemp("drawn")
    for name in ("quickdraw", "coco", "imagenet_c"):
        fake(name).write(work / "raw" / name)
    (work / "raw" / "DRAWN_BY_THE_DEMO").write_text("for the settings of a demo")
    return work / "raw"


@pytest.fixture
def drawn(sources: Path, tmp_path: Path) -> Path:
    """A work folder with them."""
    shutil.copytree(sources, tmp_path / "drawn" / "raw")
    return tmp_path / "drawn"


def test_only_what_the_limit_has_is_rendered_and_status_says_what_changed_without_it(drawn: Path) -> None:
    found = answer(drawn, "build", "coco", "quickdraw", "--limit", "3")["scenarios"]
    assert [found[name]["built"] for name in ("coco", "quickdraw")] == [3, 3]
    assert found["coco"]["frames"] == 3
    assert answer(drawn, "status", "--limit", "3")["scenarios"]["coco"]["stale"] == []
    (stale,) = answer(drawn, "status")["scenarios"]["coco"]["stale"]
    assert "limit = 3 then, none now" in stale


def test_the_manifest_tells_the_limit_that_the_plan_was_made_with(drawn: Path) -> None:
    answer(drawn, "build", "coco", "--limit", "2")
    manifest = answer(drawn, "assemble", "--scenario", "coco")
    assert manifest["scenarios"]["coco"]["settings"]["limit"] == 2
    card = (drawn / "dataset" / "README.md").read_text()
    assert "`limit = 2`" in card


def test_a_limited_release_is_built_again_to_the_byte(drawn: Path, tmp_path: Path) -> None:
    limit = ("--scenario", "coco", "--limit", "4")
    made = answer(drawn, "all", "--demo", *limit, "--release", "v1.0.0")
    kept = tmp_path / "kept"
    shutil.copytree(drawn / "releases" / "v1.0.0", kept)
    again = tmp_path / "again"
    shutil.copytree(drawn / "raw", again / "raw")
    rebuilt = answer(again, "all", "--demo", "--from-release", str(kept / "manifest.json"))
    assert rebuilt["differs"] == []
    assert rebuilt["scenarios"]["coco"]["built"] == made["scenarios"]["coco"]["built"] == 4
    refused = run(again, "all", "--demo", "--from-release", str(kept / "manifest.json"), "--limit", "5")
    assert refused.exit_code != 0
    assert "coco.limit = 5, not 4" in str(refused.exception)


def settings_of(work: Path, scenario: str) -> dict[str, Any]:
    stamp = planning.read_stamp(Work(work, work / "raw"), scenario)
    assert stamp
    return stamp.settings


def test_per_class_sets_it_where_there_are_classes(drawn: Path) -> None:
    found = answer(drawn, "build", "quickdraw", "coco", "--per-class", "2")["scenarios"]
    assert found["quickdraw"]["built"] == 24  # twelve words
    assert settings_of(drawn, "quickdraw")["per_class"] == 2
    assert "per_class" not in settings_of(drawn, "coco")
    answer(drawn, "build", "imagenet_c", "--only", "plan", "--per-class", "1", "--set", "imagenet_c.per_class=2")
    assert settings_of(drawn, "imagenet_c")["per_class"] == 2


def test_per_class_without_classes_is_refused_in_a_sentence(drawn: Path) -> None:
    refused = run(drawn, "build", "coco", "rod", "--per-class", "2")
    assert isinstance(refused.exception, UsageError)
    assert refused.exception.message == "--per-class 2: none of rod, coco has a number of items per class"


def test_the_configuration_file_has_both(tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text("limit = 7\nper_class = 3\n[coco]\nlimit = 9\n[imagenet_c]\nper_class = 4\n")
    read = config.read(["quickdraw", "coco", "imagenet_c"], file, ["imagenet_c.limit=1"])
    assert read.limits == {"quickdraw": 7, "coco": 9, "imagenet_c": 1}
    assert read.settings["quickdraw"].per_class == 3
    assert read.settings["imagenet_c"].per_class == 4


@pytest.mark.parametrize("text", ["limit = 0", "limit = 'many'", "limit = true", "[coco]\nlimit = -1"])
def test_a_wrong_limit_is_refused_by_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bench.toml"
    file.write_text(text + "\n")
    with pytest.raises(UsageError, match="limit"):
        config.read(["coco"], file)
