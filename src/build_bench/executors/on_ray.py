"""A Ray cluster: the one that is running, or one of this machine's cores.

Ray's own tasks, not datatrove's executor for Ray: it starts an actor and a pool of forked processes for each task, and
waits for ever if one of those is killed (docs/decisions/executors.md).
"""

from __future__ import annotations

import os
import socket
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from build_bench.errors import BuildBenchError, NetworkError, UsageError
from build_bench.executors import cores, notice
from build_bench.executors.jobs import Job, Outcome, problem

LOOK = 10.0
"""Seconds after which the cluster is asked again whether anything goes on."""

_START = "start it with ray start --head; the table ray of --config, or RAY_ADDRESS, names it as HOST:PORT"
_TOKEN = "this cluster wants a token: set RAY_AUTH_MODE=token where ~/.ray/auth_token is that of its head"


@dataclass(frozen=True, slots=True)
class RaySettings:
    """The table `ray` of a configuration."""

    address: str = ""
    """Of the cluster; empty: RAY_ADDRESS, or what `ray start` began on this machine, or one of this machine's cores."""
    cpus: float = 1.0
    """Per task."""
    memory_gb: float = 2.0
    """Per task."""
    gpus: float = 0.0
    """Per task, to predict."""

    def __post_init__(self) -> None:
        if self.cpus <= 0:
            raise ValueError(f"cpus = {self.cpus:g}: expected more than 0, or all tasks would begin at once")
        for name in ("memory_gb", "gpus"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} = {getattr(self, name):g}: expected at least 0")


@dataclass(frozen=True, slots=True)
class OnRay:
    """Tasks of a Ray cluster, `workers` at a time; None: as many as have room."""

    settings: RaySettings
    workers: int | None

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        """As `Engine`. What dies with its process or its node is begun again by Ray itself, a few times."""
        import ray

        self._connect()
        remote = ray.remote(_do).options(**self._needs(), name=job.name)
        do = ray.put(job.do)
        waiting, running = list(numbers), dict[Any, int]()
        try:
            while waiting or running:
                while waiting and len(running) < (self.workers or len(numbers)):
                    number = waiting.pop(0)
                    running[remote.remote(do, number)] = number
                ended, _ = ray.wait([*running], timeout=LOOK)
                for reference in ended:
                    yield running.pop(reference), _outcome(reference)
        finally:
            with suppress(Exception):  # a cluster that is gone already has ended them
                for reference in running:
                    ray.cancel(reference, force=True)

    def _connect(self) -> None:
        import ray

        ray._private.worker.print_to_stdstream = _told
        if ray.is_initialized():
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        address = self.settings.address or os.environ.get("RAY_ADDRESS")
        if address:
            _check_there(address)
        elif not _begun_here():  # not "auto", which joins that of another program and ends with it
            ray.init("local", num_cpus=self.workers or cores(), include_dashboard=False, **quiet)
            notice(f"on Ray, a cluster of this machine's own: {ray.cluster_resources().get('CPU', 0):g} cores")
            return
        try:
            ray.init(address, **quiet)
        except (ConnectionError, ValueError, ImportError) as error:
            raise NetworkError(
                f"Ray can't be reached at {address or 'its address'}: {error}",
                _TOKEN if "AuthenticationError" in str(error.__cause__) else _START,
            ) from error
        notice(f"on Ray: {len(_nodes())} nodes, {ray.cluster_resources().get('CPU', 0):g} cores")

    def _needs(self) -> dict[str, float]:
        """What a task reserves. Raises `UsageError` if no node has so much: Ray would wait for one."""
        needs = {
            "CPU": self.settings.cpus,
            "memory": self.settings.memory_gb * 2**30,
            "GPU": self.settings.gpus,
        }
        if not any(all(node.get(what, 0) >= amount for what, amount in needs.items()) for node in _nodes()):
            raise UsageError(
                f"no node of the Ray cluster has {self.settings.cpus:g} cores, {self.settings.memory_gb:g} GB of "
                f"memory and {self.settings.gpus:g} GPUs",
                "ask for less per task: --set ray.memory_gb=1, likewise ray.cpus and ray.gpus",
            )
        return {"num_cpus": needs["CPU"], "memory": needs["memory"], "num_gpus": needs["GPU"]}


def _begun_here() -> bool:
    """Whether there is a cluster that `ray start` began on this machine. One that was killed leaves its address."""
    from ray._private.utils import read_ray_address

    try:
        return _check_there(read_ray_address() or "")
    except NetworkError:
        return False


def _check_there(address: str) -> bool:
    """Whether `address` is HOST:PORT. Raises `NetworkError` if nothing listens there: Ray would try for minutes."""
    host, colon, port = address.rpartition("://")[2].rpartition(":")
    if not (colon and port.isdigit()):
        return False
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LOOK).close()
    except (OSError, OverflowError) as error:
        raise NetworkError(f"there is no Ray cluster at {address}: {error}", _START) from error
    return True


def _told(data: Mapping[str, Any], *_: object, **__: object) -> None:
    """What Ray says of a process that died: it would print a thousand characters, on stdout, where the result goes."""
    notice(textwrap.shorten(f"Ray: {' '.join(data['lines'])}", 160, placeholder=" ..."))


def _nodes() -> list[dict[str, float]]:
    """The resources of the nodes that are there."""
    import ray

    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _do(do: Callable[[int], object], number: int) -> tuple[str, BuildBenchError] | None:
    """On a node: the task, or where it ended and why."""
    try:
        do(number)
    except Exception as error:
        return socket.gethostname(), problem(error)
    return None


def _outcome(reference: Any) -> BuildBenchError | None:
    """What came of a task that has ended."""
    import ray

    failed: tuple[str, BuildBenchError] | None
    try:
        failed = ray.get(reference)
    except ray.exceptions.OutOfMemoryError:
        return BuildBenchError("Ray ended it for want of memory", "give a task more: --set ray.memory_gb=4")
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.NodeDiedError, ray.exceptions.ObjectLostError) as error:
        return BuildBenchError(f"its process or its node died: {_first_line(error)}", "run the same again")
    except ray.exceptions.RayError as error:
        return BuildBenchError(f"it couldn't begin: {_last_line(error)}", "is build-bench installed on every node?")
    if failed is None:
        return None
    host, why = failed
    return why if socket.gethostname() == host else type(why)(f"{why.message} (on {host})", why.hint)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def _last_line(error: Exception) -> str:
    return str(error).strip().rpartition("\n")[2]
