"""On a real Slurm of one node, where it is installed: the same bytes; what is lost, cancelled or refused is said."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from build_bench import config, demo, predicting, predicting_in_parts, stages
from build_bench.builders import Builder
from build_bench.demo import SETTINGS
from build_bench.errors import BuildBenchError, InputError
from build_bench.executors import on_slurm
from build_bench.executors.jobs import Engine, spread
from build_bench.executors.local import Local
from build_bench.executors.on_slurm import OnSlurm, SlurmSettings
from build_bench.store import Work
from tests.asked import build, request, rows

from .one_node_slurm import one_node_slurm
from .test_local import begun, fails_always, fails_once, job, nothing

pytest.importorskip("datatrove", reason="datatrove isn't installed")

NAMES = ["quickdraw", "coco"]
SMALL = SlurmSettings(memory_gb=1, time="00:10:00")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with one_node_slurm(tmp_path_factory.mktemp("slurm"), 4) as environment:
        yield environment


@pytest.fixture(autouse=True)
def _reached(slurm: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment; asked often, as it serves nobody else."""
    monkeypatch.setenv("SLURM_CONF", slurm["SLURM_CONF"])
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))  # the tasks of the tests
    monkeypatch.setattr(on_slurm, "ASK", 0.5)
    monkeypatch.setattr(on_slurm, "LOOK", 0.1)
    monkeypatch.setattr(on_slurm, "LATE", 0.5)


def submitted() -> set[str]:
    shown = subprocess.run(["scontrol", "-o", "show", "job"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"ArrayJobId=(\d+)", shown))


def test_an_array_job_gives_the_same_bytes_as_this_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Builder, "shard", 6)
    digests = []
    settings = config.read(NAMES, None, SETTINGS)
    ways: list[Engine] = [Local(1), OnSlurm(SMALL, 2)]
    for number, way in enumerate(ways):
        work = Work(tmp_path / str(number), tmp_path / "raw")
        demo.draw(work.raw, NAMES)
        stages.build(work, settings, NAMES, way)
        shards = [path for name in NAMES for path in sorted(work.frames(name).iterdir())]
        assert len(shards) > 4
        digests.append([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in shards])
    assert digests[0] == digests[1]
    script = (work.jobs / "render-coco" / "launch_script.slurm").read_text()
    assert "#SBATCH --time=00:10:00" in script
    assert "#SBATCH --partition" not in script
    before = submitted()
    stages.build(work, settings, NAMES, OnSlurm(SMALL, 2))
    assert submitted() == before, "what is done is not submitted again"


def test_a_task_that_failed_is_submitted_once_more_and_then_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert sorted(spread(job(tmp_path / "a", fails_once), OnSlurm(SMALL, None))) == list(range(12))
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match=r"2 of 12 shards failed twice: shard 4: video 4 is gone \(on .*\); shard 7"):
        list(spread(job(tmp_path / "b", fails_always), OnSlurm(SMALL, None)))


def dies_once(folder: Path, number: int) -> None:
    if number == 3 and begun(folder, number) == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_job_that_is_killed_is_made_up_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(on_slurm, "LONG", 0.01)  # a task a job
    assert sorted(spread(job(tmp_path, dies_once), OnSlurm(SMALL, None))) == list(range(12))
    assert "its process died, or Slurm ended it" in capsys.readouterr().err
    assert [begun(tmp_path, number) for number in range(12)] == [1, 1, 1, 2, *[1] * 8]


def waits(folder: Path, number: int) -> None:
    """Until it may go on."""
    with (folder / "gate").open() as gate:
        gate.read()


def test_a_driver_that_went_away_waits_for_the_same_job_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "gate")
    engine, asked = OnSlurm(SMALL, None), job(tmp_path, waits, 2)
    record = engine._submit(asked, asked.numbers)
    before = submitted()
    outcomes = spread(asked, engine)
    done = []
    for _ in range(2):
        (tmp_path / "gate").write_text("")
        done.append(next(outcomes))
    assert done == [0, 1]
    assert list(outcomes) == []
    assert submitted() == before
    assert f"waiting for Slurm's job {record.job}, which was submitted before" in capsys.readouterr().err
    assert [begun(tmp_path, number) for number in (0, 1)] == [1, 1]


def test_of_a_job_that_is_waited_for_again_only_what_is_missing_is_counted(tmp_path: Path) -> None:
    engine, asked = OnSlurm(SMALL, None), job(tmp_path, nothing, 3)
    engine._submit(asked, asked.numbers)
    assert list(spread(replace(asked, numbers=(2,)), engine)) == [2]


def test_why_a_job_waits_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = []

    def told(text: str) -> None:
        said.append(text)
        if waiting := re.search(r"job (\d+) waits in the queue: \w+; scancel \1 ends it", text):
            subprocess.run(["scancel", waiting[1]], check=True)

    monkeypatch.setattr(on_slurm, "notice", told)
    with pytest.raises(BuildBenchError, match="ended before any shard began"):
        list(spread(job(tmp_path, nothing), OnSlurm(SlurmSettings(memory_gb=1, cpus=64), None)))
    assert sum("waits in the queue" in text for text in said) == 1


def test_a_job_for_a_former_plan_is_not_mixed_with_a_new_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    engine, old = OnSlurm(SMALL, None), job(tmp_path, waits, 2)
    record = engine._submit(old, old.numbers)
    with pytest.raises(BuildBenchError, match="no longer asked for") as refused:
        list(spread(job(tmp_path, waits, 3, key="another"), engine))
    assert f"scancel {record.job}" in refused.value.hint
    subprocess.run(["scancel", record.job], check=True)


def test_what_sbatch_refuses_is_said_with_the_script(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="sbatch refused the job") as refused:
        list(spread(job(tmp_path, fails_once), OnSlurm(SlurmSettings(partition="nowhere"), None)))
    assert "launch_script.slurm" in refused.value.hint


def test_an_environment_without_the_program_is_said_at_once(tmp_path: Path) -> None:
    settings = SlurmSettings(memory_gb=1, environment="export PATH=/usr/bin:/bin")
    with pytest.raises(BuildBenchError, match=r"ended before any shard began: .*launch_pickled_pipeline"):
        list(spread(job(tmp_path, fails_once), OnSlurm(settings, None)))


def test_a_model_is_asked_in_parts(tmp_path: Path) -> None:
    work = build(tmp_path / "work")
    predicting.predict(work, "baseline:first", request())
    expected = rows(work, "baseline:first").drop("created")
    shutil.rmtree(work.predictions)
    report = predicting_in_parts.predict(work, "baseline:first", request(), OnSlurm(SMALL, 2), 2)
    assert report["scenarios"]["coco"]["answered"] == len(expected)
    assert rows(work, "baseline:first").drop("created").equals(expected)
