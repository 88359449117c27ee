"""The batch script that is submitted, where there is no Slurm to run it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from build_bench.errors import BuildBenchError, InputError, UsageError
from build_bench.executors import on_slurm
from build_bench.executors.jobs import spread
from build_bench.executors.on_slurm import OnSlurm, SlurmSettings

from .test_local import job, nothing

pytest.importorskip("datatrove", reason="datatrove isn't installed")


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called sbatch that keeps the script, and a squeue that knows no job."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {
        "sbatch": f'for last; do :; done; cp "$last" {tmp_path}/script; echo "Submitted batch job 7"',
        "squeue": 'echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1',
    }.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr(on_slurm, "LATE", 0.0)
    return tmp_path / "script"


def test_the_script_says_what_the_configuration_says_and_lies_in_the_work_folder(
    submitted: Path, tmp_path: Path
) -> None:
    settings = SlurmSettings(
        partition="cpu", time="01:30:00", memory_gb=3, cpus=2, account="lab", options="exclude=n[1-3] exclusive"
    )
    asked = job(tmp_path, nothing, 1000)
    with pytest.raises(BuildBenchError, match="job 7 ended before any shard began: it left no log"):
        list(spread(asked, OnSlurm(settings, 5)))
    script = submitted.read_text()
    assert script == (asked.folder / "launch_script.slurm").read_text()
    for line in (
        "partition=cpu", "time=01:30:00", "mem-per-cpu=3G", "cpus-per-task=2", "account=lab", "exclude=n[1-3]",
        "exclusive", "job-name=render-coco", "array=0-4%5", f"output={asked.folder}/slurm_logs/%A_%a.out",
    ):  # fmt: skip
        assert f"#SBATCH --{line}\n" in script
    assert "qos" not in script
    assert f"export PATH={Path(sys.executable).parent}:$PATH\n" in script
    assert f"launch_pickled_pipeline {asked.folder}/executor.pik" in script


def test_a_job_of_several_arrays_is_known_by_all_of_them(submitted: Path, tmp_path: Path) -> None:
    sbatch = tmp_path / "bin" / "sbatch"
    sbatch.write_text(
        f'#!/bin/sh\necho x >> {tmp_path}/count; echo "Submitted batch job $(wc -l < {tmp_path}/count)"\n'
    )
    asked, engine = job(tmp_path, nothing, 50), OnSlurm(SlurmSettings(largest_array=20), 50)
    record = engine._submit(asked, asked.numbers)
    assert (record.job, record.end) == ("1,2,3", "scancel 1 2 3")


def test_arrays_that_were_taken_are_ended_when_the_next_is_refused(submitted: Path, tmp_path: Path) -> None:
    for name, text in {
        "sbatch": f'test ! -e {tmp_path}/full || exit 1; touch {tmp_path}/full; echo "Submitted batch job 7"',
        "scancel": f'echo "$@" > {tmp_path}/ended',
    }.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    asked, engine = job(tmp_path, nothing, 50), OnSlurm(SlurmSettings(largest_array=20), 50)
    with pytest.raises(InputError, match="sbatch refused the job"):
        list(spread(asked, engine))
    assert (tmp_path / "ended").read_text() == "7\n"
    assert not asked.record.exists()


def test_the_last_words_of_a_log_are_what_was_said_and_not_its_label(tmp_path: Path) -> None:
    (tmp_path / "slurm_logs").mkdir()
    (tmp_path / "slurm_logs" / "7_0.out").write_text("0: Fatal Python error: Aborted\n0: \n0:\n")
    assert on_slurm._last_words(tmp_path) == "Fatal Python error: Aborted"


def test_without_slurm_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="there is no sbatch here"):
        list(spread(job(tmp_path, nothing), OnSlurm(SlurmSettings(), None)))


@pytest.mark.parametrize("name", ["my work", "50%", "it's", "$HOME"])
def test_a_folder_that_a_script_can_not_name_is_refused(name: str, submitted: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't name a folder"):
        list(spread(job(tmp_path / name, nothing), OnSlurm(SlurmSettings(), None)))
    assert not submitted.exists()


def test_an_array_job_doesnt_submit_another(submitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    with pytest.raises(UsageError, match="inside an array job"):
        list(spread(job(tmp_path, nothing), OnSlurm(SlurmSettings(), None)))
    assert not submitted.exists()
