"""Rows put into the order of a text column, however many: a bounded number of bytes is in memory at a time.

What is added is sorted run by run and laid on disk; only the texts to sort by stay. Merging takes each stretch of the
result out of the runs that hold some of it, which are few where rows came nearly in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

RUN_BYTES = 4 << 20
"""Rows held in memory before they are laid on disk, and about as many are given back at once."""


class Sorted:
    """Tables of one schema in the order of their column `by`. `path`: a file for what doesn't fit into memory, made
    only where it is needed, and removed at the end."""

    def __init__(self, path: Path, schema: pa.Schema, by: str) -> None:
        self._path, self._schema, self._by = path, schema, by
        self._pending: list[pa.Table] = []
        self._keys: list[pa.Array] = []
        self._writer: pa.RecordBatchFileWriter | None = None
        self._bytes = 0

    def __enter__(self) -> Sorted:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer:
            self._writer.close()
            self._path.unlink(missing_ok=True)

    def __len__(self) -> int:
        return sum(map(len, [*self._keys, *self._pending]))

    def add(self, table: pa.Table) -> None:
        """Take rows, in any order."""
        self._pending.append(table)
        self._bytes += table.nbytes
        if sum(each.nbytes for each in self._pending) >= RUN_BYTES:
            self._spill(self._run())

    def tables(self, multiple: int) -> Iterator[pa.Table]:
        """All rows in order, a multiple of `multiple` in each table but the last. Nothing can be added any more."""
        last = self._run()
        if not self._writer:
            yield last
            return
        self._spill(last)
        self._writer.close()
        with pa.OSFile(str(self._path)) as file:
            runs = pa.ipc.open_file(file)
            order = pc.sort_indices(pa.chunked_array(self._keys)).to_numpy().astype(np.int64)
            starts = np.cumsum([0, *map(len, self._keys)])
            step = max(1, len(order) * RUN_BYTES // self._bytes // multiple) * multiple
            for first in range(0, len(order), step):
                rows = order[first : first + step]
                of = np.searchsorted(starts, rows, side="right") - 1
                found = [
                    runs.get_batch(int(run)).take(pa.array(rows[of == run] - starts[run])) for run in np.unique(of)
                ]
                place = np.argsort(np.argsort(of, kind="stable"))
                yield pa.Table.from_batches(found).combine_chunks().take(pa.array(place))

    def _run(self) -> pa.Table:
        table = pa.concat_tables([self._schema.empty_table(), *self._pending]).sort_by(self._by).combine_chunks()
        self._pending = []
        return table

    def _spill(self, run: pa.Table) -> None:
        if not self._writer:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pa.ipc.new_file(str(self._path), self._schema)
        if len(run):
            (batch,) = run.to_batches()
            self._writer.write_batch(batch)
            self._keys.append(batch[self._by])
