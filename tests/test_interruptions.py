"""A run that dies at any point leaves nothing half-written, and running again ends in the same bytes."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from build_bench.builders import SCENARIOS

RUN = """
import os, sys
steps, last = 0, int(sys.argv.pop(1))
def hook(event, args):
    global steps
    if event in {"os.rename", "os.remove", "os.rmdir"} and not str(args[0]).endswith("lock"):
        steps += 1
        if steps == last:
            os._exit(9)
sys.addaudithook(hook)
from build_bench.cli import main
try:
    main()
finally:
    print("steps", steps)
"""
"""A build that is gone, as with SIGKILL, just before the n-th change to what lies on disk."""

SMALL = ["--scenario", "quickdraw", "--scenario", "coco", "--workers", "1"]


def run(folder: Path, last: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", RUN, str(last), "all", "--demo", *SMALL, "--work", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def digests(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in (folder / "dataset").rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], int]:
    folder = tmp_path_factory.mktemp("whole")
    done = run(folder, 0)
    assert done.returncode == 0, done.stderr
    return digests(folder), int(done.stdout.split()[-1])


@pytest.mark.parametrize("tenth", range(10))
def test_a_killed_build_goes_on_to_the_same_bytes(
    tenth: int, whole: tuple[dict[str, str], int], tmp_path: Path
) -> None:
    expected, steps = whole
    assert steps >= 10
    killed = run(tmp_path, 1 + tenth * (steps - 1) // 9)
    assert killed.returncode == 9, killed.stderr
    again = run(tmp_path, 0)
    assert again.returncode == 0, again.stderr
    assert digests(tmp_path) == expected
    assert not list(tmp_path.rglob("*.partial*"))


WATCHED = """
import os, sys
allowed = os.path.realpath(sys.argv.pop(1))
def hook(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.bind"}:
        print("NETWORK", event, args[1:], flush=True)
    if event == "open" and isinstance(args[0], str) and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        path = os.path.realpath(args[0])
        if not path.startswith((allowed, "/dev/")) and not path.endswith(".pyc") and "__pycache__" not in path:
            print("OUTSIDE", path, flush=True)
sys.addaudithook(hook)
from build_bench.cli import main
main()
"""


def test_a_build_opens_no_socket_and_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    scenarios = [word for name in SCENARIOS for word in ("--scenario", name)]
    command = [sys.executable, "-c", WATCHED, str(tmp_path), "all", "--demo", *scenarios, "--workers", "1"]
    done = subprocess.run([*command, "--work", str(tmp_path / "work")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith(("NETWORK", "OUTSIDE"))] == []
