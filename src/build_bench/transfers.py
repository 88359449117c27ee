"""Files on their way: several at a time, shown as they go, and remembered when they are there."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from build_bench.executors import Progress
from build_bench.object_store import Tell

AT_ONCE = 8
"""Files in the air."""

OFTEN = 10.0
"""Seconds between two writings of what was moved."""

T = TypeVar("T")


def move(
    title: str, sizes: Mapping[str, int], one: Callable[[str, Tell], T | None], remember: Callable[[dict[str, T]], None]
) -> None:
    """Move files of so many bytes, about in the order of their names, each by `one`; None: there was nothing to move.

    What `one` gave is remembered now and then, and at the end, whatever ends it.
    """
    if not sizes:
        return
    moved = _Moved(remember)
    with Progress(title, sum(sizes.values()) >> 20, "MB") as progress:
        tell = _Telling(progress)
        pool = ThreadPoolExecutor(AT_ONCE)
        try:
            done = pool.map(lambda name: moved.add(name, one(name, tell)), sorted(sizes))
            for count, _ in enumerate(done, 1):
                progress.mark(f"{count:,} of {len(sizes):,} files")
        finally:
            tell.over = True
            pool.shutdown(cancel_futures=True)
            moved.keep()


class _Moved(Generic[T]):
    """The files that were moved, kept now and then: nothing tells that a process is about to be killed."""

    def __init__(self, remember: Callable[[dict[str, T]], None]) -> None:
        self._remember, self._alone, self._kept = remember, threading.Lock(), time.monotonic()
        self._new: dict[str, T] = {}

    def add(self, name: str, came: T | None) -> None:
        """One more, unless it is None."""
        with self._alone:
            if came is not None:
                self._new[name] = came
            due = time.monotonic() - self._kept >= OFTEN
        if due:
            self.keep()

    def keep(self) -> None:
        """Write down what is new."""
        with self._alone:
            self._remember(self._new)
            self._new, self._kept = {}, time.monotonic()


class _Telling:
    """Shows the bytes that went by in megabytes, and ends all transfers when it is `over`."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._bytes, self.over = progress, 0, False

    def __call__(self, count: int) -> None:
        if self.over:
            raise InterruptedError
        before, self._bytes = self._bytes >> 20, self._bytes + count
        self._progress.add((self._bytes >> 20) - before)
