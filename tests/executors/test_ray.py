"""On a Ray cluster of two nodes: the same bytes; a worker or a node that dies is made up for."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from build_bench import config, demo, stages
from build_bench.builders import Builder
from build_bench.demo import SETTINGS
from build_bench.errors import InputError, NetworkError, UsageError
from build_bench.executors import on_ray
from build_bench.executors.engines import engine
from build_bench.executors.jobs import Engine, spread
from build_bench.executors.local import Local
from build_bench.executors.on_ray import OnRay, RaySettings
from build_bench.store import Work

from .test_local import begun, fails_always, job

ray = pytest.importorskip("ray", reason="Ray isn't installed")
pytestmark = pytest.mark.filterwarnings("default")  # Ray's own

NAMES = ["quickdraw", "coco"]
SMALL = RaySettings(memory_gb=0.1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes of one core each, on this machine."""
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def test_the_cluster_that_another_program_has_for_itself_is_not_joined(tmp_path: Path) -> None:
    """Each of two programs has its own."""
    (tmp_path / "connect.py").write_text(
        "import subprocess, sys\n"
        "from build_bench.executors.on_ray import OnRay, RaySettings\n"
        "OnRay(RaySettings(), 1)._connect()\n"
        "if sys.argv[1:]:\n"
        "    subprocess.run([sys.executable, __file__], check=True)\n"
    )
    environment = {name: text for name, text in os.environ.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "connect.py", "another"]
    with tempfile.TemporaryDirectory() as folder:  # where none is that anybody may join; a path of sockets is short
        environment["RAY_TMPDIR"] = folder
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert ended.stderr.count("on Ray, a cluster of this machine's own: 1 cores") == 2


def test_a_folder_named_from_here_is_found_on_nodes_that_began_elsewhere(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    work = Work(Path("work"), Path("work/raw"))
    demo.draw(work.raw, ["coco"])
    stages.build(work, config.read(["coco"], None, SETTINGS), ["coco"], OnRay(SMALL, None))
    assert [*work.frames("coco").iterdir()]


def test_a_cluster_that_was_killed_and_left_its_address_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "connect.py").write_text(
        "from build_bench.executors.on_ray import OnRay, RaySettings\nOnRay(RaySettings(), 1)._connect()\n"
    )
    with tempfile.TemporaryDirectory(prefix="r") as folder:  # short: sockets lie in it
        left = Path(folder, "ray", "ray_current_cluster")
        left.parent.mkdir()
        left.write_text("127.0.0.1:9")
        environment = {name: text for name, text in os.environ.items() if name != "RAY_ADDRESS"}
        ended = subprocess.run(
            [sys.executable, "connect.py"], cwd=tmp_path, env={**environment, "RAY_TMPDIR": folder},
            capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
    assert "on Ray, a cluster of this machine's own: 1 cores" in ended.stderr


def test_two_nodes_give_the_same_bytes_as_this_process(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Builder, "shard", 6)
    digests = []
    settings = config.read(NAMES, None, SETTINGS)
    ways: list[Engine] = [Local(1), OnRay(SMALL, None)]
    for number, way in enumerate(ways):
        work = Work(tmp_path / str(number), tmp_path / "raw")
        demo.draw(work.raw, NAMES)
        stages.build(work, settings, NAMES, way)
        shards = [path for name in NAMES for path in sorted(work.frames(name).iterdir())]
        assert len(shards) > 4
        digests.append([(path.name, hashlib.sha256(path.read_bytes()).hexdigest()) for path in shards])
    assert digests[0] == digests[1]


def dies_once(folder: Path, number: int) -> None:
    if number == 3 and begun(folder, number) == 1:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_is_made_up_for(cluster: Any, tmp_path: Path) -> None:
    assert sorted(spread(job(tmp_path, dies_once), OnRay(SMALL, None))) == list(range(12))
    assert begun(tmp_path, 3) == 2
    assert begun(tmp_path, 5) == 1


def waits_for_the_end_of_its_node(folder: Path, number: int) -> None:
    """The first task that comes to another node than the head says so, and waits; those on the head wait for that."""
    here = ray.get_runtime_context().get_node_id()
    if here != (folder / "head").read_text():
        with suppress(FileExistsError), (folder / "doomed").open("x") as file:
            file.write(f"{here} {number}")
            file.flush()
            (folder / "gate").write_text("")
            signal.pause()
    elif not (folder / "doomed").exists():
        (folder / "gate").read_text()


def test_a_node_that_is_lost_is_made_up_for(cluster: Any, tmp_path: Path) -> None:
    (tmp_path / "head").write_text(cluster.head_node.node_id)
    os.mkfifo(tmp_path / "gate")
    outcomes = spread(job(tmp_path, waits_for_the_end_of_its_node), OnRay(SMALL, None))
    done = [next(outcomes) for _ in range(11)]
    doomed, number = (tmp_path / "doomed").read_text().split()
    cluster.remove_node(next(node for node in cluster.list_all_nodes() if node.node_id == doomed))
    done.extend(outcomes)
    assert sorted(done) == list(range(12))
    assert begun(tmp_path, int(number)) == 2
    cluster.add_node(num_cpus=1)


def test_what_failed_twice_is_named_as_it_is_on_one_machine(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="2 of 12 shards failed twice: shard 4: video 4 is gone; shard 7: video 7"):
        list(spread(job(tmp_path, fails_always), OnRay(SMALL, 2)))


def test_what_no_node_has_is_refused_and_not_waited_for(cluster: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no node of the Ray cluster has 64 cores") as refused:
        list(spread(job(tmp_path, fails_always), OnRay(RaySettings(cpus=64), None)))
    assert "--set ray." in refused.value.hint


def test_settings_come_from_the_configuration_and_mistakes_are_named(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[ray]\nmemory_gb = 8\n[slurm]\npartition = "cpu"\ntime = "01:00:00"\n')
    read = config.read(NAMES, tmp_path / "c.toml", ["ray.cpus=2", "slurm.gpus=1"])
    assert read.engines["ray"] == RaySettings(cpus=2.0, memory_gb=8.0)
    assert (read.engines["slurm"].partition, read.engines["slurm"].gpus) == ("cpu", 1)
    assert engine("ray", 3, read.engines) == OnRay(RaySettings(cpus=2.0, memory_gb=8.0), 3)
    with pytest.raises(UsageError, match="setting of slurm called 'partitoin'"):
        config.read(NAMES, None, ["slurm.partitoin=x"])
    with pytest.raises(UsageError, match="slurm: options: '=x': expected NAME=VALUE"):
        config.read(NAMES, None, ["slurm.options==x"])


def test_an_address_at_which_nothing_listens_is_named_at_once(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for spelled in (address, f"ray://{address}"):
            with pytest.raises(NetworkError, match=f"no Ray cluster at {spelled}") as failed:
                on_ray._check_there(spelled)
            assert "ray start" in failed.value.hint


def test_what_ray_says_of_a_dead_worker_is_a_line_on_stderr(cluster: Any, capsys: pytest.CaptureFixture[str]) -> None:
    OnRay(SMALL, None)._connect()
    said = "A worker died or was killed while executing a task by an unexpected system error. " + "Lease ID: 0b " * 99
    ray._private.worker.print_to_stdstream({"lines": [said], "pid": "raylet", "is_err": False}, ignore_prefix=False)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("Ray: A worker died")
    assert len(printed.err.splitlines()) == 1
    assert len(printed.err) < 200
