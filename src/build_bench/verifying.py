"""`verify`: does a dataset tree hold what its manifest says, and can every sample of it be played?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import row_digests, schema, soundness, store
from build_bench.errors import InputError, Rejected
from build_bench.executors import Progress
from build_bench.imaging import decode
from build_bench.tree import DROPPED, KEPT, content_digest, is_kept


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be."""

    path: str
    problem: str


class _File(msgspec.Struct):
    bytes: int
    sha256: str


class _Scenario(msgspec.Struct):
    digest: str
    built: int
    splits: dict[str, int]
    rows: dict[str, dict[str, str]]
    candidates: int
    rejected: int
    rejected_by_reason: dict[str, int]


class _Manifest(msgspec.Struct):
    """What is checked of manifest.json."""

    files: dict[str, _File]
    scenarios: dict[str, _Scenario]


def verify(folder: Path) -> tuple[int, list[Problem]]:
    """Check a tree: returns the number of files listed and all problems. Raises `InputError` if it has no manifest."""
    manifest = _manifest(folder)
    listed = {name: {"bytes": file.bytes, "sha256": file.sha256} for name, file in manifest.files.items()}
    problems = [Problem(*found) for found in _file_problems(folder, listed)]
    broken = {problem.path for problem in problems}
    tables = [path for path in sorted(listed) if path.endswith(".parquet") and path not in broken]
    with Progress("verify", len(tables), "files") as progress:
        for path in tables:
            problems += [Problem(path, found) for found in _table_problems(folder / path, _digests(manifest, path))]
            progress.add(1)
    problems += [Problem("manifest.json", found) for found in _count_problems(folder, manifest, tables)]
    return len(listed), problems


def _manifest(folder: Path) -> _Manifest:
    path = folder / "manifest.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        inside = folder / "dataset"
        hint = (
            f"it is in {inside}" if (inside / "manifest.json").is_file() else "name the folder that `assemble` laid out"
        )
        raise InputError(f"{folder} has no manifest.json", hint) from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is broken: {error}", "run build-bench assemble, or pull the release again") from error


def _file_problems(folder: Path, listed: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, facts in listed.items():
        path = folder / name
        if path.is_symlink() or not path.resolve().is_relative_to(folder.resolve()):
            yield name, "is a link, or lies outside the folder"
        elif not path.is_file():
            yield name, "is missing"
        elif path.stat().st_size != facts["bytes"]:
            yield name, f"has {path.stat().st_size} bytes, {facts['bytes']} expected"
        elif (found := store.sha256(path)) != facts["sha256"]:
            yield name, f"has sha256 {found}, {facts['sha256']} expected"
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() and name not in listed:
            yield name, "is a link: it will not be published"
        elif not path.is_dir() and name not in listed and name != "manifest.json":
            yield name, "is not in the manifest: it will not be published"


def _digests(manifest: _Manifest, path: str) -> dict[str, str]:
    """What the manifest says of the rows of a parquet file: id -> digest, of that file and others like it."""
    facts = manifest.scenarios.get(path.removeprefix("data/").partition("/")[0])
    return facts.rows.get(KEPT if is_kept(path) else DROPPED, {}) if facts else {}


def _table_problems(path: Path, digests: dict[str, str]) -> Iterator[str]:
    try:
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(schema.PUBLISHED):
                yield f"its columns are not those of contract section 5: {file.schema_arrow.remove_metadata()}"
                return
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                for row in table.to_pylist():
                    yield from (f"{row['id']}: {problem}" for problem in _row_problems(row))
                for name, digest in row_digests.of(table):
                    if digests.get(name) != digest:
                        yield f"{name}: is not the row of which the manifest has the digest"
    except pa.ArrowException as error:
        yield f"can't be read: {error}"


def _row_problems(row: dict[str, Any]) -> Iterator[str]:
    """Every picture is decoded, every state and move is followed."""
    sizes = []
    for number, frame in enumerate(row["frames"]):
        try:
            sizes.append(decode(frame["bytes"] or b"").size)
        except Rejected as why:
            yield f"frame {number} ({frame['path']}): {why}"
            return
    yield from soundness.problems(row, sizes)


def _count_problems(folder: Path, manifest: _Manifest, tables: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for scenario, facts in manifest.scenarios.items():
        own = [path for path in tables if path.startswith(f"data/{scenario}/{facts.digest}/")]
        halves: dict[bool, list[str]] = {True: [], False: []}
        for path in own:
            columns = pq.read_table(folder / path, columns=["id", "scenario"])
            halves[is_kept(path)] += columns["id"].to_pylist()
            if others := set(columns["scenario"].to_pylist()) - {scenario}:
                yield f"{path}: rows of {', '.join(sorted(others))}"
        ids = halves[True] + halves[False]
        content = {path.rpartition("/")[2]: [f.bytes, f.sha256] for path in own for f in [manifest.files[path]]}
        if content and content_digest(content) != facts.digest:
            yield f"{scenario}: the folder's name is not the digest of its files"
        if len(ids) != facts.built or facts.splits.get("unfiltered") != facts.built:
            yield f"{scenario}: {len(ids)} rows, {facts.built} expected"
        if (expected := facts.splits.get("filtered", len(ids))) != len(halves[True]):
            yield f"{scenario}: {len(halves[True])} rows are kept, {expected} expected"
        if facts.candidates != facts.built + facts.rejected or facts.rejected != sum(facts.rejected_by_reason.values()):
            yield f"{scenario}: {facts.candidates} candidates, but {facts.built} built and {facts.rejected} rejected"
        if {*halves[True]} != {*facts.rows.get(KEPT, ())} or {*halves[False]} != {*facts.rows.get(DROPPED, ())}:
            yield f"{scenario}: the rows listed are not those of its files"
        if any(half != sorted(half) for half in halves.values()) or len(set(ids)) != len(ids):
            yield f"{scenario}: ids are not unique and sorted"
        if twice := seen.intersection(ids):
            yield f"{scenario}: ids of another scenario: {sorted(twice)[:3]}"
        seen.update(ids)
