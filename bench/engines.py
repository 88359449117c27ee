"""What a second process gains, and what an engine's start-up costs beside the work of a shard.

QuickDraw: generated drawings, 345 words. ChangeIt: copies of one generated 720p video (bench/changeit_frames.py).
Rounds are interleaved. Start-up: a job of two tasks that do nothing, and of twenty more; Ray and Slurm where they are
installed.

    python bench/engines.py [--rounds N] [--drawings N] [--videos N] [--json FILE]
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import changeit_frames
from parts import drawings, results
from parts.results import Result

from build_bench import config, planning, rendering, shards
from build_bench.executors.jobs import Engine, Job, spread
from build_bench.executors.local import Local
from build_bench.executors.on_ray import OnRay, RaySettings
from build_bench.executors.on_slurm import OnSlurm, SlurmSettings
from build_bench.store import Work

TASKS = 20
SECONDS = 40
"""Of a video."""


def main() -> None:
    parser = results.options(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--drawings", type=int, default=100, metavar="N", help="of each word")
    parser.add_argument("--videos", type=int, default=24)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        sizes = {"quickdraw": asked.drawings, "changeit": asked.videos}
        found = [result for name, size in sizes.items() for result in two_processes(root, name, size, asked.rounds)]
        found += start_ups(root)
    print("\n| what | ours | peer | ratio | wanted |\n| --- | --- | --- | --- | --- |")
    for one in found:
        peer, gain = f"{one.peer:.2f}" if one.peer else "", f"{one.ratio:.2f}" if one.ratio else ""
        print(f"| {one.what} | {one.ours:.2f} {one.unit} | {peer} | {gain} | {one.wanted} |")
    results.write(asked.json, found)


def two_processes(root: Path, scenario: str, size: int, rounds: int) -> Iterator[Result]:
    """One process against two, and what a shard takes."""
    work = Work(root / scenario, root / "raw")
    if scenario == "quickdraw":
        drawings.write(work.raw / scenario, size)
        read = config.read([scenario], None, [f"quickdraw.per_class={size}"])
    else:
        videos(work.raw / scenario, size)
        read = config.read([scenario])
    planning.plan(work, read, scenario)
    cut = shards.cut(work, read, scenario)
    times: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for processes in times:
            shutil.rmtree(work.frames(scenario), ignore_errors=True)
            start = time.perf_counter()
            rendering.render(work, read, scenario, Local(processes))
            times[processes].append(time.perf_counter() - start)
    gain = statistics.median(one / two for one, two in zip(*times.values(), strict=True))
    one, two = (statistics.median(found) for found in times.values())
    samples = sum(shard.count for shard in cut)
    what = f"{scenario}, {samples:,} samples in {len(cut)} shards: two processes against one"
    yield Result(what, samples / two, samples / one, "samples/s", ">= 1.7", ratio=gain)
    yield Result(f"{scenario}: a shard", one / len(cut), None, "s")


def videos(root: Path, count: int) -> None:
    """One video under many names, half of its seconds labelled as the action."""
    categories = [f"thing{number}" for number in range(4)]
    for name in ("videos", *(f"annotations/{one}" for one in categories), *(f"downloads/{one}" for one in categories)):
        (root / name).mkdir(parents=True)
    rows = "".join(f'{name},"Thing Making",0.3\n' for name in categories)
    (root / "categories.csv").write_text(f"DIR_NAME,ACTION_NAME,CENTERING_PARAM\n{rows}")
    (root / "labels.csv").write_text("LABEL_ID,MEANING\n0,background/noannotation\n1,state1\n2,action\n3,state2\n")
    words = "".join(f"{name},thing {at},making thing {at}\n" for at, name in enumerate(categories))
    (root / "words.csv").write_text(f"category,object,action\n{words}")
    first = root / "first.mp4"
    changeit_frames.generate(first, SECONDS)
    third = SECONDS // 3
    labels = [0] * third + [1] * (third // 2) + [2] * third
    labels += [3] * (SECONDS - len(labels))
    for number in range(count):
        category, video = categories[number % 4], f"v1deo{number:06d}"
        with (root / "videos" / f"{category}.csv").open("a") as table:
            table.write(f"{video},0.9\n")
        annotated = "".join(f"{at},{label}\n" for at, label in enumerate(labels))
        (root / "annotations" / category / f"{video}.fps1.csv").write_text(annotated)
        os.link(first, root / "downloads" / category / f"{video}.mp4")
    first.unlink()


@dataclass(frozen=True)
class Nothing:
    """A task that takes no time."""

    folder: Path

    def __call__(self, number: int) -> None:
        (self.folder / str(number)).touch()

    def exists(self, number: int) -> bool:
        return (self.folder / str(number)).exists()


def seconds(folder: Path, engine: Engine, tasks: int) -> float:
    (folder / "done").mkdir(parents=True)
    nothing = Nothing(folder / "done")
    job = Job("nothing", str(folder), folder / "job", nothing, tuple(range(tasks)), nothing.exists, 0.01, "task")
    start = time.perf_counter()
    assert len(list(spread(job, engine))) == tasks
    return time.perf_counter() - start


def start_ups(root: Path) -> Iterator[Result]:
    """The first task of each engine, and what each further one adds."""
    engines: dict[str, Callable[[], Engine]] = {"local, 2 processes": lambda: Local(2)}
    if _there("ray"):
        engines["Ray on this machine"] = lambda: OnRay(RaySettings(memory_gb=0.5), 2)
    with _slurm(root / "slurm"):
        if shutil.which("slurmctld", path=f"{os.environ['PATH']}:/usr/sbin") and _there("datatrove"):
            engines["Slurm of one node"] = lambda: OnSlurm(SlurmSettings(memory_gb=1), 2)
        for name, made in engines.items():
            folder = root / name.partition(",")[0].replace(" ", "-")
            one = seconds(folder / "one", made(), 2)
            many = seconds(folder / "many", made(), TASKS + 2)
            yield Result(f"{name}: start of a job", one, None, "s")
            yield Result(f"{name}: each further task", max(many - one, 0) / TASKS, None, "s")


def _there(module: str) -> bool:
    try:
        __import__(module)
    except ImportError:
        return False
    return True


@contextmanager
def _slurm(folder: Path) -> Iterator[None]:
    """The tests' Slurm of one node, if it is installed; the folder has a name that a script can have."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import pytest

    from tests.executors.one_node_slurm import one_node_slurm

    try:
        with one_node_slurm(folder) as environment:
            os.environ |= {"SLURM_CONF": environment["SLURM_CONF"], "PYTHONPATH": str(Path(__file__).parent)}
            yield
    except pytest.skip.Exception as why:
        print(f"no Slurm: {why}")
        yield


if __name__ == "__main__":
    main()
