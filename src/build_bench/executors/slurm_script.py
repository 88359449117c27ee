"""The batch script and its submission, by datatrove, which splits large arrays and requeues what a node lost.

Imports datatrove: only where a job is submitted, or does its work.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from typing import Any

from datatrove.executor.slurm import SlurmPipelineExecutor
from loguru import logger

from build_bench.executors.jobs import Job
from build_bench.executors.on_slurm import SlurmSettings
from build_bench.executors.slurm_task import Task


class Script(SlurmPipelineExecutor):  # type: ignore[misc]
    """An array job that does `task`. `size`: tasks, tasks per job of the array, jobs at a time."""

    def __init__(self, job: Job, task: Task, settings: SlurmSettings, size: tuple[int, int, int | None]) -> None:
        self.submitted: list[str] = []
        """Of each array: a large job is several, one after another."""
        tasks, each, at_once = size
        options = [option.lstrip("-").partition("=") for option in settings.options.split()]
        account = {"account": settings.account} if settings.account else {}
        super().__init__(
            pipeline=[task],
            tasks=tasks,
            tasks_per_job=each,
            workers=at_once or -1,
            time=settings.time,
            partition=settings.partition,
            cpus_per_task=settings.cpus,
            mem_per_cpu_gb=settings.memory_gb,
            gpus_per_task=settings.gpus,
            qos=settings.qos,
            job_name=re.sub(r"[^\w.-]+", "-", job.name),
            env_command=settings.environment or f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH",
            sbatch_args={**account, **{name: value for name, _, value in options}},
            max_array_size=settings.largest_array,
            logging_dir=str(job.folder),
            slurm_logs_folder=str(job.folder / "slurm_logs"),
        )

    @property
    def job_id(self) -> str | None:
        """The array that was submitted last: the next one waits for it."""
        return self.submitted[-1] if self.submitted else None

    @job_id.setter
    def job_id(self, job: object) -> None:
        if job is not None:
            self.submitted.append(str(job))

    def get_sbatch_args(self, max_array: int = 1) -> dict[str, Any]:
        """Without a partition the cluster's default."""
        found: dict[str, Any] = super().get_sbatch_args(max_array)
        return {name: value for name, value in found.items() if name != "partition" or value}

    def launch_job(self) -> None:
        """What it says of itself is said by `on_slurm`."""
        logger.disable("datatrove")
        super().launch_job()

    def launch_merge_stats(self) -> None:
        """datatrove's statistics are not kept: no second job for them."""
