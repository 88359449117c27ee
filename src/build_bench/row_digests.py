"""A short digest of every published row: what two releases are compared by, from their manifests alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

DIGITS = 16
"""Of a generation's digest, in hex: one change in 2^64 goes unnoticed."""

VOLATILE = ("first_turn_accuracy", "num_models")
"""What another model changes in every row. The row is the same."""

GENERATIONS = (
    (
        "id", "scenario", "question", "question_kind", "context", "hint", "reference_question", "options",
        "categories", "answer", "frames", "states", "start", "reference", "max_turns", "first_turn_answerable",
        "open_answers", "source",
    ),
)  # fmt: skip
"""The columns that a digest covers, `DIGITS` for each tuple. A column that is added later gets a tuple of its own: then
the digests of older releases are beginnings of the new ones, and a row that only gained a column hasn't changed."""


def of(table: pa.Table) -> Iterator[tuple[str, str]]:
    """Id and digest of each row of a table of `schema.PUBLISHED`. Pictures count by their bytes and names."""
    return ((row["id"], of_row(row)) for row in rows(table))


def of_row(row: Mapping[str, Any]) -> str:
    """The digest of one of `rows`."""
    return "".join(_digest([row[name] for name in columns]) for columns in GENERATIONS)


def rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Each row of a table of `schema.PUBLISHED`, a frame being its name and the sha256 of its bytes."""
    for batch in table.to_batches():
        frames = batch["frames"]
        pictures = _pictures(frames.flatten())
        texts = batch.select([name for name in batch.schema.names if name != "frames"]).to_pylist()
        for row, count in zip(texts, frames.value_lengths().to_pylist(), strict=True):
            row["frames"] = [next(pictures) for _ in range(count or 0)]
            yield row


def same(old: str, new: str) -> bool:
    """Whether two digests are of one row, as far as both were computed over the same columns."""
    shared = min(len(old), len(new))
    return old[:shared] == new[:shared]


def _pictures(frames: pa.StructArray) -> Iterator[tuple[str | None, str]]:
    """Name and sha256 of each. The bytes are hashed where they lie, not copied."""
    data = pc.struct_field(frames, "bytes").fill_null(b"")
    _, places, buffer = data.buffers()
    ends = np.frombuffer(places, np.int32)[data.offset : data.offset + len(data) + 1].tolist() if places else []
    lie = memoryview(buffer or b"")
    for name, start, end in zip(pc.struct_field(frames, "path").to_pylist(), ends, ends[1:], strict=False):
        yield name, hashlib.sha256(lie[start:end]).hexdigest()


def _digest(values: list[object]) -> str:
    return hashlib.sha256(msgspec.json.encode(values, order="sorted")).hexdigest()[:DIGITS]
