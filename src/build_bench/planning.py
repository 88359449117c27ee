"""Stage `plan`: raw -> plans/. What is asked, how, answered by what; no picture is decoded."""

from __future__ import annotations

import hashlib
import heapq
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from build_bench import builders, disjoint, manifests, prompting, schema, store
from build_bench.config import Config
from build_bench.draws import Draw
from build_bench.errors import BuildBenchError, InputError, shown
from build_bench.executors import Progress
from build_bench.fingerprints import Checksums, fingerprint
from build_bench.raw_sources import Reader
from build_bench.records import Draft, Plan, Rejection
from build_bench.sorting import Sorted
from build_bench.store import Work

ROW_GROUP = 1024
"""Plans per row group: what a renderer reads at a time."""


@dataclass(frozen=True, slots=True)
class PlanStamp:
    """What a scenario's plan was made of, and what was met on the way."""

    made_of: dict[str, str]
    """`inputs`: equal means that planning again would give the same."""
    candidates: int
    planned: int
    passed_over: int
    gaps: tuple[str, ...]
    facts: dict[str, Any]
    sources: list[dict[str, Any]]
    settings: dict[str, Any]
    """As they were then, to say which changed."""
    split: str = builders.TEST


def inputs(work: Work, config: Config, scenario: str, raw: Reader) -> dict[str, str]:
    """Digests of all that a plan is a function of, by what a person calls it. Reads no source: names, sizes and times
    stand for them."""
    files = [fingerprint(path, raw.root) for path in raw.files]
    parts = {
        "the seed": config.seed,
        "the settings": config.values(scenario),
        "the prompts": manifests.text(f"prompts/{scenario}.toml"),
        "the program": code_digest(),
        "the source": [work.raw_name, files, raw.below],
        "a table beside the source": config.builder(scenario).beside(),
    }
    return {name: store.digest_of(part) for name, part in parts.items()}


@cache
def code_digest() -> str:
    """Digest of this program's own files but the prompts: planning is cheap, so any other version plans again."""
    state = hashlib.sha256()
    root = resources.files("build_bench")
    folders = [root, *(resources.files(f"build_bench.{part}") for part in ("builders", "raw_sources", "manifests"))]
    for folder in folders:
        for path in sorted(Path(str(folder)).rglob("*")):
            if path.suffix in {".py", ".toml", ".csv", ".txt"} and path.parent.name != "prompts":
                state.update(path.name.encode() + b"\0" + path.read_bytes())
    return state.hexdigest()


def plan(work: Work, config: Config, scenario: str) -> PlanStamp:
    """Plan one scenario, unless its plan is fresh. Raises `InputError` if the source is absent."""
    builder = config.builder(scenario)
    raw = builder.open(work.raw / scenario, work.scratch(scenario))
    made_of = inputs(work, config, scenario, raw)
    known = read_stamp(work, scenario)
    if known and known.made_of == made_of and _is_whole(work, scenario, known):
        return known

    rejections: list[Rejection] = []
    groups: set[str] = set()
    with Sorted(store.temporary_name(work.plans(scenario).with_suffix(".runs")), schema.PLANNED, "id") as rows:
        with Progress(f"plan {scenario}", 0, "candidates") as progress:
            chosen = _Chosen(config, scenario, rejections, progress)
            for table in _worded(chosen.of(builder.plan(raw)), scenario, config.seed):
                rows.add(table)
                groups.update(table["group"].to_pylist() if work.test else ())
        if rejections and not len(rows):  # a plan that is refused leaves those of the former; here they are the reasons
            store.write_rejections(work.rejected(scenario), rejections)
        _check(scenario, len(rows), len(rejections) + chosen.left_out, raw)
        disjoint.check(work, scenario, groups)
        checksums = Checksums(work)
        stamp = PlanStamp(
            made_of=made_of,
            candidates=raw.census.candidates - chosen.left_out,
            planned=len(rows),
            passed_over=raw.census.passed_over + chosen.left_out,
            gaps=tuple(map(shown, raw.gaps)),
            facts=builder.facts(),
            sources=[checksums.source(path, raw.root) for path in raw.files],
            settings=config.values(scenario),
            split=config.split,
        )
        checksums.save()
        tables = _distinct(scenario, rows.tables(ROW_GROUP))
        store.write_rejections(work.rejected(scenario), rejections)
        store.write_tables(work.plans(scenario), tables, schema.PLANNED, asdict(stamp), ROW_GROUP)
    return stamp


def _worded(drafts: Iterable[Draft], scenario: str, seed: int) -> Iterator[pa.Table]:
    """The drafts in words, as tables of `schema.PLANNED`."""
    pool = prompting.load_pool(scenario)
    batch: list[Plan] = []
    for draft in drafts:
        batch.append(prompting.word(draft, pool, scenario, seed))
        if len(batch) == ROW_GROUP:
            yield schema.plans_table(batch)
            batch = []
    yield schema.plans_table(batch)


class _Chosen:
    """The drafts that are planned: all of them, or, under a limit, those whose draws are the smallest."""

    def __init__(self, config: Config, scenario: str, rejections: list[Rejection], progress: Progress) -> None:
        self._limit, self._seed, self._scenario = config.limits.get(scenario), config.seed, scenario
        self._rejections, self._progress = rejections, progress
        self._met = self.left_out = 0
        """By the limit: they are passed over, whatever would have become of them."""

    def of(self, outcomes: Iterable[Draft | Rejection]) -> Iterator[Draft]:
        """Rejections are put aside on the way. No more drafts are held than the limit has."""
        drafts = self._drafts(outcomes)
        yield from drafts if self._limit is None else heapq.nsmallest(self._limit, drafts, key=self._drawn)
        if self._limit is not None:
            self.left_out = max(self._met - self._limit, 0)

    def _drafts(self, outcomes: Iterable[Draft | Rejection]) -> Iterator[Draft]:
        for outcome in outcomes:
            self._progress.add(1)
            if isinstance(outcome, Draft):
                self._met += 1
                yield outcome
            else:
                self._rejections.append(outcome)

    def _drawn(self, draft: Draft) -> tuple[int, str]:
        key = draft.source.key
        return Draw(self._seed, self._scenario, key).integer("limit", 2**62), key


def _is_whole(work: Work, scenario: str, known: PlanStamp) -> bool:
    """Whether the rejections are still beside the plan: without them candidates would be unaccounted for."""
    try:
        found = store.read_rejections(work.rejected(scenario))
    except InputError:
        return False
    return sum(rejection.stage == "plan" for rejection in found) == known.candidates - known.planned


def _check(scenario: str, planned: int, rejected: int, raw: Reader) -> None:
    """Every candidate is planned or rejected, and there are some that are planned."""
    if raw.census.candidates != planned + rejected:
        raise BuildBenchError(
            f"{scenario}: {raw.census.candidates} candidates, but {planned} planned and {rejected} rejected",
            "this is a mistake in the builder: each candidate has exactly one outcome",
        )
    if not raw.census.candidates:
        raise InputError(
            f"{scenario}: there is nothing in {raw.root} to make a sample of",
            "; ".join(textwrap.shorten(gap, 160, placeholder=" ...") for gap in raw.gaps)
            or "compare it with the layout in the README",
        )
    if not planned:
        raise InputError(
            f"{scenario}: none of {raw.census.candidates} candidates in {raw.root} can be used",
            f"the reasons are in rejected/{scenario}.jsonl",
        )


def _distinct(scenario: str, tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables, in order of ids. Raises `InputError` if two samples share one."""
    before = schema.PLANNED.empty_table()
    for table in tables:
        near = pa.concat_tables([before, table]).select(["id", "source"])
        for row in np.flatnonzero(pc.equal(near["id"][1:], near["id"][:-1])).tolist():
            first, second = (near["source"][at].as_py()["key"] for at in (row, row + 1))
            raise InputError(
                f"{scenario}: {first} and {second} would have the same id", "one of the two must be renamed"
            )
        yield table
        before = table[-1:]


def read_stamp(work: Work, scenario: str) -> PlanStamp | None:
    """What the plan on disk was made of; None if there is none, or one that another version wrote."""
    stamp = store.stamp_of(work.plans(scenario))
    try:
        return msgspec.convert(stamp, PlanStamp) if stamp else None
    except msgspec.ValidationError:
        return None
