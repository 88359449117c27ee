"""What every scenario promises. A new one is in the registry, so it is in here; what it lacks fails by name."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from build_bench import builders, config, imaging, soundness, stages, standing
from build_bench.demo import SETTINGS
from build_bench.errors import InputError
from build_bench.executors.local import Local
from build_bench.records import ACTIONS
from build_bench.store import Work
from tests.fakes import fake

Row = dict[str, Any]


def build(root: Path, scenario: str, raw: Path, workers: int = 1) -> Work:
    work = Work(root, raw)
    settings = config.read([scenario], None, SETTINGS)
    stages.build(work, settings, [scenario], Local(workers))
    stages.assemble(work, settings, [scenario])
    return work


def rows_of(work: Work) -> dict[str, Row]:
    paths = sorted(work.dataset.glob("data/*/*/*.parquet"))
    return {row["id"]: row for path in paths for row in pq.read_table(path).to_pylist()}


def digests(work: Work) -> dict[str, str]:
    files = sorted(path for path in work.dataset.rglob("*") if path.is_file())
    return {str(path.relative_to(work.dataset)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module", params=builders.SCENARIOS)
def scenario(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def raw(scenario: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp(scenario) / "raw"
    fake(scenario).write(root / scenario)
    return root


@pytest.fixture(scope="module")
def built(scenario: str, raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Work:
    return build(tmp_path_factory.mktemp("built") / "work", scenario, raw)


@pytest.fixture(scope="module")
def rows(built: Work) -> list[Row]:
    return list(rows_of(built).values())


def test_something_is_built_and_something_rejected(built: Work, scenario: str) -> None:
    facts = standing.status(built, config.read([scenario], None, SETTINGS), [scenario])["scenarios"][scenario]
    assert facts["built"] >= 8
    assert facts["rejected"] >= 1
    assert facts["candidates"] == facts["built"] + facts["rejected"]
    assert facts["stale"] == []


def test_ids_are_unique_safe_and_made_of_source_keys(rows: list[Row], scenario: str) -> None:
    ids = [row["id"] for row in rows]
    assert ids == sorted(set(ids))
    for row in rows:
        assert row["id"].startswith(f"{scenario}-")
        assert row["id"].isascii()
        assert row["source"]["key"]


def test_every_row_can_be_played(rows: list[Row]) -> None:
    for row in rows:
        sizes = [imaging.decode(frame["bytes"]).size for frame in row["frames"]]
        assert list(soundness.problems(row, sizes)) == [], row["id"]


def test_asking_shows_something_else(rows: list[Row]) -> None:
    for row in rows:
        views = {
            hashlib.sha256(imaging.decode(row["frames"][s["frame"]]["bytes"], tuple(s["crop"])).tobytes()).digest()
            for s in row["states"]
        }
        assert len(views) >= 2, row["id"]


def test_texts_are_filled_and_say_nothing_of_this_machine(rows: list[Row]) -> None:
    for row in rows:
        assert row["question"]
        assert row["source"]["license"]
        assert row["source"]["url"].startswith("http") or not row["source"]["url"]
        names = [frame["path"] for frame in row["frames"]]
        assert all("/" not in name and "\\" not in name for name in names)
        assert {option["action"] for option in row["options"]} <= {"", *ACTIONS}


def test_names_that_are_no_text_stop_nothing(built: Work, scenario: str, raw: Path, tmp_path: Path) -> None:
    shutil.copytree(raw, tmp_path / "raw")
    for archive in sorted((tmp_path / "raw" / scenario).glob("*.tar*")):
        with tarfile.open(archive) as tar:
            tar.extractall(archive.parent, [one for one in tar if one.isfile()], filter="data")
        archive.unlink()
    odd = os.fsdecode(b"\xff")
    for folder in [path for path in (tmp_path / "raw" / scenario).rglob("*") if path.is_dir()]:
        (folder / odd).mkdir()
        for file in sorted(path for path in folder.iterdir() if path.is_file())[:1]:
            shutil.copy(file, folder / f"{odd}{file.suffix}")
    work = build(tmp_path / "work", scenario, tmp_path / "raw")
    assert rows_of(work) == rows_of(built)
    assert (
        standing.status(work, config.read([scenario], None, SETTINGS), [scenario])["scenarios"][scenario]["stale"] == []
    )


def test_every_position_of_the_answer_comes_up(rows: list[Row]) -> None:
    assert len({row["categories"].index(row["answer"]) for row in rows}) >= 3


def test_building_again_changes_nothing(built: Work, scenario: str) -> None:
    before = digests(built)
    times = {path: path.stat().st_mtime_ns for path in built.root.rglob("*.parquet")}
    build(built.root, scenario, built.raw)
    assert digests(built) == before
    assert {path: path.stat().st_mtime_ns for path in built.root.rglob("*.parquet")} == times


def test_workers_and_the_order_on_disk_change_no_byte(built: Work, scenario: str, tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    files = sorted((path for path in (built.raw / scenario).rglob("*") if path.is_file()), reverse=True)
    for path in files:
        target = raw / path.relative_to(built.raw)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    assert digests(build(tmp_path / "work", scenario, raw, workers=2)) == digests(built)


def test_the_order_of_items_changes_no_row(built: Work, scenario: str, tmp_path: Path) -> None:
    shutil.copytree(built.raw, tmp_path / "raw")
    fake(scenario).shuffle(tmp_path / "raw" / scenario)
    assert rows_of(build(tmp_path / "work", scenario, tmp_path / "raw")) == rows_of(built)


def test_one_item_fewer_changes_no_other_row(built: Work, scenario: str, tmp_path: Path) -> None:
    before = rows_of(built)
    gone = list(before)[len(before) // 2]
    shutil.copytree(built.raw, tmp_path / "raw")
    fake(scenario).remove(tmp_path / "raw" / scenario, before[gone]["source"]["key"])
    after = rows_of(build(tmp_path / "work", scenario, tmp_path / "raw"))
    assert gone not in after
    assert {name: row for name, row in after.items() if name in before} == {
        name: row for name, row in before.items() if name in after
    }
    assert len(before) - len(after) <= 1 + len([n for n in before if before[n]["source"] == before[gone]["source"]])


def test_another_seed_asks_otherwise(built: Work, scenario: str, tmp_path: Path) -> None:
    work = Work(tmp_path / "work", built.raw)
    stages.build(work, config.read([scenario], None, SETTINGS, seed=1), [scenario], Local(1), only=stages.PLAN)
    asked = {row["id"]: row["question"] for row in pq.read_table(work.plans(scenario)).to_pylist()}
    assert asked != {name: row["question"] for name, row in rows_of(built).items()}


def test_an_absent_source_is_named_with_what_to_do(scenario: str, tmp_path: Path) -> None:
    work = Work(tmp_path / "work", tmp_path / "raw")
    with pytest.raises(InputError) as absent:
        stages.build(work, config.read([scenario], None, SETTINGS), [scenario], Local(1))
    assert str(tmp_path / "raw" / scenario) in absent.value.message
    assert "--scenario" in absent.value.hint
