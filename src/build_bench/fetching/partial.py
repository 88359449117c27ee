"""A file on its way: `<name>.part`, and `<name>.part.json`, what is known of it. It survives whatever stops a run."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from pathlib import Path
from typing import Any

import msgspec

from build_bench import store

SUFFIX = ".part"


class Facts(msgspec.Struct, frozen=True):
    """Of what a part is a part."""

    url: str
    validator: str
    """A strong ETag, or a date; empty: the server names none."""
    total: int | None
    """Bytes, as the server says."""
    declared: dict[str, str] = {}
    """Checksums, as the server says: name -> hex digits."""
    refused: str = ""
    """Why the whole file was not taken: it waits for `--accept-new`."""


class Part:
    """What there is of `target`. Its checksums grow with it, so that none is read twice.

    It may lie under the target's own name, where a person began to download it: it is `adopted`, and keeps that name
    until a server goes on with it.
    """

    def __init__(self, target: Path, whole: int | None = None) -> None:
        """`whole`: bytes of the target; a shorter one that lies there is adopted."""
        self.target = target
        self._own = self.path = target.with_name(target.name + SUFFIX)
        self._sidecar = target.with_name(f"{target.name}{SUFFIX}.json")
        self.facts = self._read()
        self.size = self.path.stat().st_size if self.facts and self._is_ours() else 0
        self._hashes: tuple[Any, Any] | None = None
        self._file: io.FileIO | None = None
        if not self.size and is_incomplete(target, whole):
            self.path, self.size, self.facts = target, target.stat().st_size, Facts("", "", None)

    @property
    def adopted(self) -> bool:
        """Whether it lies under the target's own name."""
        return self.path == self.target

    def close(self) -> None:
        """Let go of the file; it can be added to again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _is_ours(self) -> bool:
        """A link may lead anywhere: nothing is added to what is behind it."""
        return self.path.is_file() and not self.path.is_symlink()

    def _read(self) -> Facts | None:
        try:
            return msgspec.json.decode(self._sidecar.read_bytes(), type=Facts)
        except (OSError, msgspec.DecodeError):  # of what it is a part is unknown: it begins anew
            return None

    def begin(self, facts: Facts) -> None:
        """Begin anew."""
        self.close()
        self.path = self._own
        store.write_bytes(self._sidecar, store.to_json(facts))
        self.path.unlink(missing_ok=True)
        self.path.touch(exist_ok=False)
        self.facts, self.size, self._hashes = facts, 0, None

    def note(self, facts: Facts) -> None:
        """Keep other facts, and the bytes."""
        store.write_bytes(self._sidecar, store.to_json(facts))
        if self.adopted:
            self.path = self.path.replace(self._own)
        self.facts = facts

    def append(self, chunk: bytes) -> None:
        """Add bytes. They are written at once: whatever stops the run, they are there."""
        hashes = self._hashing()
        if self._file is None:
            self._file = self.path.open("ab", buffering=0)
        rest = memoryview(chunk)
        while rest:  # a disk that gets full takes the beginning of a piece, and says so only when asked again
            rest = rest[self._file.write(rest) :]
        for state in hashes:
            state.update(chunk)
        self.size += len(chunk)

    def cut(self, size: int) -> None:
        """Keep only the first `size` bytes."""
        self.close()
        os.truncate(self.path, size)
        self.size, self._hashes = size, None

    def digests(self) -> dict[str, str]:
        """The checksums of what is there."""
        sha256, md5 = self._hashing()
        return {"md5": md5.hexdigest(), "sha256": sha256.hexdigest()}

    def _hashing(self) -> tuple[Any, Any]:
        if self._hashes is None:
            self._hashes = digested(self.path)
        return self._hashes

    def head(self) -> bytes:
        """The first bytes."""
        with self.path.open("rb") as file:
            return file.read(1024)

    def finish(self) -> None:
        """It is whole: give it its name."""
        self.close()
        with self.path.open("rb") as file:
            os.fsync(file.fileno())
        self.path.replace(self.target)
        self._sidecar.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove it; what is adopted is only let go of."""
        self.close()
        self.path = self._own
        for path in (self.path, self._sidecar):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
        self.facts, self.size, self._hashes = None, 0, None


def is_incomplete(path: Path, whole: int | None) -> bool:
    """Whether a file has fewer bytes than `whole`. A link may lead anywhere: what is behind it is not gone on with."""
    return whole is not None and path.is_file() and not path.is_symlink() and path.stat().st_size < whole


def digested(path: Path) -> tuple[Any, Any]:
    """sha256 and md5 of a file, read once."""
    states = hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            for state in states:
                state.update(chunk)
    return states
