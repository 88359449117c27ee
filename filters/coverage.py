"""Which samples a model has answered as they are now: fresh, stale, missing, failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import polars as pl

from build_bench.errors import InputError
from build_bench.filters.inputs import Inputs
from build_bench.filters.predictions import FAILED, path_of
from build_bench.store import Work


@dataclass(frozen=True, slots=True)
class Coverage:
    """Samples of a scenario, by what a model's predictions are to them. They add up to the scenario's samples."""

    fresh: int
    stale: int
    """Answered, but what is shown has changed since."""
    missing: int
    failed: int
    """Tried as they are now, without an answer."""

    @property
    def complete(self) -> bool:
        """Whether every sample is answered as it is now."""
        return not (self.stale or self.missing or self.failed)

    def __str__(self) -> str:
        parts = [f"{count:,} {name}" for name, count in asdict(self).items() if name != "fresh" and count]
        return ", ".join(parts) or "complete"


def of(path: Path, inputs: Inputs) -> Coverage:
    """The coverage of one model's file; all is missing if there is none. Raises `InputError` if it can't be read."""
    total = len(inputs.table)
    if not path.exists():
        return Coverage(0, 0, total, 0)
    fits, answers = pl.col("input_digest") == pl.col("expected"), pl.col("verdict") != FAILED
    expected = inputs.table.lazy().select("id", expected="input_digest")
    try:
        fresh, failed, known = (
            pl.scan_parquet(path)
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
    return Coverage(fresh, known - fresh - failed, total - known, failed)


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
