"""Progress of downloads: a bar for each file that is under way, and one for all of them."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Bars:
    """Bars on stderr, if that is a terminal. Called from several threads."""

    def __init__(self, total: int) -> None:
        """`total`: bytes to come, as well as they are known."""
        self._guard = threading.Lock()
        self._all = self._bar("all files", total, 0)
        self.received = 0
        """Bytes that came in this run."""

    @contextmanager
    def file(self, name: str, total: int, there: int) -> Iterator[Callable[[int], None]]:
        """A bar for a file of `total` bytes, of which some are `there`; yields what counts those that come."""
        bar = self._bar(name, total, there)

        def tally(count: int) -> None:
            with self._guard:
                bar.update(count)
                self._all.update(count)
                self.received += max(count, 0)

        try:
            yield tally
        finally:
            with self._guard:
                bar.close()

    def close(self) -> None:
        """Remove the bars."""
        self._all.close()

    @staticmethod
    def _bar(name: str, total: int, there: int) -> Any:
        from tqdm import tqdm

        return tqdm(
            desc=name, total=total or None, initial=there, unit="B", unit_scale=True, unit_divisor=1000,
            file=sys.stderr, disable=None, leave=False, miniters=1, mininterval=0.5,
        )  # fmt: skip


def in_words(count: int) -> str:
    """Bytes as a person reads them: 6.6 GB."""
    size, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.3g} {units[0]}" if units[0] != "B" else f"{count} B"
