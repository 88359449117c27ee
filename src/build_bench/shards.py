"""How plans are cut into shards, and the shards on disk.

Shards are runs of plans in id order. Where one ends depends on the plans near it alone (content-defined, as in rsync),
so a sample more or less changes one shard, not all that follow. A shard carries the digest of all that its frames are
a function of: whatever its number, it is rendered once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import schema, store
from build_bench.builders import Builder
from build_bench.config import Config
from build_bench.planning import ROW_GROUP
from build_bench.records import Framed, Plan, Rejection
from build_bench.store import Work


@dataclass(frozen=True, slots=True)
class Shard:
    """Plans [first, first + count) in id order, and the digest of what their frames are a function of."""

    first: int
    count: int
    key: str
    seconds: float
    """What rendering takes, about."""


@dataclass(frozen=True, slots=True)
class ShardStamp:
    """What a shard on disk was made of and what came of it."""

    key: str
    samples: int
    frames: int
    rejected: tuple[Rejection, ...]


def planned(work: Work, scenario: str, first: int, count: int) -> pa.Table:
    """Rows [first, first + count) of a scenario's plans, in id order; only the row groups that hold them are read."""
    path = work.plans(scenario)
    status = path.stat()
    version = status.st_ino, status.st_mtime_ns
    groups = range(first // ROW_GROUP, -(-(first + count) // ROW_GROUP))
    return pa.concat_tables([_row_group(path, version, group) for group in groups]).slice(first % ROW_GROUP, count)


@lru_cache(maxsize=2)  # ten shards lie in one, and one in two
def _row_group(path: Path, version: tuple[int, int], group: int) -> pa.Table:
    with pq.ParquetFile(path, metadata=_metadata(path, version)) as file:
        return file.read_row_group(group)


@lru_cache(maxsize=1)
def _metadata(path: Path, version: tuple[int, int]) -> pq.FileMetaData:
    return pq.read_metadata(path)


def plans_of(work: Work, scenario: str, first: int, count: int) -> Iterator[Plan]:
    """The planned samples [first, first + count)."""
    return map(schema.plan_of, planned(work, scenario, first, count).to_pylist())


def all_plans(work: Work, scenario: str) -> Iterator[Plan]:
    """Every planned sample, a row group in memory at a time."""
    total = pq.read_metadata(work.plans(scenario)).num_rows
    for at in range(0, total, ROW_GROUP):
        yield from plans_of(work, scenario, at, min(ROW_GROUP, total - at))


def cut(work: Work, config: Config, scenario: str) -> list[Shard]:
    """How a scenario's plans are cut. A group of samples (two questions on one video) is never cut apart."""
    builder = config.builder(scenario)
    raw = builder.open(work.raw / scenario, work.scratch(scenario))
    found: list[Shard] = []
    parts: list[str] = []
    first, group, seconds = 0, "", 0.0
    shortest, longest = builder.shard // 3, builder.shard * 8 // 3
    for row, plan in enumerate(_framed(work, scenario)):
        boundary = _hash(plan.group) % (builder.shard - shortest) == 0
        full = len(parts) >= longest or (len(parts) >= shortest and boundary)
        if parts and plan.group != group and full:
            found.append(Shard(first, len(parts), store.digest_of([builder.render_version, parts]), seconds))
            first, parts, seconds = row, [], 0.0
        parts.append(part(builder, plan, raw))
        seconds += builder.seconds(plan.recipe)
        group = plan.group
    if parts:
        found.append(Shard(first, len(parts), store.digest_of([builder.render_version, parts]), seconds))
    return found


def part(builder: Builder[Any], plan: Plan | Framed, raw: Any) -> str:
    """Digest of all that a sample's frames are a function of."""
    return store.digest_of([plan.id, plan.frames, plan.recipe, builder.stamp(plan, raw)])


def _framed(work: Work, scenario: str) -> Iterator[Framed]:
    """What shards are cut by, of every planned sample; other columns are not read."""
    with pq.ParquetFile(work.plans(scenario)) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=[*Framed._fields])
            yield from map(Framed, *(table[name].to_pylist() for name in Framed._fields))


def _hash(group: str) -> int:
    return int.from_bytes(blake2b(group.encode(), digest_size=8).digest(), "big")


def read_stamp(path: Path) -> ShardStamp | None:
    """What a shard on disk was made of; None if there is none, or one that another version wrote."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return _stamp_of(path, (status.st_ino, status.st_mtime_ns))


@lru_cache(maxsize=1 << 14)  # a run asks for the same ones again and again
def _stamp_of(path: Path, version: tuple[int, int]) -> ShardStamp | None:
    stamp = store.stamp_of(path)
    try:
        return msgspec.convert(stamp, ShardStamp) if stamp else None
    except msgspec.ValidationError:
        return None


def paths(work: Work, scenario: str) -> list[Path]:
    """The shards on disk, in order."""
    return sorted(work.frames(scenario).glob("shard-*.parquet"))


def stamps(work: Work, scenario: str) -> list[ShardStamp]:
    """Those of the shards on disk, in order."""
    return [stamp for path in paths(work, scenario) if (stamp := read_stamp(path))]


def is_fresh(work: Work, config: Config, scenario: str) -> bool:
    """Whether the shards on disk are exactly those that the plans ask for."""
    wanted = [shard.key for shard in cut(work, config, scenario)]
    there = [read_stamp(path) for path in paths(work, scenario)]
    return wanted == [stamp.key if stamp else "" for stamp in there]
