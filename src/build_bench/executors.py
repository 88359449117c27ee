"""Run a function over tasks, in this process or in several. What comes out never depends on how many."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import TypeVar

from build_bench.errors import BuildBenchError

T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(function: Callable[[T], R], tasks: Sequence[T], workers: int) -> Iterator[R]:
    """Yield `function(task)` for each task, as they finish. The first exception ends the run; what is done stays."""
    if workers <= 1 or len(tasks) <= 1:
        yield from map(function, tasks)
        return
    # Not fork: the threads of polars and pyarrow don't survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), context, initializer=_end_with_parent) as pool:
        futures = [pool.submit(function, task) for task in tasks]
        try:
            for future in as_completed(futures):
                yield future.result()
        except BrokenProcessPool as error:
            raise BuildBenchError(
                "a worker process died (killed, or out of memory)",
                "run again: finished shards are kept; with fewer --workers less memory is needed",
            ) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """A worker whose parent was killed ends too: else it would go on writing beside the next run."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            connection.wait([parent.sentinel])
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Progress:
    """Counts finished items."""

    def __init__(self, what: str, total: int, unit: str) -> None:
        from tqdm import tqdm

        self._bar = tqdm(desc=what, total=total, unit=f" {unit}", file=sys.stderr, disable=None, leave=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def add(self, count: int) -> None:
        """`count` more are done."""
        self._bar.update(count)


def notice(text: str) -> None:
    """A line for a person, on stderr, that leaves a progress bar whole."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)
