"""A job: tasks that know nothing of one another, each of which leaves its result on disk.

An engine tries tasks. What is said here goes for all engines: a task that fails is tried once more after the others;
what would end every task (a full disk) stops the job at once; in the end those that failed are named with reasons.
"""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from build_bench.errors import BuildBenchError, InputError
from build_bench.executors import notice

MANY = 8
"""Tasks that have failed twice, after which the rest isn't tried."""

TRIES = 2

_EVERYWHERE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}
"""What one task meets, all do."""

KEPT = "mend that, and run the same again: what is finished is kept"


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be spread. `do` is called on any machine: it must be picklable, and find its files there."""

    name: str
    """As a person calls it: "render coco"."""
    key: str
    """Equal if it is the same job: one that a cluster is still working on is waited for, not begun again."""
    folder: Path
    """Where an engine may keep records and logs; seen by all machines."""
    do: Callable[[int], object]
    """Do the task of this number; the result is on disk when it returns."""
    numbers: tuple[int, ...]
    """The tasks, in the order in which they should begin."""
    exists: Callable[[int], bool]
    """Whether a task's result is on disk."""
    seconds: float
    """What a task takes, about."""
    what: str
    """What a task is called: "shard"."""

    @property
    def record(self) -> Path:
        """Beside the folder while a cluster may be working on the job, whoever submitted it."""
        return self.folder.with_name(f"{self.folder.name}.json")


Outcome = tuple[int, BuildBenchError | None]
"""A task's number, and what ended it if it wasn't its work."""


class Engine(Protocol):
    """Tries tasks, several at a time."""

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        """What came of tasks, as they end. One that couldn't even begin need not be among them."""


class EverywhereError(InputError):
    """An error that every other task would meet too."""


def problem(error: BaseException) -> BuildBenchError:
    """What ended a task, for a person."""
    if isinstance(error, BuildBenchError):
        return error
    found = _named(error)
    found.__cause__ = error
    return found


def _named(error: BaseException) -> BuildBenchError:
    if isinstance(error, OSError) and error.errno in _EVERYWHERE:
        return EverywhereError(f"{error.filename or 'the work folder'} can't be written: {error.strerror}", KEPT)
    if isinstance(error, OSError):
        return InputError(str(error), KEPT)
    if isinstance(error, MemoryError):  # pyarrow's is one
        return BuildBenchError(
            "its memory ran out", "try fewer --workers, or on a cluster a larger memory_gb in its table of --config"
        )
    return BuildBenchError(
        f"unexpected {type(error).__name__}: {error}", "this is a mistake in build-bench: please report it"
    )


def spread(job: Job, engine: Engine) -> Iterator[int]:
    """Yield the number of each task as it is done. Raises what ended the job, when all else is done."""
    left = list(job.numbers)
    strikes: Counter[int] = Counter()
    dead: dict[int, BuildBenchError] = {}
    while left and len(dead) < MANY:
        done = set()
        failed: dict[int, BuildBenchError] = {}
        with closing(engine.attempt(job, left)) as outcomes:  # type: ignore[type-var]
            for number, why in outcomes:
                if why is None:
                    done.add(number)
                    yield number
                elif isinstance(why, EverywhereError):
                    raise why
                else:
                    failed[number] = why
                if len(failed) >= MANY:
                    break
        strikes.update([*failed])
        dead |= {number: why for number, why in failed.items() if strikes[number] >= TRIES}
        for number in left:  # those that were being done when an attempt was broken off
            if number not in done and job.exists(number):
                done.add(number)
                yield number
        left = [number for number in left if number not in done and number not in dead]
        if again := [number for number in failed if number in left]:
            first = failed[again[0]]
            notice(f"{job.name}: {len(again)} of {len(job.numbers)} {job.what}s tried again: {first.message}")
    if dead:
        raise _summary(job, dead, len(left)) from dead[min(dead)]


def _summary(job: Job, dead: dict[int, BuildBenchError], untried: int) -> BuildBenchError:
    """One error for all that failed, of the kind of the first."""
    first = dead[min(dead)]
    listed = "; ".join(f"{job.what} {number}: {dead[number].message}" for number in sorted(dead))
    if len({why.message for why in dead.values()}) == 1:
        listed = f"{job.what} {', '.join(map(str, sorted(dead)))}: {first.message}"
    rest = f"; {untried} were not tried after that" if untried else ""
    kind = type(first) if type(first) is not EverywhereError else InputError
    hint = first.hint or KEPT
    return kind(f"{job.name}: {len(dead)} of {len(job.numbers)} {job.what}s failed twice: {listed}{rest}", hint)
