"""Processes of this machine: one that dies takes nobody with it, and what fails is tried again and named."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from build_bench import executors
from build_bench.errors import BuildBenchError, InputError
from build_bench.executors import jobs, local
from build_bench.executors.jobs import Job, spread
from build_bench.executors.local import Local


@dataclass(frozen=True)
class Doing:
    """A task writes its number, after `before` has had its way."""

    folder: Path
    before: Callable[[Path, int], None]

    def __call__(self, number: int) -> None:
        with (self.folder / f"began-{number}").open("a") as file:
            file.write("x")
        self.before(self.folder, number)
        (self.folder / str(number)).write_text(str(number))


def job(folder: Path, before: Callable[[Path, int], None], count: int = 12, key: str = "k") -> Job:
    return Job(
        name="render coco",
        key=key,
        folder=folder / "job",
        do=Doing(folder, before),
        numbers=tuple(range(count)),
        exists=lambda number: (folder / str(number)).exists(),
        seconds=0.01,
        what="shard",
    )


def begun(folder: Path, number: int) -> int:
    return len((folder / f"began-{number}").read_text())


def first_time(folder: Path, number: int) -> bool:
    return begun(folder, number) == 1


def nothing(folder: Path, number: int) -> None:
    pass


def dies_once(folder: Path, number: int) -> None:
    if number == 3 and first_time(folder, number):
        os.kill(os.getpid(), signal.SIGKILL)


def dies_always(folder: Path, number: int) -> None:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)


def fails_once(folder: Path, number: int) -> None:
    if number % 5 == 0 and first_time(folder, number):
        raise OSError("the network folder went away")


def fails_always(folder: Path, number: int) -> None:
    if number in (4, 7):
        raise InputError(f"video {number} is gone", "get it back")


def all_fail(folder: Path, number: int) -> None:
    raise InputError("coco/val2014.zip: there is no such file", "get it back")


def has_a_mistake(folder: Path, number: int) -> None:
    if number == 2:
        raise ZeroDivisionError("one by none")


def disk_is_full(folder: Path, number: int) -> None:
    if number == 2:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / "2"))


@pytest.mark.parametrize("workers", [1, 2])
def test_every_task_is_done_once(workers: int, tmp_path: Path) -> None:
    assert sorted(spread(job(tmp_path, nothing), Local(workers))) == list(range(12))
    assert all(begun(tmp_path, number) == 1 for number in range(12))


def test_what_a_dead_worker_was_doing_is_done_again_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(spread(job(tmp_path, dies_once, 40), Local(2))) == list(range(40))
    assert "a worker process died" in capsys.readouterr().err
    assert sum(begun(tmp_path, number) for number in range(40)) <= 42


def test_a_task_that_kills_its_worker_is_named_and_the_others_are_done(tmp_path: Path) -> None:
    done: list[int] = []
    with pytest.raises(BuildBenchError, match=r"render coco: 1 of 12 shards failed twice: shard 3: its process died"):
        done.extend(spread(job(tmp_path, dies_always), Local(2)))
    assert sorted(path.name for path in tmp_path.glob("[0-9]*")) == sorted(map(str, {*range(12)} - {3}))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_failed_is_tried_once_more_after_the_others(
    workers: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sorted(spread(job(tmp_path, fails_once), Local(workers))) == list(range(12))
    assert "3 of 12 shards tried again: the network folder went away" in capsys.readouterr().err
    assert [begun(tmp_path, number) for number in range(12)] == [2 if number % 5 == 0 else 1 for number in range(12)]


@pytest.mark.parametrize("workers", [1, 2])
def test_all_that_failed_twice_are_named_when_the_rest_is_done(workers: int, tmp_path: Path) -> None:
    with pytest.raises(InputError) as failed:
        list(spread(job(tmp_path, fails_always), Local(workers)))
    assert failed.value.message == (
        "render coco: 2 of 12 shards failed twice: shard 4: video 4 is gone; shard 7: video 7 is gone"
    )
    assert failed.value.hint == "get it back"
    assert len(list(tmp_path.glob("[0-9]*"))) == 10


def test_what_fails_everywhere_is_not_tried_a_thousand_times(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"8 of 1000 shards .*: coco/val2014.zip: there is no such file; 992 were not"):
        list(spread(job(tmp_path, all_fail, 1000), Local(1)))
    assert len(list(tmp_path.glob("began-*"))) == jobs.MANY


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_it_in_one_sentence(workers: int, tmp_path: Path) -> None:
    with pytest.raises(InputError) as failed:
        list(spread(job(tmp_path, disk_is_full), Local(workers)))
    assert failed.value.message == f"{tmp_path / '2'} can't be written: No space left on device"
    assert "run the same again" in failed.value.hint
    assert begun(tmp_path, 2) == 1


def test_a_mistake_of_the_program_is_called_one(tmp_path: Path) -> None:
    with pytest.raises(BuildBenchError, match="unexpected ZeroDivisionError: one by none") as failed:
        list(spread(job(tmp_path, has_a_mistake), Local(1)))
    assert "mistake in build-bench" in failed.value.hint


def needs_more_memory_than_there_is(_folder: Path, _number: int) -> None:
    raise MemoryError


def test_want_of_memory_is_no_mistake_of_the_program(tmp_path: Path) -> None:
    with pytest.raises(BuildBenchError, match="its memory ran out") as failed:
        list(spread(job(tmp_path, needs_more_memory_than_there_is, 1), Local(1)))
    assert "--workers" in failed.value.hint


def test_results_come_back_from_processes_and_the_first_exception_ends_a_run() -> None:
    assert sorted(local.run(abs, [-3, 2, -1], 2)) == [1, 2, 3]
    with pytest.raises(TypeError):
        list(local.run(abs, ["x", 1], 2))  # type: ignore[list-item]


@pytest.mark.parametrize("module", ["driver", "task"], ids=["when it starts", "when it loads its task"])
def test_ctrl_c_ends_a_worker_amid_its_imports_without_a_traceback(module: str, tmp_path: Path) -> None:
    interrupting = (
        "import multiprocessing, os, signal\n"
        "if multiprocessing.current_process().name != 'MainProcess':\n"
        "    os.killpg(os.getpgrp(), signal.SIGINT)\n"
    )
    texts = {
        "task": "def do(number):\n    return number\n",
        "driver": "import signal\n"
        "from build_bench.executors import local\n"
        "if __name__ == '__main__':\n"
        "    signal.signal(signal.SIGINT, signal.default_int_handler)  # else a test in the background is deaf\n"
        "    from task import do\n"
        "    try:\n"
        "        list(local.run(do, [1, 2, 3], 2))\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted')\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(interrupting + text if name == module else text)
    command = [sys.executable, "driver.py"]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, start_new_session=True, timeout=60, check=False
    )
    assert (ended.stdout, ended.stderr) == ("interrupted\n", "")


def test_a_log_has_a_line_now_and_then_and_a_terminal_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with executors.Progress("render coco", 100, "samples") as progress:
        progress.add(1)
    assert capsys.readouterr().err == "", "nothing for what is over in seconds"
    monkeypatch.setattr(executors, "TELL", 0.0)
    with executors.Progress("render coco", 100, "samples") as progress:
        progress.mark("2 rejected")
        progress.add(50)
    line = capsys.readouterr().err
    assert line.startswith("render coco: 50 of 100 samples, ")
    assert line.endswith(" left, 2 rejected\n")
