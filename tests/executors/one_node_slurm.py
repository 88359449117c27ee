"""A real Slurm of one node, for as long as a test needs it.

Its daemons run in the foreground as whoever runs the tests, root or not: no cgroups, no accounting, no systemd.
Debian and Ubuntu have it as `slurm-wlm`.
"""

from __future__ import annotations

import getpass
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

PARTITION = "tests"
_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo")
_PATIENCE = 60.0
"""Seconds for a start or a stop. Either takes one or two."""

_CONFIGURATION = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={run}/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={run}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdParameters=config_overrides
MailProg=/bin/true
ReturnToService=2
MaxArraySize=100001
MaxJobCount=200000
MinJobAge=3600
MessageTimeout=10
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=1048576
PartitionName={partition} Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@contextmanager
def one_node_slurm(folder: Path, cpus: int = 2) -> Iterator[dict[str, str]]:
    """Start it, and yield the environment in which `sbatch` and the others reach it; at the end, stop all of it.

    `folder` gets the configuration, the state and a log of each daemon. `cpus` may be more than the machine has.

    Skips the test where Slurm is not installed.

    Raises:
        RuntimeError: a daemon doesn't start, or the node doesn't become idle.
    """
    programs = _installed()
    folder = folder.resolve()
    (folder / "state").mkdir(parents=True)
    configuration = folder / "slurm.conf"
    of_another = ("SLURM", "SBATCH", "SRUN", "SQUEUE", "SCANCEL", "SINFO")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(of_another)}
    environment["SLURM_CONF"] = str(configuration)
    with ExitStack() as stack:
        # The address of a socket has at most 107 bytes, and a test's folder can be longer than that.
        run = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True)))
        configuration.write_text(_configured(folder, run, cpus), encoding="utf-8")
        (folder / "cgroup.conf").write_text(f"CgroupPlugin={_cgroups(programs['slurmd'])}\n", encoding="utf-8")
        stack.callback(_kill_left_behind, configuration)

        def start(name: str, *arguments: str, until: Callable[[], bool]) -> None:
            log = folder / f"{name}.log"
            daemon = stack.enter_context(_running([programs[name], *arguments], environment, log))
            _wait(daemon, log, until)

        def answers(*command: str) -> str:
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout.strip()

        key = run / "munge.key"
        key.touch(0o600)
        key.write_bytes(secrets.token_bytes(1024))
        files = {"socket": run / "munge", "key-file": key, "pid-file": run / "munged.pid", "seed-file": run / "seed"}
        munged = [f"--{name}={file}" for name, file in files.items()]
        start("munged", "--foreground", "--force", *munged, until=files["socket"].exists)
        start("slurmctld", "-D", until=lambda: answers("sinfo", "--noheader", "--format=%T") != "")
        start("slurmd", "-D", until=lambda: answers("sinfo", "--noheader", "--format=%T") == "idle")
        try:
            yield environment
        finally:
            answers("scancel", f"--user={getpass.getuser()}")
            before = time.monotonic() + _PATIENCE
            while answers("squeue", "--noheader", "--format=%i") and time.monotonic() < before:
                time.sleep(0.1)


def _installed() -> dict[str, str]:
    """Where each program is."""
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    found = {name: shutil.which(name, path=path) for name in _PROGRAMS}
    if missing := [name for name, where in found.items() if where is None]:
        pytest.skip(f"no Slurm to run on: {', '.join(missing)} not found (apt-get install slurm-wlm)")
    return {name: where for name, where in found.items() if where is not None}


def _cgroups(slurmd: str) -> str:
    """What makes slurmd leave cgroups alone: since 24.05 a word for it, before that v1, which nothing here uses."""
    told = subprocess.run([slurmd, "-V"], capture_output=True, text=True, check=False).stdout
    version = [int(number) for number in re.findall(r"\d+", told)[:2]]
    return "disabled" if version >= [24, 5] else "cgroup/v1"


def _configured(folder: Path, run: Path, cpus: int) -> str:
    with socket.socket() as one, socket.socket() as other:
        one.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return _CONFIGURATION.format(
            host=socket.gethostname().partition(".")[0],
            controller_port=one.getsockname()[1],
            node_port=other.getsockname()[1],
            user=getpass.getuser(),
            folder=folder,
            run=run,
            cpus=cpus,
            partition=PARTITION,
        )


@contextmanager
def _running(command: list[str], environment: Mapping[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon in a session of its own, so that Ctrl-C reaches the test first."""
    with log.open("wb") as lines:
        daemon = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=lines, stderr=lines, start_new_session=True
        )
    try:
        yield daemon
    finally:
        daemon.terminate()
        try:
            daemon.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _wait(daemon: subprocess.Popen[bytes], log: Path, until: Callable[[], bool]) -> None:
    before = time.monotonic() + _PATIENCE
    while not until():
        with suppress(subprocess.TimeoutExpired):
            status = daemon.wait(0.1)
            said = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
            raise RuntimeError(f"{log.stem} ended with {status} instead of serving: {said} (all of it: {log})")
        if time.monotonic() > before:
            raise RuntimeError(f"{log.stem} was not ready after {_PATIENCE:.0f} s: see {log}")


def _kill_left_behind(configuration: Path) -> None:
    """A job's process that left its parent is no longer known to Slurm."""
    mark = f"SLURM_CONF={configuration}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            variables = (process / "environ").read_bytes().split(b"\0")
            if mark in variables and any(variable.startswith(b"SLURM_JOB_ID=") for variable in variables):
                os.kill(int(process.name), signal.SIGKILL)
