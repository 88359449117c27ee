"""The work folder: where things lie, and how they get there whole.

Every file is written under a temporary name, flushed and renamed, so a killed run leaves nothing half-written. What a
stage made carries, inside it, the digest of everything it was made of (its stamp): staleness is a comparison.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import filelock
import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from build_bench.errors import BuildBenchError, InputError, shown
from build_bench.records import Rejection

_STAMP = b"build_bench"
_TEMPORARY = ".partial"
STAGING = f"staging{_TEMPORARY}"
"""The folder in which a scenario's dataset files wait for their name."""
_OURS = re.compile(rf".+\.(\d+|[0-9a-f]{{12}}|moving){re.escape(_TEMPORARY)}")


class Shared(Protocol):
    """Where other machines find what this one made, if they don't see its folder (`mirror`)."""

    def bring(self, *paths: Path) -> None:
        """Take over what others changed of files and folders."""

    def give(self, *paths: Path) -> None:
        """Let others have what changed here of files and folders."""


@dataclass(frozen=True, slots=True)
class Work:
    """The folder of contract section 3."""

    root: Path
    raw: Path
    test: Path | None = None
    """Of a training split: the work folder that this one lies in, the test's."""
    shared: Shared | None = None
    """None: all machines see the folder itself."""

    def absolute(self) -> Work:
        """The same folder, wherever a process of another machine begins."""
        return replace(
            self, root=self.root.absolute(), raw=self.raw.absolute(), test=self.test.absolute() if self.test else None
        )

    def bring(self, *paths: Path) -> None:
        """Take over what other machines changed of files and folders."""
        if self.shared:
            self.shared.bring(*paths)

    def give(self, *paths: Path) -> None:
        """Let other machines have what changed here of files and folders."""
        if self.shared:
            self.shared.give(*paths)

    @property
    def chosen(self) -> str:
        """What a command needs beside its name to work here, for hints."""
        return " --split train" if self.test else ""

    @property
    def raw_name(self) -> str:
        """Which sources these are: a work folder that is moved with them has the same."""
        raw, home = self.raw.resolve(), (self.test or self.root).resolve()
        return shown(str(raw.relative_to(home) if raw.is_relative_to(home) else raw))

    def plans(self, scenario: str) -> Path:
        """One row per sample, no pixels."""
        return self.root / "plans" / f"{scenario}.parquet"

    def frames(self, scenario: str) -> Path:
        """The folder of a scenario's shards."""
        return self.root / "frames" / scenario

    def shard(self, scenario: str, number: int) -> Path:
        """One shard of rendered frames."""
        return self.frames(scenario) / f"shard-{number:05d}.parquet"

    def rejected(self, scenario: str) -> Path:
        """Every candidate not used, a line each."""
        return self.root / "rejected" / f"{scenario}.jsonl"

    @property
    def predictions(self) -> Path:
        """The cache of models' answers: a folder per model, a file per scenario."""
        return self.root / "predictions"

    def keep(self, scenario: str) -> Path:
        """Which samples the filter keeps, and on what counts."""
        return self.root / "keep" / f"{scenario}.parquet"

    @property
    def reports(self) -> Path:
        """Audits: HTML, JSON, CSV."""
        return self.root / "reports"

    @property
    def releases(self) -> Path:
        """Manifest and changelog of every release made or pulled here, in a folder named by its version."""
        return self.root / "releases"

    @property
    def dataset(self) -> Path:
        """The repository tree."""
        return self.root / "dataset"

    @property
    def own(self) -> Path:
        """What only this program needs: the lock, checksums already computed, what was assembled of what."""
        return self.root / ".build-bench"

    @property
    def jobs(self) -> Path:
        """What a cluster works on: scripts, logs, and which jobs were submitted."""
        return self.own / "jobs"

    def scratch(self, scenario: str) -> Path:
        """Where a scenario's reader keeps what is costly to find out again."""
        return self.own / scenario

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out of this folder, and clear away what killed ones left."""
        self.own.mkdir(parents=True, exist_ok=True)
        try:
            with filelock.FileLock(self.own / "lock", timeout=0):
                self._clear()
                yield
        except filelock.Timeout:
            raise BuildBenchError(
                f"another build-bench is working in {self.root}", "wait for it, or choose another folder with --work"
            ) from None

    def _clear(self) -> None:
        # Whoever submitted a cluster's job may have been killed: the job still writes frames.
        frames = () if any(self.jobs.glob("*.json")) else ("frames",)
        for folder in (
            self.own,
            self.dataset,
            *(self.root / name for name in ("plans", *frames, "rejected", "keep", "reports", "releases")),
        ):
            for left in folder.rglob(f"*{_TEMPORARY}"):
                if left.name == STAGING and left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left)
                elif _OURS.fullmatch(left.name) and not left.is_dir():  # a model's folder may be called so
                    left.unlink(missing_ok=True)


def temporary_name(path: Path) -> Path:
    """A name beside `path` that no other process takes; what a killed run leaves there is cleared away by the next."""
    return path.with_name(f"{path.name}.{secrets.token_hex(6)}{_TEMPORARY}")  # machines share process numbers


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`; renamed to it when the block ends well, removed when it doesn't."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if error.filename or error.errno is None:
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error  # a full disk names no file
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` whole or not at all."""
    with atomic(path) as temporary:
        temporary.write_bytes(data)


def to_json(value: Any) -> bytes:
    """Readable JSON with sorted keys: the same value gives the same bytes."""
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2) + b"\n"


def digest_of(value: Any) -> str:
    """sha256 of a JSON-able value, 64 hex digits."""
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def write_table(path: Path, table: pa.Table, stamp: Any, row_group: int) -> None:
    """Write a table with its stamp inside."""
    write_tables(path, [table], table.schema, stamp, row_group)


def write_tables(path: Path, tables: Iterable[pa.Table], schema: pa.Schema, stamp: Any, row_group: int) -> None:
    """Write tables, one after the other, with their stamp inside. Each but the last has whole row groups."""
    schema = schema.with_metadata(metadata(stamp))
    with (
        atomic(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        for table in tables:
            writer.write_table(table.replace_schema_metadata(schema.metadata), row_group_size=row_group)


def metadata(stamp: Any) -> dict[bytes, bytes]:
    """A stamp as parquet keeps it."""
    return {_STAMP: msgspec.json.encode(stamp, order="sorted")}


def decoded_stamp(kept: Mapping[bytes, bytes] | None) -> Any:
    """The stamp in a parquet file's metadata; None if there is none. Raises `msgspec.DecodeError`."""
    return msgspec.json.decode(kept[_STAMP]) if kept and _STAMP in kept else None


def stamp_of(path: Path) -> Any:
    """The stamp that `path` was written with; None if there is no such file, or a damaged one: it is made again."""
    try:
        return decoded_stamp(pq.read_metadata(path).metadata)
    except (FileNotFoundError, pa.ArrowException, msgspec.DecodeError):
        return None


def write_rejections(path: Path, rejections: list[Rejection]) -> None:
    """One line per candidate that is not used, sorted."""
    written = (replace(each, source_key=shown(each.source_key), detail=shown(each.detail)) for each in rejections)
    lines = sorted(map(msgspec.json.encode, written))
    write_bytes(path, b"".join(line + b"\n" for line in lines))


def read_rejections(path: Path) -> list[Rejection]:
    """What `write_rejections` wrote; nothing if there is no such file. Raises `InputError` if it is damaged."""
    if not path.exists():
        return []
    try:
        return [msgspec.json.decode(line, type=Rejection) for line in path.read_bytes().splitlines()]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f"{path} is damaged: {error}", f"run build-bench build {path.stem}: it is made again"
        ) from error


def sha256(path: Path) -> str:
    """A file's checksum, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
