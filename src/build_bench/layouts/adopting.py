"""`adopt`: a release in the layout of the published evaluator becomes a dataset tree of ours.

Each record is checked against the rules and its files: what contradicts itself goes to rejected/ with a reason, the
rest is laid out. Bytes of pictures are copied; of ROD's, what a phone wrote beside the pixels is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa

from build_bench import __version__, schema, store, tree
from build_bench.errors import InputError, Rejected, UsageError
from build_bench.executors import Progress
from build_bench.fingerprints import Checksums
from build_bench.layouts import seven
from build_bench.layouts.folders import Release
from build_bench.layouts.record import DATASETS, Record, parse
from build_bench.layouts.rows import pictures, plan_of
from build_bench.prompting import Pool, load_pool
from build_bench.records import Plan, Rejection
from build_bench.store import Work
from build_bench.tree import Part

BATCH_BYTES = 32 << 20
"""Pictures held at a time."""

STAGE = "adopt"


class Adopted(NamedTuple):
    """A record that can be played, and the pictures it names in the order of its frames."""

    plan: Plan
    paths: tuple[str, ...]
    released: int
    """The record's own id."""
    key: str
    """Where it stands: file and line."""


def adopt(folder: Path, work: Work, filter_ids: Path | None = None) -> dict[str, Any]:
    """Lay out work/dataset of the release in `folder`; returns the manifest.

    `filter_ids`: JSON, dataset name -> the ids that the split `filtered` has. Raises `InputError` if nothing can be
    used, `UsageError` if `work` is where something else is built.
    """
    if (work.root / "plans").exists():
        raise UsageError(f"in {work.root} a dataset is built from its sources", "name another folder with --work")
    release = Release(folder)
    lists = _lists(filter_ids, release)
    parts: dict[str, Part] = {}
    facts: dict[str, Any] = {}
    with work.locked():
        checksums = Checksums(work)
        for name, path in release.records.items():
            if name not in DATASETS.values():
                _reject_unknown(work, name, path)
        for scenario, name in DATASETS.items():
            if name in release.records:
                part, found = _adopt_one(work, release, scenario, lists)
                facts[scenario] = found | {"sources": [checksums.source(release.records[name], folder)]}
                if part.rows:
                    parts[scenario] = part
        checksums.save()
        release.close()
        if not parts:
            raise InputError(
                f"no record of {folder} can be used", f"the reasons are in {work.root / 'rejected'}, a line each"
            )
        manifest = _manifest(parts, facts, release, filter_ids)
        return tree.finish(work.dataset, manifest, parts.values())


def _lists(path: Path | None, release: Release) -> dict[str, frozenset[int]] | None:
    if path is None:
        return None
    try:
        lists = msgspec.json.decode(path.read_bytes(), type=dict[str, frozenset[int]])
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path}: {error}", 'expected {"ROD\'s dataset name": [0, 1, ...], ...}') from error
    if lacking := [name for name in release.records if name in DATASETS.values() and name not in lists]:
        raise InputError(f"{path} has no list for {', '.join(lacking)}", "an empty list keeps none of its records")
    return lists


def _reject_unknown(work: Work, name: str, path: Path) -> None:
    with path.open("rb") as lines:
        found = [
            Rejection(f"{name}:{number}", STAGE, "unknown_dataset", f"known are {', '.join(DATASETS.values())}")
            for number, line in enumerate(lines, 1)
            if line.strip()
        ]
    store.write_rejections(work.rejected("".join(c if c.isalnum() else "-" for c in name)), found)


def _adopt_one(
    work: Work, release: Release, scenario: str, lists: Mapping[str, frozenset[int]] | None
) -> tuple[Part, dict[str, Any]]:
    """Lay out one dataset; returns its part of the tree and what the manifest says of how it came to be."""
    name = DATASETS[scenario]
    rejections: list[Rejection] = []
    adopted = _planned(release, scenario, rejections)
    keep = None if lists is None else {each.plan.id: each.released in lists[name] for each in adopted}
    shown = tree.shown(({"id": each.plan.id, "answer": each.plan.answer} for each in adopted), 0, scenario)
    frames = Counter[str]()
    part = tree.lay_out(work.dataset, scenario, _tables(release, scenario, adopted, rejections, frames), shown, keep)
    store.write_rejections(work.rejected(scenario), rejections)
    reasons = Counter(rejection.reason for rejection in rejections)
    return part, {
        "candidates": part.rows + len(rejections),
        "rejected": len(rejections),
        "rejected_by_reason": dict(sorted(reasons.items())),
        "passed_over": 0,
        "frames": frames["frames"],
        "settings": {},
        "facts": {"records": release.records[name].name},
        "gaps": [],
    }


def _planned(release: Release, scenario: str, rejections: list[Rejection]) -> list[Adopted]:
    """Every record that the rules allow and whose pictures are there, in the order of our ids. No picture is opened."""
    pool = load_pool(scenario)
    adopted: dict[str, Adopted] = {}
    seen: set[int] = set()
    path = release.records[DATASETS[scenario]]
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            key = f"{path.name}:{number}"
            try:
                record = parse(line, scenario)
                each = _examined(record, release, scenario, pool, key)
                if record.id in seen or each.plan.id in adopted:
                    raise Rejected("repeated_id", f"{record.id}, {each.plan.id}")
            except Rejected as why:
                rejections.append(Rejection(key, STAGE, why.reason, why.detail))
            else:
                seen.add(record.id)
                adopted[each.plan.id] = each
    return [adopted[name] for name in sorted(adopted)]


def _examined(record: Record, release: Release, scenario: str, pool: Pool, key: str) -> Adopted:
    game = seven.game(scenario, record)
    plan = plan_of(record, game, scenario, pool)
    for path in game.paths():
        if not release.has(path):
            raise Rejected("missing_picture", f"{path}, of {len(game.paths())} that can be shown")
    return Adopted(plan, game.paths(), record.id, key)


def _tables(
    release: Release, scenario: str, adopted: list[Adopted], rejections: list[Rejection], frames: Counter[str]
) -> Iterator[pa.Table]:
    """Published rows, a bounded number of bytes at a time; counts their frames."""
    batch: list[tuple[Plan, list[bytes]]] = []
    size = 0
    with Progress(f"adopt {scenario}", len(adopted), "records") as progress:
        for each in adopted:
            progress.add(1)
            try:
                data = pictures(each.plan, each.paths, release)
            except Rejected as why:
                rejections.append(Rejection(each.key, STAGE, why.reason, why.detail))
                continue
            batch.append((each.plan, data))
            size += sum(map(len, data))
            frames["frames"] += len(data)
            if size >= BATCH_BYTES:
                yield _table(batch)
                batch, size = [], 0
    if batch:
        yield _table(batch)


def _table(batch: list[tuple[Plan, list[bytes]]]) -> pa.Table:
    rendered = [
        {"id": plan.id, "frames": [{"bytes": b, "path": p} for b, p in zip(data, plan.frames, strict=True)]}
        for plan, data in batch
    ]
    planned = schema.plans_table(plan for plan, _ in batch)
    return schema.published_table(planned, pa.Table.from_pylist(rendered, schema.RENDERED))


def _manifest(
    parts: Mapping[str, Part], facts: Mapping[str, Any], release: Release, filter_ids: Path | None
) -> dict[str, Any]:
    archives = [
        {"path": path.relative_to(release.root).as_posix(), "bytes": path.stat().st_size} for path in release.zips
    ]
    return {
        "format": 1,
        "release": None,
        "adopted": "proactivebench",
        "code": {"build-bench": __version__, "pyarrow": metadata.version("pyarrow")},
        "seed": None,
        "threshold": None,
        "filtered_by": f"the ids listed in {filter_ids.name}" if filter_ids else None,
        "filter_ids_sha256": store.sha256(filter_ids) if filter_ids else None,
        "models": {},
        "archives": archives,
        "scenarios": {scenario: facts[scenario] | part.facts() for scenario, part in parts.items()},
    }
