"""What two machines were told by the same model, made one: nobody pays for an answer twice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from build_bench import store
from build_bench.filters import predictions
from build_bench.store import Work

_CACHE = re.compile(r"predictions/.+\.parquet")
_JOURNAL = re.compile(r"\.build-bench/predict/.+\.jsonl")


@dataclass(frozen=True, slots=True)
class Answers:
    """Joins the files of a work folder that hold answers (`mirror.Joining`)."""

    def fits(self, name: str) -> bool:
        """Whether the file called so below the work folder holds answers."""
        return bool(_CACHE.fullmatch(name) or _JOURNAL.fullmatch(name))

    def join(self, folder: Path, name: str, other: Path) -> None:
        """Add what stands in `other` to the file. Raises `InputError` if one of them is broken."""
        path = folder / name
        if _CACHE.fullmatch(name):
            predictions.join(Work(folder, folder / "raw"), path, other)
        else:
            lines = dict.fromkeys([*other.read_bytes().splitlines(), *path.read_bytes().splitlines()])
            store.write_bytes(path, b"".join(line + b"\n" for line in lines))
