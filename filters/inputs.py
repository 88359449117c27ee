"""What a model is shown at the first turn, its digest, and how an answer to it is judged.

The digests of a scenario are kept in work/.build-bench/inputs/. They are made anew when its plans or frames change, and
then a picture is read again only if its shard changed: the pictures are what is large.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from build_bench import shards, store
from build_bench.answers import CORRECT, UNPARSED, WRONG
from build_bench.episode import Episode
from build_bench.errors import InputError
from build_bench.executors import Progress
from build_bench.records import ABSTAIN, INVALID, PROACTIVE
from build_bench.store import Work

VERDICTS = (CORRECT, WRONG, ABSTAIN, PROACTIVE, INVALID, UNPARSED)
"""What a first answer can come to (contract section 6)."""

DIGITS = 12
"""Of an input digest, in hex: it tells apart the versions of one sample, and polars keeps 12 characters in place."""

_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("input_digest", pa.string()),
        ("first_turn_answerable", pa.bool_()),
        ("right", pa.int32()),  # place of the right category among what is shown
        ("outcomes", pa.list_(pa.string())),  # the verdict that each place comes to
        ("shard", pa.string()),
        ("frame", pa.int32()),
        ("picture", pa.string()),
    ]
)
_VERSION = 1


@dataclass(frozen=True)
class FirstTurn:
    """One sample as a model meets it first. `row` has the columns of a plan, or of the published dataset."""

    row: Mapping[str, Any]
    picture: bytes
    """The encoded frame, uncropped."""

    @cached_property
    def episode(self) -> Episode:
        """The sample before the first answer."""
        return Episode(self.row)

    @property
    def prompt(self) -> str:
        """The text shown: question, then options and categories, lettered, in their order."""
        return self.episode.prompt(hint=False)

    @property
    def digest(self) -> str:
        """`input_digest`: of exactly what is shown."""
        return input_digest(self.row, hashlib.sha256(self.picture).hexdigest())


def input_digest(row: Mapping[str, Any], picture: str) -> str:
    """Digest of what `row` shows at the first turn; `picture` is the sha256 of the first frame's bytes."""
    episode = Episode(row)
    return store.digest_of([episode.prompt(hint=False), picture, list(episode.view.crop)])[:DIGITS]


def judge(row: Mapping[str, Any], text: str) -> tuple[str, int | None]:
    """The verdict on a first answer, and the place that it chose among what was shown; None if it chose none."""
    choice = Episode(row).read(text).choice
    return Episode(row).answer(text), choice


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the samples of a scenario show and how answers to them are judged, in id order."""

    table: pl.DataFrame
    """id, input_digest, first_turn_answerable, right (its category's place), outcomes (the verdict per place)."""
    key: str
    """Digest of what is shown: changes when any sample's first turn does, or a sample comes or goes."""
    rules: str
    """Digest of what answers are judged by: predictions judged by other rules are judged again."""


def built(work: Work, scenarios: Collection[str]) -> list[str]:
    """Those of `scenarios` that have frames."""
    return [name for name in scenarios if work.plans(name).exists() and shards.paths(work, name)]


def read(work: Work, scenario: str, *, save: bool = True) -> Inputs:
    """The inputs of a scenario's rendered samples. Raises `InputError` if its plans or frames are broken.

    `save=False` writes nothing: what only reports must not change the work folder.
    """
    paths = shards.paths(work, scenario)
    keys = {path: _stamp(path, scenario).key for path in paths}
    made_of = store.digest_of([_VERSION, store.sha256(work.plans(scenario)), list(keys.values())])
    path = work.own / "inputs" / f"{scenario}.parquet"
    stamp: dict[str, str] = store.stamp_of(path) or {}
    known = _kept(path, _SCHEMA.names[:5]) if stamp.get("made_of") == made_of else None
    if known is None:
        known = _compute(work, scenario, keys, (_kept(path) if stamp else None) or _SCHEMA.empty_table())
        stamp = {"made_of": made_of, **_digests(known)}
        if save:
            store.write_table(path, known, stamp, 1 << 17)
    return _inputs(known, stamp)


def _kept(path: Path, columns: list[str] | None = None) -> pa.Table | None:
    """The digests made before; None if their file is damaged: they are made again."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            return file.read(columns=columns)
    except (pa.ArrowException, OSError):
        return None


def _stamp(path: Path, scenario: str) -> shards.ShardStamp:
    """Without the stamp of one shard, the plans of all that follow could not be told."""
    stamp = shards.read_stamp(path)
    if stamp is None:
        raise InputError(f"{path} is damaged", f"run build-bench build {scenario}: it is rendered again")
    return stamp


def _inputs(table: pa.Table, stamp: Mapping[str, str]) -> Inputs:
    frame = pl.from_arrow(table.select(_SCHEMA.names[:5]))
    assert isinstance(frame, pl.DataFrame)
    return Inputs(frame, stamp["key"], stamp["rules"])


def _digests(table: pa.Table) -> dict[str, str]:
    shown = [table[name].to_pylist() for name in ("id", "input_digest")]
    return {"key": store.digest_of(shown), "rules": store.digest_of([shown, table["outcomes"].to_pylist()])}


def _compute(work: Work, scenario: str, keys: Mapping[Path, str], known: pa.Table) -> pa.Table:
    """The rows of `_SCHEMA`; the pictures that `known` has are not read again."""
    pictures = dict(
        zip(zip(*(known[n].to_pylist() for n in ("shard", "id", "frame")), strict=True), known["picture"].to_pylist(),
            strict=True)
    )  # fmt: skip
    rows = []
    with Progress(f"digests {scenario}", len(keys), "shards") as progress:
        for path, planned in _by_shard(work, scenario):
            ids = set(pq.read_table(path, columns=["id"])["id"].to_pylist())
            wanted = [row for row in planned if row["id"] in ids]
            found = {row["id"]: pictures.get((keys[path], row["id"], _frame(row)), "") for row in wanted}
            if not all(found.values()):
                found = {row["id"]: hashlib.sha256(data).hexdigest() for row, data in _pictures(path, wanted)}
            rows += [_row(row, keys[path], found[row["id"]]) for row in wanted]
            progress.add(1)
    return pa.Table.from_pylist(rows, _SCHEMA)


def _row(row: Mapping[str, Any], shard: str, picture: str) -> dict[str, Any]:
    shown = row["states"][row["start"]]["options"]
    right = row["categories"].index(row["answer"])
    categories = [WRONG] * len(row["categories"])
    if row["first_turn_answerable"]:
        categories[right] = CORRECT
    return {
        "id": row["id"],
        "input_digest": input_digest(row, picture),
        "first_turn_answerable": row["first_turn_answerable"],
        "right": len(shown) + right,
        "outcomes": [row["options"][option]["kind"] for option in shown] + categories,
        "shard": shard,
        "frame": _frame(row),
        "picture": picture,
    }


def _frame(row: Mapping[str, Any]) -> int:
    return int(row["states"][row["start"]]["frame"])


def _by_shard(work: Work, scenario: str) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    """Each shard with the plans that it was rendered from, those that came to nothing included."""
    first = 0
    for path in shards.paths(work, scenario):
        stamp = _stamp(path, scenario)
        count = stamp.samples + len(stamp.rejected)
        yield path, shards.planned(work, scenario, first, count).to_pylist()
        first += count


def _pictures(path: Path, rows: Collection[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], bytes]]:
    """The first frames of `rows`, a row group in memory at a time, and of it only the rows wanted."""
    wanted = {row["id"]: row for row in rows}
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            table = table.filter(pc.is_in(table["id"], pa.array(list(wanted), pa.string())))
            for name, frames in zip(table["id"].to_pylist(), table["frames"], strict=True):
                yield wanted[name], frames[_frame(wanted[name])]["bytes"].as_py()


def first_turns(work: Work, scenario: str, ids: Collection[str] | None = None) -> Iterator[FirstTurn]:
    """Rendered samples in id order, all or those of `ids`; shards that hold none of them are not read."""
    for path, planned in _by_shard(work, scenario):
        wanted = [row for row in planned if ids is None or row["id"] in ids]
        if wanted:
            yield from (FirstTurn(row, picture) for row, picture in _pictures(path, wanted))


def plan_rows(work: Work, scenario: str, ids: Collection[str]) -> dict[str, dict[str, Any]]:
    """What `judge` needs of the samples `ids`, by id."""
    columns = ["id", "scenario", "question", "context", "hint", "reference_question", "options", "categories", "answer",
               "states", "start", "reference", "max_turns", "first_turn_answerable", "source"]  # fmt: skip
    table = pq.read_table(work.plans(scenario), columns=columns)
    chosen = table.filter(pc.is_in(table["id"], pa.array(sorted(ids), pa.string())))
    return {row["id"]: row for row in chosen.to_pylist()}
