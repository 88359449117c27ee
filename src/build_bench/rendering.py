"""Stage `render`: plans/ -> frames/, shard by shard.

Shards are runs of plans in id order. Where one ends depends on the plans near it alone (content-defined, as in rsync),
so a sample more or less changes one shard, not all that follow. A shard carries the digest of all that its frames are
a function of: whatever its number, it is rendered once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import builders, executors, schema, store
from build_bench.builders import Builder
from build_bench.config import Config
from build_bench.errors import InputError, Rejected
from build_bench.executors.jobs import Engine, Job, spread
from build_bench.planning import ROW_GROUP
from build_bench.records import Framed, Plan, Rejection
from build_bench.store import Work

BATCH_BYTES = 32 << 20
"""Frames held in memory before they are written."""


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


def shards(work: Work, config: Config, scenario: str) -> list[Shard]:
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
        parts.append(_part(builder, plan, raw))
        seconds += builder.seconds(plan.recipe)
        group = plan.group
    if parts:
        found.append(Shard(first, len(parts), store.digest_of([builder.render_version, parts]), seconds))
    return found


def _part(builder: Builder[Any], plan: Plan | Framed, raw: Any) -> str:
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


def shard_paths(work: Work, scenario: str) -> list[Path]:
    """The shards on disk, in order."""
    return sorted(work.frames(scenario).glob("shard-*.parquet"))


def render(work: Work, config: Config, scenario: str, engine: Engine) -> list[ShardStamp]:
    """Render what is missing or stale, drop what no plan asks for, and list the rejected."""
    work = work.absolute()
    wanted = shards(work, config, scenario)
    _renumber(work, scenario, wanted)
    missing = [number for number in range(len(wanted)) if not work.shard(scenario, number).exists()]
    _open.cache_clear()
    builder, raw = _open(work, scenario, config.settings[scenario], config.seed)
    if missing:
        builder.prepare(raw, all_plans(work, scenario))
        work.give(*_read_to_render(work, scenario), work.plans(scenario), work.frames(scenario))
        _spread(_Rendering(work, config, scenario, tuple(wanted), _planned_of(work, scenario)), missing, engine)
    builder.finish(raw)
    stamps = [stamp for path in shard_paths(work, scenario) if (stamp := read_stamp(path))]
    known = [rejection for rejection in store.read_rejections(work.rejected(scenario)) if rejection.stage == "plan"]
    new = [rejection for stamp in stamps for rejection in stamp.rejected]
    store.write_rejections(work.rejected(scenario), known + new)
    return stamps


@dataclass(frozen=True, slots=True)
class _Rendering:
    """Renders the shard of a number, on whatever machine."""

    work: Work
    config: Config
    scenario: str
    wanted: tuple[Shard, ...]
    planned_of: str
    """A cluster's job may outlive the plan that it was submitted for."""

    def __call__(self, number: int) -> None:
        """Raises `InputError` if the plan is another by now: its rows aren't those that the shard's key stands for."""
        shard = self.work.shard(self.scenario, number)
        self.work.bring(self.work.plans(self.scenario), shard)
        made = read_stamp(shard)
        if made and made.key == self.wanted[number].key:
            return  # by another run, while this waited in a cluster's queue
        self.check_plan()
        _render_shard(self, number)
        self.work.give(shard)

    def check_plan(self) -> None:
        """Raise `InputError` if the plan isn't that which was cut into `wanted`."""
        plans = self.work.plans(self.scenario)
        if not plans.exists():
            raise InputError(f"{plans} isn't there", "every machine must see the work folder, at the same path")
        if _planned_of(self.work, self.scenario) != self.planned_of:
            raise InputError(f"{self.scenario} was planned otherwise meanwhile", "run the same again")

    def exists(self, number: int) -> bool:
        return self.work.shard(self.scenario, number).exists()


def _spread(rendering: _Rendering, missing: list[int], engine: Engine) -> None:
    """Render the shards `missing`, those that take longest first, so that no worker begins a long one at the end.

    Those that take about as long come in the order of the plans, of which some row groups are kept in memory.
    """
    work, scenario, wanted = rendering.work, rendering.scenario, rendering.wanted
    job = Job(
        name=f"render {scenario}",
        key=store.digest_of([shard.key for shard in wanted]),
        folder=work.jobs / f"render-{scenario}",
        do=rendering,
        numbers=tuple(sorted(missing, key=lambda number: (-round(math.log2(wanted[number].seconds)), number))),
        exists=rendering.exists,
        seconds=sum(wanted[number].seconds for number in missing) / len(missing),
        what="shard",
    )
    total, rejected = sum(wanted[number].count for number in missing), 0
    with executors.Progress(job.name, total, "samples") as progress:
        for number in spread(job, engine):
            work.bring(work.shard(scenario, number))
            stamp = read_stamp(work.shard(scenario, number))
            rejected += len(stamp.rejected) if stamp else 0
            progress.mark(f"{rejected:,} rejected" if rejected else "")
            progress.add(wanted[number].count)


def is_fresh(work: Work, config: Config, scenario: str) -> bool:
    """Whether the shards on disk are exactly those that the plans ask for."""
    wanted = [shard.key for shard in shards(work, config, scenario)]
    stamps = [read_stamp(path) for path in shard_paths(work, scenario)]
    return wanted == [stamp.key if stamp else "" for stamp in stamps]


def _renumber(work: Work, scenario: str, wanted: list[Shard]) -> None:
    """Give every shard that is wanted still its new number, and remove the others. In two steps, as numbers may swap;
    a run killed between them loses shards, not correctness: they are rendered again."""
    numbers = {shard.key: number for number, shard in enumerate(wanted)}
    moves = {}
    for path in shard_paths(work, scenario):
        stamp = read_stamp(path)
        number = numbers.pop(stamp.key, None) if stamp else None
        if number is None:
            path.unlink()
        elif path != work.shard(scenario, number):
            moves[path.rename(path.with_suffix(".moving.partial"))] = work.shard(scenario, number)
    for moved, path in moves.items():
        moved.rename(path)


@lru_cache(maxsize=1)
def _open(work: Work, scenario: str, settings: Any, seed: int) -> tuple[Builder[Any], Any]:
    """Builder and source: opened once per process, as a zip of 40,000 pictures takes a while to list."""
    builder = builders.made(scenario, settings, seed)
    work.bring(*_read_to_render(work, scenario))
    return builder, builder.open(work.raw / scenario, work.scratch(scenario))


def _read_to_render(work: Work, scenario: str) -> tuple[Path, ...]:
    return work.raw / scenario, work.scratch(scenario)


def _planned_of(work: Work, scenario: str) -> str:
    """What the plan on disk was made of."""
    return store.digest_of(store.stamp_of(work.plans(scenario)))


def _render_shard(rendering: _Rendering, number: int) -> None:
    """Render one shard. A sample whose frames can't be made is rejected."""
    work, config, scenario = rendering.work, rendering.config, rendering.scenario
    shard = rendering.wanted[number]
    builder, raw = _open(work, scenario, config.settings[scenario], config.seed)
    rejected: list[Rejection] = []
    samples = frames = 0
    with (
        store.atomic(work.shard(scenario, number)) as temporary,
        pq.ParquetWriter(
            temporary,
            schema.RENDERED,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
            write_page_checksum=True,
        ) as writer,
    ):
        batch: list[dict[str, Any]] = []
        size = 0
        for plan, images in builder.render_many(plans_of(work, scenario, shard.first, shard.count), raw):
            if isinstance(images, Rejected):
                rejected.append(Rejection(plan.source.key, "render", images.reason, images.detail))
                continue
            named = zip(images, plan.frames, strict=True)
            batch.append({"id": plan.id, "frames": [{"bytes": image, "path": name} for image, name in named]})
            size += sum(map(len, images))
            samples, frames = samples + 1, frames + len(images)
            if size >= BATCH_BYTES:
                writer.write_table(pa.Table.from_pylist(batch, schema.RENDERED))
                batch, size = [], 0
        writer.write_table(pa.Table.from_pylist(batch, schema.RENDERED))
        if rejected:
            _check_source(work, config, scenario, shard)
        rendering.check_plan()
        writer.add_key_value_metadata(store.metadata(asdict(ShardStamp(shard.key, samples, frames, tuple(rejected)))))


def _check_source(work: Work, config: Config, scenario: str, shard: Shard) -> None:
    """Raise `InputError` if what couldn't be read was there when the shard was planned: a disk that went away is no
    reason to leave a sample out."""
    builder = config.builder(scenario)
    raw = builder.open(work.raw / scenario, work.scratch(scenario))
    plans = plans_of(work, scenario, shard.first, shard.count)
    if shard.key != store.digest_of([builder.render_version, [_part(builder, plan, raw) for plan in plans]]):
        raise InputError(
            f"{work.raw / scenario} changed while pictures were made of it", "run the same again when it is all there"
        )
