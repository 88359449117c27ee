"""`export`: a dataset tree of ours in the layout that the published evaluator reads (proactivebench 0.1.1).

    DIR/<DatasetName>_preprocessed.jsonl           a record a line, in the order of our ids, numbered from 0
    DIR/<DatasetName>/<our id>/...                 the pictures, byte for byte
    DIR/filter_ids.json                            the numbers of the split `filtered`, where there is one

What is in it and what is refused: docs/decisions/proactivebench-layout.md.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import pyarrow.parquet as pq

from build_bench import soundness, store
from build_bench.errors import InputError, Rejected
from build_bench.executors import Progress
from build_bench.layouts import fields, matching, seven
from build_bench.layouts.record import DATASETS, ENDING, Record, line_of
from build_bench.tree import is_kept

LOADER = (
    "proactivebench's own loader keeps only the ids on a list built into it, whatever they stand for here: "
    "it would drop most of these records without a word. The README of build-bench has a loader that reads them all."
)

FILTER_IDS = "filter_ids.json"


def export(dataset: Path, out: Path) -> dict[str, Any]:
    """Write `dataset` (a tree with a manifest.json) to `out`; returns what was written, per dataset.

    What lies there already and is right is not written again; a record file appears when all its pictures are there.
    Raises `InputError` for a row that the layout can't say, and rather than overwrite another's release.
    """
    manifest = _manifest(dataset)
    if manifest.get("split") == "train":
        raise InputError(f"{dataset} is a training split, the evaluator plays the test's samples", "export that one")
    written: dict[str, Any] = {}
    kept_ids: dict[str, list[int]] = {}
    out.mkdir(parents=True, exist_ok=True)
    scenarios = {name: manifest["scenarios"][name] for name in DATASETS if name in manifest["scenarios"]}
    for scenario in scenarios:
        _refuse_to_overwrite(out / f"{DATASETS[scenario]}{ENDING}")
    for scenario, facts in scenarios.items():
        name = DATASETS[scenario]
        folder = dataset / "data" / scenario / facts["digest"]
        records = pictures = size = 0
        kept_ids[name] = []
        with (
            store.atomic(out / f"{name}{ENDING}") as lines,
            lines.open("wb") as file,
            Progress(f"export {scenario}", facts["built"], "samples") as progress,
        ):
            for number, (row, is_in_filtered) in enumerate(_rows(folder)):
                record, placed = translated(row, number)
                _check_folder(out, record)
                for path, frame in placed.items():
                    pictures += 1
                    size += _write(out / path, row["frames"][frame]["bytes"], out / f"{name}{ENDING}")
                file.write(line_of(record))
                records += 1
                if is_in_filtered:
                    kept_ids[name].append(number)
                progress.add(1)
            if hasattr(os, "sync"):
                os.sync()  # the pictures are on disk before the records that name them
        written[name] = {"scenario": scenario, "records": records, "pictures": pictures, "bytes": size}
    (out / FILTER_IDS).unlink(missing_ok=True)
    if any("filtered" in facts["splits"] for facts in scenarios.values()):
        store.write_bytes(out / FILTER_IDS, store.to_json(kept_ids))
    return {"layout": "proactivebench", "folder": str(out), "datasets": written, "note": LOADER}


def translated(row: dict[str, Any], number: int) -> tuple[Record, dict[str, int]]:
    """The record of a row, and path -> frame of its pictures. Raises `InputError` if the evaluator can't play it so."""
    try:
        for problem in soundness.problems(row):
            raise Rejected("unsound", problem)
        record = fields.record_of(row, number)
        game = seven.game(row["scenario"], record)
        placed = matching.pictures(row, game)
    except Rejected as why:
        raise InputError(
            f"{row['id']} can't be said in the layout of proactivebench: {why}",
            "nothing was left out: mend the sample, or leave its scenario out of the dataset",
        ) from why
    names = tuple(row["frames"][placed[path]]["path"] for path in game.paths())
    return fields.carrying(record, row, names), placed


def _manifest(dataset: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = msgspec.json.decode((dataset / "manifest.json").read_bytes())
    except (FileNotFoundError, msgspec.DecodeError) as error:
        raise InputError(f"{dataset} is no dataset: {error}", "run build-bench assemble") from error
    for scenario in manifest["scenarios"]:
        if scenario not in DATASETS:
            raise InputError(f"proactivebench has no environment for scenario {scenario!r}", "leave it out")
    return manifest


def _rows(folder: Path) -> Iterator[tuple[dict[str, Any], bool]]:
    """All rows in the order of ids, each with whether it is in `filtered`; two row groups in memory at most."""
    paths = sorted(folder.glob("*.parquet"))
    if not paths:
        raise InputError(f"{folder} has no parquet files", "run build-bench verify, then assemble")
    halves = [_half([path for path in paths if is_kept(path.name) is kept], kept) for kept in (True, False)]
    yield from heapq.merge(*halves, key=lambda each: each[0]["id"])


def _half(paths: list[Path], kept: bool) -> Iterator[tuple[dict[str, Any], bool]]:
    for path in paths:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=8):
                for row in batch.to_pylist():
                    yield row, kept


def _refuse_to_overwrite(path: Path) -> None:
    """Raise `InputError` if `path` holds records that no export of ours wrote."""
    if not path.exists():
        return
    with path.open("rb") as file:
        first = file.readline()
    if first.strip() and b'"bench_id"' not in first:
        raise InputError(f"{path} is a release that this program didn't write", "export into another folder")


def _check_folder(out: Path, record: Record) -> None:
    """Of ROD's hole the evaluator rewrites every "s6" in the whole path, the data folder's too."""
    if fields.ROD_STEM in record.image_template:
        whole = (out.resolve() / PurePosixPath(record.image_template)).as_posix()
        if whole.count("s6") or str(out).count("s6"):
            raise InputError(
                f"{record.bench_id}: the evaluator would look for its pictures elsewhere, as {whole} has an s6 in it",
                "export into a folder whose path has none",
            )


def _write(path: Path, data: bytes, records: Path) -> int:
    """Put a picture there whole, unless it is there already. Returns its size.

    Where another picture lies, the older `records` that name it go first: a killed run mixes no two exports.
    """
    if path.is_file():
        if path.stat().st_size == len(data) and path.read_bytes() == data:
            return len(data)
        records.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.partial")
    temporary.write_bytes(data)
    temporary.replace(path)
    return len(data)
