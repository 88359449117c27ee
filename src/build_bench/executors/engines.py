"""Which engine does the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from build_bench.errors import UsageError
from build_bench.executors import cores
from build_bench.executors.jobs import Engine
from build_bench.executors.local import Local
from build_bench.executors.on_ray import OnRay, RaySettings
from build_bench.executors.on_slurm import OnSlurm, SlurmSettings

LOCAL, RAY, SLURM = "local", "ray", "slurm"
NAMES = (LOCAL, RAY, SLURM)
SETTINGS: Mapping[str, type] = {RAY: RaySettings, SLURM: SlurmSettings}
"""Their tables in a configuration."""


def engine(name: str, workers: int | None, settings: Mapping[str, Any]) -> Engine:
    """The engine `name`, with `workers` at a time. Raises `UsageError` if what it needs isn't installed."""
    if name == LOCAL:
        return Local(workers or cores())
    if name == SLURM:
        return OnSlurm(settings[SLURM], workers)
    try:
        import ray  # noqa: F401
    except ImportError:
        raise UsageError("--executor ray needs Ray", "pip install 'build-bench[ray]'") from None
    return OnRay(settings[RAY], workers)
