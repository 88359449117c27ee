"""Whether a training split keeps off the test: by source key, against what lies in the work folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from build_bench.errors import InputError
from build_bench.store import Work


def check(work: Work, scenario: str, keys: set[str] | None = None) -> None:
    """Raise `InputError` if a training plan has source keys of the test's plan beside it. `keys`: of a plan to be."""
    if problem := shared(work, scenario, keys):
        raise InputError(
            problem,
            f"build both with one --seed and one --config: build-bench build {scenario}, then --split train. There "
            "--per-class counts the examples; how many the test has, quickdraw.per_class of --config or --set says",
        )


def shared(work: Work, scenario: str, keys: set[str] | None = None) -> str:
    """What a training plan shares with the test's, in words; empty if nothing, or if one of the two isn't there."""
    test = Work(work.test, work.raw).plans(scenario) if work.test else None
    own = work.plans(scenario)
    if test is None or not test.exists() or (keys is None and not own.exists()):
        return ""
    both = sorted(_keys(test) & (_keys(own) if keys is None else keys))
    return f"{scenario}: {len(both)} training items are in the test too ({both[0]}, in {test})" if both else ""


def _keys(plans: Path) -> set[str]:
    """The source items of a plan: two samples of one COCO picture are of one item."""
    rows = pq.read_table(plans, columns=["source", "group"])
    return {*rows["group"].to_pylist(), *(source["key"] for source in rows["source"].to_pylist())}


def shared_ids(train: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, list[str]]:
    """Scenario -> the source items that two manifests share, as ids; only where they share any."""
    both = {name: sorted(_items(train, name) & _items(test, name)) for name in train["scenarios"]}
    return {name: ids for name, ids in both.items() if ids}


def _items(manifest: Mapping[str, Any], scenario: str) -> set[str]:
    """The ids of a scenario without the number that a further view of one picture has (coco-184321-2)."""
    rows = manifest["scenarios"].get(scenario, {"rows": {}})["rows"]
    ids = {name for side in rows.values() for name in side}
    return {"-".join(name.split("-")[:2]) for name in ids} if scenario == "coco" else ids
