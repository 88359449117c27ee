"""Stage `assemble`: plans + frames + keep list -> dataset/, the tree of contract section 7. Knows no network.

This is the one place where rows are joined and cut; `tree.py` writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from build_bench import (
    __version__,
    builders,
    card_training,
    demo,
    disjoint,
    planning,
    schema,
    shards,
    store,
    tree,
)
from build_bench.config import Config, public
from build_bench.errors import BuildBenchError, InputError
from build_bench.executors import Progress
from build_bench.filters import keep_list
from build_bench.filters.filtering import KeepList
from build_bench.store import Work
from build_bench.tree import Part

_RECORD = "assembled.json"
LIBRARIES = ("numpy", "pillow", "pyarrow")
"""Those whose versions can change bytes of the dataset."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A scenario as it lies in dataset/, and what it was made of."""

    made_of: str
    part: Part


def assemble(
    work: Work, config: Config, scenarios: Sequence[str], keep: Mapping[str, KeepList] | None = None,
    left_out: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """Lay out dataset/ of rendered scenarios; returns the manifest.

    `keep`: the keep lists of all of them, by which rows are told apart; None: there is no split `filtered`. `left_out`:
    scenarios that belong to the benchmark and are not published; the card says how to build them. Raises `InputError`
    if the frames of some don't fit their plans.
    """
    keep = keep or {}
    _check_split(work, config, scenarios)
    if stale := [scenario for scenario in scenarios if not shards.is_fresh(work, config, scenario)]:
        raise InputError(
            f"the frames of {', '.join(stale)} are missing or stale",
            f"run build-bench build {' '.join(stale)}{work.chosen}",
        )
    for scenario in scenarios:
        disjoint.check(work, scenario)
    record = laid_out(work)
    for scenario in scenarios:
        now = made_of(work, scenario, keep.get(scenario))
        known = record.get(scenario)
        if not (known and known.made_of == now and _lies_there(work, scenario, known.part)):
            record[scenario] = Assembled(now, _write_scenario(work, config, scenario, keep.get(scenario)))
            store.write_bytes(
                work.own / _RECORD, store.to_json({name: asdict(entry) for name, entry in record.items()})
            )
    parts = {scenario: record[scenario].part for scenario in scenarios}
    manifest = _manifest(work, config, parts, keep)
    manifest["left_out"] = {name: {"settings": config.public(name)} for name in left_out}
    return tree.finish(work.dataset, manifest, parts.values())


def _check_split(work: Work, config: Config, scenarios: Sequence[str]) -> None:
    """Raise `InputError` for plans of the other split: they look alike."""
    for scenario in scenarios:
        if (plan := planning.read_stamp(work, scenario)) and plan.split != config.split:
            raise InputError(
                f"{work.plans(scenario)} is of the split {plan.split}, not {config.split}",
                "--split train goes with the work folder of the test, above its folder train/",
            )


def laid_out(work: Work) -> dict[str, Assembled]:
    """What was laid out last of each scenario, here."""
    try:
        return msgspec.json.decode((work.own / _RECORD).read_bytes(), type=dict[str, Assembled])
    except (FileNotFoundError, msgspec.DecodeError):  # a damaged record costs a second writing, nothing else
        return {}


def made_of(work: Work, scenario: str, keep: KeepList | None) -> str:
    """Digest of all that a scenario's tree is a function of."""
    keys = [stamp.key for stamp in shards.stamps(work, scenario)]
    versions = {name: metadata.version(name) for name in LIBRARIES}
    kept = keep and [column.to_pylist() for column in keep.table.columns]
    return store.digest_of([store.sha256(work.plans(scenario)), keys, planning.code_digest(), versions, kept])


def _lies_there(work: Work, scenario: str, known: Part) -> bool:
    """Whether every file is still what was written; read whole, as that is cheaper than publishing a damaged one."""
    with Progress(f"check {scenario}", len(known.files), "files") as progress:
        for name, facts in known.files.items():
            path = work.dataset / name
            if not path.is_file() or [path.stat().st_size, store.sha256(path)] != facts:
                return False
            progress.add(1)
    return True


def _write_scenario(work: Work, config: Config, scenario: str, keep: KeepList | None) -> Part:
    """Write a scenario's parquet files and its contact sheet."""
    shown = _shown(work, config, scenario)
    kept = dict(zip(*(keep.table[name].to_pylist() for name in ("id", "kept")), strict=True)) if keep else None
    with Progress(
        f"assemble {scenario}", sum(stamp.samples for stamp in shards.stamps(work, scenario)), "samples"
    ) as progress:

        def rows() -> Iterator[pa.Table]:
            for table in _batches(work, scenario):
                yield _scored(table, keep) if keep else table
                progress.add(len(table))

        part = tree.lay_out(work.dataset, scenario, rows(), shown, kept)
    if not part.rows:
        raise InputError(f"{scenario}: no sample could be rendered", f"the reasons are in {work.rejected(scenario)}")
    return part


def _shown(work: Work, config: Config, scenario: str) -> set[str]:
    """The ids of the samples on the contact sheet, of those that could be rendered."""
    return tree.shown(_rendered(work, scenario, "answer"), config.seed, scenario)


def _rendered(work: Work, scenario: str, column: str) -> Iterator[dict[str, Any]]:
    """The id and another column of the samples that have their frames, in order."""
    lost = {rejection.source_key for stamp in shards.stamps(work, scenario) for rejection in stamp.rejected}
    with pq.ParquetFile(work.plans(scenario)) as file:
        for batch in file.iter_batches(columns=["id", column, "source.key"]):
            yield from (row for row in batch.to_pylist() if row["source"]["key"] not in lost)


def _ambiguous(work: Work, scenario: str) -> int:
    """How many examples of a training split are: those of which some request would reveal more."""
    return sum(map(card_training.is_ambiguous, _rendered(work, scenario, "options")))


def _batches(work: Work, scenario: str) -> Iterator[pa.Table]:
    """Published rows in id order, a bounded number of bytes at a time, each read while the one before is written."""
    tables = _joined(work, scenario)
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = reader.submit(next, tables, None)
            yield table


def _joined(work: Work, scenario: str) -> Iterator[pa.Table]:
    """Plans with their frames, row group by row group."""
    first = 0
    for path in shards.paths(work, scenario):
        stamp = shards.read_stamp(path)
        assert stamp is not None
        count = stamp.samples + len(stamp.rejected)
        planned = shards.planned(work, scenario, first, count)
        first += count
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                rendered = _read(file, group, path)
                chosen = planned.filter(pc.is_in(planned["id"], rendered["id"].combine_chunks()))
                if not chosen["id"].equals(rendered["id"]):
                    raise BuildBenchError("frames and plans don't fit", "delete the frames folder and run again")
                yield schema.published_table(chosen, rendered)


def _read(file: pq.ParquetFile, group: int, path: Path) -> pa.Table:
    try:
        return file.read_row_group(group)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is damaged: {error}", "delete it and run again: it is rendered anew") from error


def _scored(table: pa.Table, keep: KeepList) -> pa.Table:
    """The rows with the share of models that were right at the first turn, and of how many."""
    counts = keep.table.take(pc.index_in(table["id"], keep.table["id"].combine_chunks()))
    share = pc.divide(counts["correct"].cast(pa.float64()), counts["models"].cast(pa.float64()))
    known = pc.if_else(pc.equal(counts["models"], 0), pa.scalar(None, pa.float64()), share)
    for name, column in (("first_turn_accuracy", known.cast(pa.float32())), ("num_models", counts["models"])):
        table = table.set_column(table.column_names.index(name), table.schema.field(name), column)
    return table


def _manifest(work: Work, config: Config, parts: dict[str, Part], keep: Mapping[str, KeepList]) -> dict[str, Any]:
    """Everything about how the tree came to be; without the day, so that the same build gives the same bytes."""
    scenarios = {}
    for scenario, part in parts.items():
        plan = planning.read_stamp(work, scenario)
        assert plan is not None
        reasons = Counter(r.reason for r in store.read_rejections(work.rejected(scenario)))
        if plan.candidates != part.rows + reasons.total():
            raise BuildBenchError(
                f"{scenario}: {plan.candidates} candidates, {part.rows} built, {reasons.total()} rejected"
            )
        scenarios[scenario] = {
            **part.facts(config.split),
            "candidates": plan.candidates,
            "rejected": reasons.total(),
            "rejected_by_reason": dict(sorted(reasons.items())),
            "passed_over": plan.passed_over,
            "frames": sum(stamp.frames for stamp in shards.stamps(work, scenario)),
            "settings": public(plan.settings),
            "facts": plan.facts,
            "gaps": list(plan.gaps),
            "sources": plan.sources,
            **({"ambiguous": _ambiguous(work, scenario)} if config.split == builders.TRAIN else {}),
            **({"first_turn": keep[scenario].facts()} if scenario in keep else {}),
        }
    return {
        "format": 1,
        "release": None,
        **({"drawn": True} if demo.is_drawn(work.raw) else {}),
        **({"split": config.split} if config.split != builders.TEST else {}),
        "code": {"build-bench": __version__, **{name: metadata.version(name) for name in LIBRARIES}},
        "seed": config.seed,
        "threshold": None,
        "filtered_by": None,
        "models": {},
        **(keep_list.facts({name: keep[name].stamp for name in parts}) if keep else {}),
        "scenarios": scenarios,
    }
