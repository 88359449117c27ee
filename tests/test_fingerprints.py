"""By what a source is known: what changes when it does, and a checksum that is computed once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from build_bench import store
from build_bench.fingerprints import Checksums, fingerprint


@pytest.fixture
def work(tmp_path: Path) -> store.Work:
    return store.Work(tmp_path / "work", tmp_path / "raw")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"a": 1}'])
def test_damaged_checksums_are_computed_again(content: bytes, work: store.Work, tmp_path: Path) -> None:
    path = tmp_path / "cat.ndjson"
    path.write_bytes(b"abc")
    store.write_bytes(work.own / "checksums.json", content)
    assert Checksums(work).source(path, tmp_path)["sha256"] == store.sha256(path)


def test_a_changed_source_is_noticed_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "cat.ndjson"
    path.write_text("one")
    before = fingerprint(path, tmp_path)
    path.write_text("three")
    assert fingerprint(path, tmp_path) != before
    folder = fingerprint(tmp_path, tmp_path.parent)
    path.write_text("fives")
    edited = fingerprint(tmp_path, tmp_path.parent)
    assert edited != folder
    (tmp_path / "dog.ndjson").touch()
    assert fingerprint(tmp_path, tmp_path.parent) != edited


def test_a_folder_in_a_source_is_known_by_its_time_not_by_how_large_its_disk_keeps_it(tmp_path: Path) -> None:
    """A copy on another disk, with the same times, is the same source."""
    inner = tmp_path / "inner"
    inner.mkdir()
    os.utime(inner, (1, 1))
    before = fingerprint(tmp_path, tmp_path.parent)
    for number in range(2000):
        (inner / f"{number:0200}").touch()
    os.utime(inner, (1, 1))
    assert fingerprint(tmp_path, tmp_path.parent) == before


def test_a_checksum_is_computed_once_per_version_of_a_file(work: store.Work, tmp_path: Path) -> None:
    path = tmp_path / "cat.ndjson"
    path.write_bytes(b"abc")
    sums = Checksums(work)
    first = sums.source(path, tmp_path)
    assert first == {"path": "cat.ndjson", "bytes": 3, "sha256": store.sha256(path)}
    sums.save()
    status = path.stat()
    path.write_bytes(b"abd")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert Checksums(work).source(path, tmp_path) == first
    path.write_bytes(b"abcd")
    assert Checksums(work).source(path, tmp_path)["sha256"] == store.sha256(path)
