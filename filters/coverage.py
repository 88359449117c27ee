"""Which samples a model has answered as they are now: fresh, stale, missing, failed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from build_bench.errors import InputError
from build_bench.filters.inputs import Inputs
from build_bench.filters.predictions import FAILED, path_of
from build_bench.store import Work

_REASONS, _LONG = 3, 200
"""Reasons that a line lists, and characters of one."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Samples of a scenario, by what a model's predictions are to them. They add up to the scenario's samples."""

    fresh: int
    stale: int
    """Answered, but what is shown has changed since."""
    missing: int
    failed: int
    """Tried as they are now, without an answer."""
    why: str = ""
    """What they failed for."""

    @property
    def counts(self) -> dict[str, int]:
        """All four."""
        return {name: getattr(self, name) for name in ("fresh", "stale", "missing", "failed")}

    @property
    def complete(self) -> bool:
        """Whether every sample is answered as it is now."""
        return not (self.stale or self.missing or self.failed)

    def __str__(self) -> str:
        parts = [f"{count:,} {name}" for name, count in self.counts.items() if name != "fresh" and count]
        return (", ".join(parts) or "complete") + (f" ({self.why})" if self.why else "")


def reasons(found: Iterable[str]) -> str:
    """Why samples failed, the most frequent reasons first, with how often where there are several."""
    counted = Counter(text.removeprefix("failed: ") for text in found).most_common()
    listed = [text[:_LONG] + (f" ({count:,} times)" if len(counted) > 1 else "") for text, count in counted[:_REASONS]]
    more = [f"and {len(counted) - _REASONS:,} other reasons"] if len(counted) > _REASONS else []
    return "; ".join(listed + more)


def of(path: Path, inputs: Inputs) -> Coverage:
    """The coverage of one model's file; all is missing if there is none. Raises `InputError` if it can't be read."""
    total = len(inputs.table)
    if not path.exists():
        return Coverage(0, 0, total, 0)
    fits, answers = pl.col("input_digest") == pl.col("expected"), pl.col("verdict") != FAILED
    expected = inputs.table.lazy().select("id", expected="input_digest")
    try:
        fresh, failed, known = (
            pl.scan_parquet(path, glob=False)
            .select("id", "input_digest", "verdict")
            .join(expected, on="id")
            .group_by("id")
            .agg(fresh=(fits & answers).any(), failed=(fits & ~answers).any())
            .select(pl.col("fresh").sum(), pl.col("failed").sum(), known=pl.len())
            .collect()
            .row(0)
        )
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} can't be read: {error}", "delete it and predict again") from error
    why = reasons(_errors(path, expected)) if failed else ""
    return Coverage(fresh, known - fresh - failed, total - known, failed, why)


def _errors(path: Path, expected: pl.LazyFrame) -> list[str]:
    """Why samples failed as they are now, a text for each."""
    rows = pl.scan_parquet(path, glob=False).filter(pl.col("verdict") == FAILED)
    now = rows.join(expected, left_on=["id", "input_digest"], right_on=["id", "expected"], how="semi")
    found = [json.loads(text or "{}") for text in now.select("runtime").collect()["runtime"]]
    return [str(one.get("error") or "no reason given") for one in found if isinstance(one, dict)]


def table(work: Work, models: Sequence[str], inputs: Mapping[str, Inputs]) -> dict[str, dict[str, Coverage]]:
    """Model -> scenario -> coverage."""
    return {
        model: {scenario: of(path_of(work, model, scenario), shown) for scenario, shown in inputs.items()}
        for model in models
    }


def gaps(covered: Mapping[str, Mapping[str, Coverage]]) -> list[str]:
    """A line per model and scenario that is not complete."""
    return [
        f"{model}, {scenario}: {found}"
        for model, by_scenario in covered.items()
        for scenario, found in by_scenario.items()
        if not found.complete
    ]
