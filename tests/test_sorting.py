"""Rows come out in order, whether they fit into memory or not."""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from build_bench import sorting

SCHEMA = pa.schema([("id", pa.string()), ("many", pa.list_(pa.string())), ("at", pa.int32())])


def table(rows: range, order: random.Random) -> list[pa.Table]:
    names = [(f"sample-{row}", row) for row in rows]
    order.shuffle(names)
    made = [{"id": name, "many": [name] * (row % 4), "at": row} for name, row in names]
    return [pa.Table.from_pylist(made[at : at + 7], SCHEMA) for at in range(0, len(made), 7)]


@pytest.mark.parametrize("run_bytes", [1, 400, 3_000, 1 << 20])
@pytest.mark.parametrize("count", [0, 1, 7, 100, 333])
def test_all_rows_come_in_order_and_in_whole_multiples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_bytes: int, count: int
) -> None:
    monkeypatch.setattr(sorting, "RUN_BYTES", run_bytes)
    tables = table(range(count), random.Random(count))
    with sorting.Sorted(tmp_path / "runs", SCHEMA, "id") as rows:
        for each in tables:
            rows.add(each)
        assert len(rows) == count
        found = list(rows.tables(4))
    whole = pa.concat_tables(found)
    assert whole == pa.concat_tables([SCHEMA.empty_table(), *tables]).sort_by("id")
    assert all(len(each) % 4 == 0 for each in found[:-1])
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_runs_is_removed_when_something_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "RUN_BYTES", 1)
    with pytest.raises(ZeroDivisionError), sorting.Sorted(tmp_path / "runs", SCHEMA, "id") as rows:  # noqa: PT012
        rows.add(table(range(3), random.Random(0))[0])
        assert [path.name for path in tmp_path.iterdir()] == ["runs"]
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
