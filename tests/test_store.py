"""What lies in the work folder is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from build_bench import store
from build_bench.errors import BuildBenchError
from build_bench.records import Rejection


@pytest.fixture
def work(tmp_path: Path) -> store.Work:
    return store.Work(tmp_path / "work", tmp_path / "raw")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x"
    store.write_bytes(path, b"old")
    with pytest.raises(TypeError), store.atomic(path) as temporary:
        temporary.write_bytes(b"half" + None)  # type: ignore[operator]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["x"]  # noqa: PTH208


def test_what_a_killed_run_left_is_cleared_away(work: store.Work) -> None:
    left = work.frames("coco") / "shard-00000.parquet.77.partial"
    folder = work.dataset / "data" / "coco" / "staging.partial"
    folder.mkdir(parents=True)
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    (folder / "kept-00000.parquet").write_bytes(b"half")
    with work.locked():
        assert not left.exists()
        assert not folder.exists()


def test_two_runs_do_not_share_a_work_folder(work: store.Work) -> None:
    with work.locked(), pytest.raises(BuildBenchError, match="another build-bench"), work.locked():
        pass
    with work.locked():
        pass


def test_a_stamp_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    store.write_table(path, pa.table({"a": [1]}), {"key": "k", "n": 1}, 10)
    assert store.stamp_of(path) == {"key": "k", "n": 1}
    assert store.stamp_of(tmp_path / "none.parquet") is None


@pytest.mark.parametrize("content", [b"", b"PAR1", b"<html>"])
def test_a_damaged_file_counts_as_absent(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    assert store.stamp_of(path) is None


def test_rejections_are_sorted_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    two = [Rejection("b", "plan", "crowd"), Rejection("a", "render", "truncated_picture", "line\u2028separator")]
    store.write_rejections(path, two)
    assert store.read_rejections(path) == two[::-1]
    store.write_rejections(tmp_path / "other.jsonl", two[::-1])
    assert path.read_bytes() == (tmp_path / "other.jsonl").read_bytes()
