"""A full disk, a folder that can't be written, a source that goes away in the middle: a sentence, and it can go on."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from build_bench import config, stages, store
from build_bench.builders.changeit import ChangeItBuilder
from build_bench.demo import SETTINGS
from build_bench.errors import InputError
from build_bench.executors.jobs import Job, Outcome
from build_bench.executors.local import Local
from build_bench.raw_sources.changeit import ChangeIt
from build_bench.records import Plan
from build_bench.store import Work, sha256
from tests.fakes import fake

NAME = "changeit"


def run(work: Work) -> dict[str, str]:
    stages.build(work, config.read([NAME], None, SETTINGS), [NAME], Local(1))
    return {path.name: sha256(path) for path in work.frames(NAME).iterdir()}


@pytest.fixture
def work(tmp_path: Path) -> Work:
    fake(NAME).write(tmp_path / "raw" / NAME)
    return Work(tmp_path / "work", tmp_path / "raw")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_disk_that_takes_no_more_is_named_and_what_is_finished_is_kept(
    code: int, work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(Work(tmp_path / "other", work.raw))
    assert len(whole) > 1
    written: list[int] = []
    fsync = os.fsync

    def full(file: int) -> None:
        if len(list(work.frames(NAME).glob("*.parquet"))) == 1:
            raise OSError(code, os.strerror(code))
        written.append(file)
        fsync(file)

    monkeypatch.setattr(store.os, "fsync", full)
    with pytest.raises(InputError) as failed:
        run(work)
    monkeypatch.undo()
    assert failed.value.message == f"{work.shard(NAME, 1)} can't be written: {os.strerror(code)}"
    assert not list(work.root.rglob("*.partial"))
    kept = work.shard(NAME, 0).stat().st_mtime_ns
    assert run(work) == whole
    assert work.shard(NAME, 0).stat().st_mtime_ns == kept


def test_a_source_that_goes_away_in_the_middle_rejects_no_sample(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(Work(tmp_path / "other", work.raw))
    videos, render = work.raw / NAME / "downloads", ChangeItBuilder.render

    def gone(self: ChangeItBuilder, plan: Plan, raw: ChangeIt) -> Iterator[bytes]:
        if work.shard(NAME, 0).exists() and videos.exists():
            videos.rename(tmp_path / "aside")
        return render(self, plan, raw)

    monkeypatch.setattr(ChangeItBuilder, "render", gone)
    with pytest.raises(InputError, match="changed while pictures were made of it"):
        run(work)
    monkeypatch.undo()
    (tmp_path / "aside").rename(videos)
    assert run(work) == whole


def test_a_source_that_is_gone_altogether_is_named(work: Work) -> None:
    run(work)
    shutil.rmtree(work.raw)
    with pytest.raises(InputError, match="changeit"):
        run(work)


class Remembers:
    """Does the work, and keeps the job: a cluster's goes on when whoever submitted it is killed."""

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        self.job = job
        yield from Local(1).attempt(job, numbers)


def test_a_job_that_outlives_its_driver_makes_nothing_twice_and_nothing_of_another_plan(work: Work) -> None:
    engine = Remembers()
    stages.build(work, config.read([NAME], None, SETTINGS), [NAME], engine)
    made = {path: path.stat().st_mtime_ns for path in work.frames(NAME).iterdir()}
    assert len(made) > 1
    engine.job.do(1)
    assert {path: path.stat().st_mtime_ns for path in work.frames(NAME).iterdir()} == made
    stages.build(work, config.read([NAME], None, [*SETTINGS, f"{NAME}.limit=3"]), [NAME], Local(1))
    made = {path: path.stat().st_mtime_ns for path in work.frames(NAME).iterdir()}
    with pytest.raises(InputError, match="changeit was planned otherwise meanwhile"):
        engine.job.do(1)
    assert {path: path.stat().st_mtime_ns for path in work.frames(NAME).iterdir()} == made
