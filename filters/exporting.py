"""`predict --export FILE`: what is asked, for who asks models elsewhere.

The answers come back by `predict --import` with the column input_digest, and so only to what they were given to.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from build_bench import store
from build_bench.episode import Episode
from build_bench.errors import UsageError
from build_bench.filters.inputs import Inputs, plan_rows
from build_bench.store import Work


def export(work: Work, path: Path, inputs: Mapping[str, Inputs]) -> int:
    """Write id, scenario, input_digest and prompt of every sample; returns how many. The picture is that of the state
    `start` in the dataset. Raises `UsageError` for a format that isn't known."""
    rows = []
    for scenario, shown in inputs.items():
        digests = dict(shown.table.select("id", "input_digest").rows())
        plans = plan_rows(work, scenario, digests)
        rows += [
            {
                "id": name,
                "scenario": scenario,
                "input_digest": digest,
                "prompt": Episode(plans[name]).prompt(hint=False),
            }
            for name, digest in digests.items()
        ]
    table = pl.DataFrame(rows)
    if path.suffix == ".csv":
        store.write_bytes(path, table.write_csv().encode())
    elif path.suffix == ".jsonl":
        store.write_bytes(path, table.write_ndjson().encode())
    else:
        raise UsageError(f"--export {path}: expected a name that ends in .csv or .jsonl", "give it one of these")
    return len(table)
