"""Stage `render`: plans/ -> frames/, shard by shard (`shards`)."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import builders, executors, schema, shards, store
from build_bench.builders import Builder
from build_bench.config import Config
from build_bench.errors import InputError, Rejected
from build_bench.executors.jobs import Engine, Job, spread
from build_bench.records import Rejection
from build_bench.shards import Shard, ShardStamp
from build_bench.store import Work

BATCH_BYTES = 32 << 20
"""Frames held in memory before they are written."""


def render(work: Work, config: Config, scenario: str, engine: Engine) -> list[ShardStamp]:
    """Render what is missing or stale, drop what no plan asks for, and list the rejected."""
    work = work.absolute()
    wanted = shards.cut(work, config, scenario)
    _renumber(work, scenario, wanted)
    missing = [number for number in range(len(wanted)) if not work.shard(scenario, number).exists()]
    _open.cache_clear()
    builder, raw = _open(work, scenario, config.settings[scenario], config.seed)
    if missing:
        builder.prepare(raw, shards.all_plans(work, scenario))
        work.give(*_read_to_render(work, scenario), work.plans(scenario), work.frames(scenario))
        _spread(_Rendering(work, config, scenario, tuple(wanted), _planned_of(work, scenario)), missing, engine)
    builder.finish(raw)
    stamps = shards.stamps(work, scenario)
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
        made = shards.read_stamp(shard)
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
            stamp = shards.read_stamp(work.shard(scenario, number))
            rejected += len(stamp.rejected) if stamp else 0
            progress.mark(f"{rejected:,} rejected" if rejected else "")
            progress.add(wanted[number].count)


def _renumber(work: Work, scenario: str, wanted: list[Shard]) -> None:
    """Give every shard that is wanted still its new number, and remove the others. In two steps, as numbers may swap;
    a run killed between them loses shards, not correctness: they are rendered again."""
    numbers = {shard.key: number for number, shard in enumerate(wanted)}
    moves = {}
    for path in shards.paths(work, scenario):
        stamp = shards.read_stamp(path)
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
        for plan, images in builder.render_many(shards.plans_of(work, scenario, shard.first, shard.count), raw):
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
    plans = shards.plans_of(work, scenario, shard.first, shard.count)
    if shard.key != store.digest_of([builder.render_version, [shards.part(builder, plan, raw) for plan in plans]]):
        raise InputError(
            f"{work.raw / scenario} changed while pictures were made of it", "run the same again when it is all there"
        )
