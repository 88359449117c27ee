"""What benchmarks measured, as lines of JSON that a report is made of; and commands measured in processes of their own.

`--json FILE` appends one object a result: {bench, what, ours, peer, ratio, unit, wanted, peak_mib}.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True, slots=True)
class Result:
    """One comparison: `ours` and `peer` in `unit`, and what is wanted of the ratio of the two: ">= 4" or "<= 0.5"."""

    what: str
    ours: float
    peer: float | None
    unit: str
    wanted: str = ""
    peak_mib: float | None = None
    ratio: float | None = None
    """`ours` by `peer`, where it isn't something else (a median over rounds)."""


def within(ours: Sequence[float], peer: Sequence[float]) -> float:
    """The median over rounds of ours by the peer's: noise that lasts for a round is on both sides."""
    return median(own / other for own, other in zip(ours, peer, strict=True))


def options(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows `--json FILE`."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="append the results to FILE, an object a line")
    return parser


def write(file: Path | None, results: Iterable[Result], bench: str = "") -> None:
    """Append the results to `file`, if there is one. `bench`: the script's name."""
    if file is None:
        return
    name = bench or Path(sys.argv[0]).stem
    with file.open("a", encoding="utf-8") as lines:
        for one in results:
            ratio = one.ratio if one.ratio is not None else one.ours / one.peer if one.peer else None
            numbers = {"ours": one.ours, "peer": one.peer, "ratio": ratio, "peak_mib": one.peak_mib}
            rounded = {key: None if value is None else float(f"{value:.4g}") for key, value in numbers.items()}
            found = {"bench": name, "what": one.what, "unit": one.unit, "wanted": one.wanted} | rounded
            lines.write(json.dumps(found) + "\n")


@dataclass(frozen=True, slots=True)
class Spent:
    """What a command took, the processes that it started included."""

    cpu: float
    wall: float
    peak_mib: float
    """Of the largest of its processes."""
    output: str


def spent(command: Sequence[str]) -> Spent:
    """Run a command. On a shared machine its CPU seconds say more than the clock. Raises what it wrote if it fails."""
    start = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=output, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - start
        output.seek(0), errors.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)}\n{errors.read()}")
        return Spent(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024, output.read())
