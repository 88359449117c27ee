"""Work that is spread over processes or machines, and what people see of it. What comes out never depends on how.

jobs.py      what is spread, what is tried again, and how it ends
local.py     processes of this machine
on_ray.py    a Ray cluster
on_slurm.py  a Slurm cluster
engines.py   which of them
"""

from __future__ import annotations

import os
import sys
import time

TELL = 30.0
"""Seconds between two lines in a log that nobody watches."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Progress:
    """Counts finished items: a bar in a terminal, a line now and then in a log."""

    def __init__(self, what: str, total: int, unit: str) -> None:
        from tqdm import tqdm

        self._bar = tqdm(desc=what, total=total or None, unit=f" {unit}", file=sys.stderr, disable=None, leave=False)
        self._what, self._total, self._unit = what, total, unit
        self._done, self._marked = 0, ""
        self._started = self._told = time.monotonic()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def add(self, count: int) -> None:
        """`count` more are done."""
        self._done += count
        self._bar.update(count)
        if self._bar.disable and time.monotonic() - self._told >= TELL:
            self._told = time.monotonic()
            notice(self._line(self._told - self._started))

    def mark(self, text: str) -> None:
        """What else is to be seen beside the numbers: "3 rejected"."""
        if text != self._marked:
            self._marked = text
            self._bar.set_postfix_str(text)

    def _line(self, seconds: float) -> str:
        rate = self._done / seconds
        left = f", {_minutes((self._total - self._done) / rate)} left" if self._total and rate else ""
        of = f" of {self._total:,}" if self._total else ""
        marked = f", {self._marked}" if self._marked else ""
        return f"{self._what}: {self._done:,}{of} {self._unit}, {rate:.2g} a second{left}{marked}"


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:,.0f} minutes"


def notice(text: str) -> None:
    """A line for a person, on stderr, that leaves a progress bar whole."""
    from tqdm import tqdm

    tqdm.write(text, file=sys.stderr)
