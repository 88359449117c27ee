"""A Slurm cluster: an array job whose script lies in the work folder, submitted by datatrove and waited for here."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec

from build_bench import store
from build_bench.errors import BuildBenchError, InputError, NetworkError, UsageError
from build_bench.executors import notice
from build_bench.executors.jobs import Job, Outcome
from build_bench.executors.slurm_task import Task

LOOK = 2.0
"""Seconds between two looks at the results."""

ASK = 15.0
"""Seconds between two questions to Slurm, whose controller serves everybody."""

PATIENCE = 300.0
"""Seconds for which Slurm may not answer."""

LATE = 10.0
"""Seconds after the job's end in which a shared file system may still show new files."""

_PLAIN = re.compile(r"[\w./+@:=,-]+")

_LABEL = re.compile(r"^\s*\d+:(?=\s|$)")
"""What `srun -l` puts before a task's line."""

LONG = 100.0
"""Seconds of work in a job of the array, about: starting Python takes a few, which stay under 5 %."""


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """The table `slurm` of a configuration."""

    partition: str = ""
    """Empty: the cluster's default."""
    time: str = "04:00:00"
    """A job's limit."""
    memory_gb: int = 4
    """Per core."""
    cpus: int = 1
    """Per task."""
    gpus: int = 0
    """Per task, to predict."""
    account: str = ""
    qos: str = ""
    environment: str = ""
    """Shell commands that make build-bench's own Python the first on the PATH; empty: that which submits."""
    options: str = ""
    """Others of sbatch, as in "constraint=skylake exclude=n[1-3]"."""
    largest_array: int = 1001
    """The cluster's MaxArraySize."""

    def __post_init__(self) -> None:
        for name, least in (("memory_gb", 1), ("cpus", 1), ("gpus", 0), ("largest_array", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} = {getattr(self, name)}: expected at least {least}")
        for option in self.options.split():
            if not option.partition("=")[0].strip("-"):
                raise ValueError(f'options: {option!r}: expected NAME=VALUE, as in "constraint=skylake"')


class _Record(msgspec.Struct):
    """The job that was submitted last."""

    job: str
    """Its number; of one that is too large for an array, those of its arrays, with commas between."""
    key: str
    numbers: tuple[int, ...]

    @property
    def end(self) -> str:
        """The command that ends it."""
        return f"scancel {self.job.replace(',', ' ')}"


@dataclass(frozen=True, slots=True)
class OnSlurm:
    """Tasks of an array job, `workers` jobs at a time; None: as many as the cluster gives."""

    settings: SlurmSettings
    workers: int | None

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        """As `Engine`. If the same job was submitted before and isn't over, it is waited for."""
        _check_here(job.folder)
        record = self._running(job) or self._submit(job, numbers)
        try:
            yield from _wait(job, record, numbers)
        except (KeyboardInterrupt, GeneratorExit):
            if _alive(record.job):
                notice(
                    f"{job.name}: Slurm's job {record.job} goes on; the same command waits for it again, "
                    f"{record.end} ends it"
                )
            raise
        job.record.unlink(missing_ok=True)

    def _running(self, job: Job) -> _Record | None:
        try:
            record = msgspec.json.decode(job.record.read_bytes(), type=_Record)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        if not _alive(record.job):
            return None
        if record.key != job.key:
            raise BuildBenchError(
                f"{job.name}: Slurm's job {record.job} is still working on what is no longer asked for",
                f"end it with {record.end}, and run the same again",
            )
        notice(f"{job.name}: waiting for Slurm's job {record.job}, which was submitted before")
        return record

    def _submit(self, job: Job, numbers: Sequence[int]) -> _Record:
        from build_bench.executors.slurm_script import Script

        shutil.rmtree(job.folder, ignore_errors=True)
        job.folder.mkdir(parents=True)
        each = max(1, math.ceil(LONG / max(job.seconds, 0.001)))
        each = min(each, max(1, len(numbers) // self.workers if self.workers else len(numbers)))
        script = Script(
            job, Task(job.do, tuple(numbers), job.folder), self.settings, (len(numbers), each, self.workers)
        )
        try:
            script.run()
        except subprocess.CalledProcessError as error:
            if script.submitted:  # of several arrays, some are taken, then a limit is met
                subprocess.run(["scancel", *script.submitted], check=False)
            raise InputError(
                f"{job.name}: sbatch refused the job, and said why above",
                f"the script is {job.folder / 'launch_script.slurm'}; the table slurm of --config sets what is in it: "
                f"{', '.join(field.name for field in fields(self.settings))}",
            ) from error
        record = _Record(",".join(script.submitted), job.key, tuple(numbers))
        store.write_bytes(job.record, msgspec.json.encode(record))
        shown = f"{len(numbers):,} {job.what}{'s' * (len(numbers) != 1)}"
        notice(f"{job.name}: Slurm's job {record.job}, {shown}; logs and script in {job.folder}")
        return record


def _check_here(folder: Path) -> None:
    if not _PLAIN.fullmatch(str(folder)):
        raise UsageError(
            f"{folder}: a batch script can't name a folder with blanks, quotes or %", "choose another with --work"
        )
    if shutil.which("sbatch") is None or shutil.which("squeue") is None:
        raise UsageError("there is no sbatch here", "run it on a machine that submits to Slurm, or without --executor")
    if "SLURM_ARRAY_TASK_ID" in os.environ:
        raise UsageError("this runs inside an array job", "submit from a login node, or from a job that is no array")
    try:
        import datatrove  # noqa: F401
    except ImportError:
        raise UsageError("--executor slurm needs datatrove", "pip install 'build-bench[slurm]'") from None


def _wait(job: Job, record: _Record, numbers: Sequence[int]) -> Iterator[Outcome]:
    """Each of the tasks `numbers` as its result, or its failure, appears. The others of the job are done already."""
    left = dict.fromkeys(number for number in record.numbers if number in {*numbers})
    asked, gone_since, alive, began, told = 0.0, 0.0, True, False, ""
    while left:
        now = time.monotonic()
        if alive and now - asked >= ASK:
            states = _states(record.job)
            alive, gone_since = bool(states), now
            if asked and (why := _waits_for(states)) not in ("", told):
                told = why
                notice(f"{job.name}: Slurm's job {record.job} waits in the queue: {why}; {record.end} ends it")
            asked = now
        for number in [*left]:
            failure = Task.failure(job.folder, number)
            if job.exists(number) or failure:
                began = True
                del left[number]
                yield number, failure
        if left and not alive and now - gone_since >= LATE:
            break
        if left:
            time.sleep(LOOK)
    died = [number for number in left if Task.began(job.folder, number)]
    if left and not died and not began:
        raise BuildBenchError(
            f"{job.name}: Slurm's job {record.job} ended before any {job.what} began: {_last_words(job.folder)}",
            f"its logs are in {job.folder / 'slurm_logs'}; does a node see this Python, {sys.executable}, and the work "
            "folder? slurm.environment has the commands that a node needs first",
        )
    for number in died:
        why = f"its process died, or Slurm ended it (time, memory): {_last_words(job.folder)}"
        yield (
            number,
            BuildBenchError(why, f"logs are in {job.folder}; the table slurm of --config sets time and memory"),
        )


def _last_words(folder: Path) -> str:
    """The last line of the newest log that has one."""
    logs = sorted((folder / "slurm_logs").glob("*.out"), key=lambda path: path.stat().st_mtime, reverse=True)
    for log in logs:
        said = (_LABEL.sub("", line).strip() for line in log.read_text(errors="replace").splitlines())
        lines = [line for line in said if line and "Exited with exit code" not in line]
        if lines:
            return lines[-1][:300]
    return "it left no log"


def _waits_for(states: Sequence[str]) -> str:
    """Slurm's word for why nothing of a job runs yet; empty if something does, or Slurm doesn't know yet."""
    reasons = {reason for state, _, reason in (line.partition(" ") for line in states) if state == "PENDING"}
    reasons -= {"None", "Dependency"}
    return ", ".join(sorted(reasons)) if all(line.startswith("PENDING") for line in states) else ""


def _alive(job: str) -> bool:
    """Whether any of the job's tasks waits or runs."""
    return bool(_states(job))


def _states(job: str) -> list[str]:
    """State and reason of what waits or runs of a job. Raises `NetworkError` if Slurm doesn't answer for long."""
    until = time.monotonic() + PATIENCE
    while True:
        asked = subprocess.run(["squeue", "-h", "-j", job, "-o", "%T %r"], capture_output=True, text=True, check=False)
        if asked.returncode == 0:
            return asked.stdout.splitlines()
        if "Invalid job id" in asked.stderr:
            return []
        if time.monotonic() > until:
            raise NetworkError(f"Slurm doesn't answer: {asked.stderr.strip()}", "run the same again: the job goes on")
        time.sleep(LOOK)
