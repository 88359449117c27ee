"""A dataset folder as a gallery shows it: built, adopted or pulled. Read slice by slice: it may hold 150 GB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import builders, schema
from build_bench.errors import InputError, UsageError, unknown
from build_bench.tree import DROPPED, KEPT

SLICE = 64
"""Samples whose texts are one file of the gallery, and whose pictures are one folder."""
WORDS = [name for name in schema.PUBLISHED.names if name != "frames"]
INDEXED = ["id", "scenario", "question_kind", "answer", "max_turns", "first_turn_accuracy", "num_models"]
_NAME, _DIGEST = re.compile(r"[a-z0-9_]+"), re.compile(r"[0-9a-f]{12}")


class Facts(msgspec.Struct):
    """What manifest.json says of a scenario."""

    digest: str
    built: int
    splits: dict[str, int]


class Manifest(msgspec.Struct):
    """What is shown of manifest.json."""

    scenarios: dict[str, Facts]
    seed: int | None = None
    release: str | None = None
    rule: str | None = None
    filtered_by: str | None = None
    adopted: str = ""
    drawn: bool = False
    split: str = builders.TEST


@dataclass(frozen=True, slots=True)
class Slice:
    """Neighbouring rows of one parquet file."""

    path: Path
    scenario: str
    kept: bool | None
    """Whether they are in `filtered`; None where there is no such split."""
    first: int
    count: int

    def rows(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """The rows, a row group in memory at a time. Raises `InputError` if the file is damaged."""
        start, end = 0, self.first + self.count
        with _opened(self.path) as file:
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                low, high = max(self.first - start, 0), min(end - start, size)
                if low < high:
                    yield from _read(file, group, columns, self.path).slice(low, high - low).to_pylist()
                start += size


class Dataset:
    """The rows of a dataset folder, in the registry's order: a scenario's kept ones, then its dropped ones."""

    def __init__(self, folder: Path, scenarios: Sequence[str] = ()) -> None:
        """Raises `InputError` if there is no dataset in `folder`, `UsageError` for a scenario that it lacks."""
        self.folder = folder
        self.manifest = _manifest(folder)
        for name in scenarios:
            if name not in self.manifest.scenarios:
                raise unknown(f"scenario in {folder} named", name, self.manifest.scenarios)
        registry = [*builders.SCENARIOS, *self.manifest.scenarios]
        order = sorted(self.manifest.scenarios, key=registry.index)
        self.scenarios = {n: self.manifest.scenarios[n] for n in order if n in scenarios or not scenarios}

    @cached_property
    def files(self) -> list[Slice]:
        """Each parquet file whole."""
        found = []
        for name, facts in self.scenarios.items():
            folder = self.folder / "data" / name / facts.digest
            for half in (KEPT, DROPPED):
                kept = None if "filtered" not in facts.splits else half == KEPT
                for path in sorted(folder.glob(f"{half}-*.parquet")):
                    with _opened(path) as file:
                        found.append(Slice(path, name, kept, 0, file.metadata.num_rows))
            if facts.built != sum(file.count for file in found if file.scenario == name):
                raise InputError(
                    f"{folder} doesn't hold the {facts.built} samples of manifest.json",
                    f"build-bench verify {self.folder}",
                )
        return found

    @cached_property
    def index(self) -> list[dict[str, Any]]:
        """`INDEXED` of every row, and `kept`."""
        return [{**row, "kept": file.kept} for file in self.files for row in file.rows(INDEXED)]

    def slices(self, wanted: Sequence[str] = ()) -> tuple[list[Slice], list[dict[str, Any]]]:
        """What to show and its index: all in slices of `SLICE`, or a slice for each id of `wanted`.

        Raises `UsageError`, naming the nearest, for an id that isn't there.
        """
        places = [(file, at) for file in self.files for at in range(file.count)]
        if not wanted:
            cut = [(file, at) for file, at in places if at % SLICE == 0]
            return [_part(file, at, min(SLICE, file.count - at)) for file, at in cut], self.index
        by_id = {row["id"]: number for number, row in enumerate(self.index)}
        if absent := next((name for name in wanted if name not in by_id), None):
            raise _no_sample(absent, list(by_id))
        numbers = sorted({by_id[name] for name in wanted})
        return [_part(*places[number], 1) for number in numbers], [self.index[number] for number in numbers]


def _part(file: Slice, first: int, count: int) -> Slice:
    return Slice(file.path, file.scenario, file.kept, first, count)


def _no_sample(name: str, known: list[str]) -> UsageError:
    import difflib

    near = difflib.get_close_matches(name, known, n=1) or [one for one in known if name in one]
    like = next((one for one in known if one.partition("-")[0] == name.partition("-")[0]), known[0] if known else "")
    hint = f"did you mean {near[0]!r}?" if near else f"ids are spelled like {like!r}" if like else ""
    return UsageError(f"there is no sample {name!r} in the dataset", hint)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _read(file: pq.ParquetFile, group: int, columns: Sequence[str], path: Path) -> pa.Table:
    try:
        return file.read_row_group(group, columns=columns).select(list(columns))
    except (pa.ArrowException, OSError, KeyError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: BaseException) -> InputError:
    return InputError(f"{path} can't be read: {error}", "build-bench verify says what is wrong with a dataset")


def _manifest(folder: Path) -> Manifest:
    path = folder / "manifest.json"
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(
            f"there is no dataset in {folder}", "run build-bench assemble, or name the dataset's folder with --dataset"
        ) from error
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is broken: {error}", "run build-bench assemble, or pull the release again") from error
    for name, facts in manifest.scenarios.items():  # both become parts of paths
        if not (_NAME.fullmatch(name) and (_DIGEST.fullmatch(facts.digest) or not facts.built)):
            raise InputError(f"{path} is broken: {name!r}, {facts.digest!r}", "pull the release again")
    return manifest


def share(row: Mapping[str, Any]) -> tuple[int, int]:
    """Of a row: how many models were right at the first turn, of how many."""
    models = row["num_models"] or 0
    return round((row["first_turn_accuracy"] or 0) * models), models
