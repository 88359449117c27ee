"""Finds the published evaluator and a Python that can import it, and runs walk.py with them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq
import pytest

import build_bench
from build_bench.layouts.proactivebench import translated
from build_bench.layouts.record import DATASETS, parse

ROOT = Path(__file__).parents[2]
WHEELS = os.environ.get("PROACTIVEBENCH_WHEELS") or str(ROOT / ".ci" / "cache")
"""Where `.ci/run` downloads the wheel to."""

PROCESSES = 2
Row = dict[str, Any]
Sample = dict[str, Any]


@cache
def evaluator() -> tuple[str, str]:
    """(a Python that can import it, the wheel); skips the test, saying which of the two is missing."""
    wheels = sorted(Path(WHEELS).glob("proactivebench-0.1.1-*.whl"))
    if not wheels:
        pytest.skip(
            "not walked beside the evaluator: the wheel of proactivebench 0.1.1 is not in .ci/cache (see .ci/run)"
        )
    names = [sys.executable, *(shutil.which(f"python3.{minor}") or "" for minor in range(12, 16))]
    names += map(str, sorted(Path.home().glob(".pyenv/versions/3.*/bin/python")))
    is_new = "import sys; sys.exit(sys.version_info < (3, 12))"
    for name in filter(None, names):
        if subprocess.run([name, "-c", is_new], check=False, capture_output=True).returncode == 0:
            return name, str(wheels[0])
    pytest.skip("not walked beside the evaluator: it needs Python 3.12 or newer, and there is none here")


def made_up(rows: Iterable[Row]) -> list[Sample]:
    """Rows without pictures, with the records that export would write."""
    samples = []
    for number, row in enumerate(rows):
        record, files = translated(row, number)
        samples.append(_sample(row, msgspec.to_builtins(record), files, None))
    return samples


def exported(dataset: Path, folder: Path) -> list[Sample]:
    """The rows of a dataset tree with the records that lie in `folder`."""
    rows = {
        row["id"]: row for path in sorted(dataset.glob("data/*/*/*.parquet")) for row in pq.read_table(path).to_pylist()
    }
    samples = []
    for scenario, name in DATASETS.items():
        path = folder / f"{name}_preprocessed.jsonl"
        for line in path.read_bytes().splitlines() if path.exists() else []:
            row = rows.pop(str(parse(line, scenario).bench_id))
            digests = [hashlib.sha256(frame["bytes"]).hexdigest() for frame in row["frames"]]
            samples.append(_sample(row, json.loads(line), {}, digests))
    assert not rows, f"not exported: {sorted(rows)}"
    return samples


def _sample(row: Row, record: Any, files: Mapping[str, int], digests: list[str] | None) -> Sample:
    plain = row | {"frames": [frame["path"] for frame in row["frames"]]}
    return {"dataset": DATASETS[row["scenario"]], "record": record, "row": plain, "files": files, "digests": digests}


def walk(samples: list[Sample], policies: int, scratch: Path, data: Path | None = None) -> dict[str, Any]:
    """Play `policies` random models on each sample; counts, and the first differences."""
    python, wheel = evaluator()
    source = str(Path(build_bench.__file__).parents[1])
    running = []
    for part in range(PROCESSES):
        path = scratch / f"samples-{part}.jsonl"
        path.write_text("".join(f"{json.dumps(sample)}\n" for sample in samples[part::PROCESSES]), encoding="utf-8")
        command = [python, str(Path(__file__).with_name("walk.py")), wheel, source, str(path), str(policies)]
        command += [str(data)] if data else []
        running.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    results = []
    for process in running:
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        results.append(json.loads(out))
    return {name: sum((result[name] for result in results), type(results[0][name])()) for name in results[0]}
