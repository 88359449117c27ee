"""What binds a stamp to the rows of its file: whoever writes a file with pyarrow keeps our stamp, whatever the rows.

A digest of the rows tells. Reading them all is what a filter of millions can't do each time, so a file that was checked
is known again by what the file system says of it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from build_bench import store
from build_bench.store import Work

_YOUNG = 100_000_000
"""Nanoseconds. Within a tick of the file system's clock a file may change and keep its time: it isn't known yet."""


def content(table: pa.Table) -> str:
    """Digest of a table of texts, numbers and flags, its rows in their order. No library's version changes it."""
    digest = hashlib.sha256()
    for name in table.column_names:
        digest.update(name.encode() + b"\0")
        for part in _parts(table[name]):
            digest.update(part)
    return digest.hexdigest()


def _parts(column: pa.ChunkedArray) -> Iterator[memoryview]:
    """Which values there are, how long they are, and what they are."""
    yield _numbers(column.is_valid(), pa.int8())
    values = column.drop_null()  # fill_null would import pandas
    if not pa.types.is_string(column.type):
        yield _numbers(values, pa.int64())
        return
    texts = values.cast(pa.large_string()).combine_chunks()
    yield _numbers(pc.binary_length(texts), pa.int64())
    _, offsets, data = texts.buffers()
    if len(texts) and data is not None:
        ends = memoryview(offsets).cast("q")
        yield memoryview(data)[ends[texts.offset] : ends[texts.offset + len(texts)]]


def _numbers(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> memoryview:
    array = values.cast(kind)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    size, data = kind.bit_width // 8, array.buffers()[1]
    return memoryview(data or b"")[array.offset * size : (array.offset + len(array)) * size]


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as the file system showed it before it was read: what comes later wasn't in what was read."""

    known: bool
    """Whether it was remembered as it is now."""
    _note: Path
    _state: bytes
    _old: bool

    def remember(self) -> None:
        """Its rows were found to be those of its stamp."""
        if self._old and not self.known:
            store.write_bytes(self._note, self._state)


def look(work: Work, path: Path) -> Seen:
    """Look at a file below the work folder. Writes nothing."""
    status = path.stat()
    state = b"%d %d %d %d\n" % (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    note = work.own / "checked" / path.relative_to(work.root)
    try:
        known = note.read_bytes() == state
    except OSError:
        known = False
    old = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _YOUNG
    return Seen(known, note, state, old)
