"""Processes of this machine.

Not datatrove's local executor, nor a `multiprocessing.Pool`: when a worker is killed they wait for its task for ever
(docs/decisions/executors.md).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import connection
from typing import TypeVar

from build_bench.errors import BuildBenchError
from build_bench.executors import notice
from build_bench.executors.jobs import Job, Outcome, problem

_INTERRUPTED = 130
"""The exit status of a worker that Ctrl-C ended."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Local:
    """`workers` processes; one: this process."""

    workers: int

    def attempt(self, job: Job, numbers: Sequence[int]) -> Iterator[Outcome]:
        """As `Engine`."""
        alone = len(job.numbers) == 1  # but not one that is tried again: it may kill its process
        for number, outcome in each(job.do, numbers, 1 if alone else self.workers):
            yield number, problem(outcome) if isinstance(outcome, Exception) else None


def _died() -> BuildBenchError:
    """A process ended in the middle of a task."""
    return BuildBenchError(
        "its process died (killed, or out of memory)", "with fewer --workers less memory is needed at a time"
    )


def run(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[R]:
    """Yield `function(task)` for each task, as they finish. The first exception ends the run."""
    for _, outcome in each(function, tasks, workers if len(tasks) > 1 else 1):
        if isinstance(outcome, Exception):
            raise outcome
        yield outcome


def each(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[tuple[T, R | Exception]]:
    """Yield each task with its result or its exception, as they finish.

    If a worker dies, what wasn't finished is done again by half as many processes, since memory is the usual reason.
    One that dies alone was killed by what it was doing, and that is named.
    """
    if workers <= 1:
        yield from ((task, _result(function, task)) for task in tasks)
        return
    left, processes = list(range(len(tasks))), min(workers, len(tasks))
    while left:
        done = set()
        broken = False
        for at, outcome in _in_pool(function, {at: tasks[at] for at in left}, processes):
            if isinstance(outcome, BrokenProcessPool):
                broken = True
            else:
                done.add(at)
                yield tasks[at], outcome
        left = [at for at in left if at not in done]
        if broken and processes == 1:
            yield tasks[left.pop(0)], _died()
            processes = max(1, workers // 2)
        elif broken:
            processes = max(1, processes // 2)
            notice(f"a worker process died (killed, or out of memory): going on with {processes}")


def _result(function: Callable[[T], R], task: T) -> R | Exception:
    try:
        return function(task)
    except Exception as error:
        return error


def _in_pool(function: Callable[[T], R], tasks: Mapping[int, T], workers: int) -> Iterator[tuple[int, R | Exception]]:
    # Not fork: the threads of polars and pyarrow don't survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_begin) as pool:
        futures: dict[Future[R], int] = {}
        with suppress(BrokenProcessPool), _undisturbed():  # a worker died meanwhile: those submitted say so too
            for at, task in tasks.items():
                futures[pool.submit(function, task)] = at
        try:
            for future in as_completed(futures):
                error = future.exception()
                if error is None:
                    yield futures[future], future.result()
                elif isinstance(error, Exception):
                    yield futures[future], error
                else:
                    raise KeyboardInterrupt
        except BaseException:
            with _deaf():
                pool.shutdown(wait=True, cancel_futures=True)
            raise


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits, also in processes that are started meanwhile: amid its imports Python would print a traceback."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _deaf() -> Iterator[None]:
    """A second Ctrl-C is for the workers alone, which are what is waited for."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin() -> None:
    """A worker's start: from now on Ctrl-C ends it without a word, as its parent says what there is to say."""
    _end_with_parent()
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a run in the background
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(_INTERRUPTED))  # no task has begun
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.signal(signal.SIGINT, lambda *_: sys.exit(_INTERRUPTED))


def _end_with_parent() -> None:
    """A worker whose parent was killed ends too: else it would go on writing beside the next run."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
