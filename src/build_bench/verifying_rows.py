"""Is each row of a parquet file of the tree sound, decided by the rule, and the one that the manifest lists?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench import card_training, row_digests, soundness
from build_bench.errors import Rejected
from build_bench.filters.first_turn import Rule
from build_bench.imaging import decode

NULLABLE = "first_turn_accuracy"
"""The one column that may hold nulls: where no model was run."""

UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)
"""What damaged or foreign parquet files raise."""

_ID = re.compile(r"[A-Za-z0-9._~-]+")
"""URL-safe, as contract section 4 has it."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What the manifest says of the rows of a file."""

    scenario: str
    kept: bool
    """Whether they are in `filtered`, where there is such a split."""
    digests: Mapping[str, str]
    """id -> digest, of that file and others like it."""
    models: int
    """How many were asked."""
    rule: Rule | None
    """By which the split `filtered` was decided."""
    split: str = "test"


@dataclass(slots=True)
class Side:
    """What the kept rows of a scenario came to, or the dropped ones, over all files."""

    ids: list[str] = field(default_factory=list)
    frames: int = 0
    correct: int = 0
    answers: int = 0
    ambiguous: int = 0
    """Of a training split."""


def problems(path: Path, expected: Expected, side: Side) -> Iterator[str]:
    """All that is wrong with a file's rows, one row group in memory at a time; what they come to is added to `side`."""
    first = 0
    try:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                table = file.read_row_group(group)
                yield from _table_problems(table, first, expected, side)
                first += len(table)
    except UNREADABLE as error:
        yield f"can't be read: {error}"


def _table_problems(table: pa.Table, first: int, expected: Expected, side: Side) -> Iterator[str]:
    """`first`: the number of the table's first row in its file, by which one without an id is named."""
    if nulls := _nulls(table):
        for number, where in nulls.items():
            name = table["id"][number].as_py() or f"row {first + number}"
            yield f"{name}: {where} is null"
        table = table.filter(pa.array(number not in nulls for number in range(len(table))))
    for row in table.to_pylist():
        side.ids.append(row["id"])
        side.frames += len(row["frames"])
        yield from (f"{row['id']}: {problem}" for problem in _row_problems(row, expected, side))
    for name, digest in row_digests.of(table):
        if expected.digests.get(name) != digest:
            yield f"{name}: is not the row of which the manifest has the digest"


def _nulls(table: pa.Table) -> dict[int, str]:
    """Row -> the first of its values that is null, as in `states[0].moves`. Columns without any aren't looked into."""
    found: dict[int, str] = {}
    for name in table.column_names:
        if name != NULLABLE and any(_has_null(chunk) for chunk in table[name].chunks):
            for number, value in enumerate(table[name].to_pylist()):
                if where := _null(value, name):
                    found.setdefault(number, where)
    return dict(sorted(found.items()))


def _has_null(array: pa.Array) -> bool:
    if array.null_count:
        return True
    if pa.types.is_struct(array.type):
        return any(_has_null(part) for part in array.flatten())
    return pa.types.is_list(array.type) and _has_null(array.flatten())


def _null(value: Any, name: str) -> str:
    """Where `value`, called `name`, has a null; empty if it has none."""
    if value is None:
        return name
    parts = {}
    if isinstance(value, dict):
        parts = {f"{name}.{key}": part for key, part in value.items()}
    elif isinstance(value, list):
        parts = {f"{name}[{number}]": part for number, part in enumerate(value)}
    return next(filter(None, (_null(part, where) for where, part in parts.items())), "")


def _row_problems(row: dict[str, Any], expected: Expected, side: Side) -> Iterator[str]:
    """Every picture is decoded, every state and move is followed."""
    if row["scenario"] != expected.scenario:
        yield f"is a row of {row['scenario']}, in a file of {expected.scenario}"
    if not row["id"].startswith(f"{expected.scenario}-") or not _ID.fullmatch(row["id"]):
        yield f"its id is not {expected.scenario}-... in letters, digits and -._~"
    yield from _score_problems(row, expected, side)
    sizes = []
    for number, frame in enumerate(row["frames"]):
        try:
            sizes.append(decode(frame["bytes"]).size)
        except Rejected as why:
            yield f"frame {number} ({frame['path']}): {why}"
            return
    yield from soundness.problems(row, sizes)
    if expected.split == "train":
        side.ambiguous += card_training.is_ambiguous(row)
        yield from soundness.training_problems(row)


def _score_problems(row: dict[str, Any], expected: Expected, side: Side) -> Iterator[str]:
    """Are the models' scores possible, and do they put the row where it is?"""
    share, models = row["first_turn_accuracy"], row["num_models"]
    if not 0 <= models <= expected.models:
        yield f"num_models is {models}, {expected.models} were asked"
        return
    if (share is None) != (models == 0) or (share is not None and not 0 <= share <= 1):
        yield f"first_turn_accuracy is {share}, of {models} models"
        return
    correct = round((share or 0) * models)
    if models and float(np.float32(correct / models)) != share:
        yield f"first_turn_accuracy {share} is no share of {models} models"
        return
    side.correct, side.answers = side.correct + correct, side.answers + models
    if expected.rule and expected.rule.drops(correct, models, row["first_turn_answerable"]) == expected.kept:
        yield (
            f"{correct} of {models} models were right: {expected.rule.name} "
            f"{'drops' if expected.kept else 'keeps'} it, it is {'kept' if expected.kept else 'dropped'}"
        )
