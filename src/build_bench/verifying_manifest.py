"""Does a manifest agree with itself, with its files and with its card? No picture is decoded and no row is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from build_bench import releases, schema, verifying_card
from build_bench.errors import InputError, UsageError
from build_bench.filters.first_turn import Rule, named
from build_bench.tree import CARD, CHANGELOG, DROPPED, KEPT, MANIFEST, WHOLE, content_digest, is_kept
from build_bench.verifying_rows import UNREADABLE


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it should be."""

    path: str
    problem: str


class File(msgspec.Struct):
    bytes: int
    sha256: str


class FirstTurn(msgspec.Struct):
    kept: int
    first_turn_accuracy: float | None
    kept_first_turn_accuracy: float | None


class Scenario(msgspec.Struct):
    digest: str
    built: int
    bytes: int
    frames: int
    splits: dict[str, int]
    split_bytes: dict[str, int]
    rows: dict[str, dict[str, str]]
    candidates: int
    rejected: int
    rejected_by_reason: dict[str, int]
    first_turn: FirstTurn | None = None
    ambiguous: int | None = None

    @property
    def filtered(self) -> bool:
        return "filtered" in self.splits

    @property
    def whole(self) -> str:
        """The split that has every row."""
        return WHOLE["train" if "train" in self.splits else "test"]


class Manifest(msgspec.Struct):
    """What is checked of manifest.json."""

    release: str | None
    columns: dict[str, str]
    files: dict[str, File]
    scenarios: dict[str, Scenario]
    models: dict[str, Any]
    threshold: float | None = None
    rule: str | None = None
    split: str = "test"

    def tables(self, scenario: str) -> dict[str, File]:
        """A scenario's parquet files."""
        folder = f"data/{scenario}/{self.scenarios[scenario].digest}/"
        return {path: file for path, file in sorted(self.files.items()) if path.startswith(folder)}


def typed(manifest: Mapping[str, Any], path: Path) -> Manifest:
    """The manifest that was read from `path`. Raises `InputError` if it lacks something."""
    try:
        return msgspec.convert(manifest, Manifest)
    except msgspec.ValidationError as error:
        raise InputError(f"{path} is broken: {error}", "run build-bench assemble, or pull the release again") from error


def problems(folder: Path, manifest: Manifest, damaged: Collection[str] = ()) -> Iterator[Problem]:
    """All that disagrees. `damaged`: listed files that are known not to be what the manifest says; they aren't read."""
    if not manifest.scenarios:
        yield Problem(MANIFEST, "it lists no scenario")
    if manifest.columns != schema.columns():
        yield Problem(MANIFEST, "its columns are not those of contract section 5")
    yield from (Problem(MANIFEST, problem) for problem in _rule_problems(manifest))
    own = {path for scenario in manifest.scenarios for path in manifest.tables(scenario)}
    for path in sorted(manifest.files):
        if path.startswith("data/") and path not in own:
            yield Problem(path, "lies in the folder of no scenario")
    for scenario in manifest.scenarios:
        rows: dict[str, int] = {}
        for path in manifest.tables(scenario):
            if path not in damaged:
                try:
                    rows[path] = row_count(folder / path)
                except ValueError as why:
                    yield Problem(path, str(why))
        yield from (Problem(MANIFEST, f"{scenario}: {found}") for found in _scenario_problems(manifest, scenario, rows))
    if CHANGELOG not in damaged:
        yield from (Problem(CHANGELOG, found) for found in _changelog_problems(folder, manifest))
    if CARD not in damaged:
        yield from (Problem(CARD, found) for found in _card_problems(folder, manifest))


def row_count(path: Path) -> int:
    """The rows of a parquet file. Raises `ValueError` if it isn't one, or has other columns."""
    try:
        with pq.ParquetFile(path) as file:
            found, rows = file.schema_arrow, int(file.metadata.num_rows)
    except UNREADABLE as error:
        raise ValueError(f"can't be read: {error}") from error
    if not found.equals(schema.PUBLISHED):
        raise ValueError(f"its columns are not those of contract section 5: {found.remove_metadata()}")
    return rows


def rule(manifest: Manifest) -> Rule | None:
    """By which the split `filtered` was decided; None if that was no rule, or one that isn't known."""
    try:
        return named(manifest.rule) if manifest.rule else None
    except UsageError:
        return None


def _rule_problems(manifest: Manifest) -> Iterator[str]:
    known = rule(manifest)
    if manifest.rule and not known:
        yield f"there is no rule {manifest.rule!r}"
    elif manifest.threshold != (float(known.threshold) if known else None):
        yield f"its threshold is {manifest.threshold}, its rule {manifest.rule}"


def _scenario_problems(manifest: Manifest, scenario: str, rows: Mapping[str, int]) -> Iterator[str]:
    facts, files = manifest.scenarios[scenario], manifest.tables(scenario)
    if {*facts.splits} - {"filtered"} != {WHOLE.get(manifest.split)} or (facts.filtered and manifest.split == "train"):
        yield f"its splits are {facts.splits}, of the split {manifest.split}"
    yield from _sum_problems(facts)
    if f"assets/{scenario}.jpg" not in manifest.files:
        yield f"there is no assets/{scenario}.jpg"
    content = {path.rpartition("/")[2]: [file.bytes, file.sha256] for path, file in files.items()}
    if content and content_digest(content) != facts.digest:
        yield "the folder's name is not the digest of its files"
    sizes = {path: file.bytes for path, file in files.items()}
    kept_bytes = sum(size for path, size in sizes.items() if is_kept(path))
    expected = {facts.whole: sum(sizes.values())} | ({"filtered": kept_bytes} if facts.filtered else {})
    if facts.bytes != expected[facts.whole] or facts.split_bytes != expected:
        yield f"its files have {expected} bytes, {facts.split_bytes} expected"
    if len(rows) < len(files):  # one is damaged, and named
        return
    total, kept = sum(rows.values()), sum(count for path, count in rows.items() if is_kept(path))
    if total != facts.built:
        yield f"{total} rows, {facts.built} expected"
    if (wanted := facts.splits.get("filtered", total)) != kept:
        yield f"{kept} rows are kept, {wanted} expected"
    if [len(facts.rows.get(side, ())) for side in (KEPT, DROPPED)] != [kept, total - kept]:
        yield "the rows listed are not those of its files"


def _sum_problems(facts: Scenario) -> Iterator[str]:
    """What the manifest's own numbers come to."""
    if facts.built < 1 or facts.splits.get(facts.whole) != facts.built:
        yield f"its splits are {facts.splits}, {facts.built} were built"
    reasons = facts.rejected_by_reason.values()
    if (
        facts.candidates != facts.built + facts.rejected
        or facts.rejected != sum(reasons)
        or min(reasons, default=1) < 1
    ):
        yield f"{facts.candidates} candidates, but {facts.built} built and {facts.rejected} rejected"
    if facts.first_turn and facts.first_turn.kept != facts.splits.get("filtered"):
        yield f"the rule kept {facts.first_turn.kept} rows, its splits are {facts.splits}"


def _changelog_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    if not manifest.release:
        return
    if CHANGELOG not in manifest.files:
        yield "is not in the manifest, which is that of a release"
    elif releases.changelog_at((folder / CHANGELOG).read_bytes().decode(errors="replace"), manifest.release) is None:
        yield f"has no section {manifest.release}"


def _card_problems(folder: Path, manifest: Manifest) -> Iterator[str]:
    if CARD not in manifest.files:
        yield "is not in the manifest"
        return
    tables, rows = {}, {}
    for name, facts in manifest.scenarios.items():
        rows[name] = {split: count for split, count in facts.splits.items() if count}
        every = [*manifest.tables(name)]
        chosen = {facts.whole: every, "filtered": [path for path in every if is_kept(path)]}
        tables[name] = {split: paths for split, paths in chosen.items() if split in rows[name]}
    yield from verifying_card.problems((folder / CARD).read_bytes(), manifest.files, tables, rows)
