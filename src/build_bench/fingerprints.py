"""By what a source is known: name, size and time without reading it, and checksums, each computed once."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import msgspec

from build_bench import store
from build_bench.errors import shown
from build_bench.store import Work, digest_of


def fingerprint(path: Path, root: Path) -> list[Any]:
    """What changes when a source changes, without reading it: name, size and time, of a folder's files too."""
    name = shown(path.relative_to(root).as_posix())
    if not path.is_dir():
        return [name, *_version(path.stat())]
    with os.scandir(path) as entries:
        return [name, digest_of(sorted([shown(entry.name), *_version(entry.stat())] for entry in entries))]


def _version(status: os.stat_result) -> tuple[int, int]:
    """Size and time; a folder's size is its disk's business."""
    return 0 if stat.S_ISDIR(status.st_mode) else status.st_size, status.st_mtime_ns


class Checksums:
    """sha256 of source files, computed once per (name, size, time): sources are large and rarely change."""

    def __init__(self, work: Work) -> None:
        self._path = work.own / "checksums.json"
        try:
            self._known = msgspec.json.decode(self._path.read_bytes(), type=dict[str, str])
        except (FileNotFoundError, msgspec.DecodeError):  # what is lost is computed again
            self._known = {}

    def source(self, path: Path, root: Path) -> dict[str, Any]:
        """What the manifest says of a source file: its name below `root`, size and sha256. A folder: its file names."""
        name = shown(path.relative_to(root).as_posix())
        if path.is_dir():
            names = sorted(shown(entry.name) for entry in os.scandir(path))
            return {"path": f"{name}/", "files": len(names), "sha256_of_names": digest_of(names)}
        key = self._key(path, root)
        if key not in self._known:
            self._known[key] = store.sha256(path)
        return {"path": name, "bytes": path.stat().st_size, "sha256": self._known[key]}

    def remember(self, path: Path, root: Path, digest: str) -> None:
        """Take the sha256 of a source file from who knows it: 66 GB needn't be read again."""
        self._known[self._key(path, root)] = digest

    @staticmethod
    def _key(path: Path, root: Path) -> str:
        return digest_of([shown(str(root.resolve())), *fingerprint(path, root)])

    def save(self) -> None:
        """Keep what was computed."""
        store.write_bytes(self._path, store.to_json(self._known))
